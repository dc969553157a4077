"""Goals: what counts as success, combined, written down, and bound to rows."""

from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch.nn import functional

from hammingbox import AnyOther, Direction, FileError, Goal, InputError, Schema, Target
from hammingbox.threat.goal import RowGoals, check_goal_document, goal_between, goal_from_json
from toys import toy_schema

LOGITS = torch.tensor([[2.0, 1.0, -1.0], [0.5, 3.0, 2.0], [0.0, 0.0, 4.0], [1.0, 5.0, 0.0]])
LABELS = torch.tensor([0, 1, 2, 0])


@pytest.fixture
def schema() -> Schema:
    return toy_schema((2, 2))


def test_any_other_class_is_the_margin_and_cross_entropy_of_the_true_one(schema: Schema) -> None:
    goals = AnyOther().of(LABELS, schema)
    assert goals.margin(LOGITS).tolist() == [-1.0, -1.0, -4.0, 4.0]
    expected = functional.cross_entropy(LOGITS, LABELS, reduction="none")
    assert torch.equal(goals.cross_entropy(LOGITS), expected), "the paper's loss, to the last bit"
    assert goals.possible.all()


def test_a_target_leaves_its_own_class_alone(schema: Schema) -> None:
    goals = Target("class 1").of(LABELS, schema)
    assert goals.possible.tolist() == [True, False, True, True]
    assert goals.margin(LOGITS)[[0, 2, 3]].tolist() == [-1.0, -4.0, 4.0]
    assert goals.margin(LOGITS)[1] == -torch.inf, "never met"
    expected = -functional.cross_entropy(LOGITS, torch.full_like(LABELS, 1), reduction="none")
    assert torch.allclose(goals.cross_entropy(LOGITS)[[0, 2, 3]], expected[[0, 2, 3]])


def test_a_direction_attacks_one_class_only(schema: Schema) -> None:
    assert Direction("class 0", "class 1").of(LABELS, schema).wins.tolist() == [
        [False, True, False], [False] * 3, [False] * 3, [False, True, False],
    ]  # fmt: skip
    assert Direction("class 0").of(LABELS, schema).wins[0].tolist() == [False, True, True]


def test_goals_combine(schema: Schema) -> None:
    either = Direction("class 0", "class 1") | Direction("class 1", "class 2")
    assert either.winning(schema).nonzero().tolist() == [[0, 1], [1, 2]]
    assert (Target("class 1") & Direction("class 0")).winning(schema).nonzero().tolist() == [[0, 1]]


@pytest.mark.parametrize(
    "goal",
    [
        AnyOther(),
        Target("class 2"),
        Direction("class 0", "class 1"),
        Direction("class 1"),
        (Target("class 1") & Direction("class 0")) | Direction("class 2", "class 0"),
    ],
    ids=repr,
)
def test_json_gives_the_goal_back(goal: Goal, schema: Schema) -> None:
    again = goal_from_json(goal.to_json())
    assert again == goal
    assert torch.equal(again.winning(schema), goal.winning(schema))


def test_goals_of_command_lines() -> None:
    assert goal_between((), ()) == AnyOther()
    assert goal_between((), ("ok",)) == Target("ok")
    assert goal_between(("fraud",), ()) == Direction("fraud")
    assert goal_between(("fraud", "spam"), ("ok",)) == Direction("fraud", "ok") | Direction("spam", "ok")
    assert goal_between(("a",), ("a", "b")) == Direction("a", "b")
    with pytest.raises(InputError, match="a class to reach other than 'a'"):
        goal_between(("a",), ("a",))


def test_mistakes(schema: Schema) -> None:
    with pytest.raises(InputError, match=r"known class .*got 'clas 1'. Did you mean 'class 1'"):
        Target("clas 1").of(LABELS, schema)
    with pytest.raises(InputError, match="between two classes, got 'ok' twice"):
        Direction("ok", "ok")
    with pytest.raises(InputError, match="Pass goal="):
        goal_from_json({"kind": "mine"})
    with pytest.raises(FileError, match="damaged JSON"):
        goal_from_json({"kind": "direction"})


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {"kind": "any_other"}
    for _ in range(depth):
        value = {"kind": "either", "goals": [value, {"kind": "any_other"}]}
    return value


def test_the_form_of_a_stored_goal() -> None:
    one = {"kind": "target", "label": "ok"}
    for good in (
        one, {"kind": "mine", "goals": 3}, {"kind": "direction", "source": "a", "target": None},
        {"kind": "direction", "source": "a", "target": "b"}, {"kind": "both", "goals": (one, one)}, nested(100),
    ):  # fmt: skip
        check_goal_document(good)
    damaged: tuple[Any, ...] = (
        None, [], {}, {"kind": 3}, {"kind": "target"}, {"kind": "target", "label": None},
        {"kind": "target", "label": 1},
        {"kind": "direction", "source": "a"}, {"kind": "direction", "source": None, "target": "b"},
        {"kind": "direction", "source": "a", "target": 3}, {"kind": "either"}, {"kind": "either", "goals": "ab"},
        {"kind": "either", "goals": [one]}, {"kind": "both", "goals": [one, one, one]},
        {"kind": "both", "goals": [one, {"kind": "target"}]}, {"kind": "either", "goals": [3, one]}, nested(101),
    )  # fmt: skip
    for bad in damaged:
        with pytest.raises(FileError, match="damaged JSON"):
            check_goal_document(bad)


@dataclass(frozen=True)
class Own(Goal):
    table: tuple[tuple[bool, ...], ...]

    def winning(self, schema: Schema) -> torch.Tensor:
        return torch.tensor(self.table)

    def to_json(self) -> dict[str, Any]:
        return {"kind": "own"}


def test_a_goal_of_ones_own_is_checked(schema: Schema) -> None:
    no, yes = False, True
    assert Own(((no, yes, no), (no, no, yes), (yes, no, no))).of(LABELS, schema).possible.all()
    with pytest.raises(InputError, match="accepts 'class 0' for 'class 0'"):
        Own(((yes, no, no), (no, no, no), (no, no, no))).of(LABELS, schema)
    with pytest.raises(InputError, match="bool table of 3 x 3 classes"):
        Own(((no, yes),)).of(LABELS, schema)


def test_two_classes_have_the_same_margin_as_many() -> None:
    wins = torch.tensor([[True, False], [False, True], [False, False]])
    logits = torch.tensor([[1.0, 3.5], [2.0, 2.0], [0.0, 1.0]])
    many = RowGoals(torch.cat([wins, torch.zeros(3, 1, dtype=torch.bool)], 1))
    third = torch.full((3, 1), -torch.inf)
    assert torch.equal(RowGoals(wins).margin(logits), many.margin(torch.cat([logits, third], 1)))
    assert RowGoals(wins).margin(logits).tolist() == [-2.5, 0.0, -torch.inf]
    sets = torch.stack([logits, logits.flip(1)], 1)
    assert RowGoals(wins).margin(sets)[:, 1].tolist() == [2.5, 0.0, -torch.inf]
