"""The trees of a model that is asked through its library, read from it and compared with its own answers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from hammingbox.data.schema import Schema
from hammingbox.errors import HammingboxError, InputError
from hammingbox.types import Ids
from hammingbox.victims.frames import Frames, column_values
from hammingbox.victims.trees.columns import Column, coded, probed
from hammingbox.victims.trees.read_model import read_model
from hammingbox.victims.trees.read_sklearn import encoded_categories
from hammingbox.victims.trees.tree_victim import TreeVictim, check_agreement

if TYPE_CHECKING:
    from hammingbox.victims.frame_model import FrameModel

_COMPARED = 512
"""Rows whose answers are compared, at least; every category of every column is among them, up to a limit."""
_MOST_COMPARED = 20_000


def library_trees(victim: "FrameModel", model: Any, encode: Callable[[Any], Any] | None) -> TreeVictim:
    """The trees of a model. They must give the answers of the library to at least 512 rows with random categories.

    Args:
        victim: the model as it is asked.
        model: what holds the trees.
        encode: what the model does to a table before its trees see it.

    Raises:
        InputError: the trees cannot be read, or answer otherwise.
    """
    if not isinstance(victim.frames, Frames):
        raise InputError("expected a model of columns, got one that is asked with texts. Attack it, or use ablation.")
    schema, order = victim.answers.schema, victim.answers.order
    ids = compared_rows(schema)
    own = victim(ids).softmax(1).numpy()
    reasons = []
    for columns in _readings(victim.frames, schema, encoded_categories(model), encode):
        try:
            ensemble = read_model(model, schema, columns=columns)
            found = TreeVictim(ensemble if order is None else ensemble.with_classes(order))
            check_agreement(found, ids, own)
        except HammingboxError as error:
            reasons.append(str(error))
            continue
        return found
    raise InputError(
        f"expected trees that answer as the model does, got {type(model).__name__}: {reasons[0]} "
        "Use the certificate exact, which asks the model itself."
    )


def _readings(
    frames: Frames, schema: Schema, listed: Mapping[int, Sequence[Any]], encode: Callable[[Any], Any] | None
) -> Iterator[Sequence[Column] | None]:
    """What the columns of the model may hold: as the model is asked, or else as the model itself says (None)."""
    if encode is not None:
        yield probed(schema, lambda ids: encode(frames.build(ids)))
        return
    columns = _numbers(frames, schema, listed)
    if columns is not None:
        yield columns
    yield None


def _numbers(frames: Frames, schema: Schema, listed: Mapping[int, Sequence[Any]]) -> tuple[Column, ...] | None:
    """The number that each category of each column is to the trees; None if a column holds something else.

    Args:
        frames: how the model is asked.
        schema: of the table.
        listed: the categories of columns that the model codes itself, in the order of its codes.
    """
    found = []
    for place, column in enumerate(frames.columns):
        feature = schema.features[column.feature]
        own = np.arange(len(feature.categories), dtype=np.float64)
        if place in listed:
            values = coded(feature, own, listed[place])
        elif frames.container == "codes":
            values = own
        else:
            values = column_values(feature, column)
            if values.dtype.kind not in "biuf":
                return None
            values = values.astype(np.float64)
            if column.dtype in ("category", "codes"):
                values[values < 0] = np.nan
        found.append(Column(column.feature, values))
    return tuple(found)


def compared_rows(schema: Schema) -> Ids:
    """Rows with random categories; every category of every feature occurs, if it has at most 20,000."""
    widths = schema.cardinalities
    count = min(_MOST_COMPARED, max(_COMPARED, *widths))
    columns = [np.random.default_rng(i).permutation(np.arange(count) % width) for i, width in enumerate(widths)]
    return torch.from_numpy(np.stack(columns, 1).astype(np.int64))
