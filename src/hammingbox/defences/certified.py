"""Training on what a certificate would have to exclude: the worst case itself, or a bound above it."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from hammingbox.certificates._search.linear_bounds import logit_bounds
from hammingbox.certificates._search.one_hot_net import Terms, one_hot_net
from hammingbox.certificates._search.pairs import Pairs
from hammingbox.certificates._search.window_programme import window_worst_case
from hammingbox.certificates.additive import linear_worst_case
from hammingbox.defences.base import Batch, Defence, Step
from hammingbox.errors import InputError, VictimError
from hammingbox.threat.candidates import Candidates
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.victims.victim import Victim
from hammingbox.victims.zoo.windows import Windows


@dataclass(eq=False, kw_only=True)
class CertifiedTraining(Defence):
    """Minimises the loss of the worst margins within the budget, as a certificate computes them.

    For every winning class k, w_k is the largest margin of k over the true class within the budget: exact for models
    that add up scores (`linear`, `windows`), an upper bound (CROWN) for dense layers (`shallow`, `mlp`). The loss is
    log(1 + sum of exp(w_k)), the cross entropy of the worst logits, mixed with the clean cross entropy. The threat's
    budget is the radius that is trained for; `TrainConfig.ramp` lets it rise. A model that was trained at radius r also
    holds at r + 1 more often than one trained at r + 1 is accurate: try small radii first.

    Cost: one forward and one backward pass per row, and bounds over all options of a row.

    Attributes:
        clean_share: weight of the clean cross entropy.
    """

    may_be_zero: ClassVar[tuple[str, ...]] = ("clean_share",)

    clean_share: float = 0.0

    def __post_init__(self) -> None:
        """Checks the settings.

        Raises:
            InputError: `clean_share` is not in [0, 1).
        """
        super().__post_init__()
        if self.clean_share >= 1:
            raise InputError(f"expected clean_share below 1, got {self.clean_share}. At 1 it is standard training.")

    def begin(self, victim: Victim, rows: int, threat: ThreatModel) -> None:
        """Refuses models without a worst case that can be computed.

        Raises:
            VictimError: the victim is such a model.
        """
        super().begin(victim, rows, threat)
        if not isinstance(victim, Windows) and one_hot_net(victim, len(threat.space.schema.features)) is None:
            raise VictimError(
                f"expected a model whose worst case can be bounded (linear, windows, shallow, mlp) for "
                f"{type(self).__name__}, got {type(victim).__name__}. Use swap or padvt, and certify with exact."
            )

    def forward(self, victim: Victim, batch: Batch, threat: ThreatModel) -> Step:
        """The loss of worst margins, and the clean loss with its share."""
        schema = threat.space.schema
        attacked = batch.attacked(schema)
        if threat.budget == 0 or not bool(attacked.any()):
            return Step(batch.cross_entropy(victim(batch.x)))
        clean = functional.cross_entropy(victim(batch.x), batch.y, reduction="none")
        part = batch.take(attacked)
        pairs = Pairs.of(part.goal.of(part.y, schema))
        bounds = _worst_differences(victim, threat.space.slots_of(part.x), pairs, threat.budget)
        # A winning class has to be above all losing ones: the smallest of its differences counts.
        classes = len(schema.classes)
        group = pairs.rows * classes + pairs.wins
        least = torch.full((len(part) * classes,), torch.inf, dtype=bounds.dtype, device=bounds.device)
        least = least.scatter_reduce(0, group, bounds, "amin").view(len(part), classes)
        logits = torch.cat([torch.zeros_like(least[:, :1]), least.masked_fill(least == torch.inf, -torch.inf)], 1)
        robust = logits.logsumexp(1)
        losses = clean.clone()
        losses[attacked] = self.clean_share * clean[attacked] + (1 - self.clean_share) * robust
        certified = (logits[:, 1:].detach() <= 0).all(1).float().mean().item()
        return Step(batch.weighted(losses).mean(), {"certified_accuracy": certified})


def _worst_differences(victim: Victim, candidates: Candidates, pairs: Pairs, budget: int) -> Float[Tensor, "pairs"]:
    """The largest difference of each pair within the budget, or an upper bound on it, with gradients."""
    if isinstance(victim, Windows):
        with torch.no_grad():
            found = window_worst_case(victim, candidates, pairs, budget)
            number = torch.arange(len(pairs.rows), device=pairs.rows.device)
            slots = found.points(number, torch.full_like(number, budget))
        # The worst case is attained at a point: its gradient is that of the point's margin.
        logits = victim(candidates.select_points(pairs.rows, slots))
        return (logits.gather(1, pairs.wins[:, None]) - logits.gather(1, pairs.loses[:, None]))[:, 0]
    net = one_hot_net(victim, candidates.layout.features, trained=True)
    assert net is not None
    terms = Terms.of(net, candidates)
    if not net.rest:
        return linear_worst_case(terms, pairs, budget).bounds[:, -1]
    last = net.rest[-1]
    # All pairs of classes of every row, although each row has few: rows share one rectangle.
    place = torch.arange(len(pairs.rows), device=pairs.rows.device) - torch.searchsorted(pairs.rows, pairs.rows)
    most = int(place.max()) + 1
    shape = (len(candidates), most)
    wins = torch.zeros(shape, dtype=torch.int64, device=place.device).index_put((pairs.rows, place), pairs.wins)
    loses = torch.zeros(shape, dtype=torch.int64, device=place.device).index_put((pairs.rows, place), pairs.loses)
    weight, offset = last.weight[wins] - last.weight[loses], last.bias[wins] - last.bias[loses]
    return logit_bounds(net, terms, weight, offset, budget)[pairs.rows, place]
