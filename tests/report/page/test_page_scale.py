"""A hundred thousand results: the page stays small, holds every row, and shows few of them at a time.

How long it takes is measured by `benchmarks/report.py`.
"""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from hammingbox.report.page.folder import read_contents, write_report
from hammingbox.report.page.packing import pack
from hammingbox.report.page.page import ROWS_LIMIT
from toys.browser import browser, needs_browser

BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "report.py"
ROWS, RUNS = 2_000, 50


def load_benchmark() -> ModuleType:
    spec = importlib.util.spec_from_file_location("report_benchmark", BENCHMARK)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("results")
    benchmark = load_benchmark()
    benchmark.fill(made, benchmark.DNA, ROWS, RUNS)
    write_report(made)
    return made


def test_all_rows_fit_a_small_page(folder: Path) -> None:
    page = folder / "report.html"
    assert page.stat().st_size < 5_000_000
    assert "All 100,000 rows of all runs are here" in page.read_text()
    (results,) = read_contents(folder).result_sets
    assert len(results.clean) == ROWS, "a clean row is held once, not once per run"
    packed = pack(results, ROWS_LIMIT)
    assert packed.rows == packed.total == ROWS * RUNS
    assert len(packed.text) < 45 * packed.rows, "characters per row, with its changes and probabilities"


@needs_browser
def test_filters_show_one_short_page_of_many_rows(folder: Path, tmp_path: Path) -> None:
    (results,) = read_contents(folder).result_sets
    with browser(tmp_path / "profile") as page:
        page.open(folder / "report.html")
        page.run("document.querySelector('.rows').scrollIntoView({behavior: 'instant'})")
        page.wait("document.querySelector('.found').textContent.includes('of 100,000 rows')")

        def choose(name: str, value: str) -> int:
            """Sets one filter besides those that are set, and returns how many rows the page counts."""
            text = page.run(
                f"(async () => {{ const field = document.querySelector('form').elements['{name}'];"
                f"field.value = '{value}';"
                "const shown = new Promise((done) => new MutationObserver(done)"
                ".observe(document.querySelector('.entries'), {childList: true}));"
                "field.dispatchEvent(new Event('input', {bubbles: true})); await shown;"
                "return document.querySelector('.found').textContent; })()"
            )
            found = re.match(r"([\d,]+) of 100,000 rows", text)
            assert found is not None, text
            return int(found[1].replace(",", ""))

        chosen = results.runs
        assert choose("status", "") == ROWS * RUNS
        chosen = [run for run in chosen if run.facts.attack == results.attacks[3]]
        assert choose("attack", "3") == sum(map(len, chosen))
        chosen = [run for run in chosen if run.facts.budget == 2]
        assert choose("budget", "2") == sum(map(len, chosen)) == ROWS
        assert choose("feature", "7") == sum(int((run.changes.keys == 7).sum()) for run in chosen)
        assert choose("order", "-passes") == sum(int((run.changes.keys == 7).sum()) for run in chosen)
        assert page.run("document.querySelectorAll('.entry').length") == 20
        assert page.errors == []
