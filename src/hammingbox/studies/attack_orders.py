"""Whether one attack breaks more rows of a victim than another one, by an exact paired test on the same rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import lcm

import numpy as np
from jaxtyping import Int64
from numpy import ndarray

from hammingbox.report.artefacts.table import Column, Table, Value
from hammingbox.studies.grid import GridCell
from hammingbox.studies.order_table import LEVEL
from hammingbox.studies.paired_tests import flip_test, holm

NOTES = (
    "Difference: error under `stronger` minus error under `weaker` in points, on the rows that both have. only "
    "stronger, only weaker: rows that one of the two breaks and the other does not, averaged over seeds.",
    "p: exact test that flips the sign of whole rows; with one seed of both attacks it is McNemar's exact test. Holm: "
    f"corrected for all lines of this table. An order is supported if Holm's p is below {LEVEL}.",
)

_COLUMNS = (
    Column.text("stronger"),
    Column.text("weaker"),
    Column.number("ε"),
    Column.number("rows"),
    Column.number("difference", "+.1f"),
    Column.number("only stronger", ".1f"),
    Column.number("only weaker", ".1f"),
    Column.number("p", ".2g"),
    Column.number("p Holm", ".2g"),
    Column.text("order"),
)


@dataclass(frozen=True)
class AttackOrder:
    """Two attacks on one victim at one budget.

    Attributes:
        stronger: name of the attack that should break more rows.
        weaker: name of the other one.
        budget: number of changes allowed.
        rows: number of rows that both were given.
        only_stronger: rows that only the first breaks, on average over seeds.
        only_weaker: rows that only the second breaks.
        p: of the paired test.
    """

    stronger: str
    weaker: str
    budget: int
    rows: int
    only_stronger: float
    only_weaker: float
    p: float

    @property
    def difference(self) -> float:
        """Of the two errors."""
        return (self.only_stronger - self.only_weaker) / self.rows

    def verdict(self, p_holm: float) -> str:
        """Whether the order is supported."""
        if p_holm >= LEVEL:
            return "not supported"
        return "supported" if self.difference > 0 else "opposite supported"


def compare_attacks(first: GridCell, second: GridCell) -> AttackOrder | None:
    """Compares two attacks on the same victim at the same budget; None if they share no row."""
    if not first.runs or not second.runs:
        return None
    rows = np.intersect1d(first.runs[0].numbers, second.runs[0].numbers)
    if not len(rows):
        return None
    one, two = (_broken(cell, rows) for cell in (first, second))
    scale = lcm(len(one), len(two))
    differences = one.sum(0) * (scale // len(one)) - two.sum(0) * (scale // len(two))
    shares = one.mean(0)[None] * (1 - two), two.mean(0)[None] * (1 - one)
    only_first, only_second = (float(part.sum(1).mean()) for part in shares)
    return AttackOrder(
        first.attack, second.attack, first.budget, len(rows), only_first, only_second, flip_test(differences)
    )


def _broken(cell: GridCell, rows: Int64[ndarray, "some"]) -> Int64[ndarray, "seeds some"]:
    """Which of these rows are wrong after the attack, for each seed."""
    numbers = cell.runs[0].numbers
    order = np.argsort(numbers)
    places = order[np.isin(numbers[order], rows)]
    return np.array([run.wrong_after[places] for run in cell.runs]).astype(np.int64)


def attack_orders(title: str, cells: Sequence[GridCell], pairs: Sequence[tuple[str, str]]) -> Table:
    """One line per pair of attacks and budget, with Holm's correction over all of them.

    Args:
        title: of the table.
        cells: all attacks on one victim.
        pairs: names of attacks, the one that should break more rows first.
    """
    by_name = {(cell.attack, cell.budget): cell for cell in cells}
    budgets = sorted({cell.budget for cell in cells})
    found = [
        order
        for first, second in pairs
        for budget in budgets
        if (first, budget) in by_name and (second, budget) in by_name
        if (order := compare_attacks(by_name[first, budget], by_name[second, budget])) is not None
    ]
    adjusted = holm([order.p for order in found])
    rows = tuple(_row(order, p_holm) for order, p_holm in zip(found, adjusted, strict=True))
    return Table(title, _COLUMNS, rows, notes=NOTES)


def _row(order: AttackOrder, p_holm: float) -> tuple[Value, ...]:
    return (
        order.stronger, order.weaker, order.budget, order.rows, 100 * order.difference, order.only_stronger,
        order.only_weaker, order.p, p_holm, order.verdict(p_holm),
    )  # fmt: skip
