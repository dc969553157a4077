"""Figures for papers, as SVG and PDF."""

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any, TypeAlias

from hammingbox.errors import InputError
from hammingbox.files import write_bytes
from hammingbox.report.labels import attack_labels

if TYPE_CHECKING:
    import matplotlib.figure

Figure: TypeAlias = "matplotlib.figure.Figure"
"""A figure. matplotlib is an optional dependency, imported when the first figure is drawn."""

_BLUE, _YELLOW, _GREEN = "#0072B2", "#E69F00", "#009E73"
_COLOURS = ("#999999", _YELLOW, "#56B4E9", _GREEN, _BLUE, "#D55E00", "#CC79A7", "#F0E442")
"""Colours that people with any colour vision tell apart."""
_STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "hammingbox",
    "svg.fonttype": "none",
    "pdf.fonttype": 42,  # fonts that can be edited and searched
}


def check_matplotlib() -> None:
    """Raises an error if figures cannot be drawn: call it before work whose figures come last.

    Raises:
        InputError: matplotlib is not installed.
    """
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise InputError(
            "expected matplotlib to draw figures, got no such package. Run: pip install 'hammingbox[figures]'."
        ) from error


@contextmanager
def _style() -> Iterator[Callable[..., "matplotlib.figure.Figure"]]:
    """The settings all figures are drawn and saved with; gives the class of a figure."""
    check_matplotlib()
    import matplotlib.figure

    with matplotlib.rc_context(_STYLE):
        yield matplotlib.figure.Figure


@dataclass(frozen=True)
class Bar:
    """An attack in a figure of trade-offs: unbroken rows in %, and seconds per row."""

    name: str
    unbroken: float
    seconds: float


def trade_off_figure(title: str, bars: Sequence[Bar]) -> Figure:
    """Unbroken rows (blue) and time (yellow, logarithmic); lower is better for the attacker."""
    with _style() as new_figure:
        figure = new_figure(figsize=(0.7 + 0.6 * len(bars), 2.6), layout="constrained")
        left = figure.add_subplot()
        right = left.twinx()
        places = range(len(bars))
        left.bar([p - 0.2 for p in places], [bar.unbroken for bar in bars], 0.4, color=_BLUE)
        right.bar([p + 0.2 for p in places], [max(bar.seconds, 1e-5) for bar in bars], 0.4, color=_YELLOW)
        left.set_ylabel("unbroken rows, %", color=_BLUE)
        left.set_ylim(0, 100)
        right.set_ylabel("seconds per row", color="#9a6a00")
        right.set_yscale("log")
        right.spines["right"].set_visible(True)
        left.set_xticks(list(places), [bar.name for bar in bars], rotation=30, ha="right")
        left.set_title(title)
    return figure


def curve_figure(title: str, points: Mapping[str, tuple[float, float]]) -> Figure:
    """Defences by clean error and error under attack, both in %; lower left is better."""
    with _style() as new_figure:
        figure = new_figure(figsize=(6.5, 3.2), layout="constrained")
        axes = figure.add_subplot()
        for marker, (name, (clean, robust)) in zip("osD^vP*X" * len(points), points.items(), strict=False):
            axes.plot(clean, robust, marker, label=name)
        figure.legend(loc="outside right center", frameon=False)
        axes.set_xlabel("clean error, %")
        axes.set_ylabel("error under the worst attack, %")
        axes.set_title(title)
        axes.grid(alpha=0.3)
    return figure


def epochs_figure(quantity: str, curves: Mapping[str, Sequence[float]]) -> Figure:
    """A number of each training by epoch, counted from 1."""
    with _style() as new_figure:
        figure = new_figure(figsize=(6.5, 3.2), layout="constrained")
        axes = figure.add_subplot()
        for marker, (name, values) in zip("osD^vP*X" * len(curves), curves.items(), strict=False):
            axes.plot(range(1, len(values) + 1), values, marker=marker, markersize=4, label=name)
        figure.legend(loc="outside right center", frameon=False)
        axes.set_xlabel("epoch")
        axes.set_ylabel(quantity)
        axes.grid(alpha=0.3)
    return figure


@dataclass(frozen=True)
class Measured:
    """An error in % with its interval over rows, and the paper's, if it has one."""

    value: float
    low: float
    high: float
    paper: float | None = None

    @property
    def whiskers(self) -> tuple[float, float]:
        """How far the interval reaches below and above the value."""
        return max(self.value - self.low, 0.0), max(self.high - self.value, 0.0)


@dataclass(frozen=True)
class BarPanel:
    """Errors of one model: bars of every defence, one per attack; None where an attack did not run."""

    title: str
    attacks: Sequence[str]
    bars: Mapping[str, Sequence[Measured | None]]


def grouped_bars_figure(title: str, panels: Sequence[BarPanel]) -> Figure:
    """Error (y) under each attack (x), one bar per defence with its interval; black marks are the paper's errors."""
    with _style() as new_figure:
        figure = new_figure(figsize=(7.0, 2.4 * len(panels) + 0.6), layout="constrained")
        for i, panel in enumerate(panels):
            axes = figure.add_subplot(len(panels), 1, i + 1)
            width = 0.8 / max(len(panel.bars), 1)
            marked = False
            for j, (name, bars) in enumerate(panel.bars.items()):
                drawn = [(k + (j + 0.5) * width - 0.4, bar) for k, bar in enumerate(bars) if bar is not None]
                whiskers = [list(ends) for ends in zip(*(bar.whiskers for _, bar in drawn), strict=True)]
                axes.bar(
                    [x for x, _ in drawn], [bar.value for _, bar in drawn], width, color=_COLOURS[j % len(_COLOURS)],
                    label=name, yerr=whiskers or None, error_kw={"linewidth": 0.6},
                )  # fmt: skip
                of_paper = [(x, bar.paper) for x, bar in drawn if bar.paper is not None]
                if of_paper:
                    axes.hlines(
                        [value for _, value in of_paper], [x - width / 2 for x, _ in of_paper],
                        [x + width / 2 for x, _ in of_paper], color="black", linewidth=1.4,
                        label="" if marked else "the paper's",
                    )  # fmt: skip
                    marked = True
            axes.set_xticks(range(len(panel.attacks)), panel.attacks)
            axes.set(ylabel="error, %", ylim=(0, 100), title=panel.title)
            axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
        figure.suptitle(title)
    return figure


@dataclass(frozen=True)
class CurvePanel:
    """Errors of one model: a curve of every defence over budgets; None where nothing ran."""

    title: str
    budgets: Sequence[int]
    curves: Mapping[str, Sequence[Measured | None]]


def curves_figure(title: str, panels: Sequence[CurvePanel]) -> Figure:
    """Error (y) against the budget (x, evenly spaced), one curve per defence with its intervals."""
    with _style() as new_figure:
        figure = new_figure(figsize=(7.0, 2.6 * len(panels) + 0.6), layout="constrained")
        for i, panel in enumerate(panels):
            axes = figure.add_subplot(len(panels), 1, i + 1)
            for j, (name, points) in enumerate(panel.curves.items()):
                drawn = [(place, point) for place, point in enumerate(points) if point is not None]
                whiskers = [list(ends) for ends in zip(*(point.whiskers for _, point in drawn), strict=True)]
                axes.errorbar(
                    [place for place, _ in drawn], [point.value for _, point in drawn], yerr=whiskers or None,
                    color=_COLOURS[j % len(_COLOURS)], marker="osD^vP*X"[j % 8], markersize=4, linewidth=1.2,
                    elinewidth=0.6, label=name,
                )  # fmt: skip
            axes.set_xticks(range(len(panel.budgets)), [str(budget) for budget in panel.budgets])
            axes.set(xlabel="budget", ylabel="error, %", ylim=(0, 103), title=panel.title)
            axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
        figure.suptitle(title)
    return figure


@dataclass(frozen=True)
class Panel:
    """A feature's distribution: unnormalised pi of every category, and which one is the original."""

    title: str
    pi: tuple[float, ...]
    original: int
    likeliest: int


def concentration_figure(rows: Sequence[Sequence[Panel]]) -> Figure:
    """One row of panels per budget; the original category in green, the likeliest one in yellow if it differs."""
    with _style() as new_figure:
        columns = len(rows[0])
        figure = new_figure(figsize=(2.4 * columns, 1.7 * len(rows)), layout="constrained")
        for i, panels in enumerate(rows):
            for j, panel in enumerate(panels):
                axes = figure.add_subplot(len(rows), columns, i * columns + j + 1)
                # Lines too short to see would make a file of megabytes.
                seen = [(place, pi) for place, pi in enumerate(panel.pi) if pi > 1e-3 * max(panel.pi)]
                axes.vlines([place for place, _ in seen], 0, [pi for _, pi in seen], color=_BLUE, linewidth=1.0)
                axes.set_xlim(-0.02 * len(panel.pi), 1.02 * len(panel.pi))
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
    """Measured passes per row against n, d and epsilon; a line is (axis, attack, values, passes)."""
    with _style() as new_figure:
        axes_names = list(dict.fromkeys(axis for axis, *_ in lines))
        figure = new_figure(figsize=(2.4 * len(axes_names) + 0.8, 2.4), layout="constrained")
        for i, name in enumerate(axes_names):
            axes = figure.add_subplot(1, len(axes_names), i + 1)
            here = [line for line in lines if line[0] == name]
            for marker, (_, attack, values, passes) in zip("osD^v", here, strict=False):
                axes.plot(values, passes, marker=marker, markersize=4, label=attack)
            axes.set(xlabel=name, yscale="log", xscale="linear" if name == "ε" else "log")
            axes.set_xticks(here[0][2], [f"{value:g}" for value in here[0][2]])
            axes.set_xticks([], minor=True)
            if i == 0:
                axes.set_ylabel("victim passes per row")
        handles, labels = axes.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside right center", frameon=False)
    return figure


def success_figure(records: Sequence[dict[str, Any]]) -> Figure:
    """Success against budget with Wilson's intervals as whiskers.

    One panel per victim, part of the data and S(x); one line per attack with its settings and goal.

    Args:
        records: one per run, see `report.artefacts.export`; runs that differ only in their seed are averaged.
    """
    done = [record for record in records if record["attacked"]]  # a rate of no rows is no point
    names = attack_labels([(r["attack"], r["settings"], r["goal"]) for r in done])
    keys = ("data", "split", "space_sha256", "model", "defence", "victim", "victim_sha256")
    panels: dict[tuple[str, ...], list[tuple[str, dict[str, Any]]]] = {}
    for name, record in zip(names, done, strict=True):
        panels.setdefault(tuple(record[key] for key in keys), []).append((name, record))
    several = {key: len({record[key] for record in done}) > 1 for key in ("split", "space_sha256")}
    with _style() as new_figure:
        figure = new_figure(figsize=(3.4 * max(len(panels), 1) + 1.2, 2.8), layout="constrained")
        handles: dict[str, Any] = {}
        for i, here in enumerate(panels.values()):
            axes = figure.add_subplot(1, len(panels), i + 1)
            for marker, name in zip("osD^vP*X" * len(here), dict.fromkeys(name for name, _ in here), strict=False):
                mine = [record for other, record in here if other == name]
                budgets = sorted({r["budget"] for r in mine})
                seeds = [[r for r in mine if r["budget"] == b] for b in budgets]
                rate, low, high = (
                    [100 * sum(r[key] for r in runs) / len(runs) for runs in seeds]
                    for key in ("success_rate", "success_low", "success_high")
                )
                whiskers = (
                    [a - b for a, b in zip(rate, low, strict=True)],
                    [b - a for a, b in zip(rate, high, strict=True)],
                )
                handles[name] = axes.errorbar(
                    budgets, rate, yerr=whiskers, marker=marker, markersize=4, linewidth=1.2, elinewidth=0.6
                )
            axes.set(xlabel="budget", ylim=(-3, 103), title=_panel_title(here[0][1], several))
            axes.set_xticks(sorted({r["budget"] for _, r in here}))
            if i == 0:
                axes.set_ylabel("broken rows, %")
        figure.legend(list(handles.values()), list(handles), loc="outside right center", frameon=False)
    return figure


def _panel_title(record: dict[str, Any], several: dict[str, bool]) -> str:
    parts = [record["data"], *([f"{record['split']} rows"] if several["split"] else []), record["model"]]
    title = ", ".join([*parts, record["defence"].partition("(")[0]])
    return f"{title}\n{fill(record['space'], 44)}" if several["space_sha256"] else title


def figure_bytes(figure: Figure, kind: str) -> bytes:
    """A figure as "svg" or "pdf", without a time stamp: the same figure gives the same bytes."""
    plain = {"svg": dict.fromkeys(("Date", "Creator", "Format", "Type")), "pdf": {"CreationDate": None}}
    content = io.BytesIO()
    with _style():
        figure.savefig(content, format=kind, metadata=plain[kind])
    return content.getvalue()


def save_figure(figure: Figure, path: Path) -> list[Path]:
    """Writes PATH.svg and PATH.pdf."""
    written = []
    for kind in ("svg", "pdf"):
        file = path.with_name(f"{path.name}.{kind}")
        write_bytes(file, figure_bytes(figure, kind))
        written.append(file)
    return written
