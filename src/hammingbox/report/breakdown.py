"""Where rows fall: which classes, and by changes of which features."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int64

from hammingbox.evaluation.rates import Rate
from hammingbox.report.result_set import Study
from hammingbox.report.summary import seen_at, seen_by

_INVISIBLE = {"": "(empty)", " ": "(space)", "\n": "(line break)"}
"""Categories that cannot be seen are named, here and in `render_row.js`."""


@dataclass(frozen=True)
class ClassLine:
    """A true class: what of it falls in the worst case at each budget, and what it turns into."""

    name: str
    rows: int
    correct: int
    by_budget: Mapping[int, Rate]
    """Only budgets that the victim was attacked with."""
    becomes: tuple[tuple[str, float], ...]
    """Other classes with their share of this class's fallen rows, over all runs."""


def by_class(study: Study, victim: str) -> list[ClassLine]:
    """One line for each true class a victim was asked about."""
    labels, classes = np.array(study.labels, dtype=np.int64), study.schema.classes
    runs = list(study.select(victim=victim))
    overall = seen_by(len(labels), runs)
    seen = seen_at(study, victim)
    turned = np.zeros((len(classes), len(classes)), np.int64)
    for run in runs:
        np.add.at(turned, (labels[run.place[run.success]], run.predicted[run.success]), 1)
    lines = []
    for number, name in enumerate(classes):
        mine = labels == number
        if not (mine & overall.asked).any():
            continue
        total = max(1, int(turned[number].sum()))
        order = np.argsort(-turned[number], kind="stable")
        lines.append(
            ClassLine(
                name,
                int((mine & overall.asked).sum()),
                int((mine & overall.correct).sum()),
                {b: Rate(int((mine & s.fell).sum()), int((mine & s.attacked).sum())) for b, s in seen.items()},
                tuple((classes[k], float(turned[number, k]) / total) for k in order[:3] if turned[number, k]),
            )
        )
    return lines


@dataclass(frozen=True)
class FeatureLine:
    """A feature: in how many fallen rows it was changed, and how."""

    index: int
    name: str
    changed: int
    share: float
    """Of the fallen rows of all runs."""
    commonest: str
    times: int


@dataclass(frozen=True, eq=False)
class Attacked:
    """Which features fallen rows were changed in, over all runs."""

    fallen: int
    per_feature: Int64[np.ndarray, "features"]
    lines: tuple[FeatureLine, ...]
    """Most attacked first; features that were never changed are left out."""
    swaps: tuple[tuple[str, str, int], ...]
    """The commonest (before, after), whatever the feature."""


def by_feature(study: Study, *, swaps: int = 12) -> Attacked:
    """Counts the changes of every row that fell in any run."""
    features = study.schema.features
    clean = study.clean_ids()
    parts = [(run.changes.take(run.success), run.place[run.success]) for run in study.runs]
    where = np.concatenate([np.empty(0, np.int64), *(part.keys for part, _ in parts)])
    after = np.concatenate([np.empty(0, np.int64), *(part.values for part, _ in parts)])
    row = np.concatenate([np.empty(0, np.int64), *(place[part.owner()] for part, place in parts)])
    fallen = sum(len(place) for _, place in parts)
    per_feature = np.bincount(where, minlength=len(features))
    # One number for each (feature, before, after): counting numbers is ten times faster than counting triples.
    most = max(study.schema.cardinalities)
    kinds, times = np.unique((where * most + clean[row, where]) * most + after, return_counts=True)
    commonest: dict[int, tuple[str, int]] = {}
    pairs: dict[tuple[str, str], int] = {}
    for kind, count in zip(kinds.tolist(), times.tolist(), strict=True):
        feature, old, new = kind // most // most, kind // most % most, kind % most
        words = features[feature].categories
        before, now = _INVISIBLE.get(words[old], words[old]), _INVISIBLE.get(words[new], words[new])
        pairs[before, now] = pairs.get((before, now), 0) + count
        if count > commonest.get(feature, ("", 0))[1]:
            commonest[feature] = (f"{before} → {now}", count)
    order = np.argsort(-per_feature, kind="stable").tolist()
    lines = tuple(
        FeatureLine(i, features[i].name, int(per_feature[i]), float(per_feature[i]) / max(1, fallen), *commonest[i])
        for i in order
        if per_feature[i]
    )
    ranked = sorted(pairs.items(), key=lambda item: -item[1])[:swaps]
    return Attacked(fallen, per_feature, lines, tuple((old, new, count) for (old, new), count in ranked))
