"""Black boxes: what they are given, what they may return, and that they have no gradient."""

from typing import Any

import numpy as np
import pytest
import torch

from hammingbox import ATTACKS, BlackBox, FullSpace, ThreatModel, VictimError
from toys import ToyVictim, toy_rows, toy_schema

SCHEMA = toy_schema((4, 4, 4))
Array = np.ndarray[Any, Any]


def test_a_black_box_gets_ids_or_categories() -> None:
    toy = ToyVictim(SCHEMA.cardinalities).eval()
    x, y = toy_rows(SCHEMA, toy)
    seen: list[Array] = []

    def predict(rows: Array) -> Array:
        seen.append(rows)
        ids = rows if rows.dtype != object else np.vectorize(lambda word: int(word[1:]))(rows)
        return toy(torch.from_numpy(ids.astype(np.int64))).softmax(1).detach().numpy()

    threat = ThreatModel(FullSpace(SCHEMA), 2)
    plain, named = BlackBox(predict), BlackBox(predict, schema=SCHEMA)
    for name in ("sa", "ga", "genetic", "random", "exhaustive"):
        attack = ATTACKS[name]()
        assert torch.equal(attack(plain, x, y, threat).ids, attack(named, x, y, threat).ids)
    assert {rows.dtype for rows in seen} == {np.dtype(np.int64), np.dtype(object)}


def test_a_black_box_has_no_gradient() -> None:
    box = BlackBox(lambda rows: np.full((len(rows), 3), 1 / 3))
    x, y = toy_rows(SCHEMA, box, 4)
    assert box.device == torch.device("cpu")
    for name in ("pcaa", "gsa", "gga", "hotflip"):
        with pytest.raises(VictimError, match=r"expected a victim with gradients for \w+, got a black box\. Use "):
            ATTACKS[name]()(box, x, y, ThreatModel(FullSpace(SCHEMA), 2))
    for call in (box.embed, lambda ids: box.head(ids.float()[:, :, None], ids)):
        with pytest.raises(VictimError, match=r"got a BlackBox\. Use an attack that needs no gradient"):
            call(x)


def test_confident_rows_do_not_tie() -> None:
    box = BlackBox(lambda rows: np.stack([np.full(len(rows), 1e-20), 1 - np.full(len(rows), 1e-20)], 1))
    logits = box(torch.zeros(2, 3, dtype=torch.int64))
    assert logits.dtype == torch.float64
    assert logits[0, 0].item() == pytest.approx(np.log(1e-20))


@pytest.mark.parametrize(
    ("answer", "message"),
    [([[0.5, 0.6, 0.1]], "rows summing to 1"), ([0.5, 0.5], "return .8, classes."), ([[np.nan, 0.5, 0.5]], "finite")],
)
def test_answers_that_are_not_probabilities_are_refused(answer: list[Any], message: str) -> None:
    box = BlackBox(lambda rows: np.resize(answer, (len(rows), 3)) if np.ndim(answer) == 2 else answer)
    with pytest.raises(VictimError, match=message):
        box(torch.zeros(8, 3, dtype=torch.int64))


def test_a_tie_is_decided_as_by_the_models_own_predict() -> None:
    answers = BlackBox(lambda rows: np.tile([[0.4, 0.4, 0.2]], (len(rows), 1)))(torch.zeros(2, 3, dtype=torch.int64))
    assert answers.argmax(1).tolist() == [0, 0]
    assert bool((answers[:, 0] > answers[:, 1]).all()), "the second class has not won as well"
