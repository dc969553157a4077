"""Pairs that the data never shows: by value or by range, the same as the report counts, and the same after JSON."""

import json

import pytest
import torch

from hammingbox.data.schema import Feature, Schema
from hammingbox.errors import InputError
from hammingbox.evaluation.seen_pairs import SeenPairs
from hammingbox.threat.rules.seen_together import SeenTogether

SCHEMA = Schema(
    (
        Feature("amount", (*(str(n) for n in range(300)), "<missing>"), "number"),
        Feature("city", ("Paris", "Rome", "Lyon")),
        Feature("age", tuple(str(n) for n in range(18, 90)), "number"),
    ),
    ("ok", "fraud"),
)
NAMES = [feature.name for feature in SCHEMA.features]


def some_rows(count: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.stack([torch.randint(0, size, (count,), generator=generator) for size in SCHEMA.cardinalities], 1)


def test_what_is_kept_is_what_the_report_calls_seen() -> None:
    known = some_rows(120, 0)
    known[:, 1] = (known[:, 0] > 150).long()  # dear things in Rome; nobody is in Lyon
    relation = SeenTogether.of_rows(SCHEMA, NAMES, known, ranges=True)
    again = SeenTogether.from_json(json.loads(json.dumps(relation.to_json())), SCHEMA)
    x, written = known[:100], some_rows(100, 1)
    written[:, 1] = written[:, 1].clamp(max=1)  # a value that the data lacks makes no pair for the report
    keeps = relation.holds(written, x)
    assert keeps.tolist() == (SeenPairs(SCHEMA, known).unseen(x, written) == 0).tolist()
    assert 0 < keeps.sum() < 100
    assert again.holds(written, x).tolist() == keeps.tolist()
    by_value = SeenTogether.of_rows(SCHEMA, NAMES, known)
    assert by_value.holds(written, x).sum() < keeps.sum(), "two amounts that differ by one are not alike"
    assert "edges" not in by_value.to_json(), "files of earlier versions are read as before"


def test_ranges_outlive_new_values() -> None:
    """A schema that learned more numbers keeps the ranges, and so the relation."""
    known = some_rows(120, 0)
    relation = SeenTogether.of_rows(SCHEMA, NAMES, known, ranges=True)
    wider = Schema(
        (Feature("amount", (*(str(n / 2) if n % 2 else str(n // 2) for n in range(700)), "<missing>"), "number"),
         *SCHEMA.features[1:]), SCHEMA.classes,
    )  # fmt: skip
    moved = known.clone()
    moved[:, 0] = torch.where(known[:, 0] == 300, 700, 2 * known[:, 0])
    again = SeenTogether.from_json(relation.to_json(), wider)
    assert again.holds(moved.roll(1, 0), moved).tolist() == relation.holds(known.roll(1, 0), known).tolist()


@pytest.mark.parametrize("edges", [{"amount": [5, 3]}, {"city": [1]}, {"amount": [3]}])
def test_damaged_ranges_are_refused(edges: dict[str, list[int]]) -> None:
    value = SeenTogether.of_rows(SCHEMA, NAMES, some_rows(120, 0), ranges=True).to_json() | {"edges": edges}
    with pytest.raises(InputError):
        SeenTogether.from_json(value, SCHEMA)


def test_tables_of_another_size_are_refused() -> None:
    schema = Schema(
        tuple(Feature(name, tuple("abcdefgh"[:size])) for name, size in (("x", 3), ("y", 4), ("z", 8))), ("n", "y")
    )
    known = torch.tensor([[0, 1, 2], [2, 3, 7]])
    stored = SeenTogether.of_rows(schema, ["x", "y", "z"], known, "pairs").to_json()
    again = SeenTogether.from_json(stored, schema)
    assert again.holds(known, 1 - known.clamp(max=1)).all()
    assert (again.name, again.columns, again.pointwise) == ("pairs", (0, 1, 2), True)
    for place, bits in ((0, ""), (0, "AAAA"), (1, stored["seen"][2]), (2, stored["seen"][0])):
        seen = [*stored["seen"]]
        seen[place] = bits
        with pytest.raises(InputError, match="a table of the columns' values, got one of another size"):
            SeenTogether.from_json(stored | {"seen": seen}, schema)
    with pytest.raises(ValueError, match="argument"):
        SeenTogether.from_json(stored | {"seen": stored["seen"][:2]}, schema)
    tables = [
        torch.ones(3, 4, dtype=torch.bool),
        torch.ones(3, 8, dtype=torch.bool),
        torch.ones(8, 4, dtype=torch.bool),
    ]
    with pytest.raises(InputError, match="one table for every pair of columns"):
        SeenTogether(schema, ["x", "y", "z"], tables)
    with pytest.raises(InputError, match="at least 2 columns"):
        SeenTogether.of_rows(schema, ["x"], known)


def test_ranges_must_grow() -> None:
    stored = SeenTogether.of_rows(SCHEMA, NAMES, some_rows(120, 0), ranges=True).to_json()
    edges = stored["edges"]["amount"]
    for damaged in ([*edges[:-1], edges[-2]], [edges[1], edges[0], *edges[2:]], [float("nan"), *edges[1:]]):
        with pytest.raises(InputError, match="ranges in increasing order"):
            SeenTogether.from_json(stored | {"edges": stored["edges"] | {"amount": damaged}}, SCHEMA)


def test_columns_of_too_many_values_together() -> None:
    def pairs(one: int, two: int) -> SeenTogether:
        features = tuple(Feature(name, tuple(map(str, range(size)))) for name, size in (("x", one), ("y", two)))
        return SeenTogether.of_rows(Schema(features, ("n", "y")), ["x", "y"], torch.tensor([[0, 1]]))

    assert pairs(2**13, 2**13).columns == (0, 1)
    with pytest.raises(InputError, match=r"at most 67,108,864 pairs of values together, got 67,117,056"):
        pairs(2**13, 2**13 + 1)
