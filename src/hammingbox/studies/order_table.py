"""Whether an order between two lines of a defence table is more than noise of rows and trainings."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from hammingbox.report.artefacts.table import Column, Interval, Table, Value
from hammingbox.studies.bootstrap import difference_interval
from hammingbox.studies.line_errors import LineErrors, paired
from hammingbox.studies.paired_tests import flip_test, holm
from hammingbox.studies.recipe import Recipe

LEVEL = 0.05

NOTES = (
    "Order: `lower` should have the lower error. Difference in points, `lower` minus `higher`, on the training seeds "
    "and rows that both have; its 95 % interval covers rows (resampled) and trainings (Student's t).",
    "p: exact test that flips the sign of whole rows, over all trainings together; for one training it is McNemar's "
    "exact test. Holm: corrected for all pairs of this table under the same attack.",
    f"An order is supported if Holm's p is below {LEVEL} and the interval leaves 0 out, and is not claimed otherwise. "
    "One training shows an order of two victims, not of two methods.",
)

_COLUMNS = (
    Column.text("lower"),
    Column.text("higher"),
    Column.text("attack"),
    Column.number("difference", "+.1f"),
    Column.interval("95 % interval", "+.1f"),
    Column.text("p per training"),
    Column.number("p", ".2g"),
    Column.number("p Holm", ".2g"),
    Column.number("trainings"),
    Column.number("rows"),
    Column.text("order"),
    Column.number("paper", "+.1f"),
)


@dataclass(frozen=True)
class Comparison:
    """One line: two victims under one attack.

    Attributes:
        lower: name of the line whose error should be lower.
        higher: name of the other one.
        attack: what they are compared under.
        difference: of their errors, lower minus higher.
        interval: 95 % interval of the difference, over rows and trainings.
        of_trainings: p-value of each training.
        p: of all trainings together.
        rows: rows of each training.
        paper: the paper's difference in points, if it has both numbers.
    """

    lower: str
    higher: str
    attack: str
    difference: float
    interval: Interval
    of_trainings: tuple[float, ...]
    p: float
    rows: int
    paper: float | None = None

    def verdict(self, p_holm: float) -> str:
        """Whether the order is supported."""
        clear = p_holm < LEVEL and not self.interval.low <= 0 <= self.interval.high
        if not clear:
            return "not supported"
        word = "supported" if self.difference < 0 else "opposite supported"
        return word if len(self.of_trainings) > 1 else f"{word} (one training)"


def compare(
    lower: Recipe, higher: Recipe, attack: str, errors: tuple[LineErrors | None, LineErrors | None],
    paper: float | None = None,
) -> Comparison | None:  # fmt: skip
    """Compares two lines; None if one of them did not run, or if they share no training seed.

    Args:
        lower: the line whose error should be lower.
        higher: the other one.
        attack: what they are compared under.
        errors: of both.
        paper: the paper's difference in points.
    """
    first, second = errors
    both = None if first is None or second is None else paired(first, second)
    if both is None:
        return None
    one, two = both
    # Counts per training and row, over the seeds of the attack. A union over attacks has one seed, whatever they have.
    scale = np.lcm(one.wrong.shape[1], two.wrong.shape[1])
    differences = np.rint((one.shares - two.shares) * scale).astype(np.int64)
    return Comparison(
        lower.name, higher.name, attack, float((one.shares - two.shares).mean()), difference_interval(one, two),
        tuple(flip_test(training) for training in differences), flip_test(differences.sum(0)), len(one.numbers), paper,
    )  # fmt: skip


def order_table(title: str, comparisons: Sequence[Comparison]) -> Table:
    """One line per pair and attack, with Holm's correction over the pairs under one attack."""
    adjusted: dict[int, float] = {}
    for _, family in groupby(sorted(comparisons, key=lambda c: c.attack), key=lambda c: c.attack):
        members = list(family)
        adjusted.update(zip(map(id, members), holm([one.p for one in members]), strict=True))
    rows = tuple(_row(one, adjusted[id(one)]) for one in comparisons)
    return Table(title, _COLUMNS, rows, notes=NOTES)


def _row(one: Comparison, p_holm: float) -> tuple[Value, ...]:
    return (
        one.lower, one.higher, one.attack, 100 * one.difference, Interval(*(100 * end for end in one.interval)),
        ", ".join(f"{p:.2g}" for p in one.of_trainings), one.p, p_holm, len(one.of_trainings), one.rows,
        one.verdict(p_holm), one.paper,
    )  # fmt: skip


def matching_pairs(lines: Sequence[Recipe], compared: Sequence[tuple[str, str]]) -> list[tuple[Recipe, Recipe]]:
    """The lines that pairs of labels name.

    A pair also names lines that begin alike: ("PAdvT", "ASCC") names "word CNN, PAdvT" and "word CNN, ASCC", and the
    same two of every other model.
    """
    found = []
    for first, second in compared:
        for line in lines:
            begin = line.label.removesuffix(first)
            if not line.label.endswith(first) or (begin and not begin.endswith(", ")):
                continue
            found += [
                (line, other)
                for other in lines
                if other.label == begin + second and (other.data, other.neighbours) == (line.data, line.neighbours)
            ]
    return found
