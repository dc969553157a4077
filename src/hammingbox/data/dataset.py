"""Rows of category ids with labels, and their split into training, validation and test sets."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hammingbox.data.mapped import MAPPED_CELLS, appended, converted, forget_pages, gathered, is_mapped
from hammingbox.data.schema import Schema
from hammingbox.data.whole_numbers import whole_numbers
from hammingbox.errors import InputError
from hammingbox.files import sha256
from hammingbox.types import Ids, Labels, RowInt

Chosen = Tensor | slice | Sequence[int] | np.ndarray[Any, np.dtype[Any]]
"""Rows of a data set: indices, a mask or a slice."""

_CLASSES_SHOWN = 6


@dataclass(frozen=True)
class Dataset:
    """Rows of category ids with labels. They are checked here, once; `take` and `join` do not check them again.

    Attributes:
        schema: what the ids mean.
        ids: (rows, features), any integer type; a NumPy array or lists become a tensor; `batch` converts to int64.
        labels: (rows,) class ids; an array or a list becomes a tensor.
        name: shown in results.
        numbers: (rows,) the number of each row in its source. `take` keeps it, so a result names the same row
            whichever part of the data it was computed on.

    Raises:
        InputError: ids or labels do not fit the schema, or their numbers differ.
    """

    schema: Schema
    ids: Tensor
    labels: Tensor
    name: str = "data"
    numbers: Tensor = field(default_factory=lambda: torch.empty(0, dtype=torch.int64, device="cpu"))

    def __post_init__(self) -> None:
        if not isinstance(self.schema, Schema):
            raise InputError(f"expected a Schema, got {type(self.schema).__name__}.")
        for name, what in (("ids", f"category ids in {self.name}"), ("labels", "labels"), ("numbers", "row numbers")):
            object.__setattr__(self, name, whole_numbers(getattr(self, name), what))
        self.schema.check_ids(self.ids, what=self.name)
        self.schema.check_labels(self.labels, len(self.ids))
        if len(self.numbers) == 0:
            object.__setattr__(self, "numbers", torch.arange(len(self.ids), device=self.ids.device))
        if self.numbers.shape != (len(self.ids),):
            raise InputError(f"expected {len(self.ids)} row numbers, got {self.numbers.numel()}.")

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        counts = torch.bincount(self.labels.cpu().long(), minlength=len(self.schema.classes)).tolist()
        classes = [f"{name} {count:,}" for name, count in zip(self.schema.classes, counts, strict=True)]
        shown = ", ".join(classes[:_CLASSES_SHOWN]) + (", ..." if len(classes) > _CLASSES_SHOWN else "")
        return f"Dataset({self.name!r}, {len(self):,} rows of {len(self.schema.features):,} features; classes: {shown})"

    def __getstate__(self) -> dict[str, Any]:
        """What is sent to another process: only the rows of this data set, not the storage they are a view of."""
        return {
            name: value.clone() if isinstance(value, Tensor) and _is_partial_view(value) else value
            for name, value in vars(self).items()
            if name != "_by_number"
        }

    def take(self, rows: Chosen) -> "Dataset":
        """Some rows, in the given order.

        Args:
            rows: indices or a mask (a tensor, an array or a list), or a slice.
        """
        index = self._index(rows)
        ids = self.ids
        if isinstance(index, slice) or not is_mapped(ids):
            return self.of_checked(ids[index], self.labels[index], self.numbers[index])
        places = index.nonzero()[:, 0] if index.dtype == torch.bool else index
        some = gathered(ids, places) if len(places) * ids.shape[1] > MAPPED_CELLS else ids[places]
        forget_pages(ids)
        return self.of_checked(some, self.labels[places], self.numbers[places])

    @staticmethod
    def join(parts: "Sequence[Dataset]") -> "Dataset":
        """The rows of several parts of one data set, one part after another.

        Raises:
            InputError: no parts, or parts with different schemas.
        """
        if not parts:
            raise InputError("expected at least one part to join, got none.")
        if any(part.schema != parts[0].schema for part in parts):
            raise InputError(
                "expected parts that share one schema, got different schemas. Encode them with one schema."
            )
        ids, labels, numbers = (_joined([getattr(p, name) for p in parts]) for name in ("ids", "labels", "numbers"))
        return parts[0].of_checked(ids, labels, numbers)

    def in_schema(self, schema: Schema) -> "Dataset":
        """The same rows under a schema that knows more numbers and dates, such as those that changes can lead to.

        Raises:
            InputError: a schema of other columns, categories or classes, or one that lacks a value of these rows.
        """
        if schema.digest == self.schema.digest:
            return self
        if schema.form_digest != self.schema.form_digest:
            raise InputError("expected a schema with the columns of the rows, got another one.")
        tables: dict[int, Tensor] = {}
        for column, (old, new) in enumerate(zip(self.schema.features, schema.features, strict=True)):
            if old.categories != new.categories:
                place = {text: i for i, text in enumerate(new.categories)}
                tables[column] = torch.tensor([place.get(text, -1) for text in old.categories], device=self.ids.device)

        def known(ids: Tensor) -> Tensor:
            found = ids.long()
            for column, table in tables.items():
                found[:, column] = table[found[:, column]]
                if bool((found[:, column] < 0).any()):
                    name = schema.features[column].name
                    raise InputError(f"expected a schema that knows all values of {name!r} in the rows, got another.")
            return found

        most = max(schema.cardinalities)
        ids = converted(self.ids, known, most) if is_mapped(self.ids) else known(self.ids.clone())
        return Dataset(schema, ids, self.labels, self.name, self.numbers)

    def batch(self, rows: Chosen, device: torch.device | str | None = None) -> tuple[Ids, Labels]:
        """Ids and labels of some rows as int64.

        Args:
            rows: indices or a mask (a tensor, an array or a list), or a slice.
            device: where to put them; None leaves them on the device of the data set, which is the CPU for every
                loader of this package.
        """
        index = self._index(rows)
        device = self.ids.device if device is None else device
        found = self.ids[index].to(device, torch.int64), self.labels[index].to(device, torch.int64)
        if is_mapped(self.ids):
            forget_pages(self.ids)
        return found

    def by_number(self) -> "Dataset":
        """The same rows in the order of their numbers."""
        known, place = self._by_number
        return self if known is self.numbers else self.take(place)

    def places_of(self, numbers: RowInt) -> RowInt:
        """Where the rows with these numbers are; -1 for a number that no row has."""
        known, place = self._by_number
        at = torch.searchsorted(known, numbers).clamp(max=max(0, len(known) - 1))
        if not len(known):
            return torch.full_like(numbers, -1)
        return torch.where(known[at] == numbers, place[at], -1)

    @cached_property
    def _by_number(self) -> tuple[Tensor, Tensor]:
        """The numbers in rising order, and the places of their rows."""
        numbers = self.numbers.cpu()
        if bool((numbers[1:] > numbers[:-1]).all()):
            return self.numbers, torch.arange(len(numbers), device="cpu")
        found = numbers.sort(stable=True)
        return found.values, found.indices

    @cached_property
    def digest(self) -> str:
        """Hash of schema, rows and labels."""
        ids = np.ascontiguousarray(self.ids.cpu().numpy(), dtype="<i8")
        labels = np.ascontiguousarray(self.labels.cpu().numpy(), dtype="<i8")
        return sha256(self.schema.digest.encode(), ids.tobytes(), labels.tobytes())

    def _index(self, chosen: Chosen) -> Tensor | slice:
        """Rows on the device of the data set: they are often chosen by a victim that is on another device."""
        if isinstance(chosen, slice):
            return chosen
        index = (
            torch.as_tensor(chosen, device=self.ids.device)
            if _is_mask(chosen)
            else whole_numbers(chosen, "indices of rows")
        )
        if index.dim() != 1:
            raise InputError(f"expected rows as a list of indices or a mask, got shape {tuple(index.shape)}.")
        rows, is_mask = len(self), index.dtype == torch.bool
        if len(index) != rows if is_mask else bool(((index < -rows) | (index >= rows)).any()):
            raise InputError(f"expected indices of {len(self)} rows or a mask over them, got others.")
        return index.to(self.ids.device)

    def of_checked(self, ids: Tensor, labels: Tensor, numbers: Tensor) -> "Dataset":
        """A data set of rows that were checked when the first data set that held them was made."""
        part = object.__new__(type(self))
        own = {f.name: getattr(self, f.name) for f in fields(self)}
        vars(part).update(own | {"ids": ids, "labels": labels, "numbers": numbers})
        return part


@dataclass(frozen=True)
class Splits:
    """A data set split into three parts; no row is in two of them."""

    train: Dataset
    validation: Dataset
    test: Dataset
    ordered: Dataset | None = field(default=None, repr=False)
    """All rows in the order of their numbers, where the loader has them so."""

    def __repr__(self) -> str:
        rows = f"{len(self.train):,} training, {len(self.validation):,} validation, {len(self.test):,} test rows"
        return f"Splits({self.train.name!r}, {rows}; {self.schema!r})"

    @property
    def schema(self) -> Schema:
        """The schema that all parts share."""
        return self.train.schema

    def whole(self) -> Dataset:
        """All rows, part after part."""
        return Dataset.join([self.train, self.validation, self.test])

    def numbered(self, part: str) -> Dataset:
        """Where a row of a part is found by its number: all rows, or the part's own if parts share numbers.

        Args:
            part: "train", "validation" or "test"; any other name stands for all rows.
        """
        if self.ordered is not None:  # one table: a number for each row
            return self.whole()
        parts = {"train": self.train, "validation": self.validation, "test": self.test}
        numbers = torch.cat([one.numbers.cpu() for one in parts.values()])
        if part not in parts or len(numbers.unique()) == len(numbers):
            return self.whole()
        return parts[part]

    def by_number(self) -> Dataset:
        """All rows in the order of their source."""
        return self.whole().by_number() if self.ordered is None else self.ordered

    def in_schema(self, schema: Schema) -> "Splits":
        """The same rows under a schema that knows more numbers and dates, see `Dataset.in_schema`.

        Raises:
            InputError: another schema.
        """
        return Splits(*(part.in_schema(schema) for part in (self.train, self.validation, self.test)))


def _is_mask(rows: Any) -> bool:
    if isinstance(rows, Tensor):
        return rows.dtype == torch.bool
    try:
        return bool(np.asarray(rows).dtype == np.bool_)
    except (ValueError, TypeError, OverflowError):  # lists of different lengths: no mask, and no indices either
        return False


def _joined(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors one after the other; not copied where they already are, as the parts of a large table in one file."""
    first = tensors[0]
    size = first.element_size() * (first.shape[1] if first.dim() == 2 else 1)
    ends = [tensor.data_ptr() + len(tensor) * size for tensor in tensors]
    adjacent = is_mapped(first) and all(
        tensor.is_contiguous() and tensor.untyped_storage().data_ptr() == first.untyped_storage().data_ptr()
        and tensor.data_ptr() == end
        for tensor, end in zip(tensors[1:], ends, strict=False)
    )  # fmt: skip
    if not adjacent:
        is_large = first.dim() == 2 and any(map(is_mapped, tensors))
        return appended(tensors) if is_large else torch.cat(list(tensors))
    shape = (sum(map(len, tensors)), *first.shape[1:])
    return first.as_strided(shape, first.stride(), first.storage_offset())


def _is_partial_view(tensor: Tensor) -> bool:
    """Whether a tensor shows only a part of its storage; pickling it would send the whole storage."""
    return tensor.untyped_storage().nbytes() > tensor.nbytes
