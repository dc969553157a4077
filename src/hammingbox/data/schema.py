"""What the ids of a row mean: the features, the categories of each feature, and the classes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from hammingbox.errors import FileError, InputError
from hammingbox.files import sha256


@dataclass(frozen=True)
class Feature:
    """A column: its name and its categories. The id of a category is its index in the tuple."""

    name: str
    categories: tuple[str, ...]


@dataclass(frozen=True)
class Schema:
    """The features with their categories, and the classes. Features may have different numbers of categories."""

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
    def digest(self) -> str:
        """Identifies the meaning of ids: weights and results with equal digests belong together."""
        vocabularies, places = self._vocabularies()
        joined = ("\x1e".join("\x1f".join(words) for words in vocabularies)).encode()
        names = "\x1f".join(feature.name for feature in self.features).encode()
        return sha256(
            joined, b"\x1d", names, b"\x1d", str(places).encode(), b"\x1d", "\x1f".join(self.classes).encode()
        )

    def feature_index(self, name: str) -> int:
        """The index of a feature.

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
        """The id of a category of a feature.

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
            InputError: the type or shape is wrong, or an id is not a category of its feature.
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
        """Checks that there is one class id per row.

        Raises:
            InputError: the number, type or range of labels is wrong.
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
        """A JSON form; a vocabulary that many positions share is written once."""
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
