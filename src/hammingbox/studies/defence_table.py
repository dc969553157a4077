"""Tables of defences: the error of each defended victim, clean and under each attack, beside the paper's."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import ClassVar

from hammingbox.errors import InputError
from hammingbox.evaluation.rates import Rate
from hammingbox.report.artefacts.figures import Figure
from hammingbox.report.artefacts.table import Column, Interval, Table, Value
from hammingbox.studies.defence_figures import bar_figures, budget_figures
from hammingbox.studies.grid import Grid, GridCell, plan_grid, refusals, run_grid
from hammingbox.studies.line_errors import (
    CLEAN,
    STRONGEST,
    WORST,
    WORST_OF_PAPER,
    WORST_ON_ALL_ROWS,
    LineErrors,
    differ_in_rows,
    line_errors,
)
from hammingbox.studies.order_table import Comparison, compare, matching_pairs, order_table
from hammingbox.studies.plan import Work
from hammingbox.studies.ratio_table import error_ratio, ratio_table, standard_line
from hammingbox.studies.recipe import Recipe
from hammingbox.studies.statistics import half_width, over_seeds
from hammingbox.studies.study import Outcome, Size, Study
from hammingbox.studies.training_table import training_table
from hammingbox.studies.workspace import Workspace

COMMON_REASONS = (
    "Error: rows that are wrong with or without the attack, over all rows, re-checked on discrete rows.",
    "Victims, data and training lengths are those of the preset, not the paper's: compare the order of the lines and "
    "the distance to the standard victim rather than the values.",
)

_COLUMNS = (
    Column.text("victim"),
    Column.text("attack"),
    Column.number("error %", ".1f"),
    Column.number("± trainings", ".1f"),
    Column.number("± seeds", ".1f"),
    Column.interval("± rows", ".0f", separator="-"),
    Column.number("trainings"),
    Column.number("rows"),
    Column.number("paper %", ".1f"),
    Column.number("diff.", "+.1f"),
)


@dataclass(frozen=True, kw_only=True)
class DefenceTable(Study):
    """Defences against attacks at one or more budgets.

    Attributes:
        paper: the paper's error in % by victim label and attack; attack "none" is the clean error.
        paper_data: the data sets of the paper's numbers; victims of other data are shown without them.
        paper_budget: the budget of the paper's numbers, shown at no other; None if they are from every budget shown.
        renamed: the paper's name of an attack, where it differs from ours.
        figure: the paper's figure of these bars, such as "Figure 3".
        compared: pairs of labels, the one whose error should be lower first; see `matching_pairs`.
        standards: label of the standard line that a line is divided by, where it is not the line's own start or the
            first standard line of the same model.

    Raises:
        InputError: a pair that names lines of no preset.
    """

    paper: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    paper_data: tuple[str, ...] = ()
    paper_budget: int | None = None
    renamed: Mapping[str, str] = field(default_factory=dict)
    figure: str = ""
    compared: tuple[tuple[str, str], ...] = ()
    standards: Mapping[str, str] = field(default_factory=dict)

    draws_bars: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for pair in self.compared:
            if self.sizes and not any(matching_pairs(size.victims, [pair]) for size in self.sizes.values()):
                raise InputError(
                    f"expected a pair of labels to compare, got {pair}, which no preset of {self.name} has."
                )

    def plan(self, workspace: Workspace, size: Size) -> list[Work]:
        """Trainings and attacks."""
        return plan_grid(workspace, size)

    def run(self, workspace: Workspace, size: Size) -> Outcome:
        """Trains the victims that are not there yet, attacks them, and tabulates their errors.

        All lines are attacked at the first budget before any is at the next: a study cut short can compare them.
        """
        for budget in size.budgets[:-1]:
            run_grid(workspace, replace(size, budgets=(budget,)))
        return self.outcome(run_grid(workspace, size), size)

    def outcome(self, grid: Grid, size: Size) -> Outcome:
        """For every budget a table of errors, of orders and of ratios; the cost of the trainings; figures."""
        # A study that was cut short has no table of dashes.
        ran = [budget for budget in size.budgets if any(evaluated(grid, line, budget) for line in size.victims)]
        size = replace(size, budgets=tuple(ran) or size.budgets)
        tables = []
        for budget in size.budgets:
            tables.append(self._errors(grid, size, budget))
            tables += self._orders(grid, size, budget)
            tables += self._ratios(grid, size, budget)
        trainings = training_table(f"{self.title}: trainings", grid, size.victims)
        tables += [trainings] if trainings.rows else []
        return Outcome(tables, self._figures(grid, size), skipped=grid.skipped, notes=(*self.reasons, _seeds(size)))

    def _lines(self, grid: Grid, size: Size, budget: int) -> Iterator[str]:
        """What a victim is attacked with: nothing, every attack, and unions of attacks."""
        fewer = any(differ_in_rows(evaluated(grid, line, budget)) for line in size.victims)
        yield from (CLEAN, *size.attacks, STRONGEST, WORST_OF_PAPER, WORST)
        if fewer:
            yield WORST_ON_ALL_ROWS

    def _errors(self, grid: Grid, size: Size, budget: int) -> Table:
        rows = tuple(
            self._row(grid, recipe, attack, budget)
            for recipe in size.victims
            if grid.of(recipe)
            for attack in self._lines(grid, size, budget)
        )
        return Table(f"{self.title}, budget {budget}", _COLUMNS, rows, notes=refusals(grid.cells))

    def _row(self, grid: Grid, recipe: Recipe, attack: str, budget: int) -> tuple[Value, ...]:
        cells = evaluated(grid, recipe, budget)
        found = line_errors(cells, attack)
        paper = self._of_paper(recipe, attack, budget, {cell.attack for cell in cells})
        shown = f"{attack} ({self.renamed[attack]})" if attack in self.renamed else attack
        if found is None:
            return (recipe.name, shown, None, None, None, None, None, None, paper, None)
        error = 100 * fmean(found.of_trainings)
        return (
            recipe.name,
            shown,
            error,
            _percent(half_width(found.of_trainings)),
            _percent(half_width(found.of_seeds)),
            Interval(*over_seeds(found.rates).percent().rows),
            len(found.trainings),
            len(found.numbers),
            paper,
            None if paper is None else error - paper,
        )

    def _orders(self, grid: Grid, size: Size, budget: int) -> list[Table]:
        """The table of orders; none without pairs that ran."""
        comparisons = [
            one
            for pair in matching_pairs(size.victims, self.compared)
            for attack in self._lines(grid, size, budget)
            if (one := self._compare(grid, pair, attack, budget)) is not None
        ]
        return [order_table(f"{self.title}, budget {budget}: order", comparisons)] if comparisons else []

    def _compare(self, grid: Grid, pair: tuple[Recipe, Recipe], attack: str, budget: int) -> Comparison | None:
        papers = self._of_paper_both(grid, pair, attack, budget)
        difference = None if papers is None else papers[0] - papers[1]
        return compare(*pair, attack, self._errors_of_both(grid, pair, attack, budget), difference)

    def _ratios(self, grid: Grid, size: Size, budget: int) -> list[Table]:
        """The table of ratios; none without defended victims beside their standard ones."""
        ratios = []
        for line in size.victims:
            standard = standard_line(line, size.victims, self.standards)
            for attack in self._lines(grid, size, budget):
                if standard is None or attack == CLEAN:
                    continue
                pair = line, standard
                ratio, papers = (
                    error_ratio(*self._errors_of_both(grid, pair, attack, budget)),
                    self._of_paper_both(grid, pair, attack, budget),
                )
                if ratio is not None:
                    of_paper = papers[0] / papers[1] if papers else None
                    ratios.append((line, standard, attack, ratio, of_paper))
        return [ratio_table(f"{self.title}, budget {budget}: ratio to standard", ratios)] if ratios else []

    def _errors_of_both(
        self, grid: Grid, pair: tuple[Recipe, Recipe], attack: str, budget: int
    ) -> tuple[LineErrors | None, LineErrors | None]:
        one, two = (line_errors(evaluated(grid, line, budget), attack) for line in pair)
        return one, two

    def _of_paper_both(
        self, grid: Grid, pair: tuple[Recipe, Recipe], attack: str, budget: int
    ) -> tuple[float, float] | None:
        """The paper's errors of two lines in %, if it has both."""
        one, two = (
            self._of_paper(line, attack, budget, {cell.attack for cell in evaluated(grid, line, budget)})
            for line in pair
        )
        return None if one is None or two is None else (one, two)

    def _of_paper(self, recipe: Recipe, attack: str, budget: int, ran: set[str]) -> float | None:
        """The paper's error. Its strongest attack is chosen among those that ran here."""
        applies = recipe.data in self.paper_data and (attack == CLEAN or self.paper_budget in (None, budget))
        values = self.paper.get(recipe.label, {}) if applies else {}
        if attack == STRONGEST:
            return max((value for name, value in values.items() if name in ran), default=None)
        return values.get(attack)

    def _figures(self, grid: Grid, size: Size) -> dict[str, Figure]:
        """Bars for every budget, and the error against the budget where there are several."""
        if not self.draws_bars:
            return {}
        titles = {
            budget: f"{self.title}: error under each attack, budget {budget}"
            + (f" ({self.figure} of the paper)" if self.figure and self.paper_budget in (None, budget) else "")
            for budget in size.budgets
        }
        return bar_figures(titles, grid, size, self._of_paper) | budget_figures(self.title, grid, size)


def evaluated(grid: Grid, recipe: Recipe, budget: int) -> list[GridCell]:
    """The cells of a line at a budget whose attacks ran, all trainings."""
    return [cell for cell in grid.of(recipe) if cell.budget == budget and cell.runs]


def errors(cells: list[GridCell], attack: str) -> list[Rate]:
    """Errors of one line of the table, one per training and seed of the attack; empty when nothing ran."""
    found = line_errors(cells, attack)
    return [] if found is None else found.rates


def _percent(value: float | None) -> float | None:
    return None if value is None else 100 * value


def _seeds(size: Size) -> str:
    """Which rows and seeds the numbers are from."""
    most = max((line.trainings for line in size.victims), default=1)
    trainings = f"{most} trainings per victim at most, seeds 0 to {most - 1}" if most > 1 else "one training per victim"
    attacks = f"seeds 0 to {size.seeds - 1} of randomised attacks" if size.seeds > 1 else "seed 0 of randomised attacks"
    return (
        f"At most {size.rows:,} test rows, drawn with a fixed seed, the same for all victims; {trainings}; {attacks}. "
        "± trainings and ± seeds: half the width of a 95 % t-interval over trainings and over attack seeds; ± rows: "
        "95 % Wilson interval of the mean."
    )
