"""Equal rows stay in one part, whatever their number and type."""

import pytest
import torch

from hammingbox.data.dataset import Dataset
from hammingbox.data.split import distinct_rows, divide, random_positions
from hammingbox.errors import InputError
from toys import toy_schema


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int32, torch.int64])
def test_distinct_rows_are_numbered_as_torch_unique_does(dtype: torch.dtype) -> None:
    top = 3 if dtype == torch.uint8 else 70_000  # more than two bytes: byte strings must sort like ids
    ids = torch.randint(top, (300, 4), generator=torch.Generator().manual_seed(0)).to(dtype)
    ids = torch.cat([ids, ids[:50]])
    assert torch.equal(distinct_rows(ids), torch.unique(ids, dim=0, return_inverse=True)[1])


def test_no_row_is_in_two_parts() -> None:
    schema = toy_schema((4, 4, 4))
    ids = torch.randint(4, (400, 3), generator=torch.Generator().manual_seed(1))
    splits = divide(Dataset(schema, ids, torch.zeros(400, dtype=torch.int64)))
    parts = [{tuple(row) for row in part.ids.tolist()} for part in (splits.train, splits.validation, splits.test)]
    assert not parts[0] & parts[1]
    assert not parts[0] & parts[2]
    assert not parts[1] & parts[2]
    numbers = torch.cat([splits.train.numbers, splits.validation.numbers, splits.test.numbers])
    assert torch.equal(numbers.sort().values, torch.arange(400)), "every row is in one part, with its number"


def test_too_few_rows_are_refused() -> None:
    schema = toy_schema((4, 4))
    with pytest.raises(InputError, match=r"expected enough distinct rows in data .* got 1"):
        divide(Dataset(schema, torch.zeros(50, 2, dtype=torch.int64), torch.zeros(50, dtype=torch.int64)))


def test_positions_are_equal_for_equal_rows_and_depend_on_the_seed() -> None:
    ids = torch.randint(4, (400, 3), generator=torch.Generator().manual_seed(1))
    positions = random_positions(ids)
    assert len(positions.unique()) == len(ids.unique(dim=0))
    for number in distinct_rows(ids).unique():
        assert len(positions[distinct_rows(ids) == number].unique()) == 1
    assert 0 <= float(positions.min()) <= float(positions.max()) < 1
    assert torch.equal(positions, random_positions(ids))
    assert not torch.equal(positions, random_positions(ids, seed=1))
    assert len(random_positions(ids[:0])) == 0
