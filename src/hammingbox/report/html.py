"""The report: one self-contained HTML page, no network, light and dark."""

from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path

import jinja2

import hammingbox
from hammingbox.files import write_bytes
from hammingbox.report import figures
from hammingbox.report.comparison import Cell, Comparison, Example


def write_report(comparison: Comparison, path: Path) -> None:
    """Writes the page atomically."""
    write_bytes(path, render(comparison).encode())


def render(comparison: Comparison) -> str:
    """The page as text."""
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string(files("hammingbox.report").joinpath("page.html.j2").read_text("utf-8"))
    return template.render(
        comparison=comparison,
        headline=_headline(comparison),
        trade_offs=[(budget, figures.trade_off(comparison, budget)) for budget in comparison.budgets],
        curves=figures.success_against_budget(comparison),
        passes=figures.success_against_passes(comparison),
        examples=[_marked(comparison, example) for example in _varied(comparison.examples)],
        describe=_describe,
        version=hammingbox.__version__,
    )


def _describe(cell: Cell | None) -> dict[str, str]:
    """What a cell of the table shows."""
    if cell is None or cell.summary is None:
        return {"rate": "-", "time": "", "title": cell.refused or "" if cell else ""}
    s = cell.summary
    low, high = s["success_interval"]
    per_row = max(s["correct"], 1)
    return {
        "rate": f"{100 * s['success_rate']:.1f}",
        "time": f"{s['seconds'] / per_row:.3g} s",
        "title": f"{s['success']} of {s['correct']} rows, 95 % interval {100 * low:.1f} to {100 * high:.1f} %, "
        f"robust error {100 * s['robust_error']:.1f} % of {s['rows']} rows, mean distance {s['mean_distance']:.2f}, "
        f"{s['forward'] / per_row:.0f} forward and {s['backward'] / per_row:.0f} backward passes a row",
    }


@dataclass(frozen=True)
class Headline:
    """The strongest result at each budget."""

    budget: int
    attack: str
    rate: str
    low: str
    high: str


def _headline(comparison: Comparison) -> list[Headline]:
    lines = []
    for budget in comparison.budgets:
        cells = [c for a in comparison.attacks if (c := comparison.cell(a, budget)) and c.summary]
        if cells:
            best = max(cells, key=lambda c: (c.summary or {})["success_rate"])
            summary = best.summary or {}
            low, high = summary["success_interval"]
            lines.append(
                Headline(
                    budget, best.attack, f"{100 * summary['success_rate']:.0f}", f"{100 * low:.0f}", f"{100 * high:.0f}"
                )
            )
    return lines


def _varied(examples: list[Example], limit: int = 24) -> list[Example]:
    """A few examples of every attack and budget, no row twice for one attack."""
    seen, chosen = set(), []
    for example in examples:
        key = (example.attack, example.row)
        if key not in seen:
            seen.add(key)
            chosen.append(example)
    step = max(1, len(chosen) // limit)
    return chosen[::step][:limit]


def _marked(comparison: Comparison, example: Example) -> dict[str, object]:
    """A row as HTML with its changes marked: letters in line, table columns as `column: old -> new`."""
    changes = sum(a != b for a, b in zip(example.before, example.after, strict=True))
    if comparison.alphabet:
        text = "".join(
            escape(a) if a == b else f"<mark><del>{escape(a)}</del><ins>{escape(b)}</ins></mark>"
            for a, b in zip(example.before, example.after, strict=True)
        )
    else:
        text = " ".join(
            escape(a) if a == b else f"<mark><del>{escape(a)}</del> <ins>{escape(b)}</ins></mark>"
            for a, b in zip(example.before, example.after, strict=True)
        )
    return {"example": example, "text": text, "changes": changes}
