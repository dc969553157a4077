"""Victims and attacks that do what they must not."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

import hammingbox as hb
from hammingbox.attacks.result import Found
from hammingbox.types import Embedded, Ids, Logits, Slots
from toys import ToyVictim

# Victims -------------------------------------------------------------------------------------------------------


class WritingVictim(ToyVictim):
    """Writes into whatever it is given, after it has looked at it."""

    def forward(self, ids: Ids) -> Logits:
        logits = super().forward(ids)
        ids.zero_()
        return logits

    def embed(self, ids: Ids) -> Embedded:
        vectors = super().embed(ids)
        ids.clamp_(max=0)
        return vectors

    def head(self, embedded: Embedded, ids: Ids) -> Logits:
        logits = super().head(embedded, ids)
        ids.fill_(0)
        return logits


class ReusingVictim(ToyVictim):
    """Answers in one tensor, which it overwrites at the next call."""

    answers: Tensor = torch.empty(0)

    def forward(self, ids: Ids) -> Logits:
        logits = super().forward(ids)
        self.answers.fill_(float("nan"))
        self.answers = logits.detach()
        return logits


class MoodyVictim(ToyVictim):
    """Changes its answers: every call is less sure of class 0."""

    calls, step = 0, 5.0

    def forward(self, ids: Ids) -> Logits:
        self.calls += 1
        return super().forward(ids) + torch.tensor([-self.step, 0.0, self.step]) * self.calls


class LearningVictim(ToyVictim):
    """Changes its own weights when it is asked."""

    def forward(self, ids: Ids) -> Logits:
        with torch.no_grad():
            self.embedding.table.weight.add_(1e-7)
        return super().forward(ids)


class Answering(ToyVictim):
    """Returns something other than logits."""

    def __init__(self, cardinalities: tuple[int, ...], change: Callable[[Tensor], Any]) -> None:
        super().__init__(cardinalities)
        self.change = change

    def forward(self, ids: Ids) -> Any:
        return self.change(super().forward(ids))


WRONG_ANSWERS: dict[str, tuple[Callable[[Tensor], Any], str]] = {
    "tuple": (lambda logits: (logits, None), "got tuple"),
    "none": (lambda _: None, "got NoneType"),
    "array": (lambda logits: logits.detach().numpy(), "got ndarray"),
    "nan": (lambda logits: logits * float("nan"), "finite logits"),
    "one nan": (lambda logits: logits.index_fill(0, torch.tensor([0]), float("nan")), "finite logits"),
    "infinite": (lambda logits: logits / 0, "finite logits"),
    "classes": (lambda logits: logits.argmax(1), "expected logits of shape"),
    "whole numbers": (lambda logits: logits.long(), "floating-point"),
    "complex": (lambda logits: logits.to(torch.complex64), "floating-point"),
    "bool": (lambda logits: logits > 0, "floating-point"),
    "too few rows": (lambda logits: logits[1:], "expected logits of shape"),
    "one class": (lambda logits: logits[:, :1], "expected logits of shape"),
    "four classes": (lambda logits: logits[:, [0, 1, 2, 0]], "logits for 3 classes"),
    "three axes": (lambda logits: logits[None], "expected logits of shape"),
    "probabilities": (lambda logits: logits.softmax(1), "got probabilities"),
}
"""What a victim may return in place of logits, and what the message says."""


def writing_proba(victim: ToyVictim) -> Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]:
    """A `predict_proba` that overwrites its argument, as a careless pipeline does."""

    def predict_proba(rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        answers = victim(torch.from_numpy(rows).clone()).softmax(1).detach().double().numpy()
        rows[:] = 0
        return answers

    return predict_proba


# Attacks -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Cheat(hb.Attack):
    """Does something to its problem, then returns the point that changes every feature it can."""

    deed: ClassVar[str] = ""

    def run(self, problem: hb.Problem, random: hb.RowRandom) -> Slots:
        getattr(self, f"_{self.deed}")(problem)
        return self._everything(problem)

    def _everything(self, problem: hb.Problem) -> Slots:
        return problem.candidates.layout.widths.expand(len(problem), -1) - 1

    def _valid(self, problem: hb.Problem) -> None:
        problem.candidates.valid.fill_(True)

    def _ids(self, problem: hb.Problem) -> None:
        problem.candidates.ids.copy_(problem.candidates.ids[:, :1].expand_as(problem.candidates.ids))

    def _layout(self, problem: hb.Problem) -> None:
        problem.candidates.layout.widths.fill_(1)
        problem.candidates.layout.starts.zero_()

    def _budget(self, problem: hb.Problem) -> None:
        object.__setattr__(problem, "budget", 99)

    def _goal(self, problem: hb.Problem) -> None:
        problem.goal.wins.fill_(True)

    def _objective(self, problem: hb.Problem) -> None:
        object.__setattr__(self, "objective", "cross_entropy")


def cheat(deed: str) -> hb.Attack:
    """A cheat of one kind."""
    kind: type[Cheat] = type(f"Cheat{deed.title()}", (Cheat,), {"deed": deed})
    return dataclass(frozen=True, kw_only=True)(kind)()


@dataclass(frozen=True, kw_only=True)
class Unpaid(hb.Attack):
    """Asks the victim about every single change without the meter, then wipes the meter."""

    def run(self, problem: hb.Problem, random: hb.RowRandom) -> Slots:
        layout, slots = problem.candidates.layout, problem.clean_slots
        with torch.no_grad():
            for option in range(layout.options):
                rows = problem.candidates.moves[:, option].nonzero()[:, 0]
                if len(rows):
                    points = torch.zeros_like(slots[rows])
                    points[:, layout.feature_of[option]] = layout.slot_of[option]
                    logits = problem.victim(problem.candidates.select_points(rows, points))
                    met = problem.judge(rows, logits).fooled
                    slots[rows[met]] = points[met]
        self.wipe(problem)
        return slots

    def wipe(self, problem: hb.Problem) -> None:
        """Wipes the meter that the attack can see."""
        problem.meter.forward.zero_()
        problem.meter.backward.zero_()


@dataclass(frozen=True, kw_only=True)
class UnpaidGradient(Unpaid):
    """Takes a gradient through the victim's own head."""

    needs_gradient: ClassVar[bool] = True

    def run(self, problem: hb.Problem, random: hb.RowRandom) -> Slots:
        clean = problem.candidates.clean
        vectors = problem.victim.embed(clean).detach().requires_grad_()
        problem.victim.head(vectors, clean).sum().backward()
        self.wipe(problem)
        return problem.clean_slots


@dataclass(frozen=True, kw_only=True)
class Forger(hb.Attack):
    """Finds nothing and claims that every row is proven."""

    def run(self, problem: hb.Problem, random: hb.RowRandom) -> Slots:
        return problem.clean_slots

    def find(self, problem: hb.Problem, random: hb.RowRandom) -> Found:
        for _ in range(40):  # enough passes, all of them on the clean row
            problem.loss(problem.clean_slots)
        return Found(problem.clean_slots, torch.ones(len(problem), dtype=torch.bool))


@dataclass(frozen=True, kw_only=True)
class Overruling(hb.Attack):
    """Replaces the call that judges it."""

    def run(self, problem: hb.Problem, random: hb.RowRandom) -> Slots:
        return problem.clean_slots

    def __call__(self, *arguments: Any, **options: Any) -> Any:  # type: ignore[misc]
        raise AssertionError("evaluate asked the attack to judge itself")


@dataclass(frozen=True, kw_only=True)
class Editor(hb.Attack):
    """Holds the victim and edits its weights or its mode while it runs."""

    victim: Any
    mode: bool = False

    def run(self, problem: hb.Problem, random: hb.RowRandom) -> Slots:
        if self.mode:
            self.victim.train()
        else:
            for parameter in self.victim.parameters():
                parameter.data.neg_()
        return problem.clean_slots


@dataclass(frozen=True, kw_only=True)
class OneChange(hb.Attack):
    """Writes one slot of one feature of every row, such as "2=1", whatever comes of it."""

    change: str = "0=1"

    def run(self, problem: hb.Problem, random: hb.RowRandom) -> Slots:
        slots = problem.clean_slots
        feature, slot = map(int, self.change.split("="))
        slots[:, feature] = slot
        return slots


@dataclass(frozen=True, kw_only=True)
class Returning(hb.Attack):
    """Returns something other than slots."""

    kind: str = "none"

    def run(self, problem: hb.Problem, random: hb.RowRandom) -> Any:
        slots = problem.clean_slots
        return {
            "none": None,
            "list": slots.tolist(),
            "float": slots.float(),
            "int32": slots.int(),
            "bool": slots.bool(),
            "too few rows": slots[1:],
            "flat": slots.flatten(),
        }[self.kind]
