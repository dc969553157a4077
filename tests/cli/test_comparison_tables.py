"""What `compare` prints is what the page shows: both come from the same summary."""

import re

import pytest

from hammingbox.cli.comparison_tables import gap_table, models_table, show, status_table
from hammingbox.report.page.page import Contents, render
from hammingbox.report.recorded_checks import findings_of
from hammingbox.report.summary import VictimSummary
from toys import toy_schema
from toys.result_folders import LETTERS
from toys.result_sets import toy_results


def test_the_terminal_and_the_page_show_the_same_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    results = toy_results(LETTERS, attacks=("hotflip", "exhaustive"), budgets=(1, 2))
    summary, findings = VictimSummary(results, "toy"), findings_of(results, "toy")
    show(summary, findings)
    shown, page = capsys.readouterr().out, render(Contents([results], [findings]))
    for attack in ("hotflip", "exhaustive"):
        (line,) = re.findall(rf"^{attack} +([\d.]+) +[\d.]+ +([\d.]+) +[\d.]+$", shown, re.M)
        for budget, rate in zip((1, 2), line, strict=True):
            assert re.search(rf'aria-label="{attack}, budget {budget}: [^"]*">{re.escape(rate)}</a>', page)
    for finding in findings:
        assert f"{finding.check}: {finding.seen}" in shown
        assert f"see docs: diagnostics/{finding.slug}" in shown


def test_proofs_are_shown_only_where_there_are_any(capsys: pytest.CaptureFixture[str]) -> None:
    results = toy_results(LETTERS, attacks=("hotflip", "exhaustive"), budgets=(1, 2))
    summary = VictimSummary(results, "toy")
    assert [line[0] for line in status_table(summary).rows] == ["broken", "proven", "unknown"]
    for place, line in enumerate(summary.worst, 1):
        column = [row[place] for row in status_table(summary).rows]
        assert column == [line.success.hits, line.proven, line.unknown]
        assert line.success.hits + line.proven + line.unknown == 27
    show(summary, [])
    proven = " +".join(str(line.proven) for line in summary.worst)
    assert re.search(rf"^proven +{proven}$", capsys.readouterr().out, re.M)
    show(VictimSummary(toy_results(LETTERS, attacks=("hotflip",)), "toy"), [])
    assert "proven" not in capsys.readouterr().out


def test_gaps_and_models() -> None:
    wide = toy_schema((6,) * 8)
    summary = VictimSummary(toy_results(wide, attacks=("hotflip", "oracle"), budgets=(1, 2)), "toy")
    gaps = {line[0]: line[1:] for line in gap_table(summary).rows}
    assert gaps["oracle"] == (0, 0)
    weak, limit = summary.cells["hotflip", 1], summary.cells["oracle", 1]
    assert gaps["hotflip"][0] == pytest.approx(100 * (limit.broken - weak.broken) / 27)
    lines = models_table([summary, summary]).rows
    assert [line[:2] for line in lines] == [("toy", "none"), ("", "hotflip"), ("", "oracle")] * 2
    assert lines[0][2:] == (10.0, 10.0), "three of thirty rows are wrong without an attack"
    assert lines[2][2] == pytest.approx(100 * (3 + limit.broken) / 30)
