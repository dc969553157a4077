"""The band in which the truth lies: rows proven to hold on one side, rows not broken on the other."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool

from hammingbox.evaluation.rates import Rate
from hammingbox.report.result_set import ResultSet
from hammingbox.report.status import RowStatuses, statuses_by_budget


@dataclass(frozen=True)
class BandLine:
    """Certified and attacked accuracy of a victim at a budget: the robust accuracy lies between the two.

    Attributes:
        budget: changed features at most.
        certified: rows that are right and proven to hold, over all rows.
        attacked: rows that are right and that nothing has broken, over all rows.
        by_class: the same for every class that occurs.
        class_mean: the mean certified accuracy of the classes; a constant answer has 1 / classes.
    """

    budget: int
    certified: Rate
    attacked: Rate
    by_class: dict[str, tuple[Rate, Rate]]
    class_mean: float

    @property
    def rates(self) -> tuple[Rate, Rate]:
        """Certified and attacked accuracy of all rows."""
        return self.certified, self.attacked

    def to_json(self) -> dict[str, object]:
        """Numbers for a script."""
        return {
            "budget": self.budget,
            "certified": self.certified.value,
            "attacked": self.attacked.value,
            "class_mean": self.class_mean,
            "classes": {
                name: {"rows": certified.rows, "certified": certified.value, "attacked": attacked.value}
                for name, (certified, attacked) in self.by_class.items()
            },
        }


def band(results: ResultSet, victim: str) -> list[BandLine]:
    """The band of a victim at every budget, over all attacks and certificates; empty where nothing is proven."""
    proven = any(run.summary.get("proven") for run in results.select(victim=victim))
    if not proven:
        return []
    return list(results.whole[victim].band) if victim in results.whole else band_lines(results, victim)


def band_lines(results: ResultSet, victim: str) -> list[BandLine]:
    """The same, also where nothing is proven."""
    labels = np.array(results.labels)
    lines = []
    for budget, known in statuses_by_budget(results, victim).items():
        present = np.unique(labels[known.seen]).tolist()
        by_class = {results.schema.classes[label]: _rates(known, labels == label) for label in present}
        certified, attacked = _rates(known, np.ones_like(known.seen))
        lines.append(BandLine(budget, certified, attacked, by_class, _mean(by_class)))
    return lines


def added_lines(one: Sequence[BandLine], two: Sequence[BandLine], classes: Sequence[str]) -> list[BandLine]:
    """The bands of different rows as the band of all of them.

    Args:
        one: of some rows.
        two: of others.
        classes: in their order.
    """
    found = {line.budget: line for line in one}
    for line in two:
        known = found.get(line.budget)
        if known is None:
            found[line.budget] = line
            continue
        by_class = {
            name: _added(known.by_class.get(name), line.by_class.get(name))
            for name in classes
            if name in known.by_class or name in line.by_class
        }
        certified, attacked = _added((known.certified, known.attacked), (line.certified, line.attacked))
        found[line.budget] = BandLine(line.budget, certified, attacked, by_class, _mean(by_class))
    return [found[budget] for budget in sorted(found)]


def _added(one: tuple[Rate, Rate] | None, two: tuple[Rate, Rate] | None) -> tuple[Rate, Rate]:
    none = (Rate(0, 0), Rate(0, 0))
    first, second = (Rate(a.hits + b.hits, a.rows + b.rows) for a, b in zip(one or none, two or none, strict=True))
    return first, second


def _mean(by_class: dict[str, tuple[Rate, Rate]]) -> float:
    return sum(of_class.value for of_class, _ in by_class.values()) / max(1, len(by_class))


def _rates(known: RowStatuses, chosen: Bool[np.ndarray, "places"]) -> tuple[Rate, Rate]:
    rows = int((known.seen & chosen).sum())
    holds = known.correct & (known.proven | ~known.attacked) & ~known.broken & chosen
    stands = known.correct & ~known.broken & chosen
    return Rate(int(holds.sum()), rows), Rate(int(stands.sum()), rows)
