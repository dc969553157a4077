"""Batches: a single row never has to be normalised over."""

import pytest
import torch

from hammingbox.training.batches import in_batches
from hammingbox.victims.one_hot import OneHot


@pytest.mark.parametrize(("rows", "sizes"), [(129, [64, 65]), (128, [64, 64]), (1, [1]), (65, [65])])
def test_a_last_single_row_joins_the_batch_before(rows: int, sizes: list[int]) -> None:
    normalises = OneHot(torch.nn.Sequential(torch.nn.Flatten(), torch.nn.BatchNorm1d(8)), categories=4)
    parts = in_batches(torch.arange(rows), 64, normalises)
    assert [len(part) for part in parts] == sizes
    assert torch.equal(torch.cat(parts), torch.arange(rows))
    plain = OneHot(torch.nn.Flatten(), categories=4)
    assert [len(part) for part in in_batches(torch.arange(129), 64, plain)] == [64, 64, 1]
