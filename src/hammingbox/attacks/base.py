"""What every attack has in common: its settings, its cost, and the call that has what it found judged."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, final

import torch

from hammingbox.attacks.cost import Passes
from hammingbox.attacks.judge import check_victim, judged
from hammingbox.attacks.result import AttackResult, Found
from hammingbox.errors import InputError
from hammingbox.problem import DEFAULT_MEMORY, Objective, Problem
from hammingbox.seeding import RowRandom
from hammingbox.settings import check_settings
from hammingbox.threat.goal import AnyOther, Goal
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.types import Ids, Labels, Slots
from hammingbox.victims.metered import Meter
from hammingbox.victims.victim import Victim

__all__ = ["Attack", "AttackResult", "Found"]


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
        own_gradients: (class) it differentiates something of its own, whatever the victim has.
        exact: (class) its verdict is the truth: a row it does not break cannot be broken within the budget.
    """

    objective: Objective = "margin"
    queries: int | None = None

    randomised: ClassVar[bool] = False
    needs_gradient: ClassVar[bool] = False
    own_gradients: ClassVar[bool] = False
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
        x = schema.as_ids(x).to(victim.device)
        y = schema.as_labels(y, len(x)).to(victim.device)
        if len(x) == 0:
            raise InputError("expected at least one row to attack, got none.")
        goals = (goal or AnyOther()).of(y, schema)
        if not bool(goals.possible.all()):
            own = schema.classes[int(y[~goals.possible][0])]
            raise InputError(
                f"expected rows for which the goal {goal!r} is possible, got one of class {own!r}. Leave such rows out."
            )
        return judged(self, victim, x, goals, threat, seed=seed, memory=memory)

    def _check_victim(self, victim: Victim) -> None:
        check_victim(self, victim)
