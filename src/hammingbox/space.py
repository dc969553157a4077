"""S(x), the rows an attacker may write, as slots.

Every feature offers a few slots, and slot 0 is always the clean category. An adversarial row is one slot per
feature, so the L0 distance is the number of slots that are not 0. Padding, immutable columns and words without
synonyms are features whose only valid slot is 0. An attack never sees a raw id.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import FunctionType
from typing import Any

import torch
from jaxtyping import Bool, Int64, Shaped
from torch import Tensor

from hammingbox.data.schema import Schema
from hammingbox.errors import InputError
from hammingbox.layout import Layout
from hammingbox.types import Ids, OptionIds, OptionMask, PointRows, PointSlots, RowInt, RowMask, Slots

Rule = Callable[[Ids], Bool[Tensor, "batch features categories"]]
"""What a row may become, decided from the row: True where a category may be written."""

EVERY_FEATURE = "*"


@dataclass(frozen=True, eq=False)
class Candidates:
    """S(x) of a batch.

    Attributes:
        layout: where the slots of each feature lie on the axis of options.
        ids: the category each option writes.
        valid: which options may be chosen; slot 0 always may.
        by_category: True when slot j of every feature writes category j, but for the exchange that brings the
            clean category to slot 0. All rows then share one table of option embeddings.
    """

    layout: Layout
    ids: OptionIds
    valid: OptionMask
    by_category: bool = False

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, rows: Shaped[Tensor, "some"]) -> "Candidates":
        """The candidates of some rows."""
        return Candidates(self.layout, self.ids[rows], self.valid[rows], self.by_category)

    @cached_property
    def clean(self) -> Ids:
        """The clean rows: slot 0 of every feature."""
        return self.layout.first(self.ids)

    @cached_property
    def moves(self) -> OptionMask:
        """Valid options that change their feature."""
        return self.valid & (self.layout.slot_of != 0)

    @cached_property
    def counts(self) -> Int64[Tensor, "batch features"]:
        """How many valid slots each feature has, the clean one included."""
        return self.layout.reduce(self.valid, lambda rectangle: rectangle.sum(-1))

    def select(self, slots: Slots) -> Ids:
        """The rows that slots stand for."""
        return self.ids.gather(1, self.layout.starts + slots)

    def select_points(self, rows: PointRows, slots: PointSlots) -> Int64[Tensor, "points features"]:
        """The rows that a ragged list of (batch row, slots) stands for."""
        return self.ids[rows[:, None], self.layout.starts + slots]

    def allows(self, slots: Slots) -> RowMask:
        """Whether every chosen slot exists and is valid."""
        exists = ((slots >= 0) & (slots < self.layout.widths)).all(1)
        options = self.layout.starts + slots.clamp(min=0).minimum(self.layout.widths - 1)
        return exists & self.valid.gather(1, options).all(1)

    def contains(self, ids: Ids) -> RowMask:
        """Whether rows given as ids lie in S(x)."""
        written = self.valid & (self.ids == self.layout.spread(ids))
        return self.layout.reduce(written, lambda rectangle: rectangle.any(-1)).all(1)

    @cached_property
    def _valid_options(self) -> tuple[Int64[Tensor, "total"], Int64[Tensor, "batch features"]]:
        """All valid options, row after row, and where the run of each (row, feature) begins."""
        counts_by_option = self.valid.sum(1)
        before_row = torch.cumsum(counts_by_option, 0) - counts_by_option
        before_option = torch.cumsum(self.valid, 1) - self.valid.long()
        return self.valid.nonzero()[:, 1], before_row[:, None] + self.layout.first(before_option)

    def nth_valid(
        self,
        rows: Int64[Tensor, "points chosen"],
        features: Int64[Tensor, "points chosen"],
        n: Int64[Tensor, "points chosen"],
    ) -> Int64[Tensor, "points chosen"]:
        """The n-th valid slot (0 is the clean one) of some features of some rows."""
        options, begin = self._valid_options
        return self.layout.slot_of[options[begin[rows, features] + n]]


class Space(ABC):
    """Maps rows to their candidates. Its layout is a constant, so noise drawn for a row never depends on its batch."""

    schema: Schema

    @abstractmethod
    def candidates(self, ids: Ids) -> Candidates:
        """S(x) of a batch of rows."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """What a result file needs to build this space again."""

    def check_identity(self) -> None:  # noqa: B027
        """Checks that equal `to_json` means equal S(x), which whoever goes on with recorded work relies on.

        Raises:
            InputError: it does not.
        """


class FullSpace(Space):
    """Every feature may take every category of its column (the paper's S(x) for tables, DNA and event logs)."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._widths: Sequence[int] = schema.cardinalities

    def candidates(self, ids: Ids) -> Candidates:
        """S(x) of a batch: slot j is category j, except that the clean category and category 0 change places."""
        self.schema.check_ids(ids)
        layout = Layout.of(self._widths, ids.device)
        categories = layout.slot_of.repeat(len(ids), 1)
        # A feature that may not change has one slot: its exchange partner does not exist, slot 0 is set last.
        partner = layout.starts + torch.where(ids < layout.widths, ids, 0)
        categories.scatter_(1, partner, 0)
        categories.scatter_(1, layout.starts.expand_as(ids), ids)
        return Candidates(layout, categories, self._valid(ids, layout, categories), by_category=True)

    def _valid(self, _ids: Ids, _layout: Layout, categories: OptionIds) -> OptionMask:
        return torch.ones_like(categories, dtype=torch.bool)

    def to_json(self) -> dict[str, Any]:
        """The kind alone: everything else is in the schema."""
        return {"kind": "full"}


class MaskedSpace(FullSpace):
    """All categories of a column, but for what the attacker cannot touch or write.

    Args:
        schema: what the ids mean.
        immutable: names of features that never change.
        forbidden: for a feature (or "*", every feature), categories that may not be written.
        kept: for a feature (or "*"), clean categories that may not be replaced, such as blanks.
        rule: decides from the row which categories may be written; combined with the other limits.
        rule_name: what identifies the rule in a record; a function of a module has a name of its own.
    """

    def __init__(
        self,
        schema: Schema,
        *,
        immutable: Sequence[str] = (),
        forbidden: Mapping[str, Sequence[str]] | None = None,
        kept: Mapping[str, Sequence[str]] | None = None,
        rule: Rule | None = None,
        rule_name: str = "",
    ) -> None:
        super().__init__(schema)
        self.immutable, self.forbidden, self.kept = tuple(immutable), dict(forbidden or {}), dict(kept or {})
        self.rule, self.rule_name = rule, rule_name
        frozen = {schema.feature_index(name) for name in immutable}
        self._widths = tuple(1 if i in frozen else d for i, d in enumerate(schema.cardinalities))
        if all(width == 1 for width in self._widths):
            raise InputError("expected at least one feature that may change, got an empty space. Free a feature.")
        self._layout = Layout.of(self._widths, torch.device("cpu"))
        self._writable = ~self._marked(self.forbidden)
        self._replaceable = ~self._marked(self.kept)
        if not self._layout.reduce(self._writable, lambda rectangle: rectangle.sum(-1) > 0)[
            self._layout.widths > 1
        ].any():
            raise InputError("expected a category that may be written, got an empty space. Forbid fewer categories.")

    def _marked(self, categories: Mapping[str, Sequence[str]]) -> Bool[Tensor, "options"]:
        """Options, in category order, named by a mapping from features to categories."""
        marked = torch.zeros(self._layout.options, dtype=torch.bool)
        for name, words in categories.items():
            everywhere = name == EVERY_FEATURE
            for feature in range(len(self.schema.features)) if everywhere else [self.schema.feature_index(name)]:
                known = self.schema.features[feature].categories
                for word in words:
                    if everywhere and word not in known:
                        continue
                    category = self.schema.category_id(feature, word)
                    if category < self._widths[feature]:
                        marked[self._layout.starts[feature] + category] = True
            if everywhere and (lost := [w for w in words if all(w not in f.categories for f in self.schema.features)]):
                raise InputError(f"expected categories that some feature has, got {', '.join(map(repr, lost))}.")
        return marked

    def _valid(self, ids: Ids, layout: Layout, categories: OptionIds) -> OptionMask:
        own_start = layout.starts[layout.feature_of]
        in_range = categories < layout.widths[layout.feature_of]
        place = own_start + torch.where(in_range, categories, 0)
        valid = self._writable.to(ids.device)[place] & in_range
        clean_place = layout.starts + torch.where(ids < layout.widths, ids, 0)
        valid &= layout.spread(self._replaceable.to(ids.device)[clean_place])
        if self.rule is not None:
            valid &= self._by_rule(ids)[:, layout.feature_of].gather(2, categories[:, :, None])[:, :, 0]
        valid[:, layout.starts] = True
        return valid

    def _by_rule(self, ids: Ids) -> Bool[Tensor, "batch features categories"]:
        assert self.rule is not None
        allowed = self.rule(ids)
        expected = (*ids.shape, max(self.schema.cardinalities))
        if tuple(allowed.shape) != expected or allowed.dtype != torch.bool:
            raise InputError(
                f"expected the rule to return a bool mask of shape {expected}, "
                f"got {allowed.dtype} {tuple(allowed.shape)}."
            )
        return allowed

    def to_json(self) -> dict[str, Any]:
        """Everything but the code of a rule, which is named so that a reader knows what is missing."""
        value: dict[str, Any] = {
            "kind": "masked",
            "immutable": list(self.immutable),
            "forbidden": {name: list(words) for name, words in self.forbidden.items()},
            "kept": {name: list(words) for name, words in self.kept.items()},
        }
        if self.rule is not None:
            value["rule"] = self.rule_name or getattr(self.rule, "__qualname__", repr(self.rule))
        return value

    def check_identity(self) -> None:
        """Checks that the rule has a name of its own: all lambdas share one, and so do the functions of a factory.

        Raises:
            InputError: the rule is neither a function of a module nor named.
        """
        if self.rule is None or self.rule_name:
            return
        name = getattr(self.rule, "__qualname__", repr(self.rule))
        if not isinstance(self.rule, FunctionType) or "<" in name:
            raise InputError(
                f"expected a rule that its name identifies (a function of a module), got {name}. "
                "Pass rule_name=..., and another one for every other rule."
            )


def space_from_json(value: Mapping[str, Any], schema: Schema) -> Space:
    """The space a result file describes.

    Raises:
        InputError: the space is of an unknown kind or held a rule, which only its owner's code can supply.
    """
    kind = value.get("kind")
    if kind == "full":
        return FullSpace(schema)
    if kind == "masked" and "rule" not in value:
        return MaskedSpace(schema, immutable=value["immutable"], forbidden=value["forbidden"], kept=value["kept"])
    if kind == "synonym":
        from hammingbox.synonym_space import SynonymSpace  # it is a Space itself, so it cannot come first

        return SynonymSpace.from_json(value, schema)
    if kind == "masked":
        raise InputError(
            f"expected a space that can be rebuilt from the file, got one with the Python rule {value['rule']!r}. "
            "Call hammingbox.verify(path, space=...) with that rule."
        )
    raise InputError(f"expected a space of kind full, masked or synonym, got {kind!r}.")


@dataclass(frozen=True)
class ThreatModel:
    """What the attacker may do: S(x), and at most `budget` changed features (epsilon of Eq. 1)."""

    space: Space
    budget: int

    def __post_init__(self) -> None:
        n = len(self.space.schema.features)
        if isinstance(self.budget, bool) or not isinstance(self.budget, int) or not 0 <= self.budget <= n:
            raise InputError(f"expected a budget of 0..{n} changed features, got {self.budget!r}.")


def hamming(a: Ids, b: Ids) -> RowInt:
    """L0 distance: how many features differ, row by row."""
    return (a != b).sum(1)
