"""What is known about each row: broken, proven or unknown, in one run and over several."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int64

from hammingbox.report.result_set import ResultSet
from hammingbox.report.run_rows import RunRows

STATUSES = ("broken", "proven", "unknown", "wrong before", "not attackable", "not attacked")
"""By status code. Broken: the attack met its goal. Proven: nothing within the budget meets it. Unknown: attacked, and
neither broken nor proven. Wrong before: the victim was wrong without an attack. Not attackable: the threat leaves the
row no change. Not attacked: the goal is impossible for the row, such as a target that is its own class."""

BROKEN, PROVEN, UNKNOWN, WRONG_BEFORE, NOT_ATTACKABLE, NOT_ATTACKED = range(len(STATUSES))


def status_codes(
    *,
    correct: Bool[np.ndarray, "rows"],
    attacked: Bool[np.ndarray, "rows"],
    broken: Bool[np.ndarray, "rows"],
    proven: Bool[np.ndarray, "rows"],
) -> Int64[np.ndarray, "rows"]:
    """The status of each row as a place in `STATUSES`."""
    conditions = [broken, proven & attacked, proven, attacked, ~correct]
    codes = [BROKEN, PROVEN, NOT_ATTACKABLE, UNKNOWN, WRONG_BEFORE]
    return np.select(conditions, codes, NOT_ATTACKED).astype(np.int64)


@dataclass(frozen=True, eq=False)
class RowStatuses:
    """What some runs together say about each clean row of a result set.

    Attributes:
        seen: some run has the row.
        correct: the victim was right before.
        attacked: some run attacked it.
        broken: some run broke it.
        proven: some run has proven that it cannot be broken.
    """

    seen: Bool[np.ndarray, "places"]
    correct: Bool[np.ndarray, "places"]
    attacked: Bool[np.ndarray, "places"]
    broken: Bool[np.ndarray, "places"]
    proven: Bool[np.ndarray, "places"]


def joined_statuses(places: int, runs: Iterable[RunRows]) -> RowStatuses:
    """Joins runs."""
    found = RowStatuses(*(np.zeros(places, np.bool_) for _ in range(5)))
    for run in runs:
        found.seen[run.place] = True
        found.correct[run.place[run.correct]] = True
        found.attacked[run.place[run.attacked]] = True
        found.broken[run.place[run.broken]] = True
        found.proven[run.place[run.proven]] = True
    return found


def statuses_by_budget(results: ResultSet, victim: str) -> dict[int, RowStatuses]:
    """What is known about a victim's rows at each budget it was attacked with.

    A row that is broken with a smaller budget is broken with this one too, and a proof for a larger budget holds for
    this one. Only rows that some run attacked with exactly this budget count: the others were not searched with it.
    """
    found, places = {}, len(results.clean)
    runs = list(results.select(victim=victim))
    for budget in results.budgets:
        here = joined_statuses(places, (run for run in runs if run.facts.budget == budget)).seen
        if here.any():
            smaller = joined_statuses(places, (run for run in runs if run.facts.budget <= budget))
            larger = joined_statuses(places, (run for run in runs if run.facts.budget >= budget))
            found[budget] = RowStatuses(
                seen=here,
                correct=smaller.correct & here,
                attacked=smaller.attacked & here,
                broken=smaller.broken & here,
                proven=larger.proven & here,
            )
    return found


def both_by_budget(results: ResultSet, victim: str) -> dict[int, int]:
    """Rows that are both broken and proven unbreakable, which cannot be, at each budget."""
    if victim in results.whole:
        return dict(results.whole[victim].both)
    found = statuses_by_budget(results, victim)
    return {budget: int((rows.broken & rows.proven).sum()) for budget, rows in found.items()}
