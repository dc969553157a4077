"""The report in a real browser, where one is installed."""

import shutil
import subprocess
from pathlib import Path

import pytest

from hammingbox.report.comparison import Comparison, Example
from hammingbox.report.html import render, write_report

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def comparison() -> Comparison:
    summary = {
        "success": 3, "success_rate": 0.3, "success_interval": [0.1, 0.6], "robust_error": 0.36, "rows": 11,
        "correct": 10, "mean_distance": 1.0, "forward": 100, "backward": 10, "seconds": 0.5,
    }  # fmt: skip
    made = Comparison("toy <data>", "lstm", 0.9, ("a", "b"), alphabet=True, command="hammingbox compare toy")
    from hammingbox.report.comparison import Cell

    made.cells = [
        Cell("pcaa", 1, summary),
        Cell("sa", 1, summary | {"success_rate": 0.2}),
        Cell("sa", 2, None, "too dear"),
    ]
    made.examples = [Example("pcaa", 1, 7, tuple("AC<T"), tuple("AG<T"), "a", "b", 0.99, 0.7)]
    return made


def test_the_page_says_what_was_measured_and_escapes_what_it_shows() -> None:
    page = render(comparison())
    assert "30.0" in page
    assert "3 of 10 rows, 95 % interval 10.0 to 60.0 %" in page
    assert "too dear" in page
    assert "A<mark><del>C</del><ins>G</ins></mark>&lt;T" in page
    assert "toy &lt;data&gt;" in page
    assert "<data>" not in page


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: install Debian's package `chromium`")
def test_the_page_opens_in_a_browser_without_errors(tmp_path: Path) -> None:
    write_report(comparison(), tmp_path / "report.html")
    assert CHROMIUM is not None
    done = subprocess.run(
        [
            CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            f"--user-data-dir={tmp_path / 'profile'}", "--enable-logging=stderr", "--virtual-time-budget=2000",
            "--dump-dom", (tmp_path / "report.html").as_uri(),
        ],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    assert "CONSOLE" not in done.stderr, "the page logs nothing"
    assert done.stdout.count("<svg") >= 3
    assert '<table id="attacks">' in done.stdout
