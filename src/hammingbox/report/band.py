"""The band in which the truth lies: rows proven to hold on one side, rows not broken on the other."""

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


def band(results: ResultSet, victim: str) -> list[BandLine]:
    """The band of a victim at every budget, over all attacks and certificates; empty where nothing is proven."""
    labels = np.array(results.labels)
    lines = []
    for budget, known in statuses_by_budget(results, victim).items():
        present = np.unique(labels[known.seen]).tolist()
        by_class = {results.schema.classes[label]: _rates(known, labels == label) for label in present}
        certified, attacked = _rates(known, np.ones_like(known.seen))
        mean = sum(of_class.value for of_class, _ in by_class.values()) / max(1, len(by_class))
        lines.append(BandLine(budget, certified, attacked, by_class, mean))
    proven = any(run.proven.any() for run in results.select(victim=victim))
    return lines if proven else []


def _rates(known: RowStatuses, chosen: Bool[np.ndarray, "places"]) -> tuple[Rate, Rate]:
    rows = int((known.seen & chosen).sum())
    holds = known.correct & (known.proven | ~known.attacked) & ~known.broken & chosen
    stands = known.correct & ~known.broken & chosen
    return Rate(int(holds.sum()), rows), Rate(int(stands.sum()), rows)
