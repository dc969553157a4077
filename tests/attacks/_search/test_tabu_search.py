"""Walks of many rows: how a black box is asked, and that rows do not disturb each other."""

from typing import Any

import numpy as np
import pytest
import torch

from hammingbox.attacks import Auto, Evolution, Local
from hammingbox.data.dataset import Dataset
from hammingbox.running.evaluate import evaluate
from hammingbox.seeding import torch_generator
from hammingbox.threat.space import FullSpace
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.victims.black_box import BlackBox
from toys import toy_schema

Array = np.ndarray[Any, Any]


class Counted:
    """A model of a table of 20 columns that notes how many rows each call holds."""

    def __init__(self) -> None:
        self.worth = np.random.default_rng(0).normal(size=(20, 12))
        self.calls: list[int] = []

    def score(self, rows: Array) -> Array:
        return np.tanh(self.worth[np.arange(20), rows].reshape(len(rows), 5, 4).sum(2)).sum(1)

    def __call__(self, rows: Array) -> Array:
        """Probabilities of two classes."""
        self.calls.append(len(rows))
        positive = 1 / (1 + np.exp(-self.score(rows)))
        return np.stack([1 - positive, positive], 1)


def firm_rows(model: Counted, rows: int) -> Dataset:
    """Rows that two changes may fail to break."""
    drawn = torch.randint(0, 12, (500, 20), generator=torch_generator(0))
    score = model.score(drawn.numpy())
    firm = np.argsort(-abs(score))[:rows]
    labels = torch.from_numpy((score[firm] > 0).astype(np.int64))
    return Dataset(toy_schema((12,) * 20, classes=2), drawn[firm], labels)


def test_a_black_box_is_asked_with_large_tables() -> None:
    model = Counted()
    data = firm_rows(model, 200)
    done = evaluate(BlackBox(model), data, ThreatModel(FullSpace(data.schema), 2), Auto())
    assert 0 < int(done.rows.success.sum()) < 200, "some rows leave early, others stay to the end"
    assert sum(model.calls) >= 10_000
    assert sum(model.calls) / len(model.calls) >= 256
    # The clean rows, two calls for each eighth of the sweep, one for each step, restart and generation, the recount.
    local, breeding = Local(), Evolution()
    restarts = (local.steps - 1) // local.patience
    rounds = 1 + 2 * 8 + local.steps + restarts + (1 + breeding.generations) + 1
    assert len([rows for rows in model.calls if rows < 4096]) <= rounds, "rows do not wait for each other's restarts"
    assert max(model.calls) == 4096, "a table has a largest size"


@pytest.mark.parametrize("queries", [None, 90])
def test_a_row_walks_the_same_way_alone_and_among_others(queries: int | None) -> None:
    attack = Local(sweep=5, steps=20, patience=2, starts=12, queries=queries)  # restarts differ in size from steps
    model = Counted()
    data = firm_rows(model, 12)
    threat = ThreatModel(FullSpace(data.schema), 4)
    together = attack(BlackBox(model), data.ids, data.labels, threat)
    assert 0 < int(together.success.sum()) < 12
    for row in range(12):
        alone = attack(BlackBox(model), data.ids[row : row + 1], data.labels[row : row + 1], threat)
        assert torch.equal(alone.ids[0], together.ids[row])
        assert int(alone.forward) == int(together.forward[row])
