"""A hundred thousand results: the report is quick to build, small to send and smooth to filter."""

import importlib.util
from pathlib import Path
from time import process_time
from types import ModuleType

import pytest

from hammingbox.report.page.folder import write_report
from toys.browser import browser, needs_browser

BENCHMARK = Path(__file__).parent.parent / "benchmarks" / "report.py"


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
    benchmark.fill(made, benchmark.DNA, 2_000, 50)
    return made


def test_the_page_is_built_in_seconds_and_small(folder: Path) -> None:
    begin = process_time()  # the machine may be busy; a budget of processor time is not touched by that
    page = write_report(folder)
    assert process_time() - begin < 7, "with three seconds to start the program: under ten"
    assert page.stat().st_size < 5_000_000
    assert "All 100,000 attacked rows are here" in page.read_text()


@needs_browser
def test_filters_stay_smooth(folder: Path, tmp_path: Path) -> None:
    path = write_report(folder)
    with browser(tmp_path / "profile") as page:
        page.open(path)
        page.run("document.querySelector('.rows').scrollIntoView({behavior: 'instant'})")
        page.wait("document.querySelector('.found').textContent.includes('of 100,000 rows')")
        assert page.run("document.querySelectorAll('.entry').length") == 20
        times = {}
        for name, value in (("outcome", ""), ("attack", "3"), ("budget", "2"), ("feature", "7"), ("order", "-passes")):
            times[name] = page.run(
                f"(async () => {{ const field = document.querySelector('form').elements['{name}'];"
                f"field.value = '{value}'; const begin = performance.now();"
                "const shown = new Promise((done) => new MutationObserver(done)"
                ".observe(document.querySelector('.entries'), {childList: true}));"
                "field.dispatchEvent(new Event('input', {bubbles: true})); await shown;"
                "return performance.now() - begin; })()"
            )
        assert max(times.values()) < 1000, times
        assert page.errors == []
