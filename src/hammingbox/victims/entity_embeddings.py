"""Torch modules that look each column up in an embedding, with numbers beside them. Their code does not change.

Which embedding belongs to which column is not asked but observed: the module runs on a few random rows, and the input
of each embedding is compared with the columns. That works for one embedding per column, for one table with offsets,
for several embeddings of one column (factorisation machines), and for columns in any order.

A feature's vector is what its embeddings return, one after another, filled with zeros up to the longest; a number is
its own vector of length 1. So a mixture of options becomes a mixture of vectors, and gradients flow through all of it.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Int64
from torch import Tensor, nn

from hammingbox.data.schema import Schema
from hammingbox.errors import HammingboxError, InputError
from hammingbox.types import Embedded, Ids, Logits
from hammingbox.victims.answers import Returns
from hammingbox.victims.frozen import frozen_eval
from hammingbox.victims.module_output import check_output, class_logits
from hammingbox.victims.probe_rows import probe_rows
from hammingbox.victims.victim import Victim, device_of

Call = Callable[[nn.Module, Tensor, Tensor], Any]
"""Calls a module with ids (rows, categorical columns) and numbers (rows, numeric columns)."""

_TOLERANCE = 1e-4


@dataclass(frozen=True, eq=False)
class _Lookup:
    """One call of an embedding in a forward pass.

    Attributes:
        embedding: the layer.
        features: for each position of its input, the feature that it looks up; -1 for something else.
        offsets: for each position, what is added to the feature's id.
    """

    embedding: nn.Embedding
    features: tuple[int, ...]
    offsets: tuple[int, ...]


def call_with_what_there_is(module: nn.Module, ids: Tensor, numbers: Tensor) -> Any:
    """``module(ids, numbers)``, or with one of them if the table has no columns for the other."""
    given = [part for part in (ids, numbers) if part.shape[1]]
    return module(*given)


class EntityEmbeddings(Victim):
    """A module that takes ids and numbers.

    Args:
        module: unchanged.
        schema: of the table.
        categorical: the features of its ids, in its order.
        numeric: the features of its numbers, in its order.
        codes: (largest cardinality, categorical): the module's id of each category.
        values: (largest cardinality, numeric): the module's number for each value.
        call: how the module is called.
        returns: what it returns; logits by default.

    Raises:
        InputError: the module cannot be called like this, or uses ids in a way that cannot be followed.
    """

    def __init__(
        self,
        module: nn.Module,
        schema: Schema,
        categorical: Sequence[int],
        numeric: Sequence[int],
        codes: Int64[Tensor, "values categorical"],
        values: Tensor,
        *,
        call: Call = call_with_what_there_is,
        returns: Returns | None = None,
    ) -> None:
        super().__init__()
        self.module = module
        self._call, self._returns = call, returns
        self._categorical, self._numeric = list(categorical), list(numeric)
        device = device_of(module)
        self.register_buffer("codes", codes.to(device))
        self.register_buffer("values", values.to(device))
        with frozen_eval(self), torch.no_grad():
            probes = probe_rows(schema).to(device)
            self._lookups = self._traced(probes, schema)
            self._plan()
            self._check(probes, schema)

    def embed(self, ids: Ids) -> Embedded:
        """The vectors of each feature's embeddings after one another, or its number, filled with zeros."""
        parts: list[list[Tensor]] = [[] for _ in range(ids.shape[1])]
        codes = self._codes_of(ids)
        for lookup in self._lookups:
            for feature, offset in zip(lookup.features, lookup.offsets, strict=True):
                if feature >= 0:
                    parts[feature].append(lookup.embedding(codes[:, self._categorical.index(feature)] + offset))
        numbers = self._numbers_of(ids)
        for place, feature in enumerate(self._numeric):
            parts[feature].append(numbers[:, place : place + 1])
        vectors = [torch.cat(found, 1) if found else numbers.new_zeros(len(ids), 1) for found in parts]
        return torch.stack([nn.functional.pad(vector, (0, self._dim - vector.shape[1])) for vector in vectors], 1)

    def head(self, embedded: Embedded, ids: Ids) -> Logits:
        """The module's logits with the output of every lookup, and every number, replaced."""
        calls = iter(self._lookups)
        starts = iter(self._starts)

        def replace(_module: nn.Module, args: Any, output: Tensor) -> Tensor | None:
            lookup = next(calls, None)
            if lookup is None or lookup.embedding is not _module:
                raise InputError(
                    "expected a module that uses its embeddings in the same order for every batch, got another order. "
                    "Subclass Victim for it."
                )
            start = next(starts)
            flat = output.reshape(len(args[0]), -1, output.shape[-1]).clone()
            for place, feature in enumerate(lookup.features):
                if feature >= 0:
                    begin = start[place]
                    flat[:, place] = embedded[:, feature, begin : begin + output.shape[-1]].to(output.dtype)
            return flat.view(output.shape)

        numbers = embedded[:, self._numeric, 0].to(self.get_buffer("values").dtype)
        with self._hooked(replace):
            return class_logits(self._call(self.module, self._codes_of(ids), numbers), self._returns)

    def forward(self, ids: Ids) -> Logits:
        """The module, untouched."""
        return class_logits(self._call(self.module, self._codes_of(ids), self._numbers_of(ids)), self._returns)

    def _codes_of(self, ids: Ids) -> Tensor:
        chosen = ids[:, self._categorical]
        return self.get_buffer("codes").gather(0, chosen) if len(self._categorical) else chosen

    def _numbers_of(self, ids: Ids) -> Tensor:
        values = self.get_buffer("values")
        return values.gather(0, ids[:, self._numeric]) if len(self._numeric) else values.new_zeros(len(ids), 0)

    @contextmanager
    def _hooked(self, hook: Callable[[nn.Module, Any, Tensor], Any]) -> Iterator[None]:
        """A hook on the embeddings that look up columns."""
        used = {id(lookup.embedding): lookup.embedding for lookup in self._lookups}
        handles = [embedding.register_forward_hook(hook) for embedding in used.values()]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    # How the module uses its ids -------------------------------------------------------------------------------

    def _traced(self, probes: Ids, schema: Schema) -> list[_Lookup]:
        """The lookups of one forward pass, in their order."""
        seen: list[_Lookup] = []
        codes = self._codes_of(probes)
        names = {id(part): name for name, part in self.module.named_modules()}

        def look(embedding: nn.Module, args: Any) -> None:
            if not isinstance(embedding, nn.Embedding) or not isinstance(args[0], Tensor):
                return
            given = args[0]
            if not len(given) or given.shape[0] != len(probes):
                return  # not one entry per row: positions, constants
            rows = given.reshape(len(probes), -1)
            if not bool((rows != rows[:1]).any()) and len(seen) >= len(self._categorical):
                return
            features, offsets = self._columns_of(rows, codes, seen)
            if int(rows.max()) >= embedding.num_embeddings or int(rows.min()) < 0:
                place = int(rows.amax(0).argmax())
                column = schema.features[features[place]].name if features[place] >= 0 else "?"
                raise InputError(
                    f"expected an embedding of at least {int(rows.max()) + 1} vectors for column {column!r}, got "
                    f"{embedding.num_embeddings} in {names[id(embedding)]!r}. Pass `codes` with the ids it uses, "
                    "or `categorical` with its columns in its order."
                )
            if all(feature < 0 for feature in features):
                if bool((rows != rows[:1]).any()):
                    raise InputError(
                        f"expected the embedding {names[id(embedding)]!r} to look up columns of the table, got other "
                        "ids. Pass `categorical` and `codes`, or subclass Victim for a module that computes its ids."
                    )
                return
            seen.append(_Lookup(embedding, features, offsets))

        handles = [
            part.register_forward_pre_hook(look) for part in self.module.modules() if isinstance(part, nn.Embedding)
        ]
        try:
            output = self._call(self.module, codes, self._numbers_of(probes))
        except HammingboxError:
            raise
        except Exception as error:
            reason = " ".join(str(error).split())[:200]
            raise InputError(
                f"expected a module that takes ids of shape (rows, {len(self._categorical)}) and numbers of shape "
                f"(rows, {len(self._numeric)}), got {type(error).__name__}: {reason} Pass "
                "`call=lambda module, ids, numbers: ...` with the call that fits."
            ) from error
        finally:
            for handle in handles:
                handle.remove()
        check_output(output, len(schema.classes), self._returns)
        return seen

    def _columns_of(
        self, rows: Tensor, codes: Tensor, seen: Sequence[_Lookup]
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """For each position of a lookup, the feature whose ids it holds, and what is added to them."""
        used = {feature for lookup in seen for feature in lookup.features}
        features, offsets = [], []
        for position in rows.T:
            shift = position[:, None] - codes
            fitting = (shift == shift[:1]).all(0).nonzero()[:, 0].tolist()
            # A column of one category fits every constant: it is taken once, in order.
            place = next((p for p in fitting if self._categorical[p] not in used), fitting[0] if fitting else None)
            features.append(-1 if place is None else self._categorical[place])
            offsets.append(0 if place is None else int(shift[0, place]))
            used.add(features[-1])
        return tuple(features), tuple(offsets)

    def _plan(self) -> None:
        """Where the vector of each lookup begins in its feature's vector, and how long these vectors are."""
        ends: dict[int, int] = dict.fromkeys(self._numeric, 1)
        self._starts: list[list[int]] = []
        for lookup in self._lookups:
            begins = []
            for feature in lookup.features:
                begins.append(ends.get(feature, 0))
                if feature >= 0:
                    ends[feature] = ends.get(feature, 0) + lookup.embedding.embedding_dim
            self._starts.append(begins)
        self._dim = max([1, *ends.values()])

    def _check(self, probes: Ids, schema: Schema) -> None:
        """The vectors must explain the module's answers: nothing else may depend on the ids.

        Raises:
            InputError: they do not.
        """
        looked_up = {feature for lookup in self._lookups for feature in lookup.features}
        lost = [feature for feature in self._categorical if feature not in looked_up]
        other = probes.clone()
        other[:, self._categorical] = 0
        whole, from_vectors = self(probes), self.head(self.embed(probes), other)
        if not torch.allclose(whole, from_vectors, rtol=_TOLERANCE, atol=_TOLERANCE):
            unused = ", ".join(schema.features[feature].name for feature in lost[:8])
            raise InputError(
                "expected a module whose ids only go into embeddings, got one that also uses them otherwise"
                f"{f' (no embedding looks up {unused})' if unused else ''}. "
                "Pass `numeric` for columns it takes as numbers, or subclass Victim."
            )
        self.notes = tuple(
            f"no embedding looks up {schema.features[feature].name}: changes there mean nothing to the module"
            for feature in lost
        )
