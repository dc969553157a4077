"""What a victim may return, where it is, and that attacks give it back as it was."""

import pytest
import torch

from hammingbox import ATTACKS, FullSpace, ThreatModel, Victim, VictimError
from hammingbox.victims.frozen import frozen_eval
from hammingbox.victims.victim import device_of
from toys import ToyVictim, toy_schema


class Constant(Victim):
    """Returns what it was made with."""

    def __init__(self, answer: torch.Tensor) -> None:
        super().__init__()
        self.answer = answer

    def embed(self, ids: torch.Tensor) -> torch.Tensor:
        return ids[..., None].float()

    def head(self, embedded: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.answer.expand(len(ids), *self.answer.shape[1:])


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (torch.tensor([[0.2, 0.5, 0.3]]), "probabilities"),
        (torch.tensor([[float("nan"), 1.0, 2.0]]), "finite logits"),
        (torch.tensor([[float("inf"), 1.0, 2.0]]), "finite logits"),
        (torch.tensor([[1.0, 2.0]]), "logits for 3 classes, got 2"),
        (torch.tensor([[[1.0, 2.0, 3.0]]]), r"logits of shape \(64, classes\)"),
    ],
)
def test_answers_that_are_not_logits_are_refused(answer: torch.Tensor, message: str) -> None:
    x, y = torch.zeros(8, 3, dtype=torch.int64), torch.zeros(8, dtype=torch.int64)
    with pytest.raises(VictimError, match=message):
        ATTACKS["ga"]()(Constant(answer), x, y, ThreatModel(FullSpace(toy_schema((4, 4, 4))), 1))


def test_a_victim_is_where_its_parameters_are(victim: ToyVictim) -> None:
    assert victim.device == torch.device("cpu")
    assert victim.to("meta").device == torch.device("meta")
    assert Constant(torch.zeros(1, 3)).device == torch.device("cpu"), "without parameters"
    assert device_of(torch.nn.BatchNorm1d(3, affine=False, device="meta")) == torch.device("meta"), "buffers count"


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
