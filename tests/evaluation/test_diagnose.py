"""Every check of the evaluation fires on a victim made to deserve it, and stays silent on a sound one."""

import torch

from hammingbox import Dataset, FullSpace, Rate, ThreatModel
from hammingbox.evaluation.diagnose import diagnose_results, diagnose_victim, rank_correlation
from toys import ToyVictim, toy_rows


def checks(victim: ToyVictim, schema) -> list[str]:
    x, _ = toy_rows(schema, ToyVictim(schema.cardinalities))
    data = Dataset(schema, x, torch.zeros(len(x), dtype=torch.int64))
    return [finding.check for finding in diagnose_victim(victim, data, ThreatModel(FullSpace(schema), 2))]


def test_a_sound_victim_has_no_findings(schema, victim: ToyVictim) -> None:
    assert checks(victim.eval(), schema) == []


def test_train_mode(schema, victim: ToyVictim) -> None:
    assert checks(victim.train(), schema) == ["train mode"]
    assert victim.training


class Probabilities(ToyVictim):
    def head(self, embedded, ids):
        return super().head(embedded, ids).softmax(1)


class Noisy(ToyVictim):
    def head(self, embedded, ids):
        logits = super().head(embedded, ids)
        return logits + torch.rand(logits.shape, generator=torch.Generator().manual_seed(self.calls()))

    count = 0

    def calls(self) -> int:
        self.count += 1
        return self.count


class Broken(ToyVictim):
    def head(self, embedded, ids):
        return super().head(embedded, ids) * float("nan")


class Rounded(ToyVictim):
    """Argmax inside: right answers, no gradients."""

    def head(self, embedded, ids):
        return super().head(embedded.detach() + 0 * embedded, ids)


class Saturated(ToyVictim):
    def head(self, embedded, ids):
        return super().head(embedded, ids) * 1000


class Wavy(ToyVictim):
    """Between categories the logits swing: one gradient says nothing about the next category."""

    def head(self, embedded, ids):
        return super().head((40 * embedded).sin(), ids)


def test_each_fault_is_found(schema) -> None:
    d = schema.cardinalities
    assert "logits" in checks(Probabilities(d).eval(), schema)
    assert "deterministic victim" in checks(Noisy(d).eval(), schema)
    assert "finite logits" in checks(Broken(d).eval(), schema)
    assert "zero gradients" in checks(Rounded(d).eval(), schema)
    assert "saturated softmax" in checks(Saturated(d).eval(), schema)
    assert "soft against discrete" in checks(Wavy(d).eval(), schema)


def test_rank_correlation() -> None:
    a = torch.tensor([[1.0, 5.0, 3.0, 99.0], [4.0, 3.0, 2.0, 1.0]])
    mask = torch.tensor([[True, True, True, False], [True, True, True, True]])
    assert torch.allclose(rank_correlation(a, a.exp(), mask), torch.ones(2))
    assert torch.allclose(rank_correlation(a, -a, mask), -torch.ones(2))
    # ranks 1 3 2 against 1 2 3: Spearman's rho is 1 - 6 * 2 / 24 = 0.5
    b = torch.tensor([[1.0, 2.0, 3.0, -9.0], [4.0, 3.0, 2.0, 1.0]])
    assert torch.allclose(rank_correlation(a, b, mask), torch.tensor([0.5, 1.0]))


def test_results_are_checked_against_each_other() -> None:
    needs = {"pcaa": True, "ga": False, "random": False, "exhaustive": False}

    def found(**hits: list[int]) -> list[str]:
        rates = {(name, b + 1): Rate(h, 100) for name, row in hits.items() for b, h in enumerate(row)}
        return [f"{f.check}/{f.severity}" for f in diagnose_results(rates, needs)]

    assert found(pcaa=[50, 80], ga=[50, 70], random=[10, 20], exhaustive=[60, 90]) == []
    assert found(pcaa=[50], ga=[52]) == ["gradient-free attack wins/note"]
    assert found(pcaa=[20], ga=[80]) == ["gradient-free attack wins/warning"]
    assert "random search wins/error" in found(pcaa=[20], random=[30])
    assert found(pcaa=[50, 40]) == ["success falls with budget/warning"]
