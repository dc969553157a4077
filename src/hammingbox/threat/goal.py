"""What counts as success: which predicted classes an attacker accepts for a row of each true class.

A goal is a value of its own, independent of rows and victims: it is written into records as JSON and combined with
``|`` (either goal) and ``&`` (both goals). :meth:`Goal.of` binds it to the rows of a batch.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor

from hammingbox.data.schema import Schema
from hammingbox.errors import FileError, InputError, unknown_name
from hammingbox.types import Labels, RowMask

Winning = Bool[Tensor, "classes classes"]
"""True at (y, k) when predicting class k for a row of class y is a success."""


class Goal(ABC):
    """What an attacker wants.

    A goal of your own is a frozen dataclass with two methods, `winning` and `to_json`.
    """

    @abstractmethod
    def winning(self, schema: Schema) -> Winning:
        """The classes that count as success, for each true class. A row's own class never does.

        A true class without any winning class is not attacked under this goal.

        Raises:
            InputError: the goal names a class that the schema does not have.
        """

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """What a record needs to identify this goal: equal documents mean equal goals."""

    def of(self, labels: Labels, schema: Schema) -> "RowGoals":
        """This goal for rows of these true classes.

        Raises:
            InputError: it names an unknown class, or accepts a row's own class.
        """
        table = self.winning(schema)
        classes = len(schema.classes)
        if table.shape != (classes, classes) or table.dtype != torch.bool:
            raise InputError(
                f"expected the goal {self!r} to give a bool table of {classes} x {classes} classes, "
                f"got {table.dtype} {tuple(table.shape)}."
            )
        if bool(table.diagonal().any()):
            own = schema.classes[int(table.diagonal().nonzero()[0, 0])]
            raise InputError(
                f"expected a goal other than the true class, got {self!r}, which accepts {own!r} for {own!r}."
            )
        return RowGoals(table.to(labels.device)[labels])

    def __or__(self, other: "Goal") -> "Goal":
        return Either(self, other)

    def __and__(self, other: "Goal") -> "Goal":
        return Both(self, other)


@dataclass(frozen=True, eq=False)
class RowGoals:
    """The goal of each row of a batch, as the set of classes that count as success.

    Attributes:
        wins: the winning classes of each row.
    """

    wins: Bool[Tensor, "batch classes"]

    def take(self, rows: Shaped[Tensor, "some"]) -> "RowGoals":
        """The goals of some rows."""
        return RowGoals(self.wins[rows])

    @property
    def possible(self) -> RowMask:
        """Rows for which any class would be a success."""
        return self.wins.any(1)

    def margin(self, logits: Float[Tensor, "batch *sets classes"]) -> Float[Tensor, "batch *sets"]:
        """Best winning logit minus the best other one, for one or many sets of logits per row.

        It is above 0 exactly when the goal is met; an exact tie counts for the victim. A row without a winning class
        has minus infinity.
        """
        wins = self._wins_of(logits)
        if logits.shape[-1] == 2:  # the same numbers in a third of the time: at most one class wins, against the other
            first, second = logits.unbind(-1)
            against_second = torch.where(wins[..., 0], first - second, -torch.inf)
            return torch.where(wins[..., 1], second - first, against_second)
        return logits.masked_fill(~wins, -torch.inf).amax(-1) - logits.masked_fill(wins, -torch.inf).amax(-1)

    def cross_entropy(self, logits: Float[Tensor, "batch *sets classes"]) -> Float[Tensor, "batch *sets"]:
        """Grows as the goal comes nearer.

        Where one class alone is no success, its cross entropy (the paper's loss of the true class); otherwise the log
        probability of the winning classes.
        """
        log_p, wins = logits.log_softmax(-1), self._wins_of(logits)
        lost = -log_p.masked_fill(wins, -torch.inf).logsumexp(-1)
        one_loses = (~wins).sum(-1) == 1
        if bool(one_loses.all()):
            return lost
        return torch.where(one_loses, lost, log_p.masked_fill(~wins, -torch.inf).logsumexp(-1))

    def _wins_of(self, logits: Float[Tensor, "batch *sets classes"]) -> Bool[Tensor, "batch *ones classes"]:
        return self.wins.view(len(self.wins), *(1,) * (logits.dim() - 2), -1)


@dataclass(frozen=True)
class AnyOther(Goal):
    """Any class but the true one: the untargeted attack of the paper."""

    def winning(self, schema: Schema) -> Winning:
        """Everything off the diagonal."""
        return ~torch.eye(len(schema.classes), dtype=torch.bool, device="cpu")

    def to_json(self) -> dict[str, Any]:
        """The kind alone."""
        return {"kind": "any_other"}


@dataclass(frozen=True)
class Target(Goal):
    """One class, from any other: rows of that class are not attacked."""

    label: str

    def winning(self, schema: Schema) -> Winning:
        """One column, but for the class itself."""
        table = _nothing(schema)
        table[:, _class_id(schema, self.label)] = True
        return table.fill_diagonal_(False)

    def to_json(self) -> dict[str, Any]:
        """The class."""
        return {"kind": "target", "label": self.label}


@dataclass(frozen=True)
class Direction(Goal):
    """From one class to another, such as from fraud to legitimate; rows of other classes are not attacked.

    Attributes:
        source: the class whose rows are attacked.
        target: the class to reach; any other one without it.
    """

    source: str
    target: str | None = None

    def __post_init__(self) -> None:
        if self.source == self.target:
            raise InputError(f"expected a direction between two classes, got {self.source!r} twice.")

    def winning(self, schema: Schema) -> Winning:
        """One cell, or one row but for the class itself."""
        table = _nothing(schema)
        target = slice(None) if self.target is None else _class_id(schema, self.target)
        table[_class_id(schema, self.source), target] = True
        return table.fill_diagonal_(False)

    def to_json(self) -> dict[str, Any]:
        """The two classes."""
        return {"kind": "direction", "source": self.source, "target": self.target}


@dataclass(frozen=True)
class Either(Goal):
    """One goal or the other."""

    first: Goal
    second: Goal

    def winning(self, schema: Schema) -> Winning:
        """The union."""
        return self.first.winning(schema) | self.second.winning(schema)

    def to_json(self) -> dict[str, Any]:
        """Both goals."""
        return {"kind": "either", "goals": [self.first.to_json(), self.second.to_json()]}


@dataclass(frozen=True)
class Both(Goal):
    """One goal and the other."""

    first: Goal
    second: Goal

    def winning(self, schema: Schema) -> Winning:
        """The intersection."""
        return self.first.winning(schema) & self.second.winning(schema)

    def to_json(self) -> dict[str, Any]:
        """Both goals."""
        return {"kind": "both", "goals": [self.first.to_json(), self.second.to_json()]}


_DEEPEST = 100
"""Goals inside goals: a reader would not get to the end of more."""

_KINDS: dict[str, Callable[[Mapping[str, Any]], Goal]] = {
    "any_other": lambda _: AnyOther(),
    "target": lambda value: Target(value["label"]),
    "direction": lambda value: Direction(value["source"], value["target"]),
    "either": lambda value: Either(*(goal_from_json(goal) for goal in value["goals"])),
    "both": lambda value: Both(*(goal_from_json(goal) for goal in value["goals"])),
}


def goal_from_json(value: Mapping[str, Any]) -> Goal:
    """The goal that a record describes.

    Raises:
        InputError: it is a goal of the user's own, which only its owner's code can supply.
        FileError: the document is damaged.
    """
    check_goal_document(value)
    kind = value["kind"]
    if kind not in _KINDS:
        raise InputError(
            f"expected a goal of the package ({', '.join(_KINDS)}), got {kind!r}. Pass goal=... with your own goal."
        )
    try:
        return _KINDS[kind](value)
    except (KeyError, TypeError) as error:
        raise FileError(f"expected a goal of kind {kind!r}, got damaged JSON ({error}).") from error


def check_goal_document(value: Any, depth: int = 0) -> None:
    """Checks the form of a stored goal: every entry that this package writes has the type it writes.

    Raises:
        FileError: it has not.
    """
    if not isinstance(value, Mapping) or not isinstance(value.get("kind"), str):
        raise FileError("expected a goal with its kind, got damaged JSON.")
    kind = value["kind"]
    for name in {"target": ("label",), "direction": ("source", "target")}.get(kind, ()):
        if not isinstance(value.get(name), str) and not (name == "target" and name in value and value[name] is None):
            raise FileError(f"expected a goal of kind {kind!r} with {name!r}, got damaged JSON.")
    if kind in ("either", "both"):
        goals = value.get("goals")
        if not isinstance(goals, list | tuple) or len(goals) != 2 or depth >= _DEEPEST:
            raise FileError(f"expected two goals in a goal of kind {kind!r}, got damaged JSON.")
        for goal in goals:
            check_goal_document(goal, depth + 1)


def goal_between(sources: tuple[str, ...], targets: tuple[str, ...]) -> Goal:
    """The goal of reaching any of some classes from any of others; an empty tuple stands for every class."""
    if not sources and not targets:
        return AnyOther()
    parts: list[Goal] = [Target(label) for label in targets]
    if sources:
        pairs = [(source, target) for source in sources for target in targets or (None,)]
        parts = [Direction(source, target) for source, target in pairs if source != target]
    if not parts:
        raise InputError(f"expected a class to reach other than {sources[0]!r}, got only {targets[0]!r}.")
    goal = parts[0]
    for part in parts[1:]:
        goal = goal | part
    return goal


def _class_id(schema: Schema, label: str) -> int:
    if label not in schema.classes:
        raise unknown_name("class", str(label), schema.classes)
    return schema.classes.index(label)


def _nothing(schema: Schema) -> Winning:
    """No class is a success; small tables are made on the CPU and moved to the labels' device by `Goal.of`."""
    return torch.zeros(len(schema.classes), len(schema.classes), dtype=torch.bool, device="cpu")
