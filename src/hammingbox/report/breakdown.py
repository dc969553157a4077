"""Which features an attacker changes, and how far success would fall without them, from the rows that were recorded."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int64

from hammingbox.evaluation.rates import Rate
from hammingbox.report.number_changes import Change, in_words
from hammingbox.report.result_set import ResultSet
from hammingbox.report.run_rows import RunRows
from hammingbox.report.status import statuses_by_budget

_INVISIBLE = {"": "(empty)", " ": "(space)", "\n": "(line break)"}
"""Categories that cannot be seen are named, here and in `render_row.js`."""

_MOST_CELLS = 50_000_000
"""Rows times features beyond which what-if is not computed: it would need a table of that size."""


@dataclass(frozen=True)
class FeatureLine:
    """A feature and how it was changed in broken rows.

    Attributes:
        index: its place in the schema.
        name: of the feature.
        changed: broken rows that change it.
        share: the same, over the broken rows.
        before: what its most frequent change replaces; of numbers and dates, see `hammingbox.report.number_changes`.
        after: what that change writes.
        times: how often that one occurs.
    """

    index: int
    name: str
    changed: int
    share: float
    before: str
    after: str
    times: int


@dataclass(frozen=True)
class Swap:
    """A change and how often it occurs in broken rows."""

    feature: str
    before: str
    after: str
    times: int


@dataclass(frozen=True, eq=False)
class FeatureChanges:
    """Which features one run changed in the rows it broke.

    Attributes:
        attack: the run's attack; "" where no row was broken.
        budget: its budget.
        broken: rows it broke.
        of: the class whose rows are counted; "" for all.
        per_feature: how many of them change each feature.
        lines: the features that were changed, the most frequent first.
        swaps: the most frequent changes.
    """

    attack: str
    budget: int
    broken: int
    of: str
    per_feature: Int64[np.ndarray, "features"]
    lines: tuple[FeatureLine, ...]
    swaps: tuple[Swap, ...]


def strongest_run(results: ResultSet, victim: str) -> RunRows | None:
    """The run that broke most rows of a victim; of equal ones that with the smallest budget, which needs least."""
    runs = [run for run in results.select(victim=victim) if run.hits]
    return max(runs, key=lambda run: (run.hits, -run.facts.budget), default=None)


@dataclass(frozen=True, eq=False)
class ChangeCounts:
    """How often a run made each change in the rows it broke.

    Attributes:
        broken: rows it broke.
        kinds: (feature, before, after) as one number each, in rising order: counting numbers is ten times faster than
            counting triples.
        times: how often each occurs.
    """

    broken: int
    kinds: Int64[np.ndarray, "kinds"]
    times: Int64[np.ndarray, "kinds"]

    def __add__(self, other: "ChangeCounts") -> "ChangeCounts":
        kinds, place = np.unique(np.concatenate([self.kinds, other.kinds]), return_inverse=True)
        times = np.zeros(len(kinds), np.int64)
        np.add.at(times, place, np.concatenate([self.times, other.times]))
        return ChangeCounts(self.broken + other.broken, kinds, times)


def count_changes(results: ResultSet, run: RunRows, of: str = "") -> ChangeCounts:
    """Counts the changes in the broken rows of a run that are held, or in those of one class."""
    broken = run.broken
    if of:
        broken = broken & _is_of(results, of)[run.place]
    made, place = run.changes.take(broken), run.place[broken]
    before = results.clean_ids()[place[made.owner()], made.keys]
    most = max(results.schema.cardinalities)
    kinds, times = np.unique((made.keys * most + before) * most + made.values, return_counts=True)
    return ChangeCounts(len(place), kinds, times)


def _is_of(results: ResultSet, of: str) -> Bool[np.ndarray, "places"]:
    """Which clean rows are of a class."""
    return np.array(results.labels, dtype=np.int64) == results.schema.classes.index(of)


def by_feature(results: ResultSet, victim: str, *, of: str = "", swaps: int = 12) -> FeatureChanges:
    """Counts the changes in the rows that a victim's strongest run broke.

    Other runs are left out: a weak attack's changes say how it searches, not what breaks the victim.

    Args:
        results: the runs.
        victim: whose.
        of: count rows of this class only, unless the run broke none of them: what hides a fraud is not what makes an
            honest row look like one.
        swaps: how many of the most frequent changes are named.
    """
    features = results.schema.features
    run = strongest_run(results, victim)
    if run is None:
        return FeatureChanges("", 0, 0, "", np.zeros(len(features), np.int64), (), ())
    counts = _counts(results, run, victim, of)
    if not counts.broken:
        counts, of = _counts(results, run, victim, ""), ""
    most, kinds, times = max(results.schema.cardinalities), counts.kinds, counts.times
    per_feature = np.zeros(len(features), np.int64)
    np.add.at(per_feature, kinds // most // most, times)
    ranked = _swaps(results, counts)
    commonest: dict[str, Swap] = {}
    for one in ranked:
        commonest.setdefault(one.feature, one)
    lines = []
    for i in np.argsort(-per_feature, kind="stable").tolist():
        if per_feature[i]:
            top = commonest[features[i].name]
            share = float(per_feature[i]) / counts.broken
            lines.append(FeatureLine(i, features[i].name, int(per_feature[i]), share, top.before, top.after, top.times))
    return FeatureChanges(
        run.facts.attack, run.facts.budget, counts.broken, of, per_feature, tuple(lines), tuple(ranked[:swaps])
    )


def _counts(results: ResultSet, run: RunRows, victim: str, of: str) -> ChangeCounts:
    if victim in results.whole and of in results.whole[victim].changes:
        return results.whole[victim].changes[of]
    return count_changes(results, run, of)


def _swaps(results: ResultSet, counts: ChangeCounts) -> list[Swap]:
    """What was changed into what, the most frequent first; numbers and dates by what is written."""
    features, most = results.schema.features, max(results.schema.cardinalities)
    numbers: dict[int, list[Change]] = {}
    found: list[Swap] = []
    for kind, times in zip(counts.kinds.tolist(), counts.times.tolist(), strict=True):
        place, before, after = kind // most // most, kind // most % most, kind % most
        if features[place].is_ordered:
            numbers.setdefault(place, []).append(Change(before, after, times))
            continue
        old, new = features[place].categories[before], features[place].categories[after]
        found.append(Swap(features[place].name, _INVISIBLE.get(old, old), _INVISIBLE.get(new, new), times))
    for place, changes in numbers.items():
        found += [Swap(features[place].name, *words) for words in in_words(features[place], changes)]
    return sorted(found, key=lambda one: -one.times)


@dataclass(frozen=True)
class Frozen:
    """What the records say about a feature that an attacker could no longer change.

    Attributes:
        index: its place in the schema.
        name: of the feature.
        still: rows that fall all the same, over the attacked rows, at each budget: some recorded adversarial row that
            breaks them leaves this feature alone. Others may fall too, to changes that nobody looked for: the true
            success is at least this, and at most that without freezing.
    """

    index: int
    name: str
    still: Mapping[int, Rate]


@dataclass(frozen=True)
class WhatIf:
    """How far success can fall at most when one feature is frozen.

    Attributes:
        of: the class whose rows are counted; "" for all.
        now: success without freezing, at each budget.
        lines: features, those with the largest possible fall first.
    """

    of: str
    now: Mapping[int, Rate]
    lines: tuple[Frozen, ...]

    def fall(self, line: Frozen) -> float:
        """The largest fall of success at any budget, in shares of the attacked rows."""
        return max(((self.now[b].hits - rate.hits) / rate.rows for b, rate in line.still.items()), default=0.0)

    def ranked(self) -> "WhatIf":
        """The same with the lines in order."""
        lines = sorted(sorted(self.lines, key=lambda line: line.index), key=lambda line: -self.fall(line))
        return WhatIf(self.of, self.now, tuple(lines))

    def __add__(self, other: "WhatIf") -> "WhatIf":
        """Adds the counts of other rows."""
        if not self.lines or not other.lines:
            return self if self.lines else other
        theirs = {line.index: line for line in other.lines}
        lines = [
            Frozen(line.index, line.name, added_rates(line.still, theirs[line.index].still)) for line in self.lines
        ]
        return WhatIf(self.of, added_rates(self.now, other.now), tuple(lines)).ranked()

    @property
    def useful(self) -> tuple[Frozen, ...]:
        """The features whose freezing may help."""
        return tuple(line for line in self.lines if self.fall(line) > 0)


def added_rates(one: Mapping[int, Rate], two: Mapping[int, Rate]) -> dict[int, Rate]:
    """Rates over different rows as rates over all of them, by budget."""
    none = Rate(0, 0)
    budgets = sorted({*one, *two})
    pairs = {budget: (one.get(budget, none), two.get(budget, none)) for budget in budgets}
    return {budget: Rate(a.hits + b.hits, a.rows + b.rows) for budget, (a, b) in pairs.items()}


def what_if(results: ResultSet, victim: str, *, of: str = "") -> WhatIf:
    """Recounts a victim's broken rows once for each feature, as if the feature could not be changed.

    Derived columns are left out: nobody writes them, so nobody can be kept from it.

    Args:
        results: the runs. All recorded adversarial rows count, of every attack and every budget up to the row's.
        victim: whose.
        of: count rows of this class only.
    """
    if victim in results.whole and of in results.whole[victim].what_if:
        return results.whole[victim].what_if[of]
    schema, places = results.schema, len(results.clean)
    if places * len(schema.features) > _MOST_CELLS:
        return WhatIf(of, {}, ())
    mine = np.ones(places, np.bool_)
    if of:
        mine = _is_of(results, of)
    now: dict[int, Rate] = {}
    still: list[dict[int, Rate]] = [{} for _ in schema.features]
    for budget, rows in statuses_by_budget(results, victim).items():
        attacked, broken = int((rows.attacked & mine).sum()), rows.broken & mine
        if not attacked:
            continue
        now[budget] = Rate(int(broken.sum()), attacked)
        runs = [run for run in results.select(victim=victim) if run.facts.budget <= budget]
        needed = _needed(runs, places, len(schema.features))
        for feature, lost in enumerate((needed & broken[:, None]).sum(0).tolist()):
            still[feature][budget] = Rate(now[budget].hits - lost, attacked)
    computed = results.derived_columns
    lines = [Frozen(i, f.name, still[i]) for i, f in enumerate(schema.features) if i not in computed] if now else []
    return WhatIf(of, now, tuple(lines)).ranked()


def _needed(runs: list[RunRows], places: int, features: int) -> Bool[np.ndarray, "places features"]:
    """Whether every recorded adversarial row that breaks a row changes a feature."""
    total, used = np.zeros(places, np.int32), np.zeros((places, features), np.int32)
    for run in runs:
        made, place = run.changes.take(run.broken), run.place[run.broken]
        np.add.at(total, place, 1)
        np.add.at(used, (place[made.owner()], made.keys), 1)
    return (used == total[:, None]) & (total[:, None] > 0)
