"""A space with rules: what changes cost, which may not be made, and what must hold between columns."""

from collections.abc import Sequence
from typing import Any

from hammingbox.errors import InputError
from hammingbox.threat.grouping import Grouping
from hammingbox.threat.ruled_candidates import RuledCandidates, purse_of
from hammingbox.threat.rules.rules import Rules
from hammingbox.threat.rules.unit import Unit
from hammingbox.threat.space import Space
from hammingbox.types import Ids, RowInt, RowMask


class RuledSpace(Space):
    """Another space under rules.

    Args:
        base: what may be written, column by column.
        rules: prices, directions, relations, derived columns and gains.
        budgets: what their file proposes to spend, in ticks or changes; not a part of S(x).

    Raises:
        InputError: space and rules are of two schemas, or the base has rules itself.
    """

    def __init__(self, base: Space, rules: Rules, budgets: Sequence[int] = ()) -> None:
        if isinstance(base, RuledSpace):
            raise InputError("expected a space without rules under the rules, got one that has some. Join them.")
        if base.schema.digest != rules.schema.digest:
            raise InputError("expected space and rules of one schema, got two. Read the rules with the space's schema.")
        self.base, self.rules, self.schema, self.budgets = base, rules, base.schema, tuple(budgets)
        self._grouping: Grouping | None = None

    @property
    def unit(self) -> Unit | None:
        """What the budget counts: ticks of this unit, or changes if there is none."""
        return self.rules.unit

    def slots_of(self, ids: Ids) -> RuledCandidates:
        """The options of single columns, joined where relations tie columns together."""
        single = self.base.slots_of(ids)
        if self._grouping is None:
            derived = {part.column for part in self.rules.derived}
            widths = [1 if i in derived else width for i, width in enumerate(single.layout.widths.tolist())]
            ties = [self._tied(relation.columns) for relation in self.rules.relations if not relation.pointwise]
            self._grouping = Grouping(widths, ties, self.rules.changes)
        return RuledCandidates.of(ids, single, self.rules, self._grouping)

    def cost(self, x: Ids, written: Ids) -> RowInt:
        """What changes cost: ticks, or changed columns where there are no prices; derived columns are free."""
        return self.rules.bill(x, written).clamp(min=0).sum(1)

    def affords(self, x: Ids, written: Ids, budget: int) -> RowMask:
        """Whether rows keep to the budget, to the limit of changes and to what their success is worth."""
        purse = purse_of(self.rules, x, budget)
        changes, cost = self.distance(x, written), self.cost(x, written)
        allowed = (self.rules.bill(x, written) >= 0).all(1)
        if self.rules.unit is None:
            cost = cost * 0
        return allowed & (changes <= purse[:, 0]) & (cost <= purse[:, 1])

    def distance(self, x: Ids, written: Ids) -> RowInt:
        """Changed columns, derived ones aside."""
        changed = x != written
        changed[:, [part.column for part in self.rules.derived]] = False
        return changed.sum(1)

    def to_json(self) -> dict[str, Any]:
        """The base and the rules."""
        return {"kind": "ruled", "base": self.base.to_json(), "rules": self.rules.to_json()}

    def check_identity(self) -> None:
        """Checks that base and rules are identified by their documents."""
        self.base.check_identity()

    def _tied(self, columns: tuple[int, ...]) -> tuple[int, ...]:
        """The columns of a relation, and those that the derived ones among them are computed from."""
        inputs = {part.column: part.inputs for part in self.rules.derived}
        found, waiting = set[int](), list(columns)
        while waiting:
            column = waiting.pop()
            if column not in found:
                found.add(column)
                waiting += inputs.get(column, ())
        return tuple(sorted(found))
