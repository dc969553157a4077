"""Result sets too large to be held: every number is that of the whole, whatever the blocks and the sample."""

from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from hammingbox.report import large_results
from hammingbox.report.band import band
from hammingbox.report.breakdown import by_feature, what_if
from hammingbox.report.class_budgets import classes_of_run
from hammingbox.report.page import folder as pages
from hammingbox.report.page.page import render
from hammingbox.report.recorded_checks import recorded_findings
from hammingbox.report.result_set import ResultSet
from hammingbox.report.summary import VictimSummary
from hammingbox.threat.goal import Target
from toys.result_folders import TABLE, fill


def results_of(place: Path) -> ResultSet:
    (found,) = pages.read_contents(place).result_sets
    return found


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three attacks, one of them exact, two victims, two budgets; one attack with two seeds on fewer rows."""
    place = tmp_path_factory.mktemp("large")
    fill(place, TABLE, attacks=("ga", "exhaustive"), rows=40, victims=("one", "two"), budgets=(1, 3))
    fill(place, TABLE, attacks=("random",), rows=25, seeds=(0, 1), victims=("one", "two"), budgets=(1, 3))
    return place


def as_large(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(large_results, "LARGE", 60)
    monkeypatch.setattr(pages, "LARGE", 60)
    monkeypatch.setattr(large_results, "_BLOCK", block)


@pytest.mark.parametrize(("block", "positive"), [(9, None), (100, "class 0"), (10_000, None)])
def test_every_number_is_that_of_the_whole(
    place: Path, block: int, positive: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ResultSet, "positive", positive)
    small = results_of(place)
    as_large(monkeypatch, block)
    large = results_of(place)
    assert not small.whole
    assert set(large.whole) == set(small.victims)
    assert 0 < len(large.clean) < len(small.clean)  # only a sample is held
    assert large.rows == small.rows == len(small.clean)
    for victim in small.victims:
        one, two = VictimSummary(small, victim), VictimSummary(large, victim)
        assert one.worst == two.worst
        assert one.classes == two.classes
        assert one.records() == two.records()
        assert one.best(3) == two.best(3)
        for key, cell in one.cells.items():
            other = two.cells[key]
            for name in ("rate", "interval", "missed", "gap", "proven", "passes", "distance", "lacking", "refused"):
                assert getattr(cell, name) == getattr(other, name), (key, name)
        assert band(small, victim) == band(large, victim)
        assert recorded_findings(small, victim) == recorded_findings(large, victim)
        assert what_if(small, victim) == what_if(large, victim)
        of = positive or ""
        assert (changes := by_feature(small, victim, of=of)).lines
        again = by_feature(large, victim, of=of)
        assert np.array_equal(changes.per_feature, again.per_feature)
        assert {**asdict(changes), "per_feature": 0} == {**asdict(again), "per_feature": 0}
    for a, b in zip(small.runs, large.runs, strict=True):
        assert a.facts == b.facts
        assert dict(a.summary) == dict(b.summary)
        assert classes_of_run(small, a) == classes_of_run(large, b)
        assert set(np.array(large.numbers)[b.place]) <= set(np.array(small.numbers)[a.place])


def test_the_page(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    as_large(monkeypatch, 50)
    contents = pages.read_contents(place)
    page = render(contents)
    assert page == render(pages.read_contents(place))  # the sample is the same
    total = sum(run.rows for run in contents.result_sets[0].runs)
    held = sum(map(len, contents.result_sets[0].runs))
    assert f"Rows shown: {held} of {total:,}" in page


def test_a_goal_and_refused_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path, TABLE, attacks=("ga", "exhaustive"), budgets=(1, 4), rows=40, goal=Target(TABLE.classes[0]),
         settings={"queries": 30})  # fmt: skip
    small = results_of(tmp_path)
    as_large(monkeypatch, 20)
    large = results_of(tmp_path)
    one, two = (VictimSummary(found, small.victims[0]) for found in (small, large))
    assert one.worst == two.worst
    assert one.records() == two.records()
    assert one.refused == two.refused
