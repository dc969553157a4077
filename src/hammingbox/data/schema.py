"""What rows mean (Schema), rows and labels (Dataset), and their division (Splits)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hammingbox.errors import FileError, InputError
from hammingbox.files import sha256
from hammingbox.types import Ids, Labels


@dataclass(frozen=True)
class Feature:
    """A column: its name and the categories it may hold. A category's id is its place in the tuple."""

    name: str
    categories: tuple[str, ...]


@dataclass(frozen=True)
class Schema:
    """Features with their categories, and the classes. Cardinalities may differ from feature to feature."""

    features: tuple[Feature, ...]
    classes: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.features:
            raise InputError("expected a schema with at least one feature, got none.")
        if len(self.classes) < 2:
            raise InputError(f"expected at least two classes, got {list(self.classes)}.")
        for vocabulary in {id(f.categories): f.categories for f in self.features}.values():
            if not vocabulary or len(set(vocabulary)) != len(vocabulary):
                owner = next(f.name for f in self.features if f.categories is vocabulary)
                raise InputError(
                    f"expected distinct categories in feature {owner!r}, got {len(vocabulary)} with repeats."
                )
        names = [feature.name for feature in self.features]
        if len(set(names)) != len(names):
            raise InputError("expected distinct feature names, got repeats. Rename the repeated columns.")

    @classmethod
    def sequence(cls, length: int, alphabet: Iterable[str], classes: Iterable[str], *, prefix: str = "") -> "Schema":
        """Positions that share one alphabet: DNA, characters, tokens, event logs."""
        shared = tuple(alphabet)
        return cls(tuple(Feature(f"{prefix}{i + 1}", shared) for i in range(length)), tuple(classes))

    @cached_property
    def cardinalities(self) -> tuple[int, ...]:
        """Number of categories of each feature."""
        return tuple(len(feature.categories) for feature in self.features)

    @cached_property
    def shares_alphabet(self) -> bool:
        """Whether all features have the same categories (then a category means the same at each position)."""
        first = self.features[0].categories
        return all(f.categories is first or f.categories == first for f in self.features)

    @cached_property
    def digest(self) -> str:
        """Identifies the meaning of ids: equal digests mean that weights and results fit together."""
        vocabularies, places = self._vocabularies()
        joined = ("\x1e".join("\x1f".join(words) for words in vocabularies)).encode()
        names = "\x1f".join(feature.name for feature in self.features).encode()
        return sha256(
            joined, b"\x1d", names, b"\x1d", str(places).encode(), b"\x1d", "\x1f".join(self.classes).encode()
        )

    def feature_index(self, name: str) -> int:
        """Position of a feature.

        Raises:
            InputError: no feature has this name.
        """
        for index, feature in enumerate(self.features):
            if feature.name == name:
                return index
        shown = ", ".join(feature.name for feature in self.features[:12])
        raise InputError(
            f"expected the name of a feature ({shown}{', ...' if len(self.features) > 12 else ''}), got {name!r}."
        )

    def category_id(self, feature: int, category: str) -> int:
        """Id of a category in a feature.

        Raises:
            InputError: the feature has no such category.
        """
        known = self.features[feature].categories
        if category not in known:
            shown = ", ".join(known[:12]) + (", ..." if len(known) > 12 else "")
            raise InputError(
                f"expected a category of feature {self.features[feature].name!r} ({shown}), got {category!r}."
            )
        return known.index(category)

    def decode(self, ids: Sequence[int]) -> tuple[str, ...]:
        """The categories of one row."""
        return tuple(feature.categories[i] for feature, i in zip(self.features, ids, strict=True))

    def check_ids(self, ids: Tensor, *, what: str = "rows") -> None:
        """Checks that ids are a batch of rows of this schema.

        Raises:
            InputError: wrong type or shape, or an id outside its feature's categories.
        """
        n = len(self.features)
        if ids.dim() != 2 or ids.shape[1] != n:
            raise InputError(
                f"expected {what} of shape (batch, {n}), got {tuple(ids.shape)}. Each row needs one id per feature."
            )
        if ids.is_floating_point() or ids.dtype == torch.bool:
            raise InputError(f"expected integer category ids in {what}, got {ids.dtype}. Pass ids, not one-hot rows.")
        limits = torch.tensor(self.cardinalities, device=ids.device)
        wrong = ((ids < 0) | (ids >= limits)).nonzero()
        if len(wrong):
            row, feature = wrong[0].tolist()
            raise InputError(
                f"expected ids 0..{self.cardinalities[feature] - 1} in feature {self.features[feature].name!r}, "
                f"got {int(ids[row, feature])} in row {row} of {what}. Encode rows with this schema first."
            )

    def check_labels(self, labels: Tensor, rows: int) -> None:
        """Checks one class id per row.

        Raises:
            InputError: wrong number, type or range.
        """
        if labels.shape != (rows,) or labels.is_floating_point() or labels.dtype == torch.bool:
            raise InputError(f"expected {rows} integer labels, got {labels.dtype} of shape {tuple(labels.shape)}.")
        wrong = ((labels < 0) | (labels >= len(self.classes))).nonzero()
        if len(wrong):
            row = int(wrong[0, 0])
            raise InputError(
                f"expected labels 0..{len(self.classes) - 1} ({', '.join(self.classes)}), "
                f"got {int(labels[row])} in row {row}."
            )

    def to_json(self) -> dict[str, Any]:
        """A JSON form that writes a vocabulary shared by many positions once."""
        vocabularies, places = self._vocabularies()
        features = [[feature.name, place] for feature, place in zip(self.features, places, strict=True)]
        return {
            "vocabularies": [list(v) for v in vocabularies],
            "features": features,
            "classes": list(self.classes),
        }

    @classmethod
    def from_json(cls, value: Any) -> "Schema":
        """Inverse of `to_json`.

        Raises:
            FileError: the value is not a schema.
        """
        try:
            vocabularies = [tuple(words) for words in value["vocabularies"]]
            return cls(
                tuple(Feature(name, vocabularies[place]) for name, place in value["features"]),
                tuple(value["classes"]),
            )
        except (KeyError, TypeError, IndexError, ValueError) as error:
            raise FileError(
                f"expected a schema (vocabularies, features, classes), got damaged JSON ({error})."
            ) from error

    def _vocabularies(self) -> tuple[list[tuple[str, ...]], list[int]]:
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


@dataclass(frozen=True)
class Dataset:
    """Rows of category ids with labels.

    Attributes:
        schema: what the ids mean.
        ids: (rows, features), any integer type; batches are converted to int64.
        labels: (rows,) class ids.
        name: shown in results.
        numbers: (rows,) the number of each row in its source, kept through `take`, so that results name the same
            row whatever part of the data they came from.
    """

    schema: Schema
    ids: Tensor
    labels: Tensor
    name: str = "data"
    numbers: Tensor = field(default_factory=lambda: torch.empty(0, dtype=torch.int64))

    def __post_init__(self) -> None:
        self.schema.check_ids(self.ids, what=self.name)
        self.schema.check_labels(self.labels, len(self.ids))
        if len(self.numbers) == 0:
            object.__setattr__(self, "numbers", torch.arange(len(self.ids)))
        if len(self.numbers) != len(self.ids):
            raise InputError(f"expected {len(self.ids)} row numbers, got {len(self.numbers)}.")

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, rows: Tensor | slice) -> "Dataset":
        """Some rows, in the given order."""
        return replace(self, ids=self.ids[rows], labels=self.labels[rows], numbers=self.numbers[rows])

    @staticmethod
    def join(parts: "Sequence[Dataset]") -> "Dataset":
        """The rows of several parts of one data set."""
        ids, labels, numbers = (torch.cat([getattr(p, name) for p in parts]) for name in ("ids", "labels", "numbers"))
        return replace(parts[0], ids=ids, labels=labels, numbers=numbers)

    def batch(self, rows: Tensor | slice) -> tuple[Ids, Labels]:
        """Ids and labels of some rows as int64."""
        return self.ids[rows].long(), self.labels[rows].long()

    @cached_property
    def digest(self) -> str:
        """Hash of schema, rows and labels."""
        ids = np.ascontiguousarray(self.ids.cpu().numpy(), dtype="<i8")
        labels = np.ascontiguousarray(self.labels.cpu().numpy(), dtype="<i8")
        return sha256(self.schema.digest.encode(), ids.tobytes(), labels.tobytes())


@dataclass(frozen=True)
class Splits:
    """A data set divided into three parts; no row stands in two of them."""

    train: Dataset
    validation: Dataset
    test: Dataset

    @property
    def schema(self) -> Schema:
        """The schema all parts share."""
        return self.train.schema
