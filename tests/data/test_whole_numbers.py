"""Ids and labels as users pass them."""

from typing import Any

import numpy as np
import pytest
import torch

from hammingbox.data.dataset import Dataset
from hammingbox.data.schema import Feature, Schema
from hammingbox.data.whole_numbers import whole_numbers
from hammingbox.errors import InputError
from hammingbox.threat.space import FullSpace
from hammingbox.threat.threat_model import ThreatModel
from toys import toy_schema

SCHEMA = toy_schema((3, 4))
ROWS = [[0, 1], [2, 3]]
TENSOR_TYPES = (
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.uint16,
    torch.uint32,
    torch.uint64,
)


@pytest.mark.parametrize("kind", TENSOR_TYPES, ids=str)
def test_every_integer_type_of_a_tensor_is_taken(kind: torch.dtype) -> None:
    ids, labels = torch.tensor(ROWS).to(kind), torch.tensor([1, 2]).to(kind)
    assert SCHEMA.as_ids(ids).tolist() == ROWS
    assert SCHEMA.as_ids(ids).dtype == SCHEMA.as_labels(labels, 2).dtype == torch.int64
    data = Dataset(SCHEMA, ids, labels)
    assert data.digest == Dataset(SCHEMA, torch.tensor(ROWS), torch.tensor([1, 2])).digest


@pytest.mark.parametrize("kind", ["u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", ">i4", ">u2"])
def test_every_integer_type_of_an_array_is_taken(kind: str) -> None:
    array = np.array(ROWS, dtype=kind)
    array.flags.writeable = False
    for same in (array, array[::-1][::-1], np.asfortranarray(array)):
        data = Dataset(SCHEMA, same, np.array([1, 2], dtype=kind))  # type: ignore[arg-type]
        assert data.batch(slice(None))[0].tolist() == ROWS
    assert FullSpace(SCHEMA).candidates(SCHEMA.as_ids(array)).clean.tolist() == ROWS


def test_lists_are_taken() -> None:
    data = Dataset(SCHEMA, ROWS, [1, 2], numbers=[7, 9])  # type: ignore[arg-type]
    assert (data.ids.tolist(), data.labels.tolist(), data.numbers.tolist()) == (ROWS, [1, 2], [7, 9])
    assert data.take([1]).numbers.tolist() == data.take([False, True]).numbers.tolist() == [9]
    assert data.take(np.array([1, 0])).numbers.tolist() == [9, 7]
    for wrong in ([2], [-3], [True], [0.5], [[0]]):
        with pytest.raises(InputError):
            data.take(wrong)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (torch.tensor([[0.0, 1.0]]), "integer"), (torch.tensor([[True, False]]), "integer"), ([[0.0, 1.0]], "integer"),
        ([[True, False]], "integer"), ([["c0", "c1"]], "integer"), (np.array([[None, 1]], dtype=object), "integer"),
        ([[0, 1], [2]], "list of lists"), ("ab", "integer"), (None, "integer"), ([0, 1], r"shape \(batch, 2\)"),
        ([[[0, 1]]], r"shape \(batch, 2\)"), ([[0, 4]], "got 4 in row 0"), ([[-1, 0]], "got -1"),
        (np.array([[0, 2**64 - 1]], dtype=np.uint64), r"below 2\*\*63"), ([[0, 10**30]], "integer"),
        (torch.tensor([[0, 2**63]], dtype=torch.uint64), r"below 2\*\*63"),
    ],
)  # fmt: skip
def test_other_rows_are_refused(value: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        SCHEMA.as_ids(value)


@pytest.mark.parametrize(
    "labels", [[0], [0, 3], [0, -1], [0.0, 1.0], [True, False], [[0, 1]], [[0], [1]], "ab", None, 5]
)
def test_other_labels_are_refused(labels: Any) -> None:
    with pytest.raises(InputError):
        SCHEMA.as_labels(labels, 2)
    with pytest.raises(InputError):
        Dataset(SCHEMA, torch.tensor(ROWS), labels)


def test_an_array_of_the_user_is_copied() -> None:
    array = np.array(ROWS)
    tensor = whole_numbers(array, "rows")
    array[0, 0] = 2
    assert tensor.tolist() == ROWS


@pytest.mark.parametrize(
    "make",
    [
        lambda: Feature("x", "ab"),  # type: ignore[arg-type]
        lambda: Feature("x", 5),  # type: ignore[arg-type]
        lambda: Schema((Feature("x", (1, 2)),), ("no", "yes")),  # type: ignore[arg-type]
        lambda: Schema((Feature("x", ("a", "b")),), ("yes", "yes")),
        lambda: Schema((Feature("x", ("a", "b")),), "ab"),  # type: ignore[arg-type]
        lambda: Schema((Feature("x", ("a", "\ud800")),), ("no", "yes")),
        lambda: Schema(("x", "y"), ("no", "yes")),  # type: ignore[arg-type]
    ],
    ids=["a string", "a number", "numbers", "repeated classes", "classes as a string", "a surrogate", "bare names"],
)
def test_schemas_that_mean_something_else_are_refused(make: Any) -> None:
    with pytest.raises(InputError):
        make()


def test_lists_of_categories_are_taken_as_tuples() -> None:
    schema = Schema([Feature("x", ["a", "b"])], ["no", "yes"])  # type: ignore[arg-type]
    assert schema == Schema((Feature("x", ("a", "b")),), ("no", "yes"))


def test_digests_do_not_collide_on_names_with_separators() -> None:
    def digest(*categories: str, name: str = "x", classes: tuple[str, ...] = ("no", "yes")) -> str:
        return Schema((Feature(name, categories),), classes).digest

    odd = [
        digest("a\x1fb"), digest("a", "b"), digest("a", "b", classes=("no\x1fyes", "b")),
        digest("a", "b", classes=("no", "yes\x1fb")), digest("a\x1fb", "c"), digest("a", "b\x1fc"),
        digest("a", name="x\x1d[0]\x1dno"), digest("a\x1eb"), digest("a\x1db"),
    ]  # fmt: skip
    assert len(set(odd)) == len(odd)


@pytest.mark.parametrize("budget", [True, 1.0, -1, 3, "1", None, [1]])
def test_odd_budgets_are_refused(budget: Any) -> None:
    with pytest.raises(InputError):
        ThreatModel(FullSpace(SCHEMA), budget)


def test_a_budget_of_numpy_is_a_plain_number() -> None:
    threat = ThreatModel(FullSpace(SCHEMA), np.int64(2))  # type: ignore[arg-type]
    assert type(threat.budget) is int
