"""Figures as SVG text: the trade-off bars of the paper, and success against budget and against passes."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hammingbox.report.comparison import Comparison

# Colours that stay apart for colour-blind readers and in print (Okabe and Ito), and distinct markers besides.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7f7f7f", "#000000")
_MARKERS = "osD^vP*X"
_LINES = ("-", "--", ":")

_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "svg.hashsalt": "hammingbox",
}


@contextmanager
def _figure(width: float, height: float, *, columns: int = 1) -> Iterator[tuple[Figure, list[Axes]]]:
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure, [figure.add_subplot(1, columns, i + 1) for i in range(columns)]


def _svg(figure: Figure) -> str:
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")), transparent=True)
    return text.getvalue()[text.getvalue().index("<svg") :]


def _line(index: int) -> dict[str, Any]:
    """Colours first, then line styles and markers: no two of two dozen attacks look the same."""
    return {
        "color": _COLOURS[index % len(_COLOURS)],
        "linestyle": _LINES[index // len(_COLOURS) % len(_LINES)],
        "marker": _MARKERS[(index + index // len(_COLOURS)) % len(_MARKERS)],
        "markersize": 5,
    }


def success_against_budget(comparison: Comparison) -> str:
    """Success rate of every attack at every budget, with Wilson intervals as whiskers."""
    with _figure(7.2, 3.8) as (figure, (axes,)):
        for index, attack in enumerate(comparison.attacks):
            found = [(b, c.summary) for b in comparison.budgets if (c := comparison.cell(attack, b)) and c.summary]
            if not found:
                continue
            rate = [100 * s["success_rate"] for _, s in found]
            low = [100 * (s["success_rate"] - s["success_interval"][0]) for _, s in found]
            high = [100 * (s["success_interval"][1] - s["success_rate"]) for _, s in found]
            axes.errorbar(
                [b + 0.03 * (index - len(comparison.attacks) / 2) for b, _ in found],
                rate,
                yerr=(low, high),
                label=attack,
                linewidth=1.4,
                elinewidth=0.7,
                alpha=0.9,
                **_line(index),
            )
        axes.set(xlabel="budget (changed features)", ylabel="rows that fall, %", ylim=(-3, 103))
        axes.set_xticks(comparison.budgets)
        axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
        return _svg(figure)


def trade_off(comparison: Comparison, budget: int) -> str:
    """The paper's figure of trade-offs at one budget: 1 - success and time, both better when smaller."""
    found = [(a, c.summary) for a in comparison.attacks if (c := comparison.cell(a, budget)) and c.summary]
    names = [attack for attack, _ in found]
    with _figure(7.2, 0.9 + 0.28 * max(len(found), 1), columns=2) as (figure, (left, right)):
        left.barh(names, [100 * (1 - s["success_rate"]) for _, s in found], color=_COLOURS[0])
        left.set(xlabel="rows that stand, %  (1 - success)", xlim=(0, 100))
        right.barh(names, [max(s["seconds"], 1e-3) / max(s["correct"], 1) for _, s in found], color=_COLOURS[4])
        right.set(xlabel="seconds a row (log scale)", xscale="log")
        right.tick_params(labelleft=False)
        for axes in (left, right):
            axes.invert_yaxis()
            axes.grid(axis="y", visible=False)
        return _svg(figure)


def success_against_passes(comparison: Comparison) -> str:
    """Success rate against victim passes a row (forward and backward): up and to the left is better."""
    with _figure(7.2, 3.8) as (figure, (axes,)):
        for index, attack in enumerate(comparison.attacks):
            found = [c.summary for b in comparison.budgets if (c := comparison.cell(attack, b)) and c.summary]
            if found:
                axes.plot(
                    [max(1, (s["forward"] + s["backward"]) / max(s["correct"], 1)) for s in found],
                    [100 * s["success_rate"] for s in found],
                    label=attack,
                    linewidth=0.8,
                    **_line(index),
                )
        axes.set(xlabel="victim passes a row (log scale)", ylabel="rows that fall, %", ylim=(-3, 103), xscale="log")
        axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
        return _svg(figure)
