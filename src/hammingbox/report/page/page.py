"""The report: one self-contained HTML page, no network, light and dark."""

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from hammingbox.evaluation.diagnose import Finding
from hammingbox.evaluation.environment import versions
from hammingbox.files import write_bytes
from hammingbox.report.measured_what_if import MeasuredWhatIf
from hammingbox.report.page import charts
from hammingbox.report.page.packing import pack
from hammingbox.report.page.view_models import ResultSetView, percent
from hammingbox.report.result_set import ResultSet
from hammingbox.report.status import BROKEN

ROWS_LIMIT = 4_600_000
"""Characters of packed rows on one page: with them the page stays under 5 MB."""


_SCRIPTS = ("curves.js", "rows.js", "render_row.js", "list.js")
"""Parts of the page's one script, in one scope."""


@dataclass(frozen=True)
class Contents:
    """Everything a page shows.

    Attributes:
        result_sets: results by data set, allowed changes and goal.
        findings: what is doubtful about each result set, in the same order.
        commands: what made the results.
        environments: versions and machines they were made with.
        source: the file that holds every row.
        measured: success with a column frozen, by the hash of the victim's weights, for each result set.
    """

    result_sets: Sequence[ResultSet]
    findings: Sequence[Sequence[Finding]]
    commands: Sequence[str] = ()
    environments: Sequence[dict[str, Any]] = field(default_factory=tuple)
    source: str = "results.sqlite"
    measured: Sequence[Mapping[str, MeasuredWhatIf]] = ()


def write_page(contents: Contents, path: Path) -> None:
    """Writes the page atomically."""
    write_bytes(path, render(contents).encode())


def render(contents: Contents, *, rows_limit: int = ROWS_LIMIT) -> str:
    """The page as text, with at most `rows_limit` characters of packed rows."""
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_read),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "percent": percent,
        "share": lambda value: f"{100 * value:.1f}",
        "span": _span,
        "duration": duration,
        "count": lambda value: f"{value:,}",
        "short": _short,
        "breakable": _breakable,
    }
    total = max(1, sum(run.rows for results in contents.result_sets for run in results.runs))
    views = []
    for number, results in enumerate(contents.result_sets):
        part = sum(run.rows for run in results.runs) / total
        packed = pack(results, round(rows_limit * part))
        measured = contents.measured[number] if contents.measured else {}
        views.append(ResultSetView(number, results, packed, contents.findings[number], measured))
    script = "\n".join(['"use strict";', "(() => {", *map(_read, _SCRIPTS), "})();"])
    return environment.get_template("report.html.j2").render(
        contents=contents,
        views=views,
        broken=BROKEN,
        style=Markup(_read("page.css")),
        script=Markup(script),
        # Only this script may run, so a script that is hidden in the data never does.
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        swatch=lambda style: Markup(charts.swatch(style)),
        version=versions()["hammingbox"],
    )


def _read(name: str) -> str:
    return files("hammingbox.report.page").joinpath(name).read_text("utf-8")


def _span(interval: tuple[float, float]) -> str:
    low, high = interval
    return f"{100 * low:.0f}\N{EN DASH}{100 * high:.0f}\N{NO-BREAK SPACE}%"


def duration(seconds: float) -> str:
    """Seconds in a unit that reads well: 0.6 ms, 42 ms, 3.1 s, 2 min 5 s."""
    if seconds < 60:
        value, unit = (seconds, "s") if seconds >= 1 else (1e3 * seconds, "ms")
        if value < 0.1:
            value, unit = 1e6 * seconds, "\N{MICRO SIGN}s"
        return f"{value:.0f}\N{NO-BREAK SPACE}{unit}" if value >= 10 else f"{value:.1f}\N{NO-BREAK SPACE}{unit}"
    return f"{int(seconds) // 60:,}\N{NO-BREAK SPACE}min {int(seconds) % 60}\N{NO-BREAK SPACE}s"


def _breakable(name: str) -> Markup:
    """A name whose parts may stand on lines of their own, as HTML: names of columns are long, and have no blanks."""
    return Markup("<wbr>").join(re.split(r"(?<=[_/.-])(?=[^_/.-])", name))


def _short(value: float) -> str:
    """Three significant digits, and all digits of a large number: 0.0312 and 1,204."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
