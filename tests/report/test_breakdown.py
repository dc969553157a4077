"""Which columns do it: the strongest run's changes, and what freezing a column could do at most."""

import numpy as np
import pytest

from hammingbox import Dataset, FullSpace, MaskedSpace, ThreatModel, evaluate
from hammingbox.attacks import attack_named
from hammingbox.evaluation.rates import Rate
from hammingbox.report.breakdown import by_feature, strongest_run, what_if
from hammingbox.report.glossary import GLOSSARY
from hammingbox.report.measured_what_if import MeasuredWhatIf
from hammingbox.report.recommendations import recommendations
from hammingbox.report.result_set import ResultSet
from hammingbox.report.summary import VictimSummary
from toys import ToyVictim, toy_rows
from toys.result_folders import TABLE
from toys.result_sets import toy_results


@pytest.fixture(scope="module")
def results() -> ResultSet:
    return toy_results(TABLE, attacks=("random", "ga", "exhaustive"), budgets=(1, 2))


def test_only_the_strongest_run_counts(results: ResultSet) -> None:
    run = strongest_run(results, "toy")
    assert run is not None
    assert int(run.broken.sum()) == max(int(other.broken.sum()) for other in results.runs)
    found = by_feature(results, "toy")
    assert (found.attack, found.budget, found.broken) == (run.facts.attack, run.facts.budget, int(run.broken.sum()))
    assert found.per_feature.sum() == int(run.distance[run.broken].sum())
    assert sum(line.changed for line in found.lines) == found.per_feature.sum()
    assert [line.changed for line in found.lines] == sorted((line.changed for line in found.lines), reverse=True)
    assert found.swaps[0].feature in {line.name for line in found.lines}
    assert sum(one.times for one in by_feature(results, "toy", swaps=10**6).swaps) == found.per_feature.sum()


def test_freezing_a_column_is_bounded_by_attacking_without_it(results: ResultSet) -> None:
    """The enumeration with the column frozen breaks at least what the records say still falls, at most all."""
    victim = ToyVictim(TABLE.cardinalities, len(TABLE.classes))
    ids, labels = toy_rows(TABLE, victim, 30)
    labels[:3] = (labels[:3] + 1) % len(TABLE.classes)
    data, found = Dataset(TABLE, ids, labels), what_if(results, "toy")
    assert [line.name for line in found.useful], "the case this is about"
    falls = [found.fall(line) for line in found.lines]
    assert falls == sorted(falls, reverse=True)
    for line in found.lines:
        for budget, still in line.still.items():
            space = MaskedSpace(TABLE, immutable=[line.name])
            true = evaluate(victim, data, ThreatModel(space, budget), attack_named("exhaustive")).success_rate
            free = evaluate(victim, data, ThreatModel(FullSpace(TABLE), budget), attack_named("exhaustive"))
            assert still.rows == true.rows == 27
            assert still.hits <= true.hits <= found.now[budget].hits == free.success_rate.hits
            if budget == 1:
                assert still.hits <= true.hits


def test_what_if_of_one_class_counts_its_rows(results: ResultSet) -> None:
    labels = np.array(results.labels)
    parts = [what_if(results, "toy", of=name) for name in TABLE.classes]
    whole = what_if(results, "toy")
    for budget, rate in whole.now.items():
        assert sum(part.now[budget].hits for part in parts if budget in part.now) == rate.hits
        assert sum(part.now[budget].rows for part in parts if budget in part.now) == rate.rows <= len(labels)


def test_changes_of_one_class_are_those_of_its_rows(results: ResultSet) -> None:
    whole, parts = by_feature(results, "toy"), [by_feature(results, "toy", of=name) for name in TABLE.classes]
    assert [part.of for part in parts] == list(TABLE.classes)
    assert sum(part.broken for part in parts) == whole.broken
    assert np.array_equal(sum(part.per_feature for part in parts), whole.per_feature)
    run = strongest_run(results, "toy")
    assert run is not None
    for part, label in zip(parts, range(len(TABLE.classes)), strict=True):
        mine = np.array(results.labels)[run.place[run.broken]] == label
        assert part.per_feature.sum() == int(run.distance[run.broken][mine].sum())
        advice = recommendations(VictimSummary(results, "toy"), part, what_if(results, "toy"))
        text = " ".join(one.text for one in advice)
        assert f"of the {part.broken} {part.of} rows it breaks" in text


def test_recommendations_follow_from_the_numbers(results: ResultSet) -> None:
    summary = VictimSummary(results, "toy")
    changes, frozen = by_feature(results, "toy"), what_if(results, "toy")
    found = recommendations(summary, changes, frozen)
    kinds = [one.kind for one in found]
    assert "monitor" in kinds
    assert "train" in kinds
    assert "certify" not in kinds, "the enumeration leaves no row unknown"
    monitor = next(one.text for one in found if one.kind == "monitor")
    assert changes.lines[0].name in monitor
    bounds = [one.text for one in found if one.kind == "freeze"]
    assert bounds
    assert all("at best" in text for text in bounds), "a bound is called one"
    budget, top = 1, frozen.lines[0]
    measured = MeasuredWhatIf(
        "", {1: "ga"}, {1: Rate(20, 27)}, {top.name: {budget: Rate(9, 27)}, "another": {1: Rate(20, 27)}}
    )
    (again,) = (one.text for one in recommendations(summary, changes, frozen, measured) if one.kind == "freeze")
    assert top.name in again
    assert "33.3" in again
    weak = toy_results(TABLE, attacks=("random",), budgets=(1,))
    weak_summary = VictimSummary(weak, "toy")
    advice = recommendations(weak_summary, by_feature(weak, "toy"), what_if(weak, "toy"))
    assert any(one.kind == "certify" for one in advice) == bool(weak_summary.worst[0].unknown)
    assert recommendations(VictimSummary(ResultSet("none", TABLE), "toy"), changes, frozen) == []


def test_every_attack_is_explained() -> None:
    from hammingbox.attacks import ATTACKS

    assert set(GLOSSARY) == set(ATTACKS)
