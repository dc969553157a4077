"""What `exact` says of a row, and what it costs, does not depend on the rows beside it."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

import hammingbox as hb
from hammingbox.certificates import Exact
from hammingbox.data.schema import Feature, Schema

SCHEMA = Schema(tuple(Feature(f"f{i}", tuple(str(j) for j in range(40))) for i in range(8)), ("ok", "bad"))
ROWS = torch.zeros(2, 8, dtype=torch.int64)
ROWS[1, 7] = 1
OK = torch.zeros(2, dtype=torch.int64)


def _space(fewer: int) -> hb.Space:
    """Rows of which f7 is 0 may be given this many categories, the others 40: 42,901 points within two changes."""

    def rule(ids: torch.Tensor) -> torch.Tensor:
        allowed = torch.ones(len(ids), 8, 40, dtype=torch.bool)
        allowed[ids[:, 7] == 0, :, fewer:] = False
        return allowed

    return hb.MaskedSpace(SCHEMA, rule=rule, rule_name="fewer")


def _never(rows: np.ndarray) -> np.ndarray:
    return np.tile([[0.9, 0.1]], (len(rows), 1))


def _by_pairs(rows: np.ndarray) -> np.ndarray:
    bad = (rows[:, 0] == 3) & (rows[:, 4] == 5) | (rows[:, 1] == 2) & (rows[:, 3] == 7)
    return np.where(bad[:, None], [[0.1, 0.9]], [[0.9, 0.1]])


@pytest.mark.parametrize(("fewer", "model", "most"), [(33, _never, 35_000), (9, _by_pairs, 50_000)])
def test_a_row_beside_a_larger_one(fewer: int, model: Callable[[np.ndarray], np.ndarray], most: int) -> None:
    victim, method, threat = hb.BlackBox(model), Exact(max_passes=most), hb.ThreatModel(_space(fewer), 2)
    alone = [method(victim, ROWS[i : i + 1], OK[:1], threat) for i in range(2)]
    together = method(victim, ROWS, OK, threat)
    for name in ("radius", "broken", "ids", "forward"):
        assert torch.equal(getattr(together, name), torch.cat([getattr(found, name) for found in alone])), name


def test_rows_above_the_limit_are_not_enumerated() -> None:
    found = Exact(max_passes=35_000)(hb.BlackBox(_never), ROWS, OK, hb.ThreatModel(_space(33), 2))
    assert found.status == ("proven", "unknown")
    assert int(found.forward[1]) < 1_000
