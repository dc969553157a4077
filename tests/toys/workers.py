"""Victims that fail, for tests of executors: workers import them by this name."""

import os
import resource
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hammingbox import BlackBox, Victim
from hammingbox.types import Embedded, Ids, Logits
from toys import ToyVictim

CARDINALITIES = (3, 2, 5, 3, 4)


class RaisingVictim(ToyVictim):
    """Raises when a certain row is asked about."""

    def __init__(self, bad: torch.Tensor) -> None:
        super().__init__(CARDINALITIES)
        self.bad = bad

    def forward(self, ids: Ids) -> Logits:
        if (ids == self.bad).all(1).any():
            self.fail()
        return super().forward(ids)

    def fail(self) -> None:
        raise ValueError("this row is cursed")


class AlwaysRaisingVictim(ToyVictim):
    """Answers nothing."""

    def forward(self, ids: Ids) -> Logits:
        raise ArithmeticError("no answer at all")


class DyingVictim(RaisingVictim):
    """Kills the process that asks it about a certain row, unless that is the driver."""

    def __init__(self, bad: torch.Tensor) -> None:
        super().__init__(bad)
        self.driver = os.getpid()

    def fail(self) -> None:
        if os.getpid() != self.driver:
            os.kill(os.getpid(), signal.SIGKILL)


class OnceDyingVictim(DyingVictim):
    """Kills the first process that asks it about a certain row, and answers the second."""

    def __init__(self, bad: torch.Tensor, flag: Path) -> None:
        super().__init__(bad)
        self.flag = flag

    def fail(self) -> None:
        if os.getpid() != self.driver and not self.flag.exists():
            self.flag.touch()
            super().fail()


class UnsendableVictim(ToyVictim):
    """Holds what no other process can have."""

    def __init__(self) -> None:
        super().__init__(CARDINALITIES)
        self.lock = threading.Lock()


class UnbuildableVictim(ToyVictim):
    """Can be sent, but not rebuilt."""

    def __init__(self) -> None:
        super().__init__(CARDINALITIES)

    def __setstate__(self, state: dict[str, Any]) -> None:
        raise OSError("the licence server is not here")


class MovedVictim(ToyVictim):
    """Notes in a folder which device it is moved to, as if every device was there."""

    def __init__(self, folder: Path) -> None:
        super().__init__(CARDINALITIES)
        self.folder = folder

    def to(self, *args: Any, **kwargs: Any) -> "MovedVictim":
        (self.folder / str(args[0])).touch()
        return self


class ScaledVictim(ToyVictim):
    """Its answers are scaled by the end of a buffer so large that workers read it from shared memory."""

    def __init__(self) -> None:
        super().__init__(CARDINALITIES)
        self.register_buffer("scale", torch.ones(2**19))

    def head(self, embedded: Embedded, ids: Ids) -> Logits:
        return super().head(embedded, ids) * self.get_buffer("scale")[-1]

    def turn(self) -> None:
        """Turns all answers around."""
        self.get_buffer("scale").neg_()


class Rule:
    """A model without weights that looks at one column."""

    def __init__(self) -> None:
        self.column = 0

    def predict_proba(self, rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        odd = rows[:, self.column] % 2
        return np.stack([0.7 - 0.4 * odd, 0.2 + 0.4 * odd, np.full(len(rows), 0.1)], 1)

    def fit_again(self) -> None:
        """Looks at another column from now on."""
        self.column += 1


def changing_victims() -> Iterator[tuple[Victim, Callable[[], None]]]:
    """Victims that somebody trains or fits further, and what does it."""
    trained, scaled, rule = ToyVictim(CARDINALITIES), ScaledVictim(), Rule()

    def train() -> None:
        with torch.no_grad():
            for parameter in trained.parameters():
                parameter.neg_()

    yield trained, train
    yield scaled, scaled.turn
    yield BlackBox(rule.predict_proba, name="the same name"), rule.fit_again


class FaultingVictim(ToyVictim):
    """Notes in a file how many pages its process had to be given anew for a step like the one before it."""

    def __init__(self, note: Path) -> None:
        super().__init__(CARDINALITIES)
        self.note = note

    def forward(self, ids: Ids) -> Logits:
        self.note.write_text(str(faults_of_a_step()))
        return super().forward(ids)


def faults_of_a_step() -> int:
    """Page faults of a step that allocates and frees what the steps before it did."""
    before = 0
    for _ in range(4):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        blocks = [torch.ones(2**20) for _ in range(8)]
        del blocks
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
