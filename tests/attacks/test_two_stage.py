"""SA, GA, GSA and GGA: how features are ranked. What they cost is in test_passes.py."""

import pytest
import torch

from hammingbox.attacks import TwoStage
from hammingbox.errors import InputError
from hammingbox.threat.masked_space import MaskedSpace
from hammingbox.threat.space import FullSpace
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.types import Embedded, Ids, Logits
from hammingbox.victims.victim import Victim
from toys import toy_schema

SCHEMA = toy_schema((2, 2, 2))
# Score of class 1 for each feature and category. Only a change of feature 0 makes the sum positive.
SCORES = torch.tensor([[0.0, 3.0], [8.0, 1.0], [-2.0, -1.5]])
BIAS = -8.0


class Additive(Victim):
    """Adds a score per feature; class 0 is predicted while the sum is below 0."""

    def __init__(self) -> None:
        super().__init__()
        self.scores = torch.nn.Parameter(SCORES.clone())

    def embed(self, ids: Ids) -> Embedded:
        return self.scores[torch.arange(3), ids][..., None]

    def head(self, embedded: Embedded, ids: Ids) -> Logits:
        total = embedded.sum((1, 2)) + BIAS
        return torch.stack([torch.zeros_like(total), total, torch.full_like(total, -99.0)], dim=1)


ROW, LABEL = torch.zeros(1, 3, dtype=torch.int64), torch.zeros(1, dtype=torch.int64)


def changed(attack: TwoStage, threat: ThreatModel) -> list[bool]:
    return (attack(Additive(), ROW, LABEL, threat).ids != ROW)[0].tolist()


@pytest.mark.parametrize("search", ["brute", "greedy"])
def test_the_gain_finds_the_feature_that_helps_and_the_gradient_the_one_with_the_largest_entry(search: str) -> None:
    threat = ThreatModel(FullSpace(SCHEMA), 1)
    gain = TwoStage(guide="gradient", search=search)  # type: ignore[arg-type]
    assert changed(gain, threat) == [True, False, False]
    gradient = TwoStage(guide="gradient", search=search, rank="gradient")  # type: ignore[arg-type]
    # The largest entry is that of feature 1's own category, and its other category is worse: the row stays.
    result = gradient(Additive(), ROW, LABEL, threat)
    assert torch.equal(result.ids, ROW)
    assert not result.success.any()
    assert bool(gain(Additive(), ROW, LABEL, threat).success.all())


def test_a_feature_that_cannot_change_is_not_chosen_for_its_gradient() -> None:
    threat = ThreatModel(MaskedSpace(SCHEMA, immutable=["f1"]), 1)
    attack = TwoStage(guide="gradient", search="brute", rank="gradient")
    assert changed(attack, threat) == [True, False, False]


def test_the_rule_for_gradients_needs_gradients() -> None:
    with pytest.raises(InputError, match="expected rank 'gain' with the guide 'loss', got 'gradient'"):
        TwoStage(guide="loss", search="brute", rank="gradient")


def test_the_rank_is_shown_only_where_it_is_not_the_default() -> None:
    assert "rank" not in repr(TwoStage(guide="gradient", search="brute", rank="gain"))
    assert repr(TwoStage(guide="gradient", search="brute", rank="gradient")).endswith("rank='gradient')")
