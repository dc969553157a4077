"""Figures for papers, as SVG and PDF."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from hammingbox.files import write_bytes

_BLUE, _YELLOW, _GREEN = "#0072B2", "#E69F00", "#009E73"
_STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "hammingbox",
    "svg.fonttype": "none",
    "pdf.fonttype": 42,  # fonts that a reader's program can edit and search
}


@dataclass(frozen=True)
class Bar:
    """An attack in a figure of trade-offs: rows that stand in %, and seconds a row."""

    name: str
    standing: float
    seconds: float


def trade_off_figure(title: str, bars: Sequence[Bar]) -> Figure:
    """Rows that stand (blue) and time (yellow, logarithmic); both are better for the attacker when smaller."""
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(0.7 + 0.6 * len(bars), 2.6), layout="constrained")
        left = figure.add_subplot()
        right = left.twinx()
        places = range(len(bars))
        left.bar([p - 0.2 for p in places], [bar.standing for bar in bars], 0.4, color=_BLUE)
        right.bar([p + 0.2 for p in places], [max(bar.seconds, 1e-5) for bar in bars], 0.4, color=_YELLOW)
        left.set_ylabel("rows that stand, %", color=_BLUE)
        left.set_ylim(0, 100)
        right.set_ylabel("seconds a row", color="#9a6a00")
        right.set_yscale("log")
        right.spines["right"].set_visible(True)
        left.set_xticks(list(places), [bar.name for bar in bars], rotation=30, ha="right")
        left.set_title(title)
    return figure


@dataclass(frozen=True)
class Panel:
    """A feature's distribution: unnormalised pi of every category, and which one is the original."""

    title: str
    pi: tuple[float, ...]
    original: int
    likeliest: int


def concentration_figure(rows: Sequence[Sequence[Panel]]) -> Figure:
    """One row of panels a budget; the original category in green, a likeliest one that differs in yellow."""
    with matplotlib.rc_context(_STYLE):
        columns = len(rows[0])
        figure = Figure(figsize=(2.4 * columns, 1.7 * len(rows)), layout="constrained")
        for i, panels in enumerate(rows):
            for j, panel in enumerate(panels):
                axes = figure.add_subplot(len(rows), columns, i * columns + j + 1)
                axes.vlines(range(len(panel.pi)), 0, panel.pi, color=_BLUE, linewidth=1.0)
                axes.plot(panel.original, panel.pi[panel.original], "o", color=_GREEN, markersize=4)
                if panel.likeliest != panel.original:
                    axes.plot(panel.likeliest, panel.pi[panel.likeliest], "D", color=_YELLOW, markersize=4)
                axes.set_title(panel.title, fontsize=8)
                axes.set_ylim(bottom=0)
                if j == 0:
                    axes.set_ylabel("π, unnormalised")
                if i == len(rows) - 1:
                    axes.set_xlabel("category")
    return figure


def growth_figure(lines: Sequence[tuple[str, str, Sequence[float], Sequence[float]]]) -> Figure:
    """Measured passes a row against n, d and epsilon: (axis, attack, values, passes)."""
    with matplotlib.rc_context(_STYLE):
        axes_names = list(dict.fromkeys(axis for axis, *_ in lines))
        figure = Figure(figsize=(2.6 * len(axes_names), 2.6), layout="constrained")
        for i, name in enumerate(axes_names):
            axes = figure.add_subplot(1, len(axes_names), i + 1)
            for marker, (axis, attack, values, passes) in zip("osD^v" * len(lines), lines, strict=False):
                if axis == name:
                    axes.plot(values, passes, marker=marker, markersize=4, label=attack)
            axes.set(xlabel=name, yscale="log", xscale="linear" if name == "ε" else "log")
            if i == 0:
                axes.set_ylabel("victim passes a row")
                axes.legend(frameon=False, fontsize=7)
    return figure


def save_figure(figure: Figure, path: Path) -> list[Path]:
    """Writes PATH.svg and PATH.pdf, the same bytes for the same figure."""
    written = []
    plain = {"svg": dict.fromkeys(("Date", "Creator", "Format", "Type")), "pdf": {"CreationDate": None}}
    for kind, metadata in plain.items():
        content = io.BytesIO()
        with matplotlib.rc_context(_STYLE):
            figure.savefig(content, format=kind, metadata=metadata)
        write_bytes(path.with_name(f"{path.name}.{kind}"), content.getvalue())
        written.append(path.with_name(f"{path.name}.{kind}"))
    return written
