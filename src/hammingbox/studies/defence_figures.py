"""Figures of a defence table: bars of errors under each attack, and the error against the budget."""

from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from statistics import fmean

from hammingbox.report.artefacts.figures import (
    BarPanel,
    CurvePanel,
    Figure,
    Measured,
    curves_figure,
    grouped_bars_figure,
)
from hammingbox.studies.grid import Grid
from hammingbox.studies.line_errors import CLEAN, WORST, LineErrors, line_errors
from hammingbox.studies.recipe import Recipe
from hammingbox.studies.statistics import over_seeds
from hammingbox.studies.study import Size

OfPaper = Callable[[Recipe, str, int, set[str]], float | None]
"""The paper's error of a line under an attack at a budget, given the attacks that ran."""


def bar_figures(titles: Mapping[int, str], grid: Grid, size: Size, of_paper: OfPaper) -> dict[str, Figure]:
    """For every budget, groups of bars: one group per attack, one bar per defence, one panel per model.

    Args:
        titles: by budget.
        grid: the runs.
        size: lines, attacks and budgets.
        of_paper: the paper's numbers, marked on the bars.
    """
    attacks = (CLEAN, *size.attacks, WORST)
    figures = {}
    for budget, title in titles.items():
        panels = []
        for name, lines in _panels(grid, size).items():
            bars = {}
            for short, line in lines.items():
                cells = [cell for cell in grid.of(line) if cell.budget == budget]
                ran = {cell.attack for cell in cells if cell.runs}
                bars[short] = [
                    None if (found := line_errors(cells, attack)) is None
                    else _measured(found, of_paper(line, attack, budget, ran))
                    for attack in attacks
                ]  # fmt: skip
            panels.append(BarPanel(name, attacks, bars))
        if panels:
            figures[f"errors-budget{budget}"] = grouped_bars_figure(title, panels)
    return figures


def budget_figures(title: str, grid: Grid, size: Size) -> dict[str, Figure]:
    """The error under the worst of all attacks against the budget, one curve per line; nothing with one budget."""
    if len(size.budgets) < 2:
        return {}
    panels = []
    for name, lines in _panels(grid, size).items():
        curves = {
            short: [
                None if found is None else _measured(found)
                for found in (_worst(grid, line, budget) for budget in size.budgets)
            ]
            for short, line in lines.items()
        }
        panels.append(CurvePanel(name, size.budgets, curves))
    return (
        {"errors-by-budget": curves_figure(f"{title}: error under the worst attack by budget", panels)}
        if panels
        else {}
    )


def _worst(grid: Grid, line: Recipe, budget: int) -> LineErrors | None:
    return line_errors([cell for cell in grid.of(line) if cell.budget == budget], WORST)


def _measured(found: LineErrors, paper: float | None = None) -> Measured:
    """Mean error in % with its interval over rows."""
    low, high = over_seeds(found.rates).percent().rows
    return Measured(100 * fmean(found.of_trainings), low, high, paper)


def _panels(grid: Grid, size: Size) -> dict[str, dict[str, Recipe]]:
    """Lines that ran, by model: the name of the panel, and each line under what is special in its label."""
    groups: dict[tuple[object, ...], list[Recipe]] = {}
    for line in size.victims:
        if grid.of(line):
            groups.setdefault((line.data, line.model, line.neighbours), []).append(line)
    return dict(_panel(lines) for lines in groups.values())


def _panel(lines: Sequence[Recipe]) -> tuple[str, dict[str, Recipe]]:
    """The words that all labels begin with name the panel, the rest of each label names the line."""
    parts = [line.label.split(", ")[:-1] for line in lines]
    shared = takewhile(lambda words: len(set(words)) == 1, zip(*parts, strict=False))
    begin = ", ".join(words[0] for words in shared)
    name = f"{lines[0].data}, {begin}" if begin else lines[0].data
    return name, {line.label.removeprefix(f"{begin}, ") if begin else line.label: line for line in lines}
