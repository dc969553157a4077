"""Victims: wrapped, one-hot, black boxes, and what they may answer."""

import numpy as np
import pytest
import torch
from torch import nn

from hammingbox import (
    ATTACKS,
    PCAA,
    BlackBox,
    FullSpace,
    InputError,
    OneHot,
    Problem,
    ThreatModel,
    Victim,
    VictimError,
    frozen_eval,
    wrap,
)
from toys import ToyVictim, toy_rows, toy_schema, untargeted

SCHEMA = toy_schema((4, 4, 4))


class Plain(nn.Module):
    """Somebody's model: it masks padding, adds offsets and knows nothing of victims."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.lookup = nn.Embedding(12, 6, padding_idx=0)
        self.dropout = nn.Dropout(0.5)
        self.out = nn.Linear(6, 3)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        vectors = self.lookup(ids + torch.tensor([0, 4, 8]))
        mask = (ids != 3).unsqueeze(-1)
        return self.out(self.dropout((vectors * mask).sum(1).tanh()))


class Constant(Victim):
    """Answers whatever it is told to."""

    def __init__(self, answer: torch.Tensor) -> None:
        super().__init__()
        self.answer = answer

    def embed(self, ids: torch.Tensor) -> torch.Tensor:
        return ids[..., None].float()

    def head(self, embedded: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.answer.expand(len(ids), *self.answer.shape[1:])


def rows(n: int = 8) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randint(4, (n, 3), generator=torch.Generator().manual_seed(0)), torch.zeros(n, dtype=torch.int64)


def test_wrap_leaves_the_module_as_it_was_and_agrees_with_it() -> None:
    module = Plain()
    victim = wrap(module, embedding=module.lookup)
    x, _ = rows()
    module.eval()
    assert torch.equal(victim(x), module(x))
    assert torch.allclose(victim.head(victim.embed(x), x), module(x))
    assert not module.lookup._forward_hooks
    module.train()
    y = module.eval()(x).argmax(1)
    result = PCAA()(victim, x, y, ThreatModel(FullSpace(SCHEMA), 2))
    assert bool((module(result.ids).argmax(1) != y)[result.success].all())
    assert not module.lookup._forward_hooks


def test_wrap_soft_rows_equal_discrete_ones() -> None:
    module = Plain().eval()
    victim = wrap(module, embedding=module.lookup)
    x, y = rows()
    x = x.clamp(max=2)  # masks are read from the clean row: category 3 stands for padding here
    problem = Problem.of(victim, FullSpace(SCHEMA).candidates(x), untargeted(y), 3)
    slots = torch.tensor([[1, 0, 2]]).expand(8, 3)
    discrete = problem.candidates.select(slots)
    kept = (discrete != 3).all(1)
    soft = problem.soft_loss(problem.candidates.layout.one_hot(slots)[:, None])[:, 0]
    assert torch.allclose(soft[kept], problem.loss(slots)[kept], atol=1e-5)
    assert bool(kept.any())


def test_wrap_refuses_what_it_cannot_hook() -> None:
    module = Plain()
    with pytest.raises(InputError, match="part of the module"):
        wrap(module, embedding=nn.Embedding(3, 3))

    class Twice(Plain):
        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            return super().forward(ids) + super().forward(ids)

    twice = Twice()
    with pytest.raises(VictimError, match="once per forward pass, got 2 times"):
        PCAA()(wrap(twice, embedding=twice.lookup), *rows(), ThreatModel(FullSpace(SCHEMA), 1))

    class Unused(Plain):
        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            return self.out(torch.zeros(len(ids), 6))

    unused = Unused()
    with pytest.raises(VictimError, match="never did"):
        wrap(unused, embedding=unused.lookup).embed(rows()[0])


def test_one_hot_with_blank() -> None:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Flatten(), nn.Linear(12, 3))
    victim = OneHot(module, categories=4, blank=3)
    x, _ = rows()
    assert victim.embed(x)[x == 3].eq(0).all()
    assert victim.embed(x)[x == 1].equal(torch.tensor([[0.0, 1, 0, 0]]).expand(int((x == 1).sum()), 4))
    y = victim(x).argmax(1)
    threat = ThreatModel(FullSpace(SCHEMA), 1)
    oracle = ATTACKS["exhaustive"]()(victim, x, y, threat)
    # A linear model's first-order gain is its gain: HotFlip is exact.
    assert torch.allclose(ATTACKS["hotflip"]()(victim, x, y, threat).margin, oracle.margin, atol=1e-5)


def test_black_box_gets_ids_or_categories_and_no_gradients() -> None:
    toy = ToyVictim(SCHEMA.cardinalities).eval()
    x, y = toy_rows(SCHEMA, toy)
    seen: list[np.ndarray] = []

    def predict(rows: np.ndarray) -> np.ndarray:
        seen.append(rows)
        ids = rows if rows.dtype != object else np.vectorize(lambda word: int(word[1:]))(rows)
        return toy(torch.from_numpy(ids.astype(np.int64))).softmax(1).detach().numpy()

    threat = ThreatModel(FullSpace(SCHEMA), 2)
    plain, named = BlackBox(predict), BlackBox(predict, schema=SCHEMA)
    for name in ("sa", "ga", "genetic", "random", "exhaustive"):
        attack = ATTACKS[name]()
        assert torch.equal(attack(plain, x, y, threat).ids, attack(named, x, y, threat).ids)
    assert {rows.dtype for rows in seen} == {np.dtype(np.int64), np.dtype(object)}
    for name in ("pcaa", "gsa", "gga", "hotflip"):
        with pytest.raises(VictimError, match=r"got a black box\. Use one of: .*exhaustive"):
            ATTACKS[name]()(plain, x, y, threat)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (torch.tensor([[0.2, 0.5, 0.3]]), "probabilities"),
        (torch.tensor([[float("nan"), 1.0, 2.0]]), "finite logits"),
        (torch.tensor([[float("inf"), 1.0, 2.0]]), "finite logits"),
        (torch.tensor([[1.0, 2.0]]), "logits for 3 classes, got 2"),
        (torch.tensor([[[1.0, 2.0, 3.0]]]), r"logits of shape \(8, classes\)"),
    ],
)
def test_answers_that_are_not_logits(answer: torch.Tensor, message: str) -> None:
    x, y = rows()
    with pytest.raises(VictimError, match=message):
        ATTACKS["ga"]()(Constant(answer), x, y, ThreatModel(FullSpace(SCHEMA), 1))


@pytest.mark.parametrize(
    ("answer", "message"),
    [([[0.5, 0.6, 0.1]], "rows summing to 1"), ([0.5, 0.5], "return .8, classes."), ([[np.nan, 0.5, 0.5]], "finite")],
)
def test_black_box_answers_that_are_not_probabilities(answer: list, message: str) -> None:
    victim = BlackBox(lambda rows: np.resize(answer, (len(rows), 3)) if np.ndim(answer) == 2 else answer)
    with pytest.raises(VictimError, match=message):
        victim(rows()[0])


def test_a_victim_is_given_back_as_it_was_even_after_an_error(victim: ToyVictim) -> None:
    victim.train()
    victim.body[1].eval()
    next(victim.parameters()).requires_grad_(False)
    flags = [(m.training) for m in victim.modules()], [p.requires_grad for p in victim.parameters()]

    def fail_inside() -> None:
        with frozen_eval(victim):
            assert not any(m.training for m in victim.modules())
            assert not any(p.requires_grad for p in victim.parameters())
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        fail_inside()
    assert ([(m.training) for m in victim.modules()], [p.requires_grad for p in victim.parameters()]) == flags


def test_attack_refuses_bad_rows_and_targets(schema, victim: ToyVictim) -> None:
    x, y = toy_rows(schema, victim)
    threat = ThreatModel(FullSpace(schema), 1)
    attack = ATTACKS["ga"]()
    for bad_x, bad_y, kwargs, message in (
        (x + 9, y, {}, "ids 0"),
        (x[:, :2], y, {}, r"shape \(batch, 5\)"),
        (x, y + 9, {}, "labels 0"),
        (x[:0], y[:0], {}, "at least one row"),
        (x, y, {"targets": y}, "other than the true classes"),
    ):
        with pytest.raises(InputError, match=message):
            attack(victim, bad_x, bad_y, threat, **kwargs)
