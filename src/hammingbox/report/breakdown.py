"""Which rows are broken: of which classes, and by changes of which features."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int64

from hammingbox.evaluation.rates import Rate
from hammingbox.report.result_set import ResultSet
from hammingbox.report.status import joined_statuses, statuses_by_budget

_INVISIBLE = {"": "(empty)", " ": "(space)", "\n": "(line break)"}
"""Categories that cannot be seen are named, here and in `render_row.js`."""


@dataclass(frozen=True)
class ClassLine:
    """A true class.

    Attributes:
        name: of the class.
        rows: rows of this class.
        correct: those that the victim got right before.
        by_budget: broken rows in the worst case, over attacked rows, at each budget the victim was attacked with.
        becomes: other classes with their share of this class's broken rows, over all runs.
    """

    name: str
    rows: int
    correct: int
    by_budget: Mapping[int, Rate]
    becomes: tuple[tuple[str, float], ...]


def by_class(results: ResultSet, victim: str) -> list[ClassLine]:
    """One line for each true class of a victim's rows."""
    labels, classes = np.array(results.labels, dtype=np.int64), results.schema.classes
    runs = list(results.select(victim=victim))
    overall = joined_statuses(len(labels), runs)
    by_budget = statuses_by_budget(results, victim)
    became = np.zeros((len(classes), len(classes)), np.int64)
    for run in runs:
        np.add.at(became, (labels[run.place[run.broken]], run.predicted[run.broken]), 1)
    lines = []
    for number, name in enumerate(classes):
        mine = labels == number
        if not (mine & overall.seen).any():
            continue
        total = max(1, int(became[number].sum()))
        order = np.argsort(-became[number], kind="stable")
        lines.append(
            ClassLine(
                name,
                int((mine & overall.seen).sum()),
                int((mine & overall.correct).sum()),
                {b: Rate(int((mine & s.broken).sum()), int((mine & s.attacked).sum())) for b, s in by_budget.items()},
                tuple((classes[k], float(became[number, k]) / total) for k in order[:3] if became[number, k]),
            )
        )
    return lines


@dataclass(frozen=True)
class FeatureLine:
    """A feature and how it was changed in broken rows.

    Attributes:
        index: its place in the schema.
        name: of the feature.
        changed: broken rows of all runs that change it.
        share: the same, over the broken rows of all runs.
        commonest: its most frequent change.
        times: how often that one occurs.
    """

    index: int
    name: str
    changed: int
    share: float
    commonest: str
    times: int


@dataclass(frozen=True, eq=False)
class FeatureChanges:
    """Which features were changed in broken rows, over all runs.

    Attributes:
        broken: broken rows of all runs.
        per_feature: how many of them change each feature.
        lines: the features that were changed, the most frequent first.
        swaps: the most frequent (before, after, times), whatever the feature.
    """

    broken: int
    per_feature: Int64[np.ndarray, "features"]
    lines: tuple[FeatureLine, ...]
    swaps: tuple[tuple[str, str, int], ...]


def by_feature(results: ResultSet, *, swaps: int = 12) -> FeatureChanges:
    """Counts the changes of every row that was broken in any run."""
    features = results.schema.features
    clean = results.clean_ids()
    parts = [(run.changes.take(run.broken), run.place[run.broken]) for run in results.runs]
    where = np.concatenate([np.empty(0, np.int64), *(part.keys for part, _ in parts)])
    after = np.concatenate([np.empty(0, np.int64), *(part.values for part, _ in parts)])
    row = np.concatenate([np.empty(0, np.int64), *(place[part.owner()] for part, place in parts)])
    broken = sum(len(place) for _, place in parts)
    per_feature = np.bincount(where, minlength=len(features))
    # (feature, before, after) as one number each: counting numbers is ten times faster than counting triples.
    most = max(results.schema.cardinalities)
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
        FeatureLine(i, features[i].name, int(per_feature[i]), float(per_feature[i]) / max(1, broken), *commonest[i])
        for i in order
        if per_feature[i]
    )
    ranked = sorted(pairs.items(), key=lambda item: -item[1])[:swaps]
    return FeatureChanges(broken, per_feature, lines, tuple((old, new, count) for (old, new), count in ranked))
