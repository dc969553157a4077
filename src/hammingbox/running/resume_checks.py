"""What is checked before a run goes on: that the store's records are of these rows, and of this victim."""

from collections.abc import Iterator

import torch

from hammingbox.data.dataset import Dataset
from hammingbox.errors import InputError
from hammingbox.evaluation.rows import Rows
from hammingbox.running.run_spec import Places
from hammingbox.running.store import Store
from hammingbox.running.store.store import BLOCK_ROWS
from hammingbox.victims.frozen import frozen_eval
from hammingbox.victims.victim import Victim, ask

_COMPARED_ROWS = 8
"""Recorded rows that a victim is queried about again before a run is continued."""
_LEAST = -20.0
"""Log-probabilities below this are noise."""


def recorded_rows(store: Store, run: int, data: Dataset, places: Places) -> Iterator[Rows]:
    """The records that a store has of rows at some places of the data, a few at a time."""
    for part in places.split(BLOCK_ROWS):
        rows = store.rows(run, data.numbers[part].tolist())
        if len(rows):
            yield rows


def check_rows(recorded: Rows, data: Dataset) -> None:
    """Refuses to continue a run whose rows have changed under their numbers; `recorded` are rows of the data.

    Raises:
        InputError: a row is not the one recorded.
    """
    here = data.places_of(recorded.numbers)
    x, y = data.batch(here)
    wrong = (x != recorded.clean).any(1) | (y != recorded.labels)
    if wrong.any():
        number = int(recorded.numbers[wrong][0])
        raise InputError(
            f"expected row {number} as the store has it, got another row under this number. "
            "The data has changed since: use another results folder."
        )


def check_answers(recorded: Rows, victim: Victim) -> None:
    """Refuses to continue a run whose victim answers otherwise than recorded, up to noise between machines.

    Raises:
        InputError: it does.
    """
    few = torch.linspace(0, len(recorded) - 1, min(_COMPARED_ROWS, len(recorded))).long()
    with frozen_eval(victim):
        logits = ask(victim, recorded.clean[few].to(victim.device)).cpu()
    now, then = (part.double().log_softmax(1).clamp(min=_LEAST) for part in (logits, recorded.clean_logits[few]))
    wrong = ~torch.isclose(now, then, rtol=1e-2, atol=1e-2).all(1)
    if wrong.any():
        raise InputError(
            f"expected the answer recorded for row {int(recorded.numbers[few][wrong][0])}, got another one: the victim "
            "has changed under its name, or answers at random. Name it anew, or use another results folder."
        )
