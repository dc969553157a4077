"""The space of tables with numbers: few candidates, whatever the number of distinct values."""

import tracemalloc
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hammingbox.attacks import Exhaustive
from hammingbox.data.schema import Feature, Schema
from hammingbox.errors import FileError, InputError
from hammingbox.threat.space_json import space_from_json
from hammingbox.threat.table_space import TableSpace
from hammingbox.threat.threat_model import ThreatModel
from toys import mixed_schema, mixed_space, mixed_victim, toy_rows


def written(space: TableSpace, row: list[int], feature: int) -> list[str]:
    """What may be written into a feature of a row, the row's own value first."""
    candidates = space.candidates(torch.tensor([row]))
    start, width = int(candidates.layout.starts[feature]), int(candidates.layout.widths[feature])
    here = slice(start, start + width)
    ids = candidates.ids[0, here][candidates.valid[0, here]].tolist()
    return [space.schema.features[feature].categories[i] for i in ids]


def test_slot_0_is_the_own_value_and_the_others_are_the_offered_ones() -> None:
    space = mixed_space(mixed_schema())
    assert written(space, [5, 0, 0, 0], 0) == ["3.5", "0", "2", "7"], "an own value that is not offered"
    assert written(space, [4, 0, 0, 0], 0) == ["2", "0", "7"], "an offered own value is not offered twice"
    assert written(space, [7, 0, 0, 0], 0) == ["<missing>", "0", "2", "7"]
    assert written(space, [0, 1, 0, 0], 1) == ["green", "red", "blue"], "a clean value may be forbidden"
    assert written(space, [0, 0, 0, 0], 1) == ["red", "blue"]
    assert written(space, [0, 0, 0, 1], 3) == ["True", "False"]


def test_steps_lead_from_the_own_value() -> None:
    space = mixed_space(mixed_schema())
    assert written(space, [0, 0, 2, 0], 2) == ["2020-01-03", "2020-01-02", "2020-01-04", "2020-01-05"]
    assert written(space, [0, 0, 0, 0], 2) == ["2020-01-01", "2020-01-02", "2020-01-03"], "no day before the first"
    schema = Schema((Feature("x", ("0.1", "0.2", "0.3", "<missing>"), "number"),), ("a", "b"))
    both = TableSpace(schema, {"x": ["0.3"]}, steps={"x": [0.1, 0.2]})
    assert written(both, [0], 0) == ["0.1", "0.3", "0.2"], "a step to an offered value is one slot, not two"
    assert written(both, [1], 0) == ["0.2", "0.3"], "0.2 + 0.1 is 0.3"
    assert written(both, [3], 0) == ["<missing>", "0.3"], "no step leads from a missing value"


@given(seed=st.integers(0, 10_000))
def test_every_valid_slot_is_another_value(seed: int) -> None:
    schema = mixed_schema()
    generator = torch.Generator().manual_seed(seed)
    x = torch.stack([torch.randint(d, (6,), generator=generator) for d in schema.cardinalities], 1)
    candidates = mixed_space(schema).candidates(x)
    assert torch.equal(candidates.clean, x)
    assert bool((candidates.ids != candidates.layout.spread(x))[candidates.moves].all())
    for row in range(6):
        options = list(zip(candidates.layout.feature_of.tolist(), candidates.ids[row].tolist(), strict=True))
        valid = [option for option, is_valid in zip(options, candidates.valid[row].tolist(), strict=True) if is_valid]
        assert len(set(valid)) == len(valid), "one change is one slot"


def test_immutable_and_forbidden() -> None:
    schema = mixed_schema()
    space = TableSpace(schema, immutable=["amount", "day"], forbidden={"*": ["<missing>", "red"], "paid": ["true"]})
    assert written(space, [0, 2, 3, 0], 0) == ["-1.5"]
    assert written(space, [0, 2, 3, 0], 1) == ["blue", "green"]
    assert written(space, [0, 2, 3, 0], 3) == ["False"], "true is True in another form"
    with pytest.raises(InputError, match="got an empty space"):
        TableSpace(schema, {name: [] for name in ("amount", "colour", "day", "paid")})


def test_values_ids_and_forms_name_the_same() -> None:
    schema = mixed_schema()
    forms: list[Any] = [["2", "7"], [2, 7.0], ["2.0", "7e0"], torch.tensor([4, 6])]
    documents = [TableSpace(schema, {"amount": form}).to_json() for form in forms]
    assert all(document == documents[0] for document in documents)
    assert written(TableSpace(schema, {"day": ["2020-01-02T00:00:00Z"]}), [0, 0, 0, 0], 2)[1:] == ["2020-01-02"]


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown feature": ({"options": {"amuont": [1]}}, "expected the name of a feature"),
    "a value the column lacks": ({"options": {"amount": [3]}}, "a category of feature 'amount' .* got 3"),
    "one text for a list": ({"options": {"amount": "1"}}, "expected a list of values for 'amount', got '1'"),
    "ids out of range": ({"options": {"amount": torch.tensor([9])}}, r"expected ids 0\.\.7 of feature 'amount'"),
    "steps of a category": ({"steps": {"colour": [1]}}, "steps of numbers or dates, .* 'colour' .category"),
    "a value that nothing has": ({"forbidden": {"*": ["mauve"]}}, "a value that some feature has, got 'mauve'"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_arguments_are_one_clear_sentence(case: str) -> None:
    arguments, message = BAD[case]
    with pytest.raises(InputError, match=message):
        TableSpace(mixed_schema(), **arguments)


def test_a_stored_space_is_built_again() -> None:
    schema = mixed_schema()
    space = TableSpace(schema, {"amount": [0, 7]}, steps={"day": [1]}, immutable=["paid"], forbidden={"*": ["blue"]})
    again = space_from_json(space.to_json(), schema)
    assert again.to_json() == space.to_json()
    x = torch.tensor([[1, 2, 3, 1], [6, 0, 5, 0]])
    for name in ("ids", "valid"):
        assert torch.equal(getattr(space.candidates(x), name), getattr(again.candidates(x), name))
    for entry, damage in (("steps", {"day": [float("nan")]}), ("steps", {"day": ["1"]}), ("options", {"amount": [1]})):
        with pytest.raises(FileError, match="in its usual form, got damaged JSON"):
            space_from_json(space.to_json() | {entry: damage}, schema)


def test_a_column_of_many_values_has_few_slots() -> None:
    values = tuple(str(i) for i in range(100_000))
    schema = Schema((Feature("amount", values, "number"), Feature("kind", ("a", "b"))), ("no", "yes"))
    space = TableSpace(schema, {"amount": ["0", "500", "99999"]})
    x = torch.stack([torch.arange(0, 100_000, 400), torch.zeros(250, dtype=torch.int64)], 1)
    tracemalloc.start()
    candidates = space.candidates(x)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert candidates.layout.options == 4 + 3
    assert peak < 10e6


def test_enumeration_finds_what_trying_all_rows_finds() -> None:
    schema = mixed_schema()
    victim, space = mixed_victim(schema, seed=3).eval(), mixed_space(schema)
    x, y = toy_rows(schema, victim, rows=10)
    result = Exhaustive()(victim, x, y, ThreatModel(space, 2))
    everything = torch.cartesian_prod(*(torch.arange(d) for d in schema.cardinalities))
    answers = victim(everything).argmax(1)
    for row in range(len(x)):
        here = space.candidates(x[row : row + 1])
        allowed = torch.cat([here.contains(point[None]) for point in everything])
        near = (everything != x[row]).sum(1) <= 2
        assert bool((answers[allowed & near] != y[row]).any()) == bool(result.success[row])


def test_options_may_be_ids_from_the_first_to_the_last() -> None:
    schema = mixed_schema()
    space = TableSpace(schema, {"amount": torch.tensor([0, 7])})
    assert written(space, [3, 0, 0, 0], 0)[1:] == ["-1.5", "<missing>"]
    for wrong in (-1, 8):
        with pytest.raises(InputError, match=r"expected ids 0\.\.7"):
            TableSpace(schema, {"amount": torch.tensor([wrong])})


def test_no_step_leads_to_a_forbidden_value() -> None:
    schema = mixed_schema()
    space = TableSpace(schema, {}, steps={"day": [-1, 1]}, forbidden={"day": ["2020-01-02", "2020-01-06"]})
    x = torch.zeros(6, 4, dtype=torch.int64)
    x[:, 2] = torch.arange(6)
    found = space.slots_of(x)
    start, width = int(found.layout.starts[2]), int(found.layout.widths[2])
    written = [
        sorted(ids[valid].tolist())
        for ids, valid in zip(found.ids[:, start : start + width], found.valid[:, start : start + width], strict=True)
    ]
    assert written == [[0], [0, 1, 2], [2, 3], [2, 3, 4], [3, 4], [4, 5]]
