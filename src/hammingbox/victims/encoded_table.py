"""Torch modules that take encoded rows: one-hot columns, scaled numbers, or what a fitted transformer makes of a frame.

An encoder that treats columns separately is a sum: the code of a row is that of a base row plus, for each feature, what
its value changes. These changes are a feature's vectors. So any such encoder becomes a linear first layer, and
gradients reach every option, whatever the encoder does to a value.
"""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from hammingbox.data.schema import Schema
from hammingbox.errors import HammingboxError, InputError
from hammingbox.types import Embedded, Ids, Logits
from hammingbox.victims.answers import Returns
from hammingbox.victims.frames import Array, Frames, numbers_of
from hammingbox.victims.frozen import frozen_eval
from hammingbox.victims.module_output import check_output, class_logits
from hammingbox.victims.probe_rows import probe_rows
from hammingbox.victims.victim import Victim, device_of, float_type_of

Encode = Literal["one_hot"] | Callable[[Any], Any] | Any
"""How rows are encoded: "one_hot", a fitted transformer, or a function from a frame to an array."""

_MOST_ELEMENTS = 2**26
"""Elements of the table of vectors; one-hot vectors of a column of 7,000 categories alone would be 49 million."""
_AT_ONCE = 4096


class EncodedTable(Victim):
    """A module that takes encoded rows (rows, columns of the encoder).

    Args:
        module: unchanged.
        schema: of the table.
        encode: "one_hot", or a function from ids (rows, features) to encoded rows.
        returns: what the module returns; logits by default.

    Raises:
        InputError: the encoder mixes columns, or the module does not take what it makes.
    """

    def __init__(
        self,
        module: nn.Module,
        schema: Schema,
        encode: Callable[[Array], Array],
        *,
        returns: Returns | None = None,
    ) -> None:
        super().__init__()
        self.module, self._returns = module, returns
        base, vectors, places, starts = _as_sum(schema, encode)
        device, dtype = device_of(module), float_type_of(module)
        self.register_buffer("base", torch.from_numpy(base).to(device, dtype))
        self.register_buffer("vectors", torch.from_numpy(vectors).to(device, dtype))
        self.register_buffer("places", torch.from_numpy(places).to(device))
        self.register_buffer("starts", torch.from_numpy(starts).to(device))
        probes = probe_rows(schema).to(device)
        with frozen_eval(self), torch.no_grad():
            coded = self._coded(self.embed(probes))
            expected = torch.from_numpy(encode(probes.cpu().numpy())).to(coded)
            if not torch.allclose(coded, expected, rtol=1e-4, atol=1e-4):
                raise InputError(
                    "expected an encoder that treats columns separately, got one that mixes them. "
                    "Subclass Victim for such a model."
                )
            try:
                output = module(coded)
            except HammingboxError:
                raise
            except Exception as error:
                reason = " ".join(str(error).split())[:200]
                raise InputError(
                    f"expected a module that takes encoded rows of {coded.shape[1]} numbers, "
                    f"got {type(error).__name__}: {reason} Pass the encoder of its training."
                ) from error
            check_output(output, len(schema.classes), returns)

    def embed(self, ids: Ids) -> Embedded:
        """What each feature's value adds to the code of the base row."""
        return self.get_buffer("vectors")[ids + self.get_buffer("starts")]

    def head(self, embedded: Embedded, ids: Ids) -> Logits:  # noqa: ARG002
        """The module's logits of encoded rows."""
        return class_logits(self.module(self._coded(embedded)), self._returns)

    def _coded(self, embedded: Embedded) -> Tensor:
        """The encoded rows: vectors are added where they belong."""
        base, places = self.get_buffer("base"), self.get_buffer("places")
        # One column more than there are: the filling of short vectors ends there.
        coded = nn.functional.pad(base, (0, 1)).repeat(len(embedded), 1)
        index = places.flatten()[None].expand(len(embedded), -1)
        return coded.scatter_add(1, index, embedded.flatten(1).to(coded.dtype))[:, :-1]


def encoder_of(encode: Encode, schema: Schema, frames: Callable[[], Frames], numeric: list[int]) -> Any:
    """An encoder as a function from ids to encoded rows.

    Args:
        encode: as the user gave it.
        schema: of the table.
        frames: builds the frames that the user's encoder takes.
        numeric: features that "one_hot" leaves as numbers.

    Raises:
        InputError: it is no encoder.
    """
    if encode == "one_hot":
        return _OneHot(schema, numeric)
    transform = getattr(encode, "transform", encode)
    if not callable(transform):
        raise InputError(f"expected 'one_hot', a transformer or a function to encode, got {encode!r:.80}.")
    return _Transform(transform, frames())


class _OneHot:
    """One-hot columns and numbers, in the order of the schema."""

    def __init__(self, schema: Schema, numeric: list[int]) -> None:
        self._numbers = {feature: numbers_of(schema.features[feature]) for feature in numeric}
        self._widths = [1 if f in self._numbers else count for f, count in enumerate(schema.cardinalities)]

    def __call__(self, ids: Array) -> Array:
        coded = np.zeros((len(ids), sum(self._widths)))
        for feature, start in enumerate(np.cumsum([0, *self._widths[:-1]]).tolist()):
            if feature in self._numbers:
                coded[:, start] = self._numbers[feature][ids[:, feature]]
            else:
                coded[np.arange(len(ids)), start + ids[:, feature]] = 1
        return coded


class _Transform:
    """What a user's encoder makes of frames."""

    def __init__(self, transform: Callable[[Any], Any], frames: Frames) -> None:
        self._transform, self._frames = transform, frames

    def __call__(self, ids: Array) -> Array:
        table = self._frames.build(ids)
        try:
            coded = self._transform(table)
        except Exception as error:
            reason = " ".join(str(error).split())[:200]
            raise InputError(
                f"expected an encoder that takes the table's frame, got {type(error).__name__}: {reason} "
                "Pass `like` with a frame of its training."
            ) from error
        coded = coded.toarray() if hasattr(coded, "toarray") else coded
        coded = np.asarray(coded.detach().cpu() if isinstance(coded, Tensor) else coded, dtype=np.float64)
        if coded.ndim != 2 or len(coded) != len(ids) or not np.isfinite(coded).all():
            raise InputError(
                f"expected an encoder that returns ({len(ids)}, columns) finite numbers, got shape {coded.shape}"
                f"{'' if np.isfinite(coded).all() else ' with missing values. Add an imputer to it'}."
            )
        return coded


def _as_sum(schema: Schema, encode: Callable[[Array], Array]) -> tuple[Array, Array, Array, Array]:
    """An encoder as a base and vectors.

    Returns:
        The base (columns); the vectors of all values of all features (values, longest); for each feature the columns
        that its vectors belong to (features, longest), `columns` where they are filled; and where its values begin.
    """
    n = len(schema.features)
    base = encode(np.zeros((1, n), dtype=np.int64))[0]
    tables, supports = [], []
    for feature, count in enumerate(schema.cardinalities):
        parts = []
        for start in range(0, count, _AT_ONCE):
            rows = np.zeros((min(_AT_ONCE, count - start), n), dtype=np.int64)
            rows[:, feature] = np.arange(start, start + len(rows))
            parts.append(encode(rows) - base)
        touched = np.flatnonzero(np.any([(part != 0).any(0) for part in parts], axis=0))
        supports.append(touched)
        tables.append(np.concatenate([part[:, touched] for part in parts]))
    longest = max(1, *(len(touched) for touched in supports))
    if sum(schema.cardinalities) * longest > _MOST_ELEMENTS:
        raise InputError(
            f"expected encoded columns of fewer categories, got {max(schema.cardinalities):,} in one column. "
            "Merge rare categories, or use an embedding."
        )
    vectors = np.zeros((sum(schema.cardinalities), longest))
    places = np.full((n, longest), len(base), dtype=np.int64)
    starts = np.cumsum([0, *schema.cardinalities[:-1]])
    for feature, (table, touched) in enumerate(zip(tables, supports, strict=True)):
        vectors[starts[feature] : starts[feature] + len(table), : len(touched)] = table
        places[feature, : len(touched)] = touched
    return base, vectors, places, starts
