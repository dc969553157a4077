"""Torch modules as victims of a table, whatever they take: ids, numbers beside them, or encoded rows."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from hammingbox.data.schema import Schema
from hammingbox.data.values import MISSING, UNKNOWN
from hammingbox.errors import InputError
from hammingbox.victims.answers import Returns
from hammingbox.victims.encoded_table import Encode as Encode
from hammingbox.victims.encoded_table import EncodedTable, encoder_of
from hammingbox.victims.entity_embeddings import EntityEmbeddings, call_with_what_there_is
from hammingbox.victims.frames import Array, ColumnType, Frames, numbers_of, types_of
from hammingbox.victims.victim import Victim, float_type_of


def torch_victim(
    module: nn.Module,
    schema: Schema,
    *,
    categorical: Sequence[str] | None = None,
    numeric: Sequence[str] | None = None,
    codes: Mapping[str, Mapping[str, int]] | None = None,
    scale: Any = None,
    encode: Encode | None = None,
    call: Callable[..., Any] | None = None,
    missing: float | None = None,
    returns: Returns | None = None,
    like: Any = None,
) -> Victim:
    """A victim of a torch module; the arguments are those of `hammingbox.victim`.

    Raises:
        InputError: the module does not take what the table and the arguments say.
    """
    numbers = (
        _named(schema, numeric, "numeric")
        if numeric is not None
        else [place for place, feature in enumerate(schema.features) if feature.is_ordered]
    )
    if encode is not None:
        given = {} if like is None else types_of(like, schema)
        columns = [
            given.get(feature.name, ColumnType(place, feature.name)) for place, feature in enumerate(schema.features)
        ]
        return EncodedTable(
            module, schema, encoder_of(encode, schema, lambda: Frames(schema, columns), numbers), returns=returns
        )
    rest = [place for place in range(len(schema.features)) if place not in numbers]
    ids = _named(schema, categorical, "categorical") if categorical is not None else rest
    both = sorted(set(ids) & set(numbers))
    if both:
        raise InputError(
            f"expected columns that are categorical or numeric, got {schema.features[both[0]].name!r} as both."
        )
    return EntityEmbeddings(
        module,
        schema,
        ids,
        numbers,
        torch.from_numpy(_codes(schema, ids, codes or {})),
        torch.from_numpy(_values(schema, numbers, scale, missing)).to(float_type_of(module)),
        call=call or call_with_what_there_is,
        returns=returns,
    )


def _named(schema: Schema, names: Sequence[str], what: str) -> list[int]:
    if isinstance(names, str):
        raise InputError(f"expected a list of columns for `{what}`, got {names!r}.")
    return [schema.feature_index(name) for name in names]


def _codes(schema: Schema, ids: Sequence[int], given: Mapping[str, Mapping[str, int]]) -> Array:
    """The module's id of each category: the schema's, unless the user gives others.

    Raises:
        InputError: the user's ids lack a category.
    """
    for name in given:
        schema.feature_index(name)
    table = np.zeros((max(schema.cardinalities), len(ids)), dtype=np.int64)
    for place, feature in enumerate(schema.features[i] for i in ids):
        count = len(feature.categories)
        table[:count, place] = np.arange(count)
        own = given.get(feature.name)
        if own is not None:
            lacking = [text for text in feature.categories if text not in own and text not in (MISSING, UNKNOWN)]
            if lacking:
                raise InputError(
                    f"expected an id for every category of {feature.name!r} in `codes`, got none for {lacking[0]!r}."
                )
            table[:count, place] = [own.get(text, own.get(UNKNOWN, 0)) for text in feature.categories]
    return table


def _values(schema: Schema, numbers: Sequence[int], scale: Any, missing: float | None) -> Array:
    """The module's number for each value of each numeric column.

    Raises:
        InputError: a value is missing and nothing says what the module gets for it, or the scaler mixes columns.
    """
    table = np.zeros((max(schema.cardinalities), len(numbers)))
    for place, feature in enumerate(numbers):
        own = numbers_of(schema.features[feature])
        table[: len(own), place] = own
        table[len(own) :, place] = own[0]
    if missing is not None:
        table = np.where(np.isnan(table), missing, table)
    if scale is not None and len(numbers):
        transform = getattr(scale, "transform", scale)
        names = [schema.features[feature].name for feature in numbers]
        table = _scaled(transform, table, names if hasattr(scale, "feature_names_in_") else None)
    if np.isnan(table).any():
        bad = schema.features[numbers[int(np.isnan(table).any(0).argmax())]]
        text = next((t for t, n in zip(bad.categories, numbers_of(bad), strict=True) if np.isnan(n)), "")
        raise InputError(
            f"expected a number for every value of {bad.name!r}, got {text!r}. Pass `missing` with the number that "
            "the module gets for it, or a `scale` that fills it in."
        )
    return table


def _scaled(transform: Callable[[Any], Any], table: Array, names: list[str] | None) -> Array:
    """What a fitted scaler makes of each value. It must treat columns separately, which is checked."""

    def apply(rows: Array) -> Array:
        given: Any = rows
        if names is not None:
            import pandas

            given = pandas.DataFrame(rows, columns=names)
        return np.asarray(transform(given), dtype=np.float64)

    found = apply(table)
    if found.shape != table.shape:
        raise InputError(f"expected a scaler that keeps the {table.shape[1]} numeric columns, got {found.shape[1:]}.")
    shifted = np.stack([np.roll(column, place) for place, column in enumerate(table.T)], 1)
    expected = np.stack([np.roll(column, place) for place, column in enumerate(found.T)], 1)
    if not np.allclose(apply(shifted), expected, equal_nan=True):
        raise InputError("expected a scaler that treats columns separately, got one that mixes them. Use `encode`.")
    return found
