"""A space with limits: immutable features, forbidden and kept categories, and a rule of the user's own."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import FunctionType
from typing import Any

import torch
from jaxtyping import Bool
from torch import Tensor

from hammingbox.data.schema import Schema
from hammingbox.errors import InputError
from hammingbox.threat.layout import Layout
from hammingbox.threat.space import FullSpace
from hammingbox.types import Ids, OptionIds, OptionMask

Rule = Callable[[Ids], Bool[Tensor, "batch features categories"]]
"""What a row may become, decided from the row: True where a category may be written."""

EVERY_FEATURE = "*"


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
        check_lists({"immutable": immutable}, "features")
        check_lists({**(forbidden or {}), **(kept or {})}, "categories")
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
        marked = torch.zeros(self._layout.options, dtype=torch.bool, device="cpu")
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
        """Which options may be chosen.

        `_writable` and `_replaceable` are in the order of categories, while an option writes the category that
        `categories` says. With 3 categories and a clean 2, the slots write (2, 1, 0): a forbidden category 1 marks
        slot 1, a forbidden category 0 marks slot 2. An immutable feature has one slot, whatever its category: its place
        is out of range and is set at the end.
        """
        own_start = layout.starts[layout.feature_of]
        in_range = categories < layout.widths[layout.feature_of]
        place = own_start + torch.where(in_range, categories, 0)
        valid = self._writable.to(ids.device)[place] & in_range
        clean_place = layout.starts + torch.where(ids < layout.widths, ids, 0)
        valid &= layout.spread(self._replaceable.to(ids.device)[clean_place])
        if self.rule is not None:
            valid &= self._by_rule(self.rule, ids)[:, layout.feature_of].gather(2, categories[:, :, None])[:, :, 0]
        valid[:, layout.starts] = True
        return valid

    def _by_rule(self, rule: Rule, ids: Ids) -> Bool[Tensor, "batch features categories"]:
        allowed = rule(ids)
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
                "Pass rule_name=..., with a name of its own for every rule."
            )


def check_lists(named: Mapping[str, Sequence[str]], what: str) -> None:
    """Checks that names are in lists: the letters of one string would be taken for names.

    Raises:
        InputError: they are not.
    """
    for owner, words in named.items():
        if isinstance(words, str) or not isinstance(words, Iterable) or not all(isinstance(w, str) for w in words):
            raise InputError(f"expected a list of {what} for {owner!r}, got {words!r:.80}.")
