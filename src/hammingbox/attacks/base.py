"""What every attack has in common: checks before, an honest recount after, and the best point found so far."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import ClassVar, final

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from hammingbox.errors import InputError, TooExpensiveError, VictimError
from hammingbox.problem import DEFAULT_MEMORY, Goal, Objective, Problem, Targeted, Untargeted
from hammingbox.seeding import RowRandom
from hammingbox.settings import check_settings
from hammingbox.threat.candidates import hamming
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.types import (
    Ids,
    Labels,
    Logits,
    PointFloat,
    PointRows,
    PointSlots,
    RowFloat,
    RowInt,
    RowMask,
    Slots,
)
from hammingbox.victims.frozen import frozen_eval
from hammingbox.victims.victim import Victim, check_logits


@dataclass(frozen=True, eq=False)
class AttackResult:
    """The rows an attack found, recounted on discrete rows outside the attack.

    Attributes:
        ids: adversarial rows; the clean row where nothing better was found.
        slots: the same rows as slots.
        distance: changed features, counted on ids.
        margin: above 0 exactly when the goal is met.
        clean_logits: the victim's answer before.
        logits: the victim's answer after.
        forward: forward passes each row cost the attack (the recount is not part of it).
        backward: backward passes each row cost the attack.
        stage: for an ensemble, the number of the stage that broke the row, or the last it went through; else 0.
    """

    ids: Ids
    slots: Slots
    distance: RowInt
    margin: RowFloat
    clean_logits: Logits
    logits: Logits
    forward: RowInt
    backward: RowInt
    stage: RowInt

    @property
    def success(self) -> RowMask:
        """Rows whose goal is met."""
        return self.margin > 0

    @staticmethod
    def join(parts: list["AttackResult"]) -> "AttackResult":
        """One result of the results of parts of a batch."""
        return AttackResult(*(torch.cat([getattr(part, f.name) for part in parts]) for f in fields(AttackResult)))


@dataclass(frozen=True, kw_only=True)
class Attack(ABC):
    """A frozen bag of hyper-parameters; `repr` rebuilds it, names its tests and goes into the record.

    Attributes:
        objective: the loss to maximise. Cross entropy saturates in float32; the margin does not.
        queries: forward passes a row may cost, kept exactly; only for attacks that need no gradient.
    """

    objective: Objective = "margin"
    queries: int | None = None

    randomised: ClassVar[bool] = False
    needs_gradient: ClassVar[bool] = False
    exact: ClassVar[bool] = False

    @property
    def uses_gradient(self) -> bool:
        """Whether it takes gradients where the victim has them."""
        return self.needs_gradient

    def __post_init__(self) -> None:
        """Checks the settings.

        Raises:
            InputError: one of another kind, of no choice, or a number below its least value.
        """
        check_settings(self)

    @abstractmethod
    def run(self, problem: Problem, random: RowRandom) -> Slots:
        """Finds one point a row within the budget."""

    @final
    def __call__(
        self,
        victim: Victim,
        x: Ids,
        y: Labels,
        threat: ThreatModel,
        *,
        seed: int = 0,
        targets: Labels | None = None,
        memory: int = DEFAULT_MEMORY,
    ) -> AttackResult:
        """Attacks a batch of rows and recounts what came out.

        Args:
            victim: borrowed; given back in the mode it came in.
            x: clean rows, shape (batch, features).
            y: true classes, shape (batch,).
            threat: what the attacker may do.
            seed: with a row's content, decides that row's randomness.
            targets: classes to reach; without them any wrong class will do.
            memory: bytes for a micro-batch.

        Raises:
            InputError: rows, labels or targets do not fit the schema.
            VictimError: the victim has no gradient, or does not return finite logits.
            TooExpensiveError: the attack would need more passes than its limit.
        """
        self._check(victim, x, y, threat, targets)
        with frozen_eval(victim):
            goal: Goal = Untargeted(y) if targets is None else Targeted(targets)
            return AttackResult.join(
                [
                    self._attack(self._problem(victim, x[rows], goal.take(rows), threat, memory), x[rows], seed)
                    for rows in self._row_batches(victim, x, threat, memory)
                ]
            )

    def _check(self, victim: Victim, x: Ids, y: Labels, threat: ThreatModel, targets: Labels | None) -> None:
        schema = threat.space.schema
        schema.check_ids(x)
        schema.check_labels(y, len(x))
        if len(x) == 0:
            raise InputError("expected at least one row to attack, got none.")
        if targets is not None:
            schema.check_labels(targets, len(x))
            if (targets == y).any():
                raise InputError(
                    "expected targets other than the true classes, got a row whose target is its own class."
                )
        if self.queries is not None and self.needs_gradient:
            raise InputError(
                f"expected a query limit on an attack that needs no gradient, got queries={self.queries} "
                f"on {type(self).__name__}. Leave it out, or choose an attack that needs losses only."
            )
        if self.needs_gradient and not victim.has_gradient:
            from hammingbox.attacks import ATTACKS  # the table imports this module

            able = ", ".join(name for name, make in ATTACKS.items() if not make().needs_gradient)
            raise VictimError(
                f"expected a victim with gradients for {type(self).__name__}, got a black box. Use one of: {able}."
            )
        with frozen_eval(victim), torch.no_grad():
            logits = victim(x[:64])
        check_logits(logits, len(x[:64]), probabilities=victim.has_gradient)
        if logits.shape[1] != len(schema.classes):
            raise VictimError(
                f"expected logits for {len(schema.classes)} classes, got {logits.shape[1]}. Check victim and schema."
            )

    def _problem(self, victim: Victim, x: Ids, goal: Goal, threat: ThreatModel, memory: int) -> Problem:
        return Problem.of(
            victim,
            threat.space.candidates(x),
            goal,
            threat.budget,
            objective=self.objective,
            memory=memory,
            queries=self.queries,
        )

    def _row_batches(
        self, victim: Victim, x: Ids, threat: ThreatModel, memory: int
    ) -> tuple[Int64[Tensor, "some"], ...]:
        """Rows taken at once, so that one soft row each fits the memory; what a row gets does not depend on it."""
        probe = self._problem(victim, x[:1], Untargeted(torch.zeros_like(x[:1, 0])), threat, memory)
        return torch.arange(len(x), device=x.device).split(probe.soft_rows_at_once)

    def _attack(self, problem: Problem, x: Ids, seed: int) -> AttackResult:
        clean = problem.clean_slots
        found = clean if problem.budget == 0 else self.run(problem, RowRandom.for_rows(seed, x))
        assert found.shape == clean.shape, f"{self!r} returned slots of shape {tuple(found.shape)}"
        assert bool(problem.candidates.allows(found).all()), f"{self!r} left S(x)"
        assert int((found != 0).sum(1).max()) <= problem.budget, f"{self!r} exceeded the budget"
        check = problem.unmetered()
        rows = torch.arange(len(x), device=x.device)
        clean_logits, logits = check.logits(rows, clean), check.logits(rows, found)
        # An attacker always has the clean row: a point that is worse than no attack is not returned.
        before, after = self._rank(check.goal, clean_logits), self._rank(check.goal, logits)
        keep = (after >= before)[:, None]
        slots, logits = torch.where(keep, found, clean), torch.where(keep, logits, clean_logits)
        ids = problem.candidates.select(slots)
        return AttackResult(
            ids=ids,
            slots=slots,
            distance=hamming(ids, x),
            margin=check.goal.margin(logits),
            clean_logits=clean_logits,
            logits=logits,
            forward=problem.meter.forward,
            backward=problem.meter.backward,
            stage=problem.meter.stage,
        )

    def _rank(self, goal: Goal, logits: Logits) -> RowFloat:
        margin = goal.margin(logits)
        if self.objective == "margin":
            return margin
        return torch.where(margin > 0, torch.inf, goal.cross_entropy(logits))


class Incumbent:
    """The best point of every row so far: a point that meets the goal comes before one that does not, then the loss.

    It starts as the clean row, whose loss costs one forward pass; `clean_logits` keeps the answer. A row that is
    `settled` has been tried in full within the budget: it needs no further search.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self.slots = problem.clean_slots
        rows = torch.arange(len(problem), device=self.slots.device)
        self.clean_logits = problem.logits(rows, self.slots)
        self.loss, self.fooled = problem.judge(rows, self.clean_logits)
        self.settled = torch.zeros_like(self.fooled)

    def standing(self) -> Int64[Tensor, "some"]:
        """Rows that have not fallen yet, may still ask, and have anything left to ask about."""
        return (~self.fooled & ~self.settled & (self._problem.remaining > 0)).nonzero()[:, 0]

    def offer(self, rows: PointRows, slots: PointSlots, loss: PointFloat, fooled: Bool[Tensor, "points"]) -> None:
        """Takes over every row's best point of a ragged list, where it is better than what is known."""
        met = torch.zeros_like(self.fooled).index_put_((rows,), fooled, accumulate=True)
        points, who = best_points(rows, loss.masked_fill(met[rows] & ~fooled, -torch.inf), len(self.loss))
        better = (fooled[points] > self.fooled[who]) | (
            (fooled[points] == self.fooled[who]) & (loss[points] > self.loss[who])
        )
        points, who = points[better], who[better]
        self.slots[who], self.loss[who], self.fooled[who] = slots[points], loss[points], fooled[points]


@dataclass(frozen=True, kw_only=True)
class Search(Attack):
    """An attack that improves on what is known of a batch, so that it can be a stage of an ensemble."""

    @abstractmethod
    def search(self, problem: Problem, random: RowRandom, best: Incumbent) -> None:
        """Offers points to `best`; works on its standing rows alone."""

    @final
    def run(self, problem: Problem, random: RowRandom) -> Slots:
        """Searches from the clean rows."""
        best = Incumbent(problem)
        self.search(problem, random, best)
        return best.slots


def best_points(rows: PointRows, loss: PointFloat, batch: int) -> tuple[Int64[Tensor, "some"], Int64[Tensor, "some"]]:
    """The first best point of every row that occurs in a ragged list, and which row that is."""
    best = torch.full((batch,), -torch.inf, device=loss.device, dtype=loss.dtype).scatter_reduce_(0, rows, loss, "amax")
    number = torch.where(loss == best[rows], torch.arange(len(rows), device=rows.device), len(rows))
    first = torch.full((batch,), len(rows), device=rows.device).scatter_reduce_(0, rows, number, "amin")
    who = (first < len(rows)).nonzero()[:, 0]
    return first[who], who


def try_moves(problem: Problem, slots: Slots, moves: Bool[Tensor, "batch options"]) -> tuple[Tensor, Tensor]:
    """Loss and success of every single change from `slots` that a mask allows.

    Returns:
        loss: (batch, options), minus infinity where no change was tried.
        fooled: (batch, options).

    Cost: one forward pass a change tried.
    """
    loss = torch.full(moves.shape, -torch.inf, device=slots.device)
    fooled = torch.zeros_like(moves)
    where = moves.nonzero()
    for part in problem.micro_batches(len(where)):  # the changed rows of all moves at once need not fit the memory
        rows, options = where[part].unbind(1)
        if len(rows):
            scores = problem.score(rows, moved(problem, slots[rows], options))
            loss[rows, options], fooled[rows, options] = scores.loss, scores.fooled
    return loss, fooled


def try_points(
    problem: Problem,
    best: Incumbent,
    rows: Int64[Tensor, "some"],
    points: Int64[Tensor, "some points features"],
    wanted: Bool[Tensor, "some points"],
) -> Float[Tensor, "some points"]:
    """Losses of the wanted points, see :func:`ask_points`."""
    return ask_points(problem, best, rows, points, wanted)[0]


def ask_points(
    problem: Problem,
    best: Incumbent,
    rows: Int64[Tensor, "some"],
    points: Int64[Tensor, "some points features"],
    wanted: Bool[Tensor, "some points"],
) -> tuple[Float[Tensor, "some points"], Float[Tensor, "some points classes"]]:
    """Tries the wanted points of some rows, as far as their queries go, and offers them.

    Args:
        problem: of these rows alone.
        best: the incumbent of the whole batch.
        rows: numbers of these rows in the batch.
        points: the same number of points a row.
        wanted: which of them to try.

    Returns:
        Their losses, minus infinity where a point was not tried, and the victim's logits, there not a number.

    Cost: one forward pass a wanted point.
    """
    loss = torch.full(wanted.shape, -torch.inf, device=points.device)
    logits = torch.full((*wanted.shape, best.clean_logits.shape[1]), torch.nan, device=points.device)
    owner, place = wanted.nonzero().unbind(1)
    paid = problem.may_ask(owner)
    owner, place = owner[paid], place[paid]
    if len(owner):
        slots = points[owner, place]
        answer = problem.logits(owner, slots)
        scores = problem.judge(owner, answer)
        best.offer(rows[owner], slots, *scores)
        loss[owner, place], logits[owner, place] = scores.loss, answer.float()
    return loss, logits


def moved(problem: Problem, slots: PointSlots, options: Int64[Tensor, "points"]) -> PointSlots:
    """Points with one option taken each."""
    layout = problem.candidates.layout
    return slots.scatter(1, layout.feature_of[options][:, None], layout.slot_of[options][:, None])


def refuse_above(limit: int, passes: int, name: str, parameter: str) -> None:
    """Refuses work whose number of victim passes for a row is above a limit.

    Raises:
        TooExpensiveError: with the estimate and the parameter that raises the limit.
    """
    if passes > limit:
        raise TooExpensiveError(
            f"expected {name} to need at most {limit:,} victim passes a row, got an estimate of {passes:,}. "
            f"Lower the budget, choose a cheaper attack, or raise {parameter} to {passes}."
        )
