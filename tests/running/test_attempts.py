"""How often batches are tried, without anybody who computes them."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from hammingbox.running.attempts import MOST_DEATHS, Attempts, RowFailure


def worked_off(rows: int, size: int, cursed: set[int], deadly: set[int]) -> tuple[list[int], list[RowFailure], int]:
    """Rows that were computed, rows that failed, and the number of attempts."""
    attempts = Attempts(torch.arange(rows).split(size))
    done: list[int] = []
    failed: list[RowFailure] = []
    count = 0
    while (attempt := attempts.take()) is not None:
        count += 1
        places = set(attempt.places.tolist())
        if places & deadly:
            failed += attempts.died(attempt, "killed")
        elif places & cursed:
            failed += attempts.raised(attempt, ValueError("cursed\nrow"))
        else:
            done += attempt.places.tolist()
    return done, failed, count


@given(
    rows=st.integers(1, 40),
    size=st.integers(1, 16),
    cursed=st.sets(st.integers(0, 39), max_size=3),
    deadly=st.sets(st.integers(0, 39), max_size=2),
)
def test_every_row_is_computed_once_or_fails_once(rows: int, size: int, cursed: set[int], deadly: set[int]) -> None:
    done, failed, _ = worked_off(rows, size, cursed, deadly)
    bad = {row for row in cursed | deadly if row < rows}
    assert sorted(done) == sorted(set(range(rows)) - bad), "an innocent row of a bad batch is computed, and only once"
    assert sorted(failure.place for failure in failed) == sorted(bad)


def test_one_bad_row_of_a_large_batch_takes_few_attempts() -> None:
    _, failed, count = worked_off(256, 256, {77}, set())
    assert count == 17
    assert (failed[0].place, failed[0].reason) == (77, "ValueError: cursed row")
    assert isinstance(failed[0].error, ValueError)
    _, failed, count = worked_off(256, 256, set(), {77})
    assert count == MOST_DEATHS - 1 + 17
    assert "workers died on this row, the last one: killed" in failed[0].reason


def test_a_batch_is_not_split_because_somebody_kills_its_worker() -> None:
    attempts = Attempts([torch.arange(8)])
    for _ in range(MOST_DEATHS):
        attempt = attempts.take()
        assert attempt is not None
        assert attempt.places.tolist() == list(range(8))
        assert not list(attempts.died(attempt, "killed"))
    halves = [attempts.take(), attempts.take()]
    assert [half.places.tolist() for half in halves if half] == [[0, 1, 2, 3], [4, 5, 6, 7]]
