"""What one column of a table may hold, and which of its values an attacker may write."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import isfinite

import numpy as np

from hammingbox.data.columns import Column
from hammingbox.data.offers import Offer, stepped_texts
from hammingbox.data.values import KINDS, MISSING, ORDERED, number_of, numbers_of, ordered_texts
from hammingbox.errors import InputError, unknown_name

_SCHEMA_FILE = "`hammingbox data inspect FILE --label COLUMN --out schema.toml` writes one; pass it as --schema."
"""Many users have none: what is inferred from the table is enough until another file has an unknown value."""


@dataclass(frozen=True)
class ColumnRules:
    """What one column may hold, and what an attacker may do with it.

    Attributes:
        name: in the file.
        categories: the values a category column may hold; None, without bins, to take them from the rows.
        bins: the edges that cut a column of numbers into categories.
        missing: whether empty cells are allowed; they become the category `<missing>`.
        immutable: whether an attacker cannot change it.
        forbidden: categories an attacker cannot write.
        kind: "category", "number", "date" or "boolean".
        candidates: what an attacker may write: "observed" (every value), "quantiles:N", "frequent:N", or a list of
            values. None is "quantiles:10" for numbers and dates without steps, and "observed" for other columns.
        steps: what an attacker may add to a number; days for a date.
        sentinels: codes that stand for "not known". They stay what they are, but are no candidates (unless listed as
            such) and do not enter quantiles.
        values: what the rows hold; `complete` fills it in.
        offered: the values that `candidates` came to; None for every value. `complete` fills it in.
    """

    name: str
    categories: tuple[str, ...] | None = None
    bins: tuple[float, ...] | None = None
    missing: bool = False
    immutable: bool = False
    forbidden: tuple[str, ...] = ()
    kind: str = "category"
    candidates: str | tuple[str, ...] | None = None
    steps: tuple[float, ...] = ()
    sentinels: tuple[str, ...] = ()
    values: tuple[str, ...] | None = None
    offered: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.categories is not None and self.bins is not None:
            raise InputError(f"expected categories or bins for column {self.name!r}, got both. Delete one of them.")
        if self.bins is not None and (not self.bins or any(b <= a for a, b in pairwise(self.bins))):
            raise InputError(f"expected increasing edges as bins of column {self.name!r}, got {list(self.bins)}.")
        if self.kind not in KINDS:
            raise unknown_name(f"kind of column {self.name!r}", str(self.kind), KINDS)
        if self.kind != "category" and (self.categories is not None or self.bins is not None):
            raise InputError(
                f"expected categories and bins only in category columns, got them in column {self.name!r} of kind "
                f"{self.kind!r}. Delete them or the kind."
            )
        if self.steps and not self.is_ordered:
            raise InputError(f"expected steps only in columns of numbers or dates, got them in column {self.name!r}.")
        self.offer.check(self.kind)

    @property
    def is_ordered(self) -> bool:
        """Whether it holds numbers or dates."""
        return self.kind in ORDERED

    @cached_property
    def offer(self) -> Offer:
        """How the values are chosen that an attacker may write."""
        return Offer.of(self.name, self.candidates, default="observed" if not self.is_ordered else "quantiles:10")

    @property
    def unwritable(self) -> tuple[str, ...]:
        """What an attacker cannot write: forbidden values, and what is none, where it is not a candidate by name."""
        if self.offer.rule == "listed":
            return self.forbidden
        codes = [text for text in self.sentinels if text in self.words]
        if self.is_ordered:
            known = {number: i for i, number in enumerate(numbers_of(self.words, self.kind).tolist())}
            found = {known.get(number) for code in self.sentinels if (number := number_of(code, self.kind)) is not None}
            codes += [self.words[i] for i in found if i is not None] + [MISSING] * self.missing
        return tuple(dict.fromkeys([*self.forbidden, *codes]))

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Its categories as results show them, without `<unknown>`."""
        own = (self.values if self.categories is None else self.categories) or ()
        if self.bins is not None:
            edges = [f"{edge:.12g}" for edge in self.bins]
            own = (f"< {edges[0]}", *(f"{a} .. {b}" for a, b in pairwise(edges)), f">= {edges[-1]}")
        return (*own, MISSING) if self.missing else own

    def complete(self, column: Column, others: Sequence[Column] = ()) -> "ColumnRules":
        """Takes what is neither stated nor known already from the rows.

        Args:
            column: the rows that decide categories and candidates.
            others: further rows. Their numbers and dates are values like any other; their categories may be unknown.
        """
        is_new = self.values is None
        parts = (column, *others) if self.is_ordered else (column,)
        missing = self.missing or (
            self.takes_values and (is_new or self.is_ordered) and any("" in part.values for part in parts)
        )
        offered = (
            self.offer.values(column, self.kind, self.sentinels, steps=bool(self.steps)) if is_new else self.offered
        )
        values = self.values
        if self.is_ordered:
            found = [*(self.values or ()), *(text for part in parts for text in part.values)]
            more = stepped_texts(found, self.steps, self.kind, self.sentinels)
            codes = [s for s in self.sentinels if number_of(s, self.kind) is None and s in found]
            values = (*ordered_texts([*found, *(offered or ()), *more], self.kind), *dict.fromkeys(codes))
        elif is_new and self.takes_values:
            values = ordered_texts(column.values, self.kind) if self.kind == "boolean" else sorted_texts(column.values)
        return replace(self, values=values, missing=missing, offered=offered)

    @property
    def takes_values(self) -> bool:
        """Whether its values come from the rows."""
        return self.categories is None and self.bins is None

    def ids_of(self, texts: Iterable[str]) -> list[int | None]:
        """The id of each text of the file; None for an unknown value."""
        found = list(texts)
        empty = len(self.words) - 1 if self.missing else None
        if self.bins is not None:
            numbers = [number_of(text, "number") for text in found]
            # All at once: a column may have a million distinct numbers.
            places = np.searchsorted(self.bins, [0.0 if number is None else number for number in numbers], side="right")
            return [
                empty if text == "" else None if number is None else place
                for text, number, place in zip(found, numbers, places.tolist(), strict=True)
            ]
        known: dict[str, int | None] = {word: index for index, word in enumerate(self.words) if word != MISSING}
        if self.kind == "category":
            return [empty if text == "" else known.get(text) for text in found]
        by_number = {
            number: i for i, number in enumerate(numbers_of(self.words, self.kind).tolist()) if isfinite(number)
        }
        numbers = [number_of(text, self.kind) for text in found]
        return [
            empty if text == "" else known.get(text) if number is None else by_number.get(number)
            for text, number in zip(found, numbers, strict=True)
        ]

    def unknown_value(self, value: str, row: int, source: str) -> InputError:
        """The error for a value that the column does not hold."""
        got = f"{value!r:.80}" if value else "an empty cell"
        where = f"in row {row} of {source}"
        if not value or self.kind == "category":
            shown = ", ".join(self.words[:8]) + (", ..." if len(self.words) > 8 else "")
            return InputError(
                f"expected a known category of column {self.name!r} ({shown}), got {got} {where}. "
                'In a schema file, add it to the column, set unknown = "category", or leave out a column of '
                f"identifiers. {_SCHEMA_FILE}"
            )
        if number_of(value, self.kind) is None:
            return InputError(
                f"expected a {self.kind} in column {self.name!r}, got {got} {where}. "
                'In a schema file, list it under sentinels if it is a code, set unknown = "category", or use '
                f'kind = "category". {_SCHEMA_FILE}'
            )
        return InputError(
            f"expected a value of column {self.name!r} that was read with the schema, got {got} {where}. "
            "Load all files together: load_table(train, test=...), or --train and --test."
        )


def sorted_texts(values: Iterable[str]) -> tuple[str, ...]:
    """Numbers in numerical order, then other texts in alphabetical order; empty texts are left out."""
    numbered = [(number_of(text, "number"), text) for text in values if text]
    return tuple(text for _, text in sorted((float("inf") if n is None else n, text) for n, text in numbered))
