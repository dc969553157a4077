"""Walks of many rows: how a black box is asked, and that rows do not disturb each other."""

from typing import Any

import numpy as np
import pytest
import torch
from xgboost import XGBClassifier

from hammingbox.attacks import Auto, Local, Swap
from hammingbox.attacks._search.tabu_search import TabuSearch
from hammingbox.running.evaluate import evaluate
from hammingbox.threat.space import FullSpace
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.victims.black_box import BlackBox
from toys import ToyVictim, toy_rows, toy_schema
from toys.public_tables import german
from toys.targets import Recorder, black_box

Array = np.ndarray[Any, Any]


def test_a_black_box_is_asked_with_large_tables() -> None:
    data = german()
    model = XGBClassifier(n_estimators=100, n_jobs=1).fit(data.ids[:800].numpy(), data.labels[:800].numpy())
    calls: list[int] = []

    def predict(rows: Array) -> Array:
        calls.append(len(rows))
        return np.asarray(model.predict_proba(rows))

    threat = ThreatModel(FullSpace(data.schema), 2)
    done = evaluate(BlackBox(predict), data.take(slice(800, 1000)), threat, Auto())
    broken = done.rows.success[done.rows.attacked]
    assert 0 < int(broken.sum()) < len(broken), "some rows leave early, others stay to the end"
    assert sum(calls) >= 10_000
    assert sum(calls) / len(calls) >= 256
    assert max(calls) <= 4096, "a table has a largest size"


@pytest.mark.parametrize(
    "attack",
    [Local(sweep=5, steps=20, patience=2, starts=12, queries=90), Local(sweep=5, steps=20), Swap(steps=20, patience=2)],
    ids=str,
)
def test_a_row_walks_the_same_way_alone_and_among_others(attack: TabuSearch) -> None:
    schema = toy_schema((4, 3, 6, 2, 5, 4))
    toy = Recorder(schema.cardinalities, bias=3.0).eval()
    x, y = toy_rows(schema, toy, 24)
    victim: ToyVictim | BlackBox = toy if attack.needs_gradient else black_box(toy)
    threat = ThreatModel(FullSpace(schema), 2)
    together = attack(victim, x, y, threat)
    assert 0 < int(together.success.sum()) < 24
    for row in range(24):
        alone = attack(victim, x[row : row + 1], y[row : row + 1], threat)
        assert torch.equal(alone.ids[0], together.ids[row])
        assert int(alone.forward) == int(together.forward[row])
