"""The random numbers of a row depend on (seed, row) and on nothing else."""

import torch

from hammingbox.seeding import RowRandom, torch_generator

ROWS = torch.tensor([[1, 2, 3], [4, 5, 6], [1, 2, 3]])


def test_noise_is_keyed_by_seed_and_content() -> None:
    noise = RowRandom.for_rows(0, ROWS).gumbel(50)
    assert torch.equal(noise[0], noise[2])
    assert not torch.equal(noise[0], noise[1])
    assert torch.equal(noise[1:2], RowRandom.for_rows(0, ROWS[1:2]).gumbel(50))
    assert not torch.equal(noise, RowRandom.for_rows(1, ROWS).gumbel(50))


def test_micro_batches_get_the_same_numbers() -> None:
    whole = RowRandom.for_rows(0, ROWS)
    parts = RowRandom.for_rows(0, ROWS)
    assert torch.equal(whole.gumbel(5, 7), torch.cat([parts.gumbel(2, 7), parts.gumbel(3, 7)], 1))
    assert torch.equal(whole.uniform(4, 3), torch.cat([parts.uniform(1, 3), parts.uniform(3, 3)], 1))


def test_selected_rows_continue_their_streams() -> None:
    together, apart = RowRandom.for_rows(0, ROWS), RowRandom.for_rows(0, ROWS)
    assert torch.equal(together.uniform(3), apart.uniform(3))
    chosen = apart.select(torch.tensor([1]))
    assert torch.equal(together.uniform(3)[1], chosen.uniform(3)[0])


def test_the_noise_has_its_distribution() -> None:
    random = RowRandom.for_rows(0, ROWS[:1])
    gumbel, uniform = random.gumbel(200_000), random.uniform(200_000)
    assert abs(gumbel.mean().item() - 0.5772) < 0.01
    assert abs(gumbel.var().item() - 1.6449) < 0.03
    assert abs(uniform.mean().item() - 0.5) < 0.005


def test_the_global_generator_is_never_used() -> None:
    before = torch.random.get_rng_state()
    RowRandom.for_rows(0, ROWS).gumbel(5)
    torch.rand(3, generator=torch_generator(0))
    assert torch.equal(before, torch.random.get_rng_state())
