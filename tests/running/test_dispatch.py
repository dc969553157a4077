"""Batches are given out so that workers end at about the same time."""

from collections import deque
from collections.abc import Sequence

import pytest
import torch

from hammingbox import ATTACKS, RunSpec
from hammingbox.evaluation.rows import Rows
from hammingbox.running.carried_rows import Arrays
from hammingbox.running.dispatch import Computed, Crew, CrewExecutor, Report, depth_of
from hammingbox.running.run_spec import Places
from toys import Case


class Clockwork(Crew):
    """Two workers of a virtual time; a batch takes as many seconds as the place of its row says."""

    def __init__(self, seconds: Sequence[float], rows: Rows) -> None:
        self.now, self.seconds, self.rows = 0.0, seconds, rows
        self.queues: tuple[deque[tuple[int, float]], ...] = (deque(), deque())
        self.ends, self.last = [0.0, 0.0], [float("inf")] * 2

    def prepare(self, spec: RunSpec) -> None:
        """They know it."""

    def is_ready(self) -> bool:
        return True

    def _free(self) -> list[int]:
        return [i for i, queue in enumerate(self.queues) if len(queue) < depth_of(self.last[i])]

    def has_room(self) -> bool:
        return bool(self._free())

    def give(self, ticket: int, places: Places, rows: Arrays | None) -> None:
        assert rows is None
        worker = min(self._free(), key=lambda i: len(self.queues[i]))
        self.queues[worker].append((ticket, self.seconds[int(places[0])]))
        if len(self.queues[worker]) == 1:
            self.ends[worker] = self.now + self.queues[worker][0][1]

    def wait(self) -> Report:
        worker = min((i for i in (0, 1) if self.queues[i]), key=lambda i: self.ends[i])
        self.now = self.ends[worker]
        ticket, self.last[worker] = self.queues[worker].popleft()
        if self.queues[worker]:
            self.ends[worker] = self.now + self.queues[worker][0][1]
        return Computed(ticket, self.rows, self.last[worker])


class Clocked(CrewExecutor):
    def __init__(self, crew: Clockwork) -> None:
        super().__init__()
        self._crew = crew

    def crew(self) -> Crew:
        return self._crew


@pytest.mark.parametrize(
    ("seconds", "least"),
    [
        # As measured: batches of `auto` on rows of IPS, and of Splice.
        ((0.18, 0.15, 0.14, 0.66, 0.48, 0.52, 0.11, 0.32, 0.26, 0.77, 0.29, 0.23), 1.9),
        ((0.85, 0.47, 1.11, 0.23, 1.33, 1.40, 0.54, 0.15, 0.57, 1.55, 0.07, 1.85), 1.8),
    ],
)
def test_no_batch_waits_behind_another_one_while_a_worker_is_idle(
    seconds: tuple[float, ...], least: float, case: Case
) -> None:
    spec = RunSpec(case[0].victim, case[1], case[2], ATTACKS["ga"](), batch_size=1)
    places = torch.arange(len(seconds)).split(1)
    crew = Clockwork(seconds, spec.compute(places[0]))
    assert sum(1 for _ in Clocked(crew).run(spec, places)) == len(seconds)
    assert sum(seconds) / crew.now > least
    assert depth_of(0.01) == 2, "a worker that is done in no time does not wait for the driver"
