"""The page says what the store holds: its numbers, its proofs, its doubts, and nothing that is hidden in the data."""

import base64
import hashlib
import re
from pathlib import Path

import pytest

from hammingbox.attacks import attack_named
from hammingbox.errors import FileError
from hammingbox.evaluation.diagnose import Finding
from hammingbox.report.class_budgets import worst_case_classes
from hammingbox.report.page.folder import read_contents, write_report
from hammingbox.report.page.page import Contents, render
from hammingbox.report.recorded_checks import findings_of
from hammingbox.report.summary import VictimSummary
from hammingbox.running.store import Run, SQLiteStore, open_store
from hammingbox.threat.goal import Target
from toys import toy_schema
from toys.result_folders import HOSTILE, LETTERS, NASTY, TABLE, fill, stored
from toys.result_sets import toy_results


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("results")
    fill(made, LETTERS, attacks=("ga", "hotflip", "random", "exhaustive"), budgets=(1, 2))
    return made


def test_every_rate_of_the_page_is_the_stores(folder: Path) -> None:
    page = write_report(folder).read_text()
    for name, budget, rows in stored(folder):
        broken, right = int(rows.success.sum()), int(rows.correct.sum())
        low, high = rows.success_rate.interval
        cell = f"{name}, budget {budget}: {broken} of {right} rows broken; show them"
        span = f"{100 * low:.0f}\N{EN DASH}{100 * high:.0f}\N{NO-BREAK SPACE}%"
        assert f'aria-label="{cell}">{100 * broken / right:.1f}</a><small>{span}' in page
    assert "right on 27 of 30 rows before any attack" in page


def test_what_comes_from_data_is_text(tmp_path: Path) -> None:
    fill(tmp_path, HOSTILE, data=f"data {NASTY}", victims=(NASTY.replace("/", ""), "other"))
    page = write_report(tmp_path).read_text()
    assert page.count("<script") == 2, "the packed rows and the one script"
    assert "<img" not in page
    assert 'onmouseover="window' not in page
    assert "<b>bold" not in page
    (allowed,) = re.findall(r"script-src &#39;sha256-(.*?)&#39;|script-src 'sha256-(.*?)'", page)
    script = page[page.rindex("<script>") + 8 : page.rindex("</script>")]
    assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() in allowed


def test_an_unfinished_an_empty_and_a_missing_store(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="expected a store of results"):
        write_report(tmp_path)
    open_store(tmp_path, create=True).close()
    assert "No rows yet" in write_report(tmp_path).read_text()
    fill(tmp_path, TABLE, attacks=("ga",), budgets=(1,), rows=30)
    fill(tmp_path, TABLE, attacks=("random",), budgets=(1,), rows=12)
    page = write_report(tmp_path).read_text()
    assert "<strong>Fewer rows:</strong> 1 run lacks 18 rows that others have" in page
    assert "1 of 2 runs have fewer than the 30 rows" in page


def test_the_page_of_a_live_run_is_of_one_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path, TABLE, attacks=("ga",), budgets=(1,), rows=12)
    runs = SQLiteStore.runs

    def meanwhile(store: SQLiteStore) -> list[Run]:
        found = runs(store)
        monkeypatch.setattr(SQLiteStore, "runs", runs)
        fill(tmp_path, TABLE, attacks=("ga",), budgets=(1,), rows=30)
        return found

    monkeypatch.setattr(SQLiteStore, "runs", meanwhile)
    (results,) = read_contents(tmp_path).result_sets
    assert len(results.runs[0]) == results.runs[0].facts.planned == 12
    assert len(read_contents(tmp_path).result_sets[0].runs[0]) == 30


def test_refusals_and_seeds_are_distinguished(tmp_path: Path) -> None:
    wide = toy_schema((9,) * 9)
    fill(tmp_path, wide, attacks=("exhaustive", "random"), budgets=(6,), seeds=(0, 1), rows=9, wrong=0)
    (results,) = read_contents(tmp_path).result_sets
    page = write_report(tmp_path).read_text()
    assert "exhaustive at budget 6 was not run: expected exhaustive search to need at most" in page
    broken = sum(int(run.broken.sum()) for run in results.runs)
    assert f"random, budget 6: {broken} of 18 rows broken" in page, "seeds are counted together"
    assert '<select name="seed">' in page


def test_what_a_query_found_replaces_the_same_check_on_recorded_rows(tmp_path: Path) -> None:
    fill(tmp_path, TABLE, victims=("one", "two"), rows=12, attacks=("ga",), budgets=(1,))
    with open_store(tmp_path) as store:
        first = store.runs()[0].key.victim_sha256
    queried = {first: [Finding("few rows", "error", "queried", "it means", "do")], "another": []}
    (findings,) = read_contents(tmp_path, queried=queried).findings
    assert [(f.severity, f.seen.split(":")[0]) for f in findings if f.check == "few rows"] == [
        ("error", "one (mlp)"),
        ("warning", "two (mlp)"),
    ]


def test_a_store_of_refusals_alone(tmp_path: Path) -> None:
    fill(tmp_path, toy_schema((9,) * 9), attacks=("exhaustive",), budgets=(6,), rows=4)
    page = write_report(tmp_path).read_text()
    assert "exhaustive at budget 6 was not run" in page
    assert "No row was broken" in page


def test_a_victim_has_no_column_for_a_budget_it_was_not_attacked_with(tmp_path: Path) -> None:
    fill(tmp_path, TABLE, attacks=("ga",), budgets=(1, 3), rows=30, victims=("one", "two"))
    fill(tmp_path, TABLE, attacks=("random",), budgets=(2,), rows=12, victims=("one",))
    second = write_report(tmp_path).read_text().split("<caption>two (mlp)</caption>")[1].split("</table>")[0]
    assert "broken, budget 3" in second
    assert "broken, budget 2" not in second


def test_proofs_are_on_the_page() -> None:
    results = toy_results(LETTERS, attacks=("hotflip", "exhaustive"), budgets=(1, 2))
    page = re.sub(r"\s+", " ", render(Contents([results], [findings_of(results, "toy")])))
    for line in VictimSummary(results, "toy").worst:
        assert line.proven
        counts = f"{line.success.hits} broken, {line.proven} proven unbreakable, {line.unknown} unknown"
        assert f"At budget {line.budget}: {counts}." in page
        assert f"<small>{line.proven} of 27 proven</small>" in page
    assert re.findall(r'<option value="(\d)"( selected)?>(broken|proven|unknown|wrong before|not attacked)<', page) == [
        ("0", " selected", "broken"), ("1", "", "proven"), ("2", "", "unknown"), ("3", "", "wrong before"),
    ]  # fmt: skip
    without = toy_results(LETTERS, attacks=("hotflip",), budgets=(1,))
    assert "proven unbreakable" not in render(Contents([without], [[]]))


@pytest.mark.parametrize("budget", [1, 5])
def test_no_class_is_called_the_worst_where_others_are_as_bad(budget: int) -> None:
    results = toy_results(TABLE, attacks=("exhaustive",), budgets=(budget,), wrong=0)
    classes = worst_case_classes(results, "toy")[budget]
    errors = [line.robust_error.value for line in classes.seen]
    alike = errors.count(max(errors))
    assert budget == 1 or alike == len(errors) > 1, "with all features changed, every row is broken"
    page = render(Contents([results], [[]]))
    assert ("No class suffers more" in page) == (alike == len(errors))
    assert ("The classes that suffer most are" in page) == (1 < alike < len(errors))
    assert ("The class that suffers most is" in page) == (alike == 1 < len(errors))


def test_goals_are_apart(tmp_path: Path) -> None:
    fill(tmp_path, TABLE, attacks=("ga",), budgets=(1,))
    fill(tmp_path, TABLE, attacks=("ga",), budgets=(1,), goal=Target("class 1"))
    contents = read_contents(tmp_path)
    assert [results.goal for results in contents.result_sets] == ["", "to class 1"]
    page = write_report(tmp_path).read_text()
    assert "goal (to class 1)" in page
    assert re.search(
        ">class 1</a></th><td>\\d+</td><td>\\d+(<small>.*?</small>)?</td>\\s*<td>\N{EN DASH}</td>", page
    ), "no rate over no rows"
    assert page.count(">not attacked<") == 1, "rows of the target class, in the second part alone"


def test_a_finding_names_its_page_in_the_documentation(tmp_path: Path) -> None:
    fill(tmp_path, TABLE, rows=12, attacks=("ga",), budgets=(1,))
    assert "See docs: diagnostics/few-rows" in write_report(tmp_path).read_text()


def test_settings_distinguish_attacks_of_one_name(tmp_path: Path) -> None:
    fill(tmp_path, TABLE, attacks=("random",), budgets=(1,))
    fill(tmp_path, TABLE, attacks=("random",), budgets=(1,), settings={"draws": 2})
    (results,) = read_contents(tmp_path).result_sets
    draws = attack_named("random").draws  # type: ignore[attr-defined]
    assert results.attacks == [f"random (draws={draws})", "random (draws=2)"]
    assert [run.facts.name for run in results.runs] == ["random", "random"]
