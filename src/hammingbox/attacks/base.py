"""What every attack has in common: checks before it runs, and a recount of what it found outside of it."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from typing import ClassVar, NamedTuple, final

import torch
from jaxtyping import Int64
from torch import Tensor

from hammingbox.attacks.cost import Passes
from hammingbox.data.schema import Schema
from hammingbox.errors import AttackError, InputError, VictimError
from hammingbox.problem import DEFAULT_MEMORY, Meter, Objective, Problem
from hammingbox.seeding import RowRandom
from hammingbox.settings import check_settings
from hammingbox.threat.candidates import hamming
from hammingbox.threat.goal import AnyOther, Goal, RowGoals
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.types import Ids, Labels, Logits, RowFloat, RowInt, RowMask, Slots
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
        stage: for an ensemble, the number of the stage that broke the row, or the last one it went through; else 0.
        proven: rows for which every point within the budget was tried and none meets the goal.
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
    proven: RowMask

    @property
    def success(self) -> RowMask:
        """Rows whose goal is met."""
        return self.margin > 0

    @staticmethod
    def join(parts: list["AttackResult"]) -> "AttackResult":
        """One result of the results of parts of a batch."""
        return AttackResult(*(torch.cat([getattr(part, f.name) for part in parts]) for f in fields(AttackResult)))


class Found(NamedTuple):
    """What an attack ends with: a point of each row, and the rows it has searched in full."""

    slots: Slots
    settled: RowMask


@dataclass(frozen=True, kw_only=True)
class Attack(ABC):
    """A frozen bag of hyper-parameters; `repr` rebuilds it, names its tests and goes into the record.

    An attack of your own implements `run` (and `run_passes`, if its cost is known) and sets the class attributes.

    Attributes:
        objective: the loss to maximise. Cross entropy saturates in float32; the margin does not.
        queries: forward passes per row at most, kept exactly; only for attacks that need no gradient.
        randomised: (class) which rows it breaks depends on the seed, so a second seed is a second measurement.
        needs_gradient: (class) it cannot attack a black box.
        uses_gradient: (class) it takes gradients where the victim has them.
        exact: (class) its verdict is the truth: a row it does not break cannot be broken within the budget.
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
            InputError: a setting of the wrong type, a string outside the allowed choices, or a number out of range.
        """
        check_settings(self)

    @abstractmethod
    def run(self, problem: Problem, random: RowRandom) -> Slots:
        """Finds one point per row within the budget."""

    def find(self, problem: Problem, random: RowRandom) -> Found:
        """Like `run`, and says which rows were searched in full; an attack that enumerates overrides it."""
        slots = self.run(problem, random)
        return Found(slots, torch.zeros(len(problem), dtype=torch.bool, device=problem.rows.device))

    @final
    def passes(self, problem: Problem) -> Passes:
        """The most victim passes that each row may cost. It does not touch the victim or the problem's meter.

        Nothing is tried at budget 0, and no row has more forward passes than `queries`.

        Raises:
            TooExpensiveError: the attack would refuse to run.
        """
        if problem.budget == 0:
            return Passes.of(problem, 0.0, is_exact=True)
        meter = Meter(len(problem.meter.forward), problem.rows.device, self.queries)
        return self.run_passes(replace(problem, meter=meter)).within(self.queries)

    def run_passes(self, problem: Problem) -> Passes:
        """The most passes that `run` needs for each row. An attack that does not say may need any number.

        Raises:
            TooExpensiveError: the attack would refuse to run.
        """
        return Passes.unknown(problem)

    @final
    def __call__(
        self,
        victim: Victim,
        x: Ids,
        y: Labels,
        threat: ThreatModel,
        *,
        goal: Goal | None = None,
        seed: int = 0,
        memory: int = DEFAULT_MEMORY,
    ) -> AttackResult:
        """Attacks a batch of rows and recounts what came out.

        Args:
            victim: borrowed; given back in the mode it came in.
            x: clean rows, shape (batch, features).
            y: true classes, shape (batch,).
            threat: what the attacker may do.
            goal: what counts as success; any class but the true one by default.
            seed: with a row's content, decides that row's randomness.
            memory: bytes for a micro-batch.

        Raises:
            InputError: rows or labels do not fit the schema, or the goal is impossible for a row.
            VictimError: the victim has no gradient, or does not return finite logits.
            TooExpensiveError: the attack would need more passes than its limit.
        """
        schema = threat.space.schema
        schema.check_ids(x)
        schema.check_labels(y, len(x))
        x, y = x.to(victim.device), y.to(victim.device)
        if len(x) == 0:
            raise InputError("expected at least one row to attack, got none.")
        goals = (goal or AnyOther()).of(y, schema)
        if not bool(goals.possible.all()):
            own = schema.classes[int(y[~goals.possible][0])]
            raise InputError(
                f"expected rows for which the goal {goal!r} is possible, got one of class {own!r}. Leave such rows out."
            )
        return self.attack_checked(victim, x, goals, threat, seed=seed, memory=memory)

    def attack_checked(
        self,
        victim: Victim,
        x: Ids,
        goals: RowGoals,
        threat: ThreatModel,
        *,
        seed: int,
        memory: int,
        clean_logits: Logits | None = None,
    ) -> AttackResult:
        """Attacks rows that fit the schema and whose goal is possible; see `__call__`.

        Args:
            victim: borrowed.
            x: clean rows.
            goals: what counts as success, row by row.
            threat: what the attacker may do.
            seed: of the rows' randomness.
            memory: bytes for a micro-batch.
            clean_logits: the victim's answers to the clean rows, where they are known.
        """
        self._check_victim(victim)
        with frozen_eval(victim):
            if clean_logits is None:
                with torch.no_grad():
                    clean_logits = victim(x)
            check_answers(clean_logits, len(x), threat.space.schema, victim)
            known = clean_logits
            parts = self._row_batches(victim, x, goals, threat, memory)
            return AttackResult.join(
                [
                    self._attack(self._problem(victim, x[i], goals.take(i), threat, memory), known[i], seed)
                    for i in parts
                ]
            )

    def _problem(self, victim: Victim, x: Ids, goals: RowGoals, threat: ThreatModel, memory: int) -> Problem:
        return Problem.of(
            victim,
            threat.space.slots_of(x),
            goals,
            threat.budget,
            objective=self.objective,
            memory=memory,
            queries=self.queries,
        )

    def _row_batches(
        self, victim: Victim, x: Ids, goals: RowGoals, threat: ThreatModel, memory: int
    ) -> tuple[Int64[Tensor, "some"], ...]:
        """Rows attacked at once, so that one soft row each fits the memory; it does not change what a row gets."""
        first = torch.arange(1, device=x.device)
        probe = self._problem(victim, x[first], goals.take(first), threat, memory)
        return torch.arange(len(x), device=x.device).split(probe.soft_rows_at_once)

    def _check_victim(self, victim: Victim) -> None:
        if self.queries is not None and self.needs_gradient:
            raise InputError(
                f"expected a query limit on an attack that needs no gradient, got queries={self.queries} "
                f"on {type(self).__name__}. Leave it out, or choose an attack that needs losses only."
            )
        if self.needs_gradient and not victim.has_gradient:
            raise VictimError(
                f"expected a victim with gradients for {type(self).__name__}, got a black box. "
                "Use auto, or an attack that needs losses only, such as local, evolution, ga or genetic."
            )

    def _attack(self, problem: Problem, clean_logits: Logits, seed: int) -> AttackResult:
        problem = replace(problem, clean_logits=clean_logits)
        x = problem.candidates.clean
        found = self._found(problem, RowRandom.for_rows(seed, x))
        logits = _recount(problem, found.slots, clean_logits)
        # An attacker always has the clean row: a point that is worse than no attack is not returned.
        before, after = self._rank(problem.goal, clean_logits), self._rank(problem.goal, logits)
        keep = (after >= before)[:, None]
        slots = torch.where(keep, found.slots, problem.clean_slots)
        logits = torch.where(keep, logits, clean_logits)
        ids, margin = problem.candidates.select(slots), problem.goal.margin(logits)
        return AttackResult(
            ids=ids,
            slots=slots,
            distance=hamming(ids, x),
            margin=margin,
            clean_logits=clean_logits,
            logits=logits,
            forward=problem.meter.forward,
            backward=problem.meter.backward,
            stage=problem.meter.stage,
            proven=found.settled & (margin <= 0),
        )

    def _found(self, problem: Problem, random: RowRandom) -> Found:
        """What the attack found, checked against its problem.

        Raises:
            AttackError: the attack left S(x) or exceeded the budget.
        """
        clean = problem.clean_slots
        if problem.budget == 0:
            return Found(clean, torch.zeros(len(clean), dtype=torch.bool, device=clean.device))
        found = self.find(problem, random)
        if found.slots.shape != clean.shape:
            raise AttackError(
                f"expected slots of shape {tuple(clean.shape)} from {self!r}, got {tuple(found.slots.shape)}."
            )
        if not bool(problem.candidates.allows(found.slots).all()):
            raise AttackError(f"expected points of S(x) from {self!r}, got one outside.")
        if int((found.slots != 0).sum(1).max()) > problem.budget:
            raise AttackError(f"expected at most {problem.budget} changes from {self!r}, got more.")
        return found

    def _rank(self, goal: RowGoals, logits: Logits) -> RowFloat:
        margin = goal.margin(logits)
        if self.objective == "margin":
            return margin
        return torch.where(margin > 0, torch.inf, goal.cross_entropy(logits))


def check_answers(logits: Tensor, rows: int, schema: Schema, victim: Victim) -> None:
    """Checks a victim's answers to clean rows against the schema.

    Raises:
        VictimError: not finite logits, probabilities instead of logits, or another number of classes.
    """
    check_logits(logits, rows, probabilities=victim.has_gradient)
    if logits.shape[1] != len(schema.classes):
        raise VictimError(
            f"expected logits for {len(schema.classes)} classes, got {logits.shape[1]}. Check victim and schema."
        )


def _recount(problem: Problem, slots: Slots, clean_logits: Logits) -> Logits:
    """The victim's answers to points, outside the meter. Cost: one forward pass per row that was changed."""
    logits = clean_logits.clone()
    changed = (slots != 0).any(1).nonzero()[:, 0]
    if len(changed):
        logits[changed] = problem.unmetered().logits(changed, slots[changed])
    return logits
