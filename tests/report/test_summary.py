"""The aggregation of results: worst cases, statuses, gaps to exact attacks, records."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from hammingbox import Rate
from hammingbox.report.class_budgets import worst_case_classes
from hammingbox.report.page.folder import read_contents
from hammingbox.report.result_set import ResultSet
from hammingbox.report.run_rows import RunFacts
from hammingbox.report.status import BROKEN, NOT_ATTACKED, PROVEN, UNKNOWN, WRONG_BEFORE, status_codes
from hammingbox.report.summary import VictimSummary
from toys import toy_schema
from toys.result_folders import LETTERS, TABLE, fill, stored
from toys.result_sets import toy_results


def test_the_worst_case_joins_attacks_and_smaller_budgets(tmp_path: Path) -> None:
    fill(tmp_path, LETTERS, attacks=("ga", "hotflip", "random"), budgets=(1, 2))
    (results,) = read_contents(tmp_path).result_sets
    for worst in VictimSummary(results, results.victims[0]).worst:
        runs = [rows for _, budget, rows in stored(tmp_path) if budget <= worst.budget]
        broken = torch.stack([rows.success for rows in runs]).any(0)
        wrong = ~runs[0].correct
        assert (worst.success.hits, worst.success.rows) == (int(broken.sum()), int(runs[0].correct.sum()))
        assert (worst.robust_error.hits, worst.robust_error.rows) == (int((broken | wrong).sum()), 30)
        assert worst.clean_error.hits == 3


def test_a_budget_counts_only_rows_that_were_attacked_with_it(tmp_path: Path) -> None:
    fill(tmp_path, TABLE, attacks=("ga",), budgets=(1, 3), rows=30, victims=("one", "two"))
    fill(tmp_path, TABLE, attacks=("random",), budgets=(2,), rows=12, victims=("one",))
    (results,) = read_contents(tmp_path).result_sets
    few = {worst.budget: worst for worst in VictimSummary(results, "one (mlp)").worst}[2]
    assert (few.success.rows, few.robust_error.rows, few.clean_error) == (9, 12, Rate(3, 12))
    first, both = (rows for *_, rows in stored(tmp_path)[:1] + stored(tmp_path)[-1:])
    assert few.success.hits == int((first.success[:12] | both.success).sum())
    classes = worst_case_classes(results, "one (mlp)")
    assert sum(line.attacked for line in classes[2].lines) == 9
    assert sum(line.correct for line in classes[3].lines) == 27
    assert set(worst_case_classes(results, "two (mlp)")) == {1, 3}


def test_every_attacked_row_is_broken_proven_or_unknown() -> None:
    results = toy_results(LETTERS, attacks=("hotflip", "exhaustive"))
    summary = VictimSummary(results, "toy")
    proven = {line.budget: line.proven for line in summary.worst}
    assert proven[1] > proven[2] > 0, "the case this is about"
    for line in summary.worst:
        assert line.success.hits + line.proven == line.success.rows == 27
        assert line.unknown == 0
        cell = summary.cells["exhaustive", line.budget]
        assert cell.proven == Rate(line.proven, 27)
        assert summary.cells["hotflip", line.budget].proven == Rate(0, 27)
    assert summary.has_proofs
    searched = VictimSummary(toy_results(LETTERS, attacks=("hotflip",), budgets=(1,)), "toy")
    assert searched.worst[0].unknown == 27 - searched.worst[0].success.hits > 0
    assert not searched.has_proofs


def test_a_proof_holds_for_smaller_budgets_and_not_for_larger_ones() -> None:
    results = toy_results(LETTERS, attacks=("random", "exhaustive"), budgets=(1, 2, 3))
    both = {line.budget: line.proven for line in VictimSummary(results, "toy").worst}
    # Without the enumeration at budget 1, what is known there is the proofs for budget 2.
    results.runs = [run for run in results.runs if (run.facts.attack, run.facts.budget) != ("exhaustive", 1)]
    assert {line.budget: line.proven for line in VictimSummary(results, "toy").worst} == both | {1: both[2]}
    results.runs = [run for run in results.runs if (run.facts.attack, run.facts.budget) != ("exhaustive", 3)]
    assert VictimSummary(results, "toy").worst[-1].proven == 0, "a proof for budget 2 says nothing about budget 3"


def test_status_codes() -> None:
    masks = {
        BROKEN: (True, True, True, False),
        PROVEN: (True, True, False, True),
        UNKNOWN: (True, True, False, False),
        WRONG_BEFORE: (False, False, False, False),
        NOT_ATTACKED: (True, False, False, False),
    }
    correct, attacked, broken, proven = np.array(list(masks.values())).T
    codes = status_codes(correct=correct, attacked=attacked, broken=broken, proven=proven)
    assert codes.tolist() == list(masks)


def test_gaps_are_measured_against_an_exact_attack() -> None:
    schema = toy_schema((6,) * 8)
    results = toy_results(schema, attacks=("hotflip", "oracle", "random"), budgets=(1, 2))
    summary = VictimSummary(results, "toy")
    for budget in (1, 2):
        limit, weak = summary.cells["oracle", budget], summary.cells["hotflip", budget]
        assert limit.gap == 0
        assert weak.missed == limit.broken - weak.broken, "an exact attack breaks all that others break"
        assert weak.gap == pytest.approx(limit.rate - weak.rate)
    assert summary.cells["hotflip", 1].missed
    without = [run for run in results.runs if run.facts.name != "oracle"]
    own = [replace(run, facts=replace(run.facts, name="mine", attack="mine")) for run in results.runs]
    for runs in (without, own):  # nothing to measure against
        cells = VictimSummary(ResultSet("toy", schema, runs=runs), "toy").cells
        assert all(cell.gap is None for cell in cells.values())


def test_seeds_are_averaged() -> None:
    results = toy_results(toy_schema((6,) * 8), attacks=("hotflip", "oracle"), budgets=(1,))
    alone, first = VictimSummary(results, "toy").cells["hotflip", 1], results.runs[0]
    twice = ResultSet("toy", results.schema, runs=[*results.runs, replace(first, facts=replace(first.facts, seed=1))])
    cell = VictimSummary(twice, "toy").cells["hotflip", 1]
    assert (cell.attacked, cell.broken) == (54, 2 * alone.broken)
    assert (cell.rate, cell.interval, cell.passes) == (alone.rate, alone.interval, alone.passes)
    assert (cell.missed, cell.gap) == (alone.missed, alone.gap)


def test_refusals_have_no_rates() -> None:
    wide = toy_schema((9,) * 9)
    summary = VictimSummary(toy_results(wide, attacks=("exhaustive", "random"), budgets=(1, 6), rows=4, wrong=0), "toy")
    ((name, budgets, reason),) = summary.refused
    assert (name, budgets) == ("exhaustive", [6])
    assert "raise max_passes" in reason
    assert summary.ran("exhaustive", 6) is None
    records = {(record["attack"], record["budget"]): record for record in summary.records()}
    assert "success" not in records["exhaustive", 6]
    assert records["exhaustive", 6]["refused"] == reason
    assert records["random", 6]["refused"] is None
    empty = ResultSet("toy", wide)
    empty.add(RunFacts(victim="toy", attack="sa", name="sa", settings="", budget=9, seed=0, refused="too large"), None)
    assert VictimSummary(empty, "toy").clean_error is None


def test_records_are_the_rows_own_summaries() -> None:
    results = toy_results(LETTERS, attacks=("hotflip", "exhaustive"), budgets=(1,))
    records = VictimSummary(results, "toy").records()
    for record, run in zip(records, results.runs, strict=True):
        assert run.summary.items() <= record.items()
        assert record["success"] == int(run.broken.sum())
        assert record["proven"] == int(run.proven.sum())
        assert record["optimality_gap"] == (0 if record["attack"] == "exhaustive" else pytest.approx(
            (records[1]["success"] - record["success"]) / 27
        ))  # fmt: skip
