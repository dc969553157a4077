"""Wrapped modules: unchanged, in agreement with themselves, and refused where they cannot be hooked."""

import pytest
import torch
from torch import nn

from hammingbox import PCAA, FullSpace, InputError, Problem, ThreatModel, VictimError, wrap
from toys import toy_schema, untargeted
from toys.models import PlainModule

SCHEMA = toy_schema((4, 4, 4))


def rows(n: int = 8) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randint(4, (n, 3), generator=torch.Generator().manual_seed(0)), torch.zeros(n, dtype=torch.int64)


def test_wrap_leaves_the_module_as_it_was_and_agrees_with_it() -> None:
    module = PlainModule()
    victim = wrap(module, embedding=module.lookup)
    x, _ = rows()
    module.eval()
    assert torch.equal(victim(x), module(x))
    assert torch.allclose(victim.head(victim.embed(x), x), module(x))
    assert not module.lookup._forward_hooks
    y = module(x).argmax(1)
    module.train()
    result = PCAA()(victim, x, y, ThreatModel(FullSpace(SCHEMA), 2))
    assert module.training
    assert not module.lookup._forward_hooks
    assert bool(result.success.any())
    assert bool((module.eval()(result.ids).argmax(1) != y)[result.success].all())


def test_soft_rows_equal_discrete_ones() -> None:
    module = PlainModule().eval()
    victim = wrap(module, embedding=module.lookup)
    x, y = rows()
    x = x.clamp(max=2)  # masks are read from the clean row: category 3 is padding here
    problem = Problem.of(victim, FullSpace(SCHEMA).candidates(x), untargeted(y), 3)
    slots = torch.tensor([[1, 0, 2]]).expand(8, 3)
    discrete = problem.candidates.select(slots)
    kept = (discrete != 3).all(1)
    soft = problem.soft_loss(problem.candidates.layout.one_hot(slots)[:, None])[:, 0]
    assert torch.allclose(soft[kept], problem.loss(slots)[kept], atol=1e-5)
    assert bool(kept.any())


class Twice(PlainModule):
    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return super().forward(ids) + super().forward(ids)


class Unused(PlainModule):
    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.out(torch.zeros(len(ids), 6))


class Flattening(PlainModule):
    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.out(self.lookup(ids.flatten()).view(len(ids), 3, 6).sum(1))


class Answering(PlainModule):
    """Returns an object with logits, as transformers do."""

    def forward(self, ids: torch.Tensor) -> object:  # type: ignore[override]
        return type("Output", (), {"logits": super().forward(ids)})()


class Listing(PlainModule):
    def forward(self, ids: torch.Tensor) -> object:  # type: ignore[override]
        return super().forward(ids).tolist()


def test_an_output_with_logits_is_taken() -> None:
    module, plain = Answering().eval(), PlainModule().eval()
    x, _ = rows()
    victim = wrap(module, embedding=module.lookup)
    assert torch.equal(victim(x), plain(x))
    assert torch.allclose(victim.head(victim.embed(x), x), plain(x))


def test_what_cannot_be_hooked_is_refused() -> None:
    x, y = rows()
    with pytest.raises(InputError, match="part of the module"):
        wrap(PlainModule(), embedding=nn.Embedding(3, 3))
    twice, unused, flattening, listing = Twice(), Unused(), Flattening(), Listing()
    with pytest.raises(VictimError, match="once per forward pass, got 2 times"):
        PCAA()(wrap(twice, embedding=twice.lookup), x, y, ThreatModel(FullSpace(SCHEMA), 1))
    with pytest.raises(VictimError, match="never did"):
        wrap(unused, embedding=unused.lookup).embed(x)
    with pytest.raises(VictimError, match=r"\(batch, features, dim\) = \(8, 3, dim\), got \(24, 6\)"):
        wrap(flattening, embedding=flattening.lookup).embed(x)
    with pytest.raises(VictimError, match="tensor of logits, got list"):
        wrap(listing, embedding=listing.lookup)(x)
    assert not any(module.lookup._forward_hooks for module in (twice, unused, flattening, listing))
