"""Rules as a whole: prices of S(x), bills, relations and derived columns of rows, and their stored form."""

import contextlib
import json
from decimal import Decimal
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hammingbox.errors import FileError, InputError
from hammingbox.threat.rules.combinations import Combinations
from hammingbox.threat.rules.derived import Derived
from hammingbox.threat.rules.determines import Determines
from hammingbox.threat.rules.formula import Formula
from hammingbox.threat.rules.function import Function
from hammingbox.threat.rules.gain import Gain
from hammingbox.threat.rules.limits import Limits
from hammingbox.threat.rules.prices import CANNOT, ColumnRule
from hammingbox.threat.rules.rules import Rules
from hammingbox.threat.rules.unit import Unit
from hammingbox.threat.space import FullSpace
from hammingbox.threat.table_space import TableSpace
from toys.shop import rows, shop

CITIES = [["Paris", "France"], ["Lyon", "France"], ["Rome", "Italy"], ["Milan", "Italy"]]


def shop_rules(**changes: Any) -> Rules:
    """Every column priced; the city decides the country, the total is computed, the order comes before the parcel."""
    schema = shop()
    own: dict[str, Any] = {
        "unit": Unit(Decimal("0.1"), "EUR"),
        "columns": (
            ColumnRule("city", price=5),
            ColumnRule("country", price=0),
            ColumnRule("net", up=1, down=2, step=Decimal(1)),
            ColumnRule("tax", price=3, limits=Limits(most_steps=1)),
            ColumnRule("ordered", price=1, limits=Limits(window=(7, 7))),
            ColumnRule("shipped", price=1),
            ColumnRule("card", write={"true": 100, "false": 1}),
            ColumnRule("size", frozen=True),
        ),
        "relations": (Determines(schema, ["city"], "country", CITIES), Formula(schema, "ordered <= shipped")),
        "derived": (Derived(schema, "total", formula="net + tax"),),
        "gain": Gain("net", margin=7),
    }
    return Rules(schema, **(own | changes))


def random_rows(seed: int, count: int = 20) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.stack([torch.randint(d, (count,), generator=generator) for d in shop().cardinalities], 1)


@given(seed=st.integers(0, 10_000), is_table=st.booleans(), is_priced=st.booleans())
def test_options_are_priced_as_bills_are(seed: int, is_table: bool, is_priced: bool) -> None:
    """Each option of S(x), written alone, is billed what it was priced at; what is not allowed is billed -1."""
    limits = tuple(ColumnRule(r.column, limits=r.limits, frozen=r.frozen) for r in shop_rules().columns)
    rules = shop_rules() if is_priced else shop_rules(unit=None, gain=None, columns=limits)
    x = random_rows(seed, 4)
    space = TableSpace(shop(), {"net": ["1", "5"]}, steps={"net": [1, -1]}) if is_table else FullSpace(shop())
    base = space.candidates(x)
    ticks, allowed = rules.priced(x, base)
    assert allowed[:, base.layout.starts].all()
    assert (ticks[:, base.layout.starts] == 0).all()
    assert not (allowed & ~base.valid).any(), "rules never add to S(x)"
    for option, feature in enumerate(base.layout.feature_of.tolist()):
        written = x.clone()
        written[:, feature] = base.ids[:, option]
        bill = rules.bill(x, written)
        assert (bill[:, [f for f in range(9) if f != feature]] == 0).all()
        if feature == 4:
            assert (bill[:, feature] == 0).all(), "derived columns cost nothing"
            assert not (allowed & (base.layout.slot_of != 0))[:, option].any(), "and have no options"
            continue
        here = base.valid[:, option] & (base.ids[:, option] != x[:, feature])
        assert torch.equal(allowed[here, option], (bill[:, feature] != CANNOT)[here])
        assert torch.equal(ticks[:, option][here & allowed[:, option]], bill[:, feature][here & allowed[:, option]])
        if not is_priced:
            assert (bill <= 1).all()


def test_a_bill_says_what_each_change_costs() -> None:
    rules = shop_rules()
    x = rows({}, {}, {})
    written = rows({"city": "Rome", "country": "Italy", "net": "4"}, {"card": "false", "tax": "3"}, {"size": "small"})
    assert rules.bill(x, written).tolist() == [
        [5, 0, 2, 0, 0, 0, 0, 0, 0], [0, 0, 0, -1, 0, 0, 0, 1, 0], [0, 0, 0, 0, 0, 0, 0, 0, -1],
    ]  # fmt: skip


def test_whole_rows_keep_relations() -> None:
    rules = shop_rules()
    x = rows(*[{}] * 6, {"country": "Italy"}, {"country": "Italy"})
    written = rows(
        {}, {"city": "Rome"}, {"city": "Rome", "country": "Italy"}, {"net": "3"}, {"net": "3", "total": "4"},
        {"ordered": "2020-03-08"}, {"country": "Italy", "tax": "2", "total": "4"}, {"country": "Italy", "city": "Lyon"},
    )  # fmt: skip
    assert rules.hold(x, written).tolist() == [True, False, True, False, True, False, True, False]


def test_a_clean_row_is_a_point_even_if_the_data_breaks_every_rule() -> None:
    rules = shop_rules()
    x = random_rows(3, 200)
    assert rules.hold(x, x).all()
    assert (rules.bill(x, x) == 0).all()
    completed, exist = rules.complete(x, x)
    assert torch.equal(completed, x)
    assert exist.all()
    broken = rules.breaks(x)
    assert all(0 < int(mask.sum()) < 200 for mask in broken.values())
    assert len(broken) == 3


def test_derived_columns_follow_what_is_written() -> None:
    rules = shop_rules()
    x = rows({}, {}, {"total": "9"}, {"net": "7"})
    written = rows({"net": "5"}, {"net": "<missing>"}, {"total": "9", "card": "false"}, {"net": "7", "tax": "3"})
    done, exist = rules.complete(written, x)
    texts = [shop().features[4].categories[i] for i in done[:, 4].tolist()]
    assert texts == ["6", "<missing>", "9", "10"], "no input changed in row 2, whose total is wrong in the data"
    assert exist.all()
    assert rules.hold(x, done).all()
    assert torch.equal(done[:, :4], written[:, :4])
    again, _ = rules.complete(written)
    assert shop().features[4].categories[int(again[2, 4])] == "3", "without clean rows all are recomputed"


def test_a_derived_value_that_has_no_id_cannot_be_written() -> None:
    schema = shop()
    rules = Rules(schema, derived=(Derived(schema, "tax", formula="net - total"),))
    written = rows({"net": "5", "total": "3"}, {"net": "7", "total": "1"})
    done, exist = rules.complete(written, rows({}, {}))
    assert exist.tolist() == [True, False]
    assert rules.hold(rows({}, {}), done).tolist() == [True, False]


def test_derived_columns_of_derived_columns() -> None:
    schema = shop()
    chain = (
        Derived(schema, "card", formula="total > 3"),
        Derived(schema, "total", formula="net + tax"),
        Derived(schema, "country", table=Determines(schema, ["city"], "country", CITIES)),
    )
    rules = Rules(
        schema, derived=chain, relations=(Formula(schema, "card or net < 2"), Formula(schema, "ordered <= shipped"))
    )
    done, exist = rules.complete(rows({"net": "5"}, {"city": "Milan"}), rows({}, {}))
    assert exist.all()
    assert schema.decode(done[0].tolist())[7] == "true"
    assert schema.decode(done[1].tolist())[1] == "Italy"
    assert rules.groups == ((0,), (2, 3), (5, 6)), "columns that are written, joined through computed ones"


def test_groups_join_relations_that_share_columns() -> None:
    schema = shop()
    relations = (
        Combinations(schema, ["size", "card"], [["small", "true"]]),
        Formula(schema, "net <= total"),
        Formula(schema, "tax <= total"),
        Determines(schema, ["city"], "country", CITIES),
    )
    assert Rules(schema, relations=relations).groups == ((0, 1), (2, 3, 4), (7, 8))
    assert Rules(schema).groups == ()


def test_what_a_row_is_worth() -> None:
    x = rows({"net": "0"}, {"net": "1"}, {"net": "<missing>"}, {"net": "7"})
    found = shop_rules().allowance(x)
    assert found is not None
    assert found.tolist() == [0, 3, 0, 63]
    fixed = shop_rules(gain=Gain(value=20, margin=5)).allowance(x)
    assert fixed is not None
    assert fixed.tolist() == [15] * 4
    assert shop_rules(gain=None).allowance(x) is None
    thirds = shop_rules(unit=Unit(Decimal("0.3")), gain=Gain("net")).allowance(x)
    assert thirds is not None
    assert thirds.tolist() == [0, 3, 0, 23], "a part of a tick buys nothing"


def test_stored_rules_say_the_same() -> None:
    rules = shop_rules(changes=3)
    stored = json.loads(json.dumps(rules.to_json()))
    again = Rules.from_json(stored, shop())
    assert again.to_json() == rules.to_json()
    assert again.changes == 3
    assert again.unit == rules.unit
    x, written = random_rows(1, 300), random_rows(2, 300)
    assert torch.equal(again.bill(x, written), rules.bill(x, written))
    assert torch.equal(again.hold(x, written), rules.hold(x, written))
    assert torch.equal(again.complete(written, x)[0], rules.complete(written, x)[0])


def test_equal_rules_of_many_columns_are_stored_once() -> None:
    schema = shop()
    rules = Rules(schema, Unit(Decimal(1)), tuple(ColumnRule(f.name, price=1) for f in schema.features))
    assert len(rules.to_json()["columns"]) == 1
    assert len(Rules.from_json(rules.to_json(), schema).columns) == 9


def test_functions_come_from_their_owner_only() -> None:
    def fine(written: Any, clean: Any) -> Any:
        return written["net"] > 3

    rules = Rules(shop(), relations=(Function(shop(), "os:getcwd", ["net"], fine),))
    with pytest.raises(InputError, match=r"os:getcwd.*no file runs code"):
        Rules.from_json(rules.to_json(), shop())
    again = Rules.from_json(rules.to_json(), shop(), {"os:getcwd": fine})
    assert again.hold(rows({}, {}), rows({"net": "5"}, {"net": "1"})).tolist() == [True, False]


BAD: list[tuple[dict[str, Any], str]] = [
    ({"columns": ()}, "price for every column, got none for 'city' and 7 more"),
    ({"columns": (ColumnRule("city", price=1), ColumnRule("city", price=2))}, "got two"),
    ({"columns": (ColumnRule("cty", price=1),)}, "Did you mean 'city'"),
    ({"columns": (ColumnRule("total", price=1),)}, "derived column costs nothing"),
    ({"unit": None, "columns": ()}, "unit for the gain"),
    ({"gain": Gain("city")}, "column of numbers as gain"),
    ({"gain": Gain("cit")}, "Did you mean 'city'"),
    ({"changes": 0}, "at least 1 change"),
    ({"derived": (Derived(shop(), "total", formula="net"), Derived(shop(), "total", formula="tax"))}, "got two"),
    ({"derived": (Derived(shop(), "total", formula="net"), Derived(shop(), "net", formula="total"))}, "circle"),
]


@pytest.mark.parametrize(("changes", "message"), BAD)
def test_rules_that_contradict_each_other(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        shop_rules(**changes)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"formula": "total + 1"}, "itself"),
        ({"formula": "net < clean(net)"}, "clean ones"),
        ({}, "neither or both"),
        ({"table": Determines(shop(), ["city"], "country", CITIES)}, "another column"),
    ],
)
def test_a_derived_column_that_is_none(entries: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Derived(shop(), "total", **entries)
    with pytest.raises(InputError, match="categories are not numbers"):
        Derived(shop(), "city", formula="net + 1")


@given(data=st.data())
def test_damaged_rules_are_a_file_error(data: st.DataObject) -> None:
    """Any part of the document is replaced by something else: it is read, or said to be damaged."""
    stored: Any = json.loads(json.dumps(shop_rules(changes=3).to_json()))
    place = stored
    while isinstance(place, dict | list) and place:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(place[key], dict | list) or not place[key] or data.draw(st.booleans()):
            if isinstance(place, dict) and data.draw(st.booleans()):
                del place[key]
            else:
                place[key] = data.draw(
                    st.sampled_from([None, -3, 1.5, "x", [], {}, True, [[]], 10**30, "\ud800", {"a": 1}])
                )
            break
        place = place[key]
    with contextlib.suppress(FileError):
        Rules.from_json(stored, shop())
