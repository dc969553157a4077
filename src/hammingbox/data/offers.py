"""Which values of a column an attacker may write: all that were observed, quantiles, the most frequent, or a list."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from hammingbox.data.columns import Column
from hammingbox.data.values import MISSING, ORDERED, number_of, numbers_of, stepped, text_of
from hammingbox.errors import InputError

RULES = ("observed", "quantiles", "frequent", "listed")
_MOST = 10_000
"""Candidates of a column: each is an option that attacks weigh in every row."""


@dataclass(frozen=True)
class Offer:
    """A rule for candidates.

    Attributes:
        column: its name, for messages.
        rule: one of `RULES`.
        count: of quantiles or of frequent values.
        listed: the values of a list.
    """

    column: str
    rule: str
    count: int = 0
    listed: tuple[str, ...] = ()

    @staticmethod
    def of(column: str, candidates: str | tuple[str, ...] | None, *, default: str) -> "Offer":
        """The rule that a schema states.

        Raises:
            InputError: it is none.
        """
        stated = default if candidates is None else candidates
        if not isinstance(stated, str):
            return Offer(column, "listed", listed=tuple(stated))
        if stated == "observed":
            return Offer(column, stated)
        match = re.fullmatch(r"(quantiles|frequent):(\d{1,5})", stated, re.ASCII)
        if match is None or not 1 <= int(match[2]) <= _MOST:
            raise InputError(
                f'expected candidates of column {column!r} as "observed", "quantiles:10", "frequent:20" or a list of '
                f"values, got {stated!r:.80}."
            )
        return Offer(column, match[1], int(match[2]))

    def check(self, kind: str) -> None:
        """Checks that the rule suits a kind of column.

        Raises:
            InputError: quantiles of what has no order, or a listed value that is not of the kind.
        """
        if self.rule == "quantiles" and kind not in ORDERED:
            raise InputError(
                f"expected quantiles only for numbers and dates, got them for column {self.column!r} of kind {kind!r}. "
                'Use "frequent:20".'
            )
        for text in self.listed if kind in ORDERED else ():
            if number_of(text, kind) is None and text != MISSING:
                raise InputError(f"expected a {kind} as candidate of column {self.column!r}, got {text!r:.80}.")

    def values(self, column: Column, kind: str, sentinels: Sequence[str], *, steps: bool) -> tuple[str, ...] | None:
        """The values that the rule comes to; None for every value of the column.

        Args:
            column: the rows.
            kind: of the column.
            sentinels: codes that are never candidates, unless they are listed.
            steps: whether the column has steps, which then replace the default.
        """
        if self.rule == "listed":
            return self.listed
        if self.rule == "observed":
            return None
        if self.rule == "quantiles" and steps:
            return ()
        counts = column.frequencies
        numbers = numbers_of(column.values, kind)
        codes = {number_of(code, kind) for code in sentinels} - {None}
        usable = np.array(
            [
                bool(text)
                and text not in sentinels
                and number not in codes
                and (kind not in ORDERED or number == number)
                for text, number in zip(column.values, numbers.tolist(), strict=True)
            ]
        )
        if self.rule == "quantiles":
            return tuple(column.values[i] for i in _quantiles(numbers, np.where(usable, counts, 0), self.count))
        return tuple([column.values[i] for i in np.argsort(-counts, kind="stable").tolist() if usable[i]][: self.count])


def stepped_texts(texts: Iterable[str], steps: Sequence[float], kind: str, sentinels: Sequence[str]) -> list[str]:
    """The texts that one step leads to, without those below the smallest or above the largest value."""
    codes = {number_of(code, kind) for code in sentinels}
    numbers = [number for number in {number_of(text, kind) for text in texts} - codes if number is not None]
    if not numbers or not steps:
        return []
    low, high = min(numbers), max(numbers)
    reached = {stepped(number, step, kind) for number in numbers for step in steps}
    return [text_of(number, kind) for number in reached if low <= number <= high]


def _quantiles(numbers: np.ndarray, counts: np.ndarray, parts: int) -> list[int]:
    """Indices of the observed values at 0, 1/parts, ..., 1 of the rows; the extremes are among them."""
    order = np.argsort(numbers, kind="stable")  # NaN last, where counts are 0
    below = np.cumsum(counts[order])
    if below[-1] == 0:
        return []
    # The value of the k-th row in increasing order, for ranks that are spread evenly from the first row to the last.
    ranks = np.ceil(np.linspace(0, below[-1] - 1, parts + 1) - 1e-9).astype(np.int64)
    places = np.searchsorted(below, ranks, side="right")
    return list(dict.fromkeys(order[places].tolist()))
