"""What the ids of a row mean: the features, the categories of each feature, and the classes."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hammingbox.data.mapped import forget_pages
from hammingbox.data.values import KINDS, MISSING, ORDERED, Numbers, number_of, numbers_of
from hammingbox.data.whole_numbers import whole_numbers
from hammingbox.errors import FileError, InputError, did_you_mean, unknown_name
from hammingbox.files import sha256
from hammingbox.types import Ids, Labels

_CHECKED = 2**16
"""Rows that are checked at once."""
_SEPARATORS = "\x1d\x1e\x1f"
"""Stand between names in the text that `Schema.digest` hashes."""


@dataclass(frozen=True)
class Feature:
    """A column: its name, its categories and their kind. The id of a category is its index in the tuple.

    The categories of a number or a date are its distinct values, as texts, in increasing order. What is no value
    (`<missing>`, `<unknown>`, codes such as "?") comes last.

    Attributes:
        name: of the column.
        categories: what it may hold.
        kind: "category", "number", "date" or "boolean".

    Raises:
        InputError: `categories` is one string, whose letters would become categories, or no sequence at all; the kind
            is unknown, or values are not in increasing order.
    """

    name: str
    categories: tuple[str, ...]
    kind: str = "category"

    def __post_init__(self) -> None:
        object.__setattr__(self, "categories", _listed(self.categories, f"categories of feature {self.name!r}"))
        if self.kind not in KINDS:
            raise unknown_name(f"kind of feature {self.name!r}", str(self.kind), KINDS)
        if self.is_ordered:
            _check_names(self.categories, f"values in feature {self.name!r}")
            values = self.numbers[: len(self.categories) - int(np.isnan(self.numbers).sum())]
            if np.isnan(values).any() or (np.diff(values) <= 0).any():
                raise InputError(
                    f"expected the values of feature {self.name!r} in increasing order and then what is no "
                    f"{self.kind}, got another order. Sort them."
                )

    @property
    def is_ordered(self) -> bool:
        """Whether its values are numbers or dates."""
        return self.kind in ORDERED

    @cached_property
    def numbers(self) -> Numbers:
        """The number of each category (seconds since 1970 for a date, 0 or 1 for a boolean); NaN if it has none."""
        return numbers_of(self.categories, self.kind)

    def id_of(self, value: str | int | float) -> int | None:
        """The id of a value: a category as text, or a number or date in any of its forms; None if it has no id."""
        if self.kind != "category":
            number = number_of(value if isinstance(value, str) else repr(value), self.kind)
            if number is not None:
                places = (self.numbers == number).nonzero()[0]
                return int(places[0]) if len(places) else None
        # No table of texts is kept: positions of a text share one vocabulary, but each would have a table of its own.
        return self.categories.index(value) if value in self.categories else None

    def __repr__(self) -> str:
        noun = "value" if self.is_ordered else "category"
        return f"Feature({self.name!r}, {_counted(len(self.categories), noun)}: {_first(self.categories, 4)})"


@dataclass(frozen=True)
class Schema:
    """The features with their categories, and the classes. Features may have different numbers of categories."""

    features: tuple[Feature, ...]
    classes: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", _listed(self.features, "features"))
        object.__setattr__(self, "classes", _listed(self.classes, "classes"))
        if not self.features:
            raise InputError("expected a schema with at least one feature, got none.")
        if not all(isinstance(feature, Feature) for feature in self.features):
            raise InputError("expected features as Feature(name, categories), got something else.")
        if len(self.classes) < 2:
            raise InputError(f"expected at least two classes, got {list(self.classes)}.")
        _check_names(self.classes, "classes")
        _check_names([feature.name for feature in self.features], "feature names")
        # Positions of a text share one vocabulary, which is checked once.
        for feature in {id(feature.categories): feature for feature in self.features}.values():
            if not feature.categories:
                raise InputError(f"expected at least one category in feature {feature.name!r}, got none.")
            _check_names(feature.categories, f"categories in feature {feature.name!r}")

    def __repr__(self) -> str:
        fewest, most = min(self.cardinalities), max(self.cardinalities)
        span = _counted(most, "category") if fewest == most else f"{fewest} to {most} categories"
        features, classes = _counted(len(self.features), "feature"), _first(self.classes, 6)
        return f"Schema({features} of {span}; {len(self.classes)} classes: {classes})"

    @classmethod
    def sequence(cls, length: int, alphabet: Iterable[str], classes: Iterable[str], *, prefix: str = "") -> "Schema":
        """Positions that share one alphabet, as in DNA, characters, tokens and event logs."""
        shared = tuple(alphabet)
        return cls(tuple(Feature(f"{prefix}{i + 1}", shared) for i in range(length)), tuple(classes))

    @cached_property
    def cardinalities(self) -> tuple[int, ...]:
        """Number of categories of each feature."""
        return tuple(len(feature.categories) for feature in self.features)

    @cached_property
    def shares_alphabet(self) -> bool:
        """Whether all features have the same categories, so that an id means the same at each position."""
        first = self.features[0].categories
        return all(f.categories is first or f.categories == first for f in self.features)

    @cached_property
    def has_numbers(self) -> bool:
        """Whether some feature is a number or a date."""
        return any(feature.is_ordered for feature in self.features)

    @cached_property
    def digest(self) -> str:
        """Identifies the meaning of ids: weights and results with equal digests belong together."""
        if self.has_numbers:
            return sha256(b"\x1b", json.dumps(self.to_json(), sort_keys=True).encode())
        vocabularies, places = self._vocabularies()
        lists = [*vocabularies, [feature.name for feature in self.features], self.classes]
        if any(mark in text for text in map("".join, lists) for mark in _SEPARATORS):
            # A separator inside a name would make two schemas one. Other schemas keep the hash that files know.
            return sha256(b"\x1c", json.dumps(self.to_json(), sort_keys=True).encode())
        joined = ("\x1e".join("\x1f".join(words) for words in vocabularies)).encode()
        names = "\x1f".join(feature.name for feature in self.features).encode()
        return sha256(
            joined, b"\x1d", names, b"\x1d", str(places).encode(), b"\x1d", "\x1f".join(self.classes).encode()
        )

    @cached_property
    def form_digest(self) -> str:
        """Like `digest`, but blind to which numbers and dates occur.

        A model that reads numbers as numbers fits every schema with an equal one.
        """
        if not self.has_numbers:
            return self.digest
        blank = (
            replace(feature, categories=(MISSING,)) if feature.is_ordered else feature for feature in self.features
        )
        return Schema(tuple(blank), self.classes).digest

    def feature_index(self, name: str) -> int:
        """The index of a feature.

        Raises:
            InputError: no feature has this name.
        """
        for index, feature in enumerate(self.features):
            if feature.name == name:
                return index
        names = [feature.name for feature in self.features]
        raise InputError(
            f"expected the name of a feature ({_first(names, 12)}), got {name!r}.{did_you_mean(name, names)}"
        )

    def category_id(self, feature: int, category: str | int | float) -> int:
        """The id of a category of a feature; of a number or a date in any of its forms.

        Raises:
            InputError: the feature has no such category.
        """
        known = self.features[feature].categories
        place = self.features[feature].id_of(category)
        if place is None:
            raise InputError(
                f"expected a category of feature {self.features[feature].name!r} ({_first(known, 12)}), "
                f"got {category!r}.{did_you_mean(str(category), known)}"
            )
        return place

    def decode(self, ids: Sequence[int]) -> tuple[str, ...]:
        """The categories of one row."""
        return tuple(feature.categories[i] for feature, i in zip(self.features, ids, strict=True))

    def check_ids(self, ids: Tensor, *, what: str = "rows") -> None:
        """Checks that ids are a batch of rows of this schema.

        Raises:
            InputError: the type or shape is wrong, or an id is not a category of its feature.
        """
        n = len(self.features)
        ids = whole_numbers(ids, f"category ids in {what}")
        if ids.dim() != 2 or ids.shape[1] != n:
            raise InputError(
                f"expected {what} of shape (batch, {n}), got {tuple(ids.shape)}. Each row needs one id per feature."
            )
        limits = torch.tensor(self.cardinalities, device=ids.device)
        for begin in range(0, len(ids), _CHECKED):
            part = ids[begin : begin + _CHECKED]
            wrong = ((part < 0) | (part >= limits)).nonzero()
            forget_pages(part)
            if len(wrong):
                row, feature = wrong[0].tolist()
                raise InputError(
                    f"expected ids 0..{self.cardinalities[feature] - 1} in feature {self.features[feature].name!r}, "
                    f"got {int(part[row, feature])} in row {begin + row} of {what}. "
                    "Encode rows with this schema first."
                )

    def check_labels(self, labels: Tensor, rows: int) -> None:
        """Checks that there is one class id per row.

        Raises:
            InputError: the number, type or range of labels is wrong.
        """
        labels = whole_numbers(labels, "labels")
        if labels.shape != (rows,):
            raise InputError(f"expected {rows} integer labels, got {labels.dtype} of shape {tuple(labels.shape)}.")
        wrong = ((labels < 0) | (labels >= len(self.classes))).nonzero()
        if len(wrong):
            row = int(wrong[0, 0])
            raise InputError(
                f"expected labels 0..{len(self.classes) - 1} ({', '.join(self.classes[:12])}), "
                f"got {int(labels[row])} in row {row}."
            )

    def as_ids(self, rows: Any, *, what: str = "rows") -> Ids:
        """Rows that a user passed (a tensor, an array or lists, of any integer type) as checked int64 ids.

        Raises:
            InputError: they are not rows of this schema.
        """
        ids = whole_numbers(rows, f"category ids in {what}")
        self.check_ids(ids, what=what)
        return ids.to(torch.int64)

    def as_labels(self, labels: Any, rows: int) -> Labels:
        """Labels that a user passed (a tensor, an array or a list, of any integer type) as checked int64 class ids.

        Raises:
            InputError: they are not one class id per row.
        """
        found = whole_numbers(labels, "labels")
        self.check_labels(found, rows)
        return found.to(torch.int64)

    def to_json(self) -> dict[str, Any]:
        """A JSON form; a vocabulary that many positions share is written once, kinds only if there are several."""
        vocabularies, places = self._vocabularies()
        features = [[feature.name, place] for feature, place in zip(self.features, places, strict=True)]
        kinds = [feature.kind for feature in self.features]
        return {
            "vocabularies": [list(v) for v in vocabularies],
            "features": features,
            "classes": list(self.classes),
        } | ({} if set(kinds) == {"category"} else {"kinds": kinds})

    @classmethod
    def from_json(cls, value: Any) -> "Schema":
        """Inverse of `to_json`.

        Raises:
            FileError: the value is not a schema.
        """
        try:
            vocabularies = [_listed(words, "categories") for words in value["vocabularies"]]
            if any(isinstance(place, bool) or place < 0 for _, place in value["features"]):
                raise ValueError("expected a vocabulary counted from 0")
            kinds = _listed(value.get("kinds", ["category"] * len(value["features"])), "kinds")
            return cls(
                tuple(
                    Feature(name, vocabularies[place], kind)
                    for (name, place), kind in zip(value["features"], kinds, strict=True)
                ),
                _listed(value["classes"], "classes"),
            )
        except (KeyError, TypeError, IndexError, ValueError, OverflowError, AttributeError) as error:
            raise FileError(
                f"expected a schema (vocabularies, features, classes), got damaged JSON ({error})."
            ) from error

    def _vocabularies(self) -> tuple[list[tuple[str, ...]], list[int]]:
        """The distinct vocabularies, and for each feature the index of its vocabulary.

        Positions of a sequence share one tuple, so vocabularies are first compared by identity: comparing
        20,000 words at each of 256 positions would be slow.
        """
        index: dict[tuple[str, ...], int] = {}
        by_identity: dict[int, int] = {}
        places = []
        for feature in self.features:
            place = by_identity.get(id(feature.categories))
            if place is None:
                place = index.setdefault(feature.categories, len(index))
                by_identity[id(feature.categories)] = place
            places.append(place)
        return list(index), places


def _first(names: Sequence[str], most: int) -> str:
    """The first names of a list that may be long."""
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def _counted(number: int, noun: str) -> str:
    """A number with its noun: "1 category", "5 categories", "2 features"."""
    return f"{number:,} {noun if number == 1 else noun[:-1] + 'ies' if noun.endswith('y') else noun + 's'}"


def _listed(values: Any, what: str) -> tuple[Any, ...]:
    """A sequence as a tuple.

    Raises:
        InputError: it is one string, or nothing that has items.
    """
    if isinstance(values, tuple):
        return values
    if isinstance(values, str | bytes | dict) or not isinstance(values, Iterable):
        raise InputError(f"expected a list of {what}, got {values!r:.80}. Write them as a tuple, one text each.")
    return tuple(values)


def _check_names(names: Sequence[Any], what: str) -> None:
    """Checks that names are distinct texts which can be written to a file.

    Raises:
        InputError: they are not.
    """
    if not all(isinstance(name, str) for name in names):
        odd = next(name for name in names if not isinstance(name, str))
        raise InputError(f"expected {what} as text, got {odd!r:.80}. Write numbers as text.")
    if len(set(names)) != len(names):
        raise InputError(f"expected distinct {what}, got {len(names)} with repeats. Rename the repeated ones.")
    try:
        "".join(names).encode()
    except UnicodeEncodeError as error:
        raise InputError(f"expected {what} as text that UTF-8 can write, got half of a surrogate pair.") from error
