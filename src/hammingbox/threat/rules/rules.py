"""Everything that an attacker may do beyond a product set S(x), as one value."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import torch
from jaxtyping import Bool, Int64
from torch import Tensor

from hammingbox.data.schema import Schema
from hammingbox.errors import InputError
from hammingbox.files import damage_as_file_error
from hammingbox.threat.candidates import Candidates
from hammingbox.threat.rules.derived import NO_ID, Derived, in_order
from hammingbox.threat.rules.function import Function, Keeps, check_function_name, function_not_passed
from hammingbox.threat.rules.gain import Gain
from hammingbox.threat.rules.groups import groups_of
from hammingbox.threat.rules.prices import CANNOT, ColumnRule
from hammingbox.threat.rules.relation import Relation
from hammingbox.threat.rules.relation_kinds import relation_from_json
from hammingbox.threat.rules.tariff import Tariff
from hammingbox.threat.rules.unit import Unit
from hammingbox.types import Ids, OptionIds, OptionMask, RowInt, RowMask


@dataclass(frozen=True, eq=False)
class Rules:
    """Prices, directions, relations, derived columns and gains.

    Prices are whole ticks of the unit, sums are exact, budgets are inclusive. A clean row is always a point, even if
    the data breaks a rule.

    Attributes:
        schema: what the ids mean.
        unit: of the prices; None if the budget counts changes.
        columns: the rules of single columns. With a unit, every column needs one that is not derived.
        relations: what whole rows must keep.
        derived: columns that are computed from others, each after those it is computed from.
        gain: what a success is worth; needs a unit.
        changes: the most columns that may change besides what they cost; derived columns do not count.

    Raises:
        InputError: rules that contradict each other or do not fit the schema.
    """

    schema: Schema
    unit: Unit | None = None
    columns: tuple[ColumnRule, ...] = ()
    relations: tuple[Relation, ...] = ()
    derived: tuple[Derived, ...] = ()
    gain: Gain | None = None
    changes: int | None = None
    _tariffs: dict[int, Tariff] = field(init=False, repr=False)
    _flat: Int64[Tensor, "features"] = field(init=False, repr=False)
    _gains: Int64[Tensor, "categories"] | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "derived", in_order(self.derived, self.schema))
        names = [relation.name for relation in self.relations]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"expected relations with distinct names, got {twice!r:.80} twice. Name one: name = ...")
        if self.changes is not None and (type(self.changes) is not int or self.changes < 1):
            raise InputError(f"expected at least 1 change, got {self.changes!r:.80}.")
        if self.gain is not None and self.unit is None:
            raise InputError('expected a unit for the gain, got none. Add unit = "0.1" at the top.')
        gains = None if self.gain is None or self.unit is None else self.gain.table(self.schema, self.unit)
        object.__setattr__(self, "_gains", gains)
        self._set_prices()

    def _set_prices(self) -> None:
        """Keeps the price of columns whose every change costs the same in one tensor, and a tariff for the others.

        Raises:
            InputError: a column that has two rules, no price, or a price though it is derived.
        """
        count = len(self.schema.features)
        flat = torch.full((count,), CANNOT if self.unit is not None else 1, dtype=torch.int64, device="cpu")
        tariffs: dict[int, Tariff] = {}
        is_derived = {each.column for each in self.derived}
        named: set[int] = set()
        shared: dict[tuple[int, str, str], Tariff] = {}
        index_of = {feature.name: index for index, feature in enumerate(self.schema.features)}
        for rule in self.columns:
            index = index_of[rule.column] if rule.column in index_of else self.schema.feature_index(rule.column)
            if index in named:
                raise InputError(f"expected one rule for column {rule.column!r}, got two.")
            named.add(index)
            if index in is_derived:
                raise InputError(
                    f"expected no price and no limits for the derived column {rule.column!r}, got some. "
                    "Delete them: a derived column costs nothing."
                )
            feature = self.schema.features[index]
            if rule.is_uniform:
                rule.check(feature, priced=self.unit is not None)
                flat[index] = CANNOT if rule.frozen else 1 if rule.price is None else rule.price
                continue
            # Positions of a sequence have one vocabulary and often one rule: one table of prices is enough.
            key = (id(feature.categories), feature.kind, repr(rule.to_json()))
            if key not in shared:
                shared[key] = Tariff(rule, feature, priced=self.unit is not None)
            tariffs[index] = shared[key]
        if self.unit is not None and (lost := sorted(set(range(count)) - named - is_derived)):
            name = self.schema.features[lost[0]].name
            raise InputError(
                f"expected a price for every column, got none for {name!r}"
                f"{f' and {len(lost) - 1} more' if len(lost) > 1 else ''}. Price it, or write frozen = true."
            )
        object.__setattr__(self, "_tariffs", tariffs)
        object.__setattr__(self, "_flat", flat)

    @cached_property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Columns that must be judged together, since a relation or a derived column reads them.

        Only columns that are written: a derived column stands for those it is computed from. A group may be one column;
        columns that no relation and no derived column reads are not listed.
        """
        return groups_of(self.relations, self.derived)

    def priced(self, x: Ids, base: Candidates) -> tuple[OptionIds, OptionMask]:
        """What each option of S(x) costs, and whether it is allowed.

        Args:
            x: the clean rows.
            base: S(x) without these rules.

        Returns:
            ticks: 0 at slot 0 and where the option is not allowed; without a unit 1 for every change.
            allowed: slot 0 always is; a derived column has no other.
        """
        layout = base.layout
        ticks = self._flat.to(x.device)[layout.feature_of].repeat(len(x), 1)
        ticks = torch.where(base.ids == layout.spread(x), 0, ticks)
        for feature, tariff in self._tariffs.items():
            start, width = int(layout.starts[feature]), int(layout.widths[feature])
            written = base.ids[:, start : start + width]
            ticks[:, start : start + width] = tariff.ticks(x[:, feature, None].expand_as(written), written)
        allowed = base.valid & (ticks != CANNOT)
        for each in self.derived:
            start, width = int(layout.starts[each.column]), int(layout.widths[each.column])
            allowed[:, start : start + width] = False
        allowed[:, layout.starts] = True
        ticks[:, layout.starts] = 0
        return torch.where(allowed, ticks, 0), allowed

    def bill(self, x: Ids, written: Ids) -> Int64[Tensor, "batch features"]:
        """What each column's change costs, without asking S(x): what the judge and `verify` recount with.

        Args:
            x: the clean rows.
            written: the rows that an attacker wrote.

        Returns:
            Ticks (1 for a change without a unit), 0 for a derived column, -1 for a change that is not allowed.
        """
        bill = torch.where(x == written, 0, self._flat.to(x.device))
        for feature, tariff in self._tariffs.items():
            bill[:, feature] = tariff.ticks(x[:, feature], written[:, feature])
        for each in self.derived:
            bill[:, each.column] = 0
        return bill

    def allowance(self, x: Ids) -> RowInt | None:
        """What each row is worth, gain - margin, in ticks; None without gains."""
        if self.gain is None:
            return None
        return self.gain.allowance(self._gain_of(x), x)

    def worth(self, x: Ids) -> RowInt | None:
        """What a success on each row is worth to the attacker, and costs the owner, in ticks; None without gains."""
        if self.gain is None:
            return None
        return replace(self.gain, margin=0).allowance(self._gain_of(x), x)

    def _gain_of(self, x: Ids) -> RowInt | None:
        if self.gain is None or self._gains is None or self.gain.column is None:
            return None
        return self._gains.to(x.device)[x[:, self.schema.feature_index(self.gain.column)]]

    def complete(self, ids: Ids, x: Ids | None = None) -> tuple[Ids, RowMask]:
        """Rows with their derived columns recomputed.

        Args:
            ids: rows that were written.
            x: the clean rows. A derived column keeps its clean value where none of its inputs changed: the data may
                break a rule.

        Returns:
            The rows, and whether all values have ids; a value that has none leaves the column as it is.
        """
        rows, exist = ids.clone(), torch.ones(len(ids), dtype=torch.bool, device=ids.device)
        for each in self.derived:
            inputs = rows[:, list(each.inputs)]
            value = each.compute(inputs)
            if x is not None:
                value = torch.where((inputs == x[:, list(each.inputs)]).all(1), x[:, each.column], value)
            exist = exist & (value != NO_ID)
            rows[:, each.column] = torch.where(value == NO_ID, rows[:, each.column], value)
        return rows, exist

    def hold(self, x: Ids, written: Ids) -> RowMask:
        """Whether rows keep every relation, and derived columns are what their formulas say.

        A relation none of whose columns changed is not checked: a row that breaks a rule itself is still a row.
        """
        keeps = torch.ones(len(x), dtype=torch.bool, device=x.device)
        changed = x != written
        for relation in self.relations:
            columns = list(relation.columns)
            keeps = keeps & (~changed[:, columns].any(1) | relation.holds(written[:, columns], x[:, columns]))
        for each in self.derived:
            inputs = list(each.inputs)
            wanted = torch.where(changed[:, inputs].any(1), each.compute(written[:, inputs]), x[:, each.column])
            keeps = keeps & (written[:, each.column] == wanted)
        return keeps

    def breaks(self, ids: Ids) -> dict[str, Bool[Tensor, "batch"]]:
        """Which rows of the data break each relation and each derived column, by name."""
        found = {}
        for relation in self.relations:
            own = ids[:, list(relation.columns)]
            found[relation.name] = ~relation.holds(own, own)
        for each in self.derived:
            name = f"{self.schema.features[each.column].name} = {each.text}"
            found[name] = each.compute(ids[:, list(each.inputs)]) != ids[:, each.column]
        return found

    def to_json(self) -> dict[str, Any]:
        """Everything but the schema, and the code of functions. Equal rules of many columns are written once."""
        by_rule: list[tuple[dict[str, Any], list[str]]] = []
        places: dict[str, int] = {}
        for rule in self.columns:
            value = rule.to_json()
            place = places.setdefault(repr(sorted(value.items(), key=lambda item: item[0])), len(by_rule))
            if place == len(by_rule):
                by_rule.append((value, []))
            by_rule[place][1].append(rule.column)
        return {
            "unit": None if self.unit is None else self.unit.to_json(),
            "changes": self.changes,
            "columns": [{"names": names, **value} for value, names in by_rule],
            "relations": [relation.to_json() for relation in self.relations],
            "derived": [each.to_json() for each in self.derived],
            "gain": None if self.gain is None else self.gain.to_json(),
        }

    @staticmethod
    def from_json(value: Any, schema: Schema, functions: Mapping[str, Keeps] | None = None) -> "Rules":
        """Inverse of `to_json`.

        Args:
            value: the document.
            schema: what its columns mean.
            functions: the code of functions, by name. No document runs code by itself.

        Raises:
            FileError: the document is damaged.
            InputError: it names a function that was not passed.
        """
        known = functions or {}
        with damage_as_file_error("a threat", "rules"):
            stored = list(value["relations"])
            names = [check_function_name(entry["function"]) for entry in stored if entry["kind"] == Function.kind]
        for name in names:
            if name not in known:
                raise function_not_passed(name)
        with damage_as_file_error("a threat", "rules"):
            columns = [
                ColumnRule.from_json(name, {key: part for key, part in entry.items() if key != "names"})
                for entry in value["columns"]
                for name in entry["names"]
            ]
            return Rules(
                schema,
                unit=None if value["unit"] is None else Unit.from_json(value["unit"]),
                columns=tuple(columns),
                relations=tuple(relation_from_json(entry, schema, known) for entry in stored),
                derived=tuple(Derived.from_json(entry, schema) for entry in value["derived"]),
                gain=None if value["gain"] is None else Gain.from_json(value["gain"]),
                changes=value["changes"],
            )
