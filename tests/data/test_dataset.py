"""Data sets: rows are checked once, keep their numbers, and follow the device."""

import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch

from hammingbox.data.dataset import Dataset, Splits
from hammingbox.data.schema import Schema
from hammingbox.errors import InputError
from toys import toy_schema

SCHEMA = toy_schema((3, 4))
IDS = torch.tensor([[0, 1], [2, 3], [1, 0], [0, 2]], dtype=torch.int32)
LABELS = torch.tensor([0, 1, 2, 0])


@pytest.fixture
def data() -> Dataset:
    return Dataset(SCHEMA, IDS, LABELS, "toy", torch.tensor([10, 11, 12, 13]))


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the checks that run from now on."""
    made: list[str] = []

    def counting(name: str, check: Callable[..., None]) -> Callable[..., None]:
        def counted(*arguments: Any, **options: Any) -> None:
            made.append(name)
            check(*arguments, **options)

        return counted

    for name in ("check_ids", "check_labels"):
        monkeypatch.setattr(Schema, name, counting(name, getattr(Schema, name)))
    return made


def test_rows_are_checked_when_a_data_set_is_made_and_never_again(checks: list[str]) -> None:
    data = Dataset(SCHEMA, IDS, LABELS)
    assert checks == ["check_ids", "check_labels"]
    part = Dataset.join([data.take(slice(1, 3)), data.take(torch.tensor([3])), data.take(LABELS == 0)])
    part.batch(slice(None))
    pickle.loads(pickle.dumps(part))
    assert checks == ["check_ids", "check_labels"]
    with pytest.raises(InputError, match="got 9 in row 0 of data"):
        Dataset(SCHEMA, torch.tensor([[0, 9]]), torch.tensor([0]))
    with pytest.raises(InputError, match="got 5 in row 0"):
        Dataset(SCHEMA, torch.tensor([[0, 0]]), torch.tensor([5]))


def test_taken_rows_keep_their_numbers_and_their_order(data: Dataset) -> None:
    for rows, expected in (
        (slice(1, 3), [1, 2]),
        (torch.tensor([3, 0]), [3, 0]),
        (torch.tensor([False, True, False, True]), [1, 3]),
        (slice(0), []),
    ):
        part = data.take(rows)
        assert torch.equal(part.ids, IDS[expected])
        assert torch.equal(part.labels, LABELS[expected])
        assert part.numbers.tolist() == [10 + i for i in expected]
        assert (part.name, part.schema, len(part)) == ("toy", SCHEMA, len(expected))
    assert data.take(slice(1, 3)).digest == Dataset(SCHEMA, IDS[1:3], LABELS[1:3]).digest != data.digest
    with pytest.raises(InputError, match=r"list of indices or a mask, got shape \(\)"):
        data.take(torch.tensor(1))


def test_a_digest_is_of_its_own_rows(data: Dataset) -> None:
    assert data.digest == "71e603347233d19dd46098f8ac9fa6c49cd9c103b064d042985ef22405e1f3e3"
    assert data.take(slice(2)).digest != data.digest, "also after the digest of all rows was computed"


def test_joined_parts_are_the_rows_of_all(data: Dataset) -> None:
    joined = Dataset.join([data.take(slice(2, None)), data.take(slice(0, 2))])
    assert joined.numbers.tolist() == [12, 13, 10, 11]
    assert torch.equal(joined.ids, IDS[[2, 3, 0, 1]])
    assert joined.name == "toy"
    other = Dataset(toy_schema((3, 5)), IDS, LABELS)
    with pytest.raises(InputError, match="share one schema"):
        Dataset.join([data, other])
    with pytest.raises(InputError, match="at least one part"):
        Dataset.join([])


def test_rows_are_found_in_their_part_where_parts_share_numbers(data: Dataset) -> None:
    one_table = Splits(data.take(slice(0, 2)), data.take(slice(2, 3)), data.take(slice(3, 4)))
    for part in ("train", "validation", "test", "all"):
        assert one_table.numbered(part).numbers.tolist() == [10, 11, 12, 13]
    own_files = Splits(data, data.take(slice(0, 0)), Dataset(SCHEMA, IDS.flip(0), LABELS.flip(0), "toy", data.numbers))
    found = own_files.numbered("test")
    assert torch.equal(found.ids[found.places_of(torch.tensor([10]))], IDS[3:])
    assert torch.equal(own_files.numbered("train").ids, IDS)
    assert len(own_files.numbered("all")) == 8


def test_numbers_count_the_rows_unless_they_are_given(data: Dataset) -> None:
    assert Dataset(SCHEMA, IDS, LABELS).numbers.tolist() == [0, 1, 2, 3]
    with pytest.raises(InputError, match="expected 4 row numbers, got 3"):
        Dataset(SCHEMA, IDS, LABELS, numbers=torch.arange(3))


def test_a_batch_is_int64_on_the_device_that_is_named(data: Dataset) -> None:
    ids, labels = data.batch(torch.tensor([3, 1]))
    assert (ids.dtype, labels.dtype) == (torch.int64, torch.int64)
    assert (ids.device.type, labels.device.type) == ("cpu", "cpu")
    assert (ids.tolist(), labels.tolist()) == ([[0, 2], [2, 3]], [0, 1])
    for device in ("meta", torch.device("meta")):
        ids, labels = data.batch(slice(0, 3), device)
        assert (ids.device.type, labels.device.type) == ("meta", "meta")
        assert (ids.shape, ids.dtype, labels.shape, labels.dtype) == ((3, 2), torch.int64, (3,), torch.int64)


def test_data_can_be_sent_to_another_process(data: Dataset) -> None:
    splits = pickle.loads(pickle.dumps(Splits(data.take(slice(2)), data.take(slice(2, 3)), data)))
    assert splits.schema == SCHEMA
    assert splits.test.digest == data.digest
    for part, rows in ((splits.train, slice(2)), (splits.validation, slice(2, 3)), (splits.test, slice(None))):
        assert torch.equal(part.ids, IDS[rows])
        assert torch.equal(part.labels, LABELS[rows])
        assert torch.equal(part.numbers, data.numbers[rows])
        assert part.name == "toy"


def test_only_the_taken_rows_are_sent() -> None:
    rows = 50_000
    data = Dataset(SCHEMA, torch.zeros(rows, 2, dtype=torch.int64), torch.zeros(rows, dtype=torch.int64))
    assert len(pickle.dumps(data.take(slice(0, 10)))) < 10_000 < len(pickle.dumps(data))
