"""Relations between columns, judged on whole points."""

import inspect
import itertools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import torch

from hammingbox.data.schema import Feature, Schema
from hammingbox.errors import InputError
from hammingbox.threat.rules.combinations import Combinations
from hammingbox.threat.rules.determines import Determines
from hammingbox.threat.rules.formula import Formula, IfWritten, Implies
from hammingbox.threat.rules.function import Function, import_function
from hammingbox.threat.rules.keys import TupleIndex
from hammingbox.threat.rules.one_hot import OneHot
from hammingbox.threat.rules.relation import Relation
from hammingbox.threat.rules.relation_kinds import relation_from_json
from toys.shop import rows, shop

CITIES = [["Paris", "France"], ["Lyon", "France"], ["Rome", "Italy"], ["Milan", "Italy"]]


def dear_needs_card(written: Mapping[str, Any], clean: Mapping[str, Any]) -> Any:
    return (written["net"] <= 5) | (written["card"] == 1) | (written["city"] == "Rome")


def all_relations() -> list[Relation]:
    schema = shop()
    return [
        Determines(schema, ["city"], "country", CITIES),
        Combinations(schema, ["size", "card"], [["small", "true"], ["medium", "true"], ["large", "false"]]),
        Formula(schema, "net + tax == total"),
        Implies(schema, 'size == "large"', "net >= 4"),
        IfWritten(schema, "city", "changed(size)", ["Rome"]),
        Function(schema, "mine:dear_needs_card", ["net", "card", "city"], dear_needs_card),
    ]


def keeps(relation: Relation, written: dict[str, str], clean: dict[str, str] | None = None) -> bool:
    both = rows(written, clean or {})[:, list(relation.columns)]
    return bool(relation.holds(both[:1], both[1:])[0])


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (0, {"city": "Rome", "country": "Italy"}, {"city": "Rome"}),
        (1, {"size": "small"}, {"size": "<missing>"}),
        (2, {"net": "3", "total": "4"}, {"net": "3"}),
        (3, {"size": "large", "net": "4"}, {"size": "large"}),
        (4, {"city": "Rome", "size": "small"}, {"city": "Rome"}),
        (4, {"city": "Lyon"}, {"city": "Rome"}),
        (5, {"net": "7"}, {"net": "7", "card": "false"}),
    ],
)
def test_each_kind(kind: int, good: dict[str, str], bad: dict[str, str]) -> None:
    relation = all_relations()[kind]
    assert keeps(relation, good)
    assert not keeps(relation, bad)


@pytest.mark.parametrize("relation", all_relations(), ids=lambda relation: relation.kind)
def test_many_points_of_one_row_at_once(relation: Relation) -> None:
    """Points may have any shape, and a clean row may stand for many points; stored relations say the same."""
    schema = shop()
    sizes = [schema.cardinalities[c] for c in relation.columns]
    points = torch.tensor(list(itertools.product(*map(range, sizes)))).reshape(2, -1, len(sizes))
    clean = rows({})[:, list(relation.columns)]
    many = relation.holds(points, clean.expand_as(points))
    assert many.shape == points.shape[:-1]
    assert many.dtype == torch.bool
    assert torch.equal(relation.holds(points, clean.reshape(1, 1, -1)), many)
    flat = points.reshape(-1, len(sizes))
    for i in range(0, len(flat), 7):
        assert bool(relation.holds(flat[i : i + 1], clean)[0]) == bool(many.flatten()[i])
    again = relation_from_json(relation.to_json(), schema, {"mine:dear_needs_card": dear_needs_card})
    assert again.columns == relation.columns
    assert again.name == relation.name
    assert again.to_json() == relation.to_json()
    assert torch.equal(again.holds(points, clean.expand_as(points)), many)


def test_one_hot_groups() -> None:
    schema = Schema(tuple(Feature(f"is_{c}", ("0", "1")) for c in "abc"), ("x", "y"))
    points = torch.tensor(list(itertools.product((0, 1), repeat=3)))
    exactly = OneHot(schema, ["is_a", "is_b", "is_c"])
    assert torch.equal(exactly.holds(points, points), points.sum(1) == 1)
    at_most = OneHot(schema, ["is_a", "is_c"], on="0", least=0, most=1)
    assert torch.equal(at_most.holds(points[:, [0, 2]], points[:, [0, 2]]), (1 - points[:, [0, 2]]).sum(1) <= 1)
    assert relation_from_json(at_most.to_json(), schema, {}).to_json() == at_most.to_json()
    with pytest.raises(InputError, match="which value means on"):
        OneHot(shop(), ["city", "card"])
    with pytest.raises(InputError, match="least"):
        OneHot(schema, ["is_a", "is_b"], most=3)


def test_tuples_are_found_whatever_the_product_of_cardinalities_is() -> None:
    sizes = (1_000_000,) * 12  # 10**72 combinations
    generator = torch.Generator().manual_seed(5)
    table = torch.randint(1_000_000, (500, 12), generator=generator)
    index = TupleIndex(table, sizes)
    assert torch.equal(index.find(table), index.code)
    other = table.clone()
    other[:, 7] = (other[:, 7] + 1) % 1_000_000
    assert (index.find(other) == -1).all()
    assert int(index.find(torch.full((12,), -1))) == -1, "an id that a column does not have"
    assert int(TupleIndex(torch.empty(0, 2, dtype=torch.int64), (3, 3)).find(torch.tensor([0, 0]))) == -1


def test_a_dependency_from_data_follows_the_majority() -> None:
    data = rows(*[{}] * 5, {"country": "Italy"}, {"city": "Rome", "country": "Italy"})
    relation = Determines.of_rows(shop(), ["city"], "country", data)
    assert relation.to_json()["table"] == [["Paris", "France"], ["Rome", "Italy"]]
    assert keeps(relation, {})
    assert not keeps(relation, {"country": "Italy"})
    assert not keeps(relation, {"city": "Lyon"}), "a city that no row shows"


def test_what_a_relation_refuses() -> None:
    schema = shop()
    cases: list[tuple[Callable[[], Relation], str]] = [
        (lambda: Determines(schema, ["city"], "country", [*CITIES, ["Paris", "Italy"]]), "several for Paris"),
        (lambda: Determines(schema, ["cty"], "country", CITIES), "Did you mean 'city'"),
        (lambda: Determines(schema, ["city"], "city", CITIES), "each column once"),
        (lambda: Determines(schema, ["city"], "country", []), "got none"),
        (lambda: Combinations(schema, ["city", "country"], [["Paris", "Frnce"]]), "Did you mean 'France'"),
        (lambda: Combinations(schema, ["city", "country"], [["Paris"]]), "one value of each"),
        (lambda: Combinations(schema, ["city"], [["Paris"]]), "at least 2 columns"),
        (lambda: Combinations(schema, ["city", "country"], []), "at least one allowed combination"),
        (lambda: Combinations(schema, "city", [["Paris"]]), "list of column names"),
        (lambda: Formula(schema, "net + tax"), "which is a number"),
        (lambda: IfWritten(schema, "city", "changed(size)", ["Rom"]), "Did you mean 'Rome'"),
        (lambda: IfWritten(schema, "city", "changed(size)", []), "got none"),
        (lambda: relation_from_json({"kind": "formulas"}, schema, {}), "Did you mean 'formula'"),
    ]
    for make, message in cases:
        with pytest.raises(InputError, match=message):
            make()


def test_a_function_is_never_found_by_itself() -> None:
    stored = all_relations()[5].to_json()
    with pytest.raises(InputError, match="no file runs code"):
        relation_from_json(stored, shop(), {})
    with pytest.raises(InputError, match=r"package\.module:name"):
        import_function("os.system")
    with pytest.raises(InputError, match="importable"):
        import_function("no_such_module:name")
    assert import_function("operator:eq") is not None


@pytest.mark.parametrize(
    "answer", [lambda w, c: 1, lambda w, c: [True], lambda w, c: 1 / 0, lambda w, c: np.ones(3)],
    ids=["a number", "too few", "an error", "floats"],
)  # fmt: skip
def test_a_function_that_answers_nonsense(answer: Any) -> None:
    relation = Function(shop(), "mine:rule", ["net"], answer)
    with pytest.raises(InputError, match="function 'mine:rule'"):
        relation.holds(torch.zeros(3, 1, dtype=torch.int64), torch.zeros(3, 1, dtype=torch.int64))


def test_a_tuple_with_an_id_that_its_column_lacks_is_no_other_tuple() -> None:
    """By its number alone (0, 3) would be (1, 0), and (1, -1) would be (0, 2)."""
    index = TupleIndex(torch.tensor([[0, 2], [1, 0], [1, 0]]), (2, 3))
    assert index.rows == 2
    every = list(itertools.product(range(-1, 3), range(-1, 5)))
    found = index.find(torch.tensor(every).reshape(4, 6, 2)).flatten().tolist()
    assert found == [{(0, 2): 0, (1, 0): 1}.get(pair, -1) for pair in every]


@pytest.mark.parametrize(
    ("categories", "on", "place"),
    [
        (("0", "1"), None, 1), (("no", "Yes"), None, 1), (("TRUE", "FALSE"), None, 0), (("yes", "1"), None, 1),
        (("off", "on"), "on", 1), (("Off", "off"), "off", 1), (("yes", "no"), "no", 1),
    ],
)  # fmt: skip
def test_the_value_that_means_on(categories: tuple[str, ...], on: str | None, place: int) -> None:
    schema = Schema((Feature("a", categories), Feature("b", categories)), ("x", "y"))
    points = torch.tensor(list(itertools.product((0, 1), repeat=2)))
    relation = OneHot(schema, ["a", "b"], on)
    assert torch.equal(relation.holds(points, points), (points == place).sum(1) == 1)


@pytest.mark.parametrize("bounds", [(-1, 1), (2, 1), (0, 3), (True, 1), (1, 1.0)])
def test_bounds_that_no_row_can_keep(bounds: tuple[int, int]) -> None:
    schema = Schema(tuple(Feature(name, ("0", "1")) for name in "ab"), ("x", "y"))
    unwrapped = inspect.unwrap(OneHot.__init__)
    with pytest.raises(InputError, match="expected 0 <= least <= most <= 2"):
        unwrapped(OneHot.__new__(OneHot), schema, ["a", "b"], None, *bounds)
    for fits in ((0, 0), (0, 2), (2, 2)):
        OneHot(schema, ["a", "b"], None, *fits)
    for wanted in ("on", "2"):
        with pytest.raises(InputError, match=f"expected the value '{wanted}' in column 'a'"):
            OneHot(schema, ["a", "b"], wanted)
