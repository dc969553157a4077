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
from hammingbox.certificates._search.window_programme import WindowScores, window_worst_case
from hammingbox.certificates.additive import linear_worst_case
from hammingbox.data.schema import Schema
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

    With `inner_share`, part of the loss is that of one change less than the budget: a radius between two whole
    numbers. A budget of 2 with an inner share of 0.5 trains for "one and a half" changes.

    Cost: one forward and one backward pass per row, and bounds over all options of a row.

    Attributes:
        clean_share: weight of the clean cross entropy.
        inner_share: of the rest, the weight of the worst case within one change less.
    """

    may_be_zero: ClassVar[tuple[str, ...]] = ("clean_share", "inner_share")

    clean_share: float = 0.0
    inner_share: float = 0.0

    def __repr__(self) -> str:
        return self.settings_repr("inner_share")

    def __post_init__(self) -> None:
        """Checks the settings.

        Raises:
            InputError: a share is not in [0, 1).
        """
        super().__post_init__()
        if self.clean_share >= 1:
            raise InputError(f"expected clean_share below 1, got {self.clean_share}. At 1 it is standard training.")
        if self.inner_share >= 1:
            raise InputError(f"expected inner_share below 1, got {self.inner_share}. At 1, train for a smaller budget.")

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
        if threat.forbids_all or not bool(attacked.any()):
            return Step(batch.cross_entropy(victim(batch.x)))
        clean = functional.cross_entropy(victim(batch.x), batch.y, reduction="none")
        part = batch.take(attacked)
        pairs, candidates = Pairs.of(part.goal.of(part.y, schema)), threat.space.slots_of(part.x)
        shares = {threat.budget: 1 - self.inner_share, threat.budget - 1: self.inner_share}
        bounds = worst_differences(victim, candidates, pairs, tuple(r for r, share in shares.items() if share and r))
        robust = torch.zeros_like(clean[attacked])
        for radius, share in shares.items():
            if share and not radius:
                robust = robust + share * clean[attacked]
            elif share:
                robust = robust + share * _worst_logits(bounds[radius], pairs, len(part), schema).logsumexp(1)
        losses = clean.clone()
        losses[attacked] = self.clean_share * clean[attacked] + (1 - self.clean_share) * robust
        worst = _worst_logits(bounds[threat.budget].detach(), pairs, len(part), schema)[:, 1:]
        return Step(batch.weighted(losses).mean(), {"certified_accuracy": (worst <= 0).all(1).float().mean().item()})


def _worst_logits(
    bounds: Float[Tensor, "pairs"], pairs: Pairs, rows: int, schema: Schema
) -> Float[Tensor, "batch classes_and_one"]:
    """0 for the true class, and the worst margin of every winning one.

    A winning class has to be above all losing ones, so the smallest of its differences counts.
    """
    classes = len(schema.classes)
    least = torch.full((rows * classes,), torch.inf, dtype=bounds.dtype, device=bounds.device)
    least = least.scatter_reduce(0, pairs.rows * classes + pairs.wins, bounds, "amin").view(rows, classes)
    return torch.cat([torch.zeros_like(least[:, :1]), least.masked_fill(least == torch.inf, -torch.inf)], 1)


def worst_differences(
    victim: Victim, candidates: Candidates, pairs: Pairs, radii: tuple[int, ...]
) -> dict[int, Float[Tensor, "pairs"]]:
    """The largest difference of each pair within each radius, or an upper bound on it, with gradients."""
    if isinstance(victim, Windows):
        with torch.no_grad():
            found = window_worst_case(WindowScores.of(victim), candidates, pairs, max(radii))
            number = torch.arange(len(pairs.rows), device=pairs.rows.device)
            slots = {radius: found.points(number, torch.full_like(number, radius)) for radius in radii}
        # The worst case is attained at a point: its gradient is that of the point's margin.
        logits = {radius: victim(candidates.select_points(pairs.rows, slots[radius])) for radius in radii}
        return {
            radius: (own.gather(1, pairs.wins[:, None]) - own.gather(1, pairs.loses[:, None]))[:, 0]
            for radius, own in logits.items()
        }
    net = one_hot_net(victim, candidates.layout.features, trained=True)
    assert net is not None
    terms = Terms.of(net, candidates)
    if not net.rest:
        bounds = linear_worst_case(terms, pairs, max(radii)).bounds
        return {radius: bounds[:, radius - 1] for radius in radii}
    last = net.rest[-1]
    # All pairs of classes of every row, although each row has few: rows share one rectangle.
    place = torch.arange(len(pairs.rows), device=pairs.rows.device) - torch.searchsorted(pairs.rows, pairs.rows)
    most = int(place.max()) + 1
    shape = (len(candidates), most)
    wins = torch.zeros(shape, dtype=torch.int64, device=place.device).index_put((pairs.rows, place), pairs.wins)
    loses = torch.zeros(shape, dtype=torch.int64, device=place.device).index_put((pairs.rows, place), pairs.loses)
    weight, offset = last.weight[wins] - last.weight[loses], last.bias[wins] - last.bias[loses]
    return {radius: logit_bounds(net, terms, weight, offset, radius)[pairs.rows, place] for radius in radii}
