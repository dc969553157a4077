"""Relations at their bounds: how many are on, which pairs were seen, what a row is worth, how long a formula may be."""

import base64
import itertools
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
import torch

from hammingbox.data.schema import Feature, Schema
from hammingbox.errors import InputError
from hammingbox.threat.rules import seen_together as seen_module
from hammingbox.threat.rules.determines import Determines
from hammingbox.threat.rules.expression import Expression
from hammingbox.threat.rules.formula import Formula, IfWritten, Implies
from hammingbox.threat.rules.function import Function, check_function_name, import_function
from hammingbox.threat.rules.gain import Gain
from hammingbox.threat.rules.keys import TupleIndex
from hammingbox.threat.rules.one_hot import OneHot
from hammingbox.threat.rules.relation import ids_of_texts, indices_of
from hammingbox.threat.rules.seen_together import SeenTogether
from hammingbox.threat.rules.truth import Truth, both, either, negated
from hammingbox.threat.rules.unit import MOST_TICKS, Unit
from toys.shop import rows, shop

FLAGS = Schema(tuple(Feature(f"is_{c}", ("0", "1")) for c in "abc"), ("x", "y"))


def test_how_many_columns_are_on() -> None:
    points = torch.tensor(list(itertools.product((0, 1), repeat=3)))
    for least, most in itertools.product(range(4), repeat=2):
        if least > most:
            with pytest.raises(InputError, match="expected 0 <= least <= most <= 3"):
                OneHot(FLAGS, ["is_a", "is_b", "is_c"], least=least, most=most)
            continue
        found = OneHot(FLAGS, ["is_a", "is_b", "is_c"], least=least, most=most).holds(points, points)
        assert torch.equal(found, (points.sum(1) >= least) & (points.sum(1) <= most))
    for least, most in ((-1, 1), (0, 4), (True, 1), (0, True)):
        with pytest.raises(InputError, match="expected 0 <= least"):
            OneHot(FLAGS, ["is_a", "is_b", "is_c"], least=least, most=most)


def test_what_means_on() -> None:
    schema = Schema(
        (Feature("a", ("no", "Yes")), Feature("b", ("TRUE", "FALSE")), Feature("c", ("0.0", "1.0"), "number")),
        ("x", "y"),
    )
    points = torch.tensor([[1, 1, 0], [0, 0, 0], [0, 1, 1], [0, 1, 0]])
    assert OneHot(schema, ["a", "b", "c"]).holds(points, points).tolist() == [True, True, True, False]
    with pytest.raises(InputError, match="the value 'maybe' in column 'a'"):
        OneHot(schema, ["a", "b"], on="maybe")


def test_pairs_that_were_seen_against_a_loop() -> None:
    schema = Schema(
        tuple(Feature(n, tuple("pqrs"[:size])) for n, size in zip("abc", (3, 4, 2), strict=True)), ("x", "y")
    )
    data = torch.tensor([[0, 0, 0], [0, 1, 1], [1, 2, 0], [2, 3, 1]])
    relation = SeenTogether.of_rows(schema, ["a", "c", "b"], data)
    assert relation.columns == (0, 2, 1)
    again = SeenTogether.from_json(relation.to_json(), schema)
    pairs = {(i, j): {tuple(row) for row in data[:, [relation.columns[i], relation.columns[j]]].tolist()}
             for i, j in itertools.combinations(range(3), 2)}  # fmt: skip
    points = torch.tensor(list(itertools.product(range(3), range(2), range(4))))
    for own in ([0, 0, 0], [2, 0, 1]):  # the second row is not in the data itself
        clean = torch.tensor([own]).expand_as(points)
        wanted = [
            all((row[i], row[j]) in seen or (row[i] == own[i] and row[j] == own[j]) for (i, j), seen in pairs.items())
            for row in points.tolist()
        ]
        assert relation.holds(points, clean).tolist() == wanted
        assert again.holds(points, clean).tolist() == wanted


def test_tables_of_pairs_have_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = rows({})
    columns = ["city", "country", "card"]  # 4 x 2 + 4 x 2 + 2 x 2 pairs
    monkeypatch.setattr(seen_module, "MOST_CELLS", 20)
    stored = SeenTogether.of_rows(shop(), columns, ids).to_json()
    monkeypatch.setattr(seen_module, "MOST_CELLS", 19)
    with pytest.raises(InputError, match="at most 19 pairs of values together, got 20"):
        SeenTogether.of_rows(shop(), columns, ids)
    for size in (0, 2):
        bits = base64.b64encode(np.zeros(size, dtype=np.uint8).tobytes()).decode()
        with pytest.raises(InputError, match="of another size"):
            SeenTogether.from_json({**stored, "seen": [stored["seen"][0], bits, stored["seen"][2]]}, shop())
    with pytest.raises(InputError, match="at least 2 columns"):
        SeenTogether.of_rows(shop(), ["city"], ids)
    with pytest.raises(InputError, match="one table for every pair"):
        SeenTogether(shop(), ["city", "country"], [torch.ones(2, 4, dtype=torch.bool)])


def test_what_a_gain_may_be() -> None:
    for settings in ({}, {"column": "net", "value": 3}):
        with pytest.raises(InputError, match="neither or both"):
            Gain(**settings)  # type: ignore[arg-type]
    for value, margin in ((-1, 0), (0, -1), (MOST_TICKS + 1, 0), (0, MOST_TICKS + 1), (True, 0)):
        with pytest.raises(InputError, match="of at least 0"):
            Gain(value=value, margin=margin)
    assert Gain(value=MOST_TICKS, margin=MOST_TICKS).margin == MOST_TICKS
    x = rows({}, {})
    for value, margin, wanted in ((0, 0, 0), (5, 5, 0), (5, 6, 0), (6, 5, 1)):
        assert Gain(value=value, margin=margin).allowance(None, x).tolist() == [wanted] * 2
    assert Gain("net", margin=1).allowance(torch.tensor([3, 0]), x).tolist() == [2, 0]
    with pytest.raises(InputError, match="column of numbers as gain"):
        Gain("ordered").table(shop(), Unit.of(1))
    assert Gain(value=3).table(shop(), Unit.of(1)) is None
    assert Gain.from_json(Gain("net", margin=2).to_json()) == Gain("net", margin=2)


def test_gains_in_whole_ticks() -> None:
    amounts = Schema((Feature("worth", ("-5", "0", "0.29", "0.3", "1e14", "?"), "number"),), ("x", "y"))
    found = Gain("worth").table(amounts, Unit(Decimal("0.1")))
    assert found is not None
    assert found.tolist() == [0, 0, 2, 3, MOST_TICKS, 0]


def test_how_long_and_deep_a_formula_may_be() -> None:
    longest = "net > 1" + " " * 3_990 + "+ 1"
    assert len(longest) == 4_000
    Expression(longest, shop())
    with pytest.raises(InputError, match="at most 4,000 characters"):
        Expression(longest + " ", shop())
    deep = [f"{'-' * n}net > 1" for n in range(50, 70)]
    accepted = [n for n, text in enumerate(deep, 50) if _is_formula(text)]
    assert accepted == list(range(50, max(accepted) + 1))
    assert len(accepted) == 8, "a comparison, the signs, the name and its context are 60 levels at most"


def _is_formula(text: str) -> bool:
    try:
        Expression(text, shop())
    except InputError as error:
        return "at most 60 levels" not in str(error)
    return True


def test_numbers_of_a_comparison() -> None:
    formula = Expression("net > 1", shop())
    ids = rows({"net": "2"}, {"net": "1"}, {"net": "<missing>"})[:, list(formula.columns)]
    assert formula.numbers(ids, ids).nan_to_num(-1).tolist() == [1.0, 0.0, -1.0]
    with pytest.raises(InputError, match="is a number, not a comparison"):
        Expression("net + 1", shop()).truth(ids, ids)
    flag = Expression("card", shop())
    assert flag.is_logic
    assert not Expression("net", shop()).is_logic
    towns = Schema((Feature("city", ("a", "b")), Feature("country", ("b", "c"))), ("x", "y"))
    pairs = torch.tensor([[1, 0], [0, 0]])
    assert Expression("city == country", towns).truth(pairs, pairs).can_hold.tolist() == [True, False]


def test_three_valued_logic() -> None:
    pairs = {"true": (True, False), "false": (False, True), "unknown": (True, True)}
    names = {name: Truth(*map(torch.tensor, pair)) for name, pair in pairs.items()}
    order = {"false": 0, "unknown": 1, "true": 2}

    def word(truth: Truth) -> str:
        found = (bool(truth.can_hold), bool(truth.can_fail))
        return next(name for name, pair in pairs.items() if pair == found)

    for a, b in itertools.product(names, repeat=2):
        assert word(both([names[a], names[b]])) == min(a, b, key=order.__getitem__)
        assert word(either([names[a], names[b]])) == max(a, b, key=order.__getitem__)
    assert [word(negated(names[name])) for name in names] == ["false", "true", "unknown"]
    for value, known, wanted in (
        (True, True, "true"),
        (False, True, "false"),
        (True, False, "unknown"),
        (False, False, "unknown"),
    ):
        assert word(Truth.of(torch.tensor(value), torch.tensor(known))) == wanted


def test_a_function_sees_texts_and_numbers() -> None:
    seen: dict[str, Any] = {}

    def look(written: Any, clean: Any) -> Any:
        seen.update(written)
        return clean["net"] > 0

    relation = Function(shop(), "mine:look", ["city", "net", "ordered", "card"], look)
    points = rows({}, {"net": "0"})[:, list(relation.columns)]
    assert relation.holds(points, points).tolist() == [True, False]
    assert seen["city"].tolist() == ["Paris", "Paris"]
    assert seen["net"].tolist() == [2.0, 0.0]
    assert seen["ordered"].tolist() == [1582934400.0] * 2
    assert seen["card"].tolist() == [1.0, 1.0]
    assert relation.name == "mine:look"
    for name in ("a.b", "a.b:", ":c", "a..b:c", "a.b:c.d", "1a:b"):
        with pytest.raises(InputError, match=r"package\.module:name"):
            check_function_name(name)
    with pytest.raises(InputError, match="expected a function at 'math:pi', got float"):
        import_function("math:pi")


def test_lists_of_columns_and_rows() -> None:
    assert indices_of(shop(), ["net", "city"]) == (2, 0)
    for names, message in (([], "at least 1 column, got 0"), (["net", "net"], "each column once")):
        with pytest.raises(InputError, match=message):
            indices_of(shop(), names)
    assert ids_of_texts(shop(), [0, 2], [["Rome", 3], ["Rome", "3"], ["Paris", 3.0]]).tolist() == [
        [2, 3],
        [2, 3],
        [0, 3],
    ]
    for table in ([["Rome"]], [["Rome", "1", "2"]], ["Ro"]):
        with pytest.raises(InputError, match="one value of each of city, net"):
            ids_of_texts(shop(), [0, 2], table)


def test_ties_between_values_go_to_the_first_id_and_names_are_kept() -> None:
    data = rows({"country": "Italy"}, {"country": "France"}, {"city": "Rome", "country": "Italy"})
    relation = Determines.of_rows(shop(), ["city"], "country", data, "my rule")
    assert relation.to_json()["table"] == [["Paris", "France"], ["Rome", "Italy"]]
    assert relation.name == "my rule"
    assert Determines.of_rows(shop(), ["city"], "country", data).name == "city decides country"
    assert relation.decided(torch.tensor([[0], [1], [2]])).tolist() == [0, -1, 1]


def test_ids_at_the_ends_of_a_column_are_found() -> None:
    table = torch.tensor([[0, 0], [0, 2], [3, 0], [3, 2], [0, 2]])
    index = TupleIndex(table, (4, 3))
    for pair in itertools.product(range(-1, 5), range(-1, 4)):
        assert (int(index.find(torch.tensor(pair))) >= 0) == (list(pair) in table.tolist()), pair
    assert index.rows == 4
    assert index.distinct(table).tolist() == [[0, 0], [0, 2], [3, 0], [3, 2]]


def test_what_reports_call_relations() -> None:
    assert Implies(shop(), "net > 1", "tax > 1").name == "if net > 1 then tax > 1"
    assert Implies(shop(), "net > 1", "tax > 1", "mine").name == "mine"
    assert Formula(shop(), "net > 1").name == "net > 1"
    assert Formula(shop(), "net > 1", "mine").name == "mine"
    assert IfWritten(shop(), "city", "net > 1").name == "if city is written then net > 1"
    assert IfWritten(shop(), "city", "net > 1", name="mine").name == "mine"
