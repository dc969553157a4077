"""What is checked before a run goes on: which recorded rows a victim is asked about again, and how closely."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from hammingbox import ATTACKS, Dataset, FullSpace, InputError, ThreatModel, evaluate
from hammingbox.evaluation.rows import Rows
from hammingbox.running.resume_checks import check_answers, check_rows
from hammingbox.running.verify_store import _all_have
from hammingbox.types import Embedded, Ids, Logits
from hammingbox.victims.victim import Victim
from toys import ToyVictim, toy_rows, toy_schema

SCHEMA = toy_schema((30, 2))


class Fixed(Victim):
    """Gives the answers of a list, by the first feature, and notes what it was asked about."""

    has_gradient = False

    def __init__(self, answers: torch.Tensor) -> None:
        super().__init__()
        self.register_buffer("answers", answers)
        self.asked: list[int] = []

    def forward(self, ids: Ids) -> Logits:
        self.asked += ids[:, 0].tolist()
        return self.get_buffer("answers")[ids[:, 0]]

    def embed(self, ids: Ids) -> Embedded:
        raise NotImplementedError

    def head(self, embedded: Embedded, ids: Ids) -> Logits:
        raise NotImplementedError


def recorded(answers: torch.Tensor) -> Rows:
    size = len(answers)
    ids = torch.stack([torch.arange(size), torch.zeros(size, dtype=torch.int64)], 1)
    whole, mask = torch.arange(size), torch.ones(size, dtype=torch.bool)
    return Rows(
        numbers=whole + 100, labels=whole % 3, clean=ids, adversarial=ids, clean_logits=answers, logits=answers,
        correct=mask, attacked=mask, success=mask, distance=whole, margin=torch.ones(size), forward=whole,
        backward=whole, stage=whole, proven=~mask,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "asked"), [(1, [0]), (5, [0, 1, 2, 3, 4]), (8, list(range(8))), (29, [0, 4, 8, 12, 16, 20, 24, 28])]
)
def test_eight_rows_from_the_first_to_the_last_are_asked_again(rows: int, asked: list[int]) -> None:
    answers = torch.randn(30, 3, generator=torch.Generator().manual_seed(0))
    victim = Fixed(answers)
    check_answers(recorded(answers[:rows]), victim)
    assert victim.asked == asked
    for place in {asked[0], asked[-1]}:
        other = answers.clone()
        other[place, 1] += 1.0
        with pytest.raises(InputError, match=f"expected the answer recorded for row {100 + place}, got another one"):
            check_answers(recorded(answers[:rows]), Fixed(other))


def shares(*log_probabilities: float) -> list[float]:
    """Logits whose first log-probabilities are these; the last class has the rest."""
    rest = 1.0 - sum(float(torch.tensor(part, dtype=torch.float64).exp()) for part in log_probabilities)
    return [*log_probabilities, float(torch.tensor(rest, dtype=torch.float64).log())]


@pytest.mark.parametrize(
    ("then", "now", "is_refused"),
    [
        (-1.0, -1.015, False), (-1.0, -1.025, True),  # a hundredth, and a hundredth of the number
        (-10.0, -10.1, False), (-10.0, -10.12, True),
        (-25.0, -90.0, False),  # below -20 is noise
        (-19.7, -19.85, False), (-18.0, -18.5, True), (-19.0, -60.0, True),
    ],
)  # fmt: skip
def test_answers_are_compared_as_probabilities_up_to_noise(then: float, now: float, is_refused: bool) -> None:
    before, after = (torch.tensor([shares(part, -2.0)] * 2) for part in (then, now))
    shifted = after + 5.0  # logits that differ by a constant are the same answer
    if not is_refused:
        check_answers(recorded(before), Fixed(shifted))
        return
    with pytest.raises(InputError, match="recorded for row 100"):
        check_answers(recorded(before), Fixed(shifted))


@pytest.mark.parametrize("change", ["a value", "a label"])
def test_rows_that_changed_under_their_numbers(change: str) -> None:
    schema = toy_schema((3, 2, 5, 3, 4))
    victim = ToyVictim(schema.cardinalities)
    x, y = toy_rows(schema, victim, rows=9)
    data = Dataset(schema, x, y, numbers=torch.arange(9) + 7)
    rows = evaluate(victim, data, ThreatModel(FullSpace(schema), 1), ATTACKS["ga"]()).rows
    check_rows(rows, data)
    check_rows(rows.take(torch.tensor([5, 2])), data)
    edits: dict[str, Any] = {"clean": rows.clean.clone(), "labels": rows.labels.clone()}
    if change == "a value":
        edits["clean"][3, 4] = (edits["clean"][3, 4] + 1) % 4
    else:
        edits["labels"][3] = (edits["labels"][3] + 1) % 3
    with pytest.raises(InputError, match="expected row 10 as the store has it"):
        check_rows(replace(rows, **edits), data)


def test_which_environments_agree() -> None:
    here = {"torch": "2", "git": "abc", "hammingbox": "1"}
    for known, names, wanted in (
        ([], ["torch"], False), ([here], ["torch", "git"], True), ([here, here], ["torch"], True),
        ([here, here | {"git": "x"}], ["torch", "git"], False), ([here, here | {"git": "x"}], ["torch"], True),
        ([here, {}], ["torch"], False), ([here, "torch"], ["torch"], False), ([None], ["torch"], False),
    ):  # fmt: skip
        assert _all_have(known, here, *names) is wanted
