"""What one expects of a program: completion, hints, reasons, progress, and a default that is the strongest."""

import inspect
from pathlib import Path

import pytest

from hammingbox import ATTACKS, InputError, evaluate
from hammingbox.cli.attack import attack
from hammingbox.victims.pass_watch import watching_passes
from toys import Case, same_rows
from toys.program import call_program, run_program

VICTIM = Path(__file__).parents[1] / "fixtures" / "d15ede3" / "victim"


def test_shells_can_complete() -> None:
    assert "_HAMMINGBOX_COMPLETE" in run_program("--show-completion", "bash")


def test_attack_takes_the_strongest_unless_told() -> None:
    assert inspect.signature(attack).parameters["name"].default == "auto"


def test_a_refused_attack_says_why() -> None:
    shown = call_program(
        "compare", "splice", "--victim", VICTIM, "--attacks", "random,exhaustive", "--budgets", "3", "--rows", 4
    )
    assert "exhaustive at budget 3 was refused: expected exhaustive search to need at most" in " ".join(shown.split())


@pytest.mark.parametrize(
    ("option", "guess"),
    [
        (("--immutable", "Base 1"), "base 1"),
        (("--forbid", "base 1=a"), "A"),
        (("--from", "ei"), "EI"),
        (("--set", "popluation=3"), "population"),
        (("--split", "tset"), "test"),
    ],
)
def test_a_name_that_is_nearly_right_is_suggested(option: tuple[str, str], guess: str) -> None:
    with pytest.raises(InputError, match=f"Did you mean '{guess}'"):
        call_program("attack", "splice", "--victim", VICTIM, "--attack", "genetic", "--rows", 4, *option)


def test_passes_are_seen_while_a_batch_runs_and_change_nothing(case: Case) -> None:
    checkpoint, data, threat = case
    seen: list[int] = []
    with watching_passes(seen.append):
        watched = evaluate(checkpoint.victim, data, threat, ATTACKS["pcaa"]())
    same_rows(watched.rows, evaluate(checkpoint.victim, data, threat, ATTACKS["pcaa"]()).rows)
    # The pass of a clean row is known before the attack begins.
    assert sum(seen) == int(watched.rows.forward.sum()) - int(watched.rows.attacked.sum())
    assert len(seen) > 2, "one batch, several steps"
