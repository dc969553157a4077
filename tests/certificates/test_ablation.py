"""Votes over ablated rows: what a model sees, the bound on a share, abstention, and the share of votes that changes."""

from itertools import combinations

import pytest
import torch
from scipy.stats import beta

from hammingbox.certificates import Ablation
from hammingbox.certificates._search.clopper_pearson import lower_bound
from hammingbox.certificates._search.touched_votes import most_touched
from hammingbox.errors import InputError, VictimError
from hammingbox.threat.masked_space import MaskedSpace
from hammingbox.threat.space import FullSpace
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.types import Ids, Logits
from hammingbox.victims.ablated import Ablated, ablated_as, ablated_logits, balanced_subsets
from hammingbox.victims.black_box import BlackBox
from hammingbox.victims.checkpoint import weights_digest
from toys import ToyVictim, toy_rows, toy_schema
from toys.models import fixed_probabilities

SCHEMA = toy_schema((3,) * 12)


class _Constant(ToyVictim):
    """Votes for class 0 unless feature 0 is seen with category 1."""

    def head(self, embedded: torch.Tensor, ids: Ids) -> Logits:
        seen = (embedded[:, 0] != 0).any(1) & (ids[:, 0] == 1)
        return torch.stack([~seen, seen, torch.zeros_like(seen)], 1).float()


@pytest.mark.parametrize(
    ("hits", "draws", "alpha"), [(9, 10, 0.05), (3900, 4000, 0.001), (4000, 4000, 0.001), (1, 7, 0.1)]
)
def test_the_bound_on_a_share_is_clopper_pearsons(hits: int, draws: int, alpha: float) -> None:
    exact = beta.ppf(alpha, hits, draws - hits + 1)
    found = lower_bound(hits, draws, alpha)
    assert found <= exact
    assert found == pytest.approx(exact, abs=1e-7)
    assert lower_bound(0, draws, alpha) == 0.0


def test_a_hidden_feature_has_no_influence() -> None:
    victim = ToyVictim(SCHEMA.cardinalities).eval()
    x, _ = toy_rows(SCHEMA, victim, rows=20)
    other = (x + 1) % 3
    kept = torch.rand(20, 12, generator=torch.Generator().manual_seed(0)) < 0.3
    mixed = torch.where(kept, x, other)
    for mask in (None, 2):
        assert torch.equal(ablated_logits(victim, x, kept, mask), ablated_logits(victim, mixed, kept, mask))


def test_votes_that_are_too_narrow_abstain_and_a_clear_vote_is_proven() -> None:
    victim = Ablated(_Constant(SCHEMA.cardinalities).eval(), 3, votes=50)
    assert victim.subsets(12) is None
    x = torch.zeros(2, 12, dtype=torch.int64)
    x[1, 0] = 1  # a quarter of the votes is for class 1
    y = torch.zeros(2, dtype=torch.int64)
    threat = ThreatModel(FullSpace(SCHEMA), 2)
    found = Ablation(samples=2000)(victim, x, y, threat)
    # D(1) = 1/4, D(2) = 0.4545: the leads are 1 and 1/2, and must exceed 2 D.
    assert found.radius.tolist() == [2, 0]
    assert found.confidence.tolist() == [0.999, 0.999]
    assert found.forward.tolist()[0] == 1 + 200 + 2000
    wanted = Ablation(samples=2000)(victim, x, y + 1, threat)
    assert wanted.radius.tolist() == [-1, -1], "the vote is for a class that counts as success"
    few = Ablation(samples=4)(victim, x, y, threat)
    assert few.radius.tolist() == [-1, -1], "four votes prove nothing at 99.9 %"


@pytest.mark.parametrize("seed", range(6))
def test_the_votes_that_features_reach_are_those_of_the_worst_sets(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    subsets = (torch.rand(14, 6, generator=generator) < 0.35).double()
    weight = torch.randint(3, (14,), generator=generator).double()
    found = most_touched(subsets, weight, 5)
    for r in range(1, 6):
        exact = max(float(weight[subsets[:, list(chosen)].any(1)].sum()) for chosen in combinations(range(6), r))
        assert found[r - 1] >= exact
        assert r > 2 or found[r - 1] == exact
    assert float(found[-1]) <= float(weight.sum())
    assert most_touched(subsets[:, :0], weight, 2).tolist() == [0.0, 0.0]
    assert most_touched(subsets[:, :1], weight, 3).unique().numel() == 1


def test_drawn_subsets_show_every_feature_equally_often() -> None:
    kept = balanced_subsets(12, 5, 31, seed=3)
    assert kept.sum(1).tolist() == [5] * 31
    assert int(kept.sum(0).max() - kept.sum(0).min()) <= 1
    assert not torch.equal(kept, balanced_subsets(12, 5, 31, seed=4))


def test_the_answers_themselves_are_certified_with_certainty() -> None:
    victim = Ablated(_Constant(SCHEMA.cardinalities).eval(), 3, votes=40)
    x = torch.zeros(1, 12, dtype=torch.int64)
    y = torch.zeros(1, dtype=torch.int64)
    found = Ablation()(victim, x, y, ThreatModel(FullSpace(SCHEMA), 2))
    # Each feature is in 10 of 40 subsets: one change turns at most 10 votes, two turn fewer than 20 of 40.
    assert found.radius.tolist() == [2]
    assert found.confidence.tolist() == [1.0]
    fixed = MaskedSpace(SCHEMA, immutable=[f"f{i}" for i in range(1, 12)])
    x[0, 0] = 1  # 10 votes are for class 1, and only feature 0 may change
    assert Ablation()(victim, x, y, ThreatModel(fixed, 3)).radius.tolist() == [3]


def test_the_same_row_and_seed_have_the_same_votes() -> None:
    victim = Ablated(ToyVictim(SCHEMA.cardinalities).eval(), 4, votes=30)
    x, y = toy_rows(SCHEMA, victim.victim, rows=4)
    threat = ThreatModel(FullSpace(SCHEMA), 1)
    together = Ablation(samples=300)(victim, x, y, threat).bound
    alone = torch.cat([Ablation(samples=300)(victim, x[i : i + 1], y[i : i + 1], threat).bound for i in range(4)])
    assert torch.equal(together, alone)


def test_what_cannot_vote_is_refused() -> None:
    model = ToyVictim(SCHEMA.cardinalities).eval()
    with pytest.raises(InputError, match="expected a category to write over hidden features"):
        Ablated(BlackBox(fixed_probabilities), 2)
    with pytest.raises(InputError, match="got an Ablated one"):
        Ablated(Ablated(model, 2), 2)
    with pytest.raises(InputError, match="expected k of at most the 12 features, got 13"):
        Ablated(model, 13)(torch.zeros(1, 12, dtype=torch.int64))
    with pytest.raises(VictimError, match="black-box attack"):
        Ablated(model, 2).embed(torch.zeros(1, 12, dtype=torch.int64))
    with pytest.raises(InputError, match="alpha below"):
        Ablation(alpha=0.6)


def test_a_recorded_name_makes_the_same_classifier_again() -> None:
    model = ToyVictim(SCHEMA.cardinalities).eval()
    voting = Ablated(model, 3, votes=70, mask=1, seed=4)
    again = ablated_as(f"{voting.described} toy", model)
    assert weights_digest(again) == weights_digest(voting)
    older = Ablated(model, 3, votes=70, mask=1, seed=4, balanced=False)
    assert older.described == "ablated(k=3, votes=70, mask=1, seed=4)"
    assert weights_digest(ablated_as(f"{older.described} toy", model)) == weights_digest(older)
    assert weights_digest(older) != weights_digest(voting)
    assert ablated_as("cnn", model) is model
