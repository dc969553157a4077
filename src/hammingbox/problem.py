"""Eq. 1 of the paper as a value: victim, candidates, goal, budget, and a meter that counts every pass.

An attack is an optimiser over slots. It gets losses and gradients from a Problem of its own; what it returns is judged
against another one, see `hammingbox.attacks.judge`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Int64, Shaped
from torch import Tensor

from hammingbox.errors import InputError
from hammingbox.threat.candidates import Candidates, Purse
from hammingbox.threat.goal import RowGoals
from hammingbox.types import (
    Logits,
    OptionFloat,
    PointFloat,
    PointRows,
    PointSlots,
    RowFloat,
    RowInt,
    SampleFloat,
    Slots,
    Weights,
)
from hammingbox.victims.metered import Meter, MeteredVictim
from hammingbox.victims.soft_rows import SoftRows
from hammingbox.victims.victim import Victim, check_logits

Objective = Literal["margin", "cross_entropy"]

DEFAULT_MEMORY = 512 * 2**20
"""Bytes an attack may use for a micro-batch, see `Problem.memory`."""

_LARGEST_MICRO_BATCH = 512
"""Larger ones exceed the CPU's caches: the Splice LSTM is 2.5 times slower at 4096 rows than at 512."""

_LARGEST_TABLE = 4096
"""Rows in one call of a black box, where a call costs more than its rows: XGBoost spends as long on the frame of a call
as on 1,000 rows of it."""


class Scores(NamedTuple):
    """The result of a discrete pass: the loss of each point, and whether it meets the goal."""

    loss: PointFloat
    fooled: Bool[Tensor, "points"]


@dataclass(frozen=True, eq=False)
class Problem:
    """Eq. 1 for a batch of rows.

    Attributes:
        victim: in eval mode, its parameters frozen; an attack gets a `MeteredVictim`, which counts every pass.
        candidates: S(x) of each row.
        goal: what counts as success for each row.
        budget: epsilon, the largest number of changed features of the layout.
        objective: the loss to maximise; success is always judged by the margin.
        meter: shared by all parts of a batch.
        rows: the number of each row in the meter.
        memory: bytes for a micro-batch. The size of activations is estimated from that of the embedding, so this bounds
            the order of magnitude, not the exact number of bytes.
        purse: what each row may spend, in changed columns and in ticks; None where only `budget` counts.
    """

    victim: Victim
    candidates: Candidates
    goal: RowGoals
    budget: int
    objective: Objective
    meter: Meter
    rows: RowInt
    memory: int = DEFAULT_MEMORY
    purse: Purse | None = None

    @classmethod
    def of(
        cls,
        victim: Victim,
        candidates: Candidates,
        goal: RowGoals,
        budget: int,
        *,
        objective: Objective = "margin",
        memory: int = DEFAULT_MEMORY,
        queries: int | None = None,
    ) -> "Problem":
        """A problem with a new meter that allows at most `queries` forward passes per row."""
        device, size = candidates.ids.device, len(candidates)
        rows, meter = torch.arange(size, device=device), Meter(size, device, queries)
        purse, most = candidates.purse(budget), candidates.most_changes(budget)
        if purse is not None:
            candidates = candidates.within(purse)
        return cls(victim, candidates, goal, most, objective, meter, rows, memory, purse)

    def __len__(self) -> int:
        return len(self.candidates)

    def take(self, rows: Shaped[Tensor, "some"]) -> "Problem":
        """The problem of some rows; their passes go to the same meter."""
        return replace(
            self,
            candidates=self.candidates.take(rows),
            goal=self.goal.take(rows),
            rows=self.rows[rows],
            purse=None if self.purse is None else self.purse[rows],
        )

    def within(self, budget: int) -> "Problem":
        """The same rows, meter and victim under another number of changed features."""
        return replace(self, budget=budget)

    def with_purse(self, purse: Purse) -> "Problem":
        """The same rows, meter and victim with less to spend."""
        return replace(self, candidates=self.candidates.within(purse), purse=purse)

    def unmetered(self) -> "Problem":
        """The same problem with a new meter, for checks that are not part of an attack's cost.

        In the hands of an attack it saves nothing: its victim counts every pass.
        """
        return replace(self, meter=Meter(len(self.meter.forward), self.rows.device))

    @property
    def clean_slots(self) -> Slots:
        """Slot 0 everywhere."""
        shape = (len(self), self.candidates.layout.features)
        return torch.zeros(shape, dtype=torch.int64, device=self.rows.device)

    # What points cost ------------------------------------------------------------------------------------------

    @property
    def known_purse(self) -> Purse:
        """The purse of a problem with prices or relations.

        Raises:
            InputError: it has none: only the number of changes counts.
        """
        if self.purse is None:
            raise InputError("expected a problem with prices, got one without.")
        return self.purse

    def spent(self, rows: PointRows, slots: PointSlots) -> Int64[Tensor, "points 2"]:
        """Changed columns and ticks of points, where there is a purse."""
        if self.candidates.tolls is None:
            raise InputError("expected a problem with prices, got one without.")
        return self.candidates.tolls[rows[:, None], self.candidates.layout.starts + slots].sum(1)

    def affordable(self, rows: PointRows, slots: PointSlots) -> Bool[Tensor, "points"]:
        """Whether points keep to the budget of their rows, and can be written."""
        few = (slots != 0).sum(1) <= self.budget
        if self.purse is None:
            return few
        return few & (self.spent(rows, slots) <= self.purse[rows]).all(1) & self.candidates.writable(rows, slots)

    # Discrete passes -------------------------------------------------------------------------------------------

    def logits(self, rows: PointRows, slots: PointSlots) -> Logits:
        """Logits of a ragged list of points, in micro-batches. Cost: one forward pass per point.

        Raises:
            VictimError: the victim does not return finite logits.
            AttackError: the attack exceeds the query limit, see `may_query`.
        """
        self.meter.charge(self.rows.index_select(0, rows))
        with torch.no_grad():
            parts = [self._forward(rows[part], slots[part]) for part in self.micro_batches(len(rows))]
            return parts[0] if len(parts) == 1 else torch.cat(parts)

    def answers_to_clean(self) -> Logits:
        """Logits of the clean rows. Cost: one forward pass per row, even if the answers are known."""
        if isinstance(self.victim, MeteredVictim):
            known = self.victim.known_answers(self.rows)
            if known is not None:
                self.meter.charge(self.rows)
                return known
        return self.logits(torch.arange(len(self), device=self.rows.device), self.clean_slots)

    def _forward(self, rows: PointRows, slots: PointSlots) -> Logits:
        ids = self.candidates.select_points(rows, slots)  # new rows: the victim may do to them what it likes
        if isinstance(self.victim, MeteredVictim):
            return self.victim.answer(ids, self.rows.index_select(0, rows))
        logits = self.victim(ids)
        check_logits(logits, len(rows))
        return logits.clone()  # the victim may write into its own tensor at the next call

    def score(self, rows: PointRows, slots: PointSlots) -> Scores:
        """Loss and success of a ragged list of points. Cost: one forward pass per point.

        A row that has reached its query limit is not queried again. Its points beyond the limit, in the order of the
        list, have a loss of minus infinity and do not meet the goal. So no attack can exceed the limit by this method.
        The same holds for points that their rows cannot afford, where there is a purse.
        """
        if not self.is_limited:
            return self.judge(rows, self.logits(rows, slots))
        loss = torch.full((len(rows),), -torch.inf, device=rows.device)
        fooled = torch.zeros(len(rows), dtype=torch.bool, device=rows.device)
        paid = self.may_ask(rows, slots)
        if paid.any():
            loss[paid], fooled[paid] = self.judge(rows[paid], self.logits(rows[paid], slots[paid]))
        return Scores(loss, fooled)

    @property
    def is_limited(self) -> bool:
        """Whether some points may not be asked about: queries are limited, or changes have prices."""
        return self.meter.limit is not None or self.purse is not None

    def may_query(self, rows: PointRows) -> Bool[Tensor, "points"]:
        """The points of a ragged list, in its order, that are within the query limit of their rows."""
        if self.meter.limit is None:
            return torch.ones_like(rows, dtype=torch.bool)
        # A part of a batch may hold a row several times, as a beam does: all its copies share the limit.
        return place_in_row(self.rows[rows]) < self.remaining[rows]

    def may_ask(self, rows: PointRows, slots: PointSlots) -> Bool[Tensor, "points"]:
        """The points of a ragged list that their rows can afford, and whose queries are within their limit."""
        if self.purse is None:
            return self.may_query(rows)
        able = self.affordable(rows, slots)
        able[able.clone()] = self.may_query(rows[able])
        return able

    def judge(self, rows: PointRows, logits: Logits) -> Scores:
        """Loss and success of points with these logits. No cost."""
        goal = RowGoals(self.goal.wins.index_select(0, rows))
        margin = goal.margin(logits)
        loss = margin if self.objective == "margin" else goal.cross_entropy(logits)
        return Scores(loss.float(), margin > 0)

    def predicted_loss(self, logits: Float[Tensor, "batch *sets classes"]) -> Float[Tensor, "batch *sets"]:
        """Losses of logits that a model of the victim predicts, one or many sets for each row. No cost."""
        return self.goal.margin(logits) if self.objective == "margin" else self.goal.cross_entropy(logits)

    @property
    def remaining(self) -> RowInt:
        """Forward passes that each row has left; practically infinite without a limit."""
        limit = torch.iinfo(torch.int64).max if self.meter.limit is None else self.meter.limit
        return limit - self.meter.forward[self.rows]

    def loss(self, slots: Slots) -> RowFloat:
        """Loss of one point per row. Cost: one forward pass per row."""
        return self.score(torch.arange(len(self), device=slots.device), slots).loss

    def micro_batches(self, points: int) -> Iterator[slice]:
        """Slices of a list of points that go through the victim at once."""
        largest = _LARGEST_MICRO_BATCH if self.victim.has_gradient else _LARGEST_TABLE
        size = max(1, min(largest, self.memory // self._bytes_per_forward))
        return (slice(start, start + size) for start in range(0, max(points, 1), size))

    # Soft passes -----------------------------------------------------------------------------------------------

    def soft_loss(self, weights: Weights, points: Slots | None = None) -> SampleFloat:
        """Differentiable loss of soft rows.

        The caller keeps batch x samples within `soft_rows_at_once`.

        Args:
            weights: of options.
            points: if the one sample of each row is a discrete point, that point. Columns that are computed from others
                then have its values; in a soft row they keep the clean ones.

        Cost: one forward pass per sample, and one backward pass if gradients are taken.
        """
        batch, samples, _ = weights.shape
        self.meter.charge(self.rows, samples)
        mixed = self._soft_rows.mix(self.candidates.column_weights(weights)).flatten(0, 1)
        if points is not None and self.candidates.computed_columns:
            mixed = self._with_computed_columns(mixed, points)
        clean = self.candidates.clean.repeat_interleave(samples, 0)
        if isinstance(self.victim, MeteredVictim):
            logits = self.victim.soft_answer(mixed, clean, self.rows, samples)
        else:
            logits = self.victim.head(mixed, clean)
            check_logits(logits, batch * samples)
        goal = self.goal.take(torch.arange(batch, device=weights.device).repeat_interleave(samples))
        loss = goal.margin(logits) if self.objective == "margin" else goal.cross_entropy(logits)
        if loss.requires_grad:
            loss.register_hook(lambda _: self.meter.count_backward(self.rows, samples))
        return loss.float().view(batch, samples)  # as `judge` does, whatever the victim computes in

    def gradient(self, slots: Slots) -> tuple[RowFloat, OptionFloat]:
        """Loss at discrete points and its gradient in the weight of every option.

        Cost: one forward and one backward pass per row.
        """
        losses, gradients = [], []
        for rows in torch.arange(len(self), device=slots.device).split(self.soft_rows_at_once):
            part = self if len(rows) == len(self) else self.take(rows)
            with torch.enable_grad():
                weights = self.candidates.layout.one_hot(slots[rows])[:, None].requires_grad_()
                loss = part.soft_loss(weights, slots[rows])[:, 0]
                (gradient,) = torch.autograd.grad(loss.sum(), weights)
            losses.append(loss.detach())
            gradients.append(gradient[:, 0])
        return torch.cat(losses), torch.cat(gradients)

    def _with_computed_columns(
        self, embedded: Float[Tensor, "batch columns dim"], points: Slots
    ) -> Float[Tensor, "batch columns dim"]:
        """Embedded rows with the vectors of what the computed columns of points hold, without a gradient."""
        with torch.no_grad():
            written = self.victim.embed(self.candidates.select(points))
        computed = torch.zeros(embedded.shape[1], dtype=torch.bool, device=embedded.device)
        computed[list(self.candidates.computed_columns)] = True
        return torch.where(computed[:, None], written, embedded)

    @cached_property
    def _soft_rows(self) -> SoftRows:
        return SoftRows(self.victim, self.candidates.columns)

    # Memory ----------------------------------------------------------------------------------------------------

    @cached_property
    def _embedded_bytes(self) -> int:
        features = self.candidates.clean.shape[1]
        if not self.victim.has_gradient:
            return 64 * features
        return 4 * features * self.victim.embed(self.candidates.clean[:1].clone()).shape[-1]

    @property
    def _bytes_per_forward(self) -> int:
        # Measured for an LSTM, a CNN and a transformer block: activations take up to 16 times the embedded row.
        return 16 * self._embedded_bytes

    @property
    def soft_rows_at_once(self) -> int:
        """How many soft rows (batch x samples) fit into `memory`, at least 1."""
        # Weights, noise, their softmax and its gradient: a dozen tensors over the options. A graph keeps activations.
        per_row = 12 * 4 * self.candidates.layout.options + 32 * self._embedded_bytes
        return max(1, self.memory // per_row)


def place_in_row(rows: PointRows) -> Int64[Tensor, "points"]:
    """For each point of a ragged list, how many earlier points belong to the same row."""
    order = torch.argsort(rows, stable=True)
    place = torch.arange(len(rows), device=rows.device) - torch.searchsorted(rows[order], rows[order])
    return torch.empty_like(place).index_copy_(0, order, place)


def all_points(samples: Int64[Tensor, "batch samples features"]) -> tuple[PointRows, PointSlots]:
    """Flattens the same number of points for every row into a ragged list."""
    batch, count, _ = samples.shape
    return torch.arange(batch, device=samples.device).repeat_interleave(count), samples.flatten(0, 1)
