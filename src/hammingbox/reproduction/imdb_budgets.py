"""Standard victims of IMDB by the number of words that may change: where do they reach the paper's errors?"""

from dataclasses import dataclass, replace

from hammingbox.data.texts import LENGTH
from hammingbox.report.artefacts.table import Column, Table, Value
from hammingbox.reproduction.recipes import (
    IMDB_CNN_WITH_VECTORS,
    IMDB_LSTM_SHORT,
    IMDB_LSTM_WITH_VECTORS,
    SPLICE_QUICK,
)
from hammingbox.studies.defence_table import COMMON_REASONS, DefenceTable, evaluated
from hammingbox.studies.grid import Grid, run_grid
from hammingbox.studies.line_errors import WORST, line_errors
from hammingbox.studies.recipe import Recipe
from hammingbox.studies.study import Outcome, Size
from hammingbox.studies.workspace import Workspace

_PAPER = {"word CNN, standard": 82.02, "BiLSTM, standard": 94.86}
"""The errors under SA in Table 4, whose budget the paper does not state."""

_COLUMNS = (
    Column.text("victim"),
    Column.number("paper %", ".1f"),
    Column.number("smallest budget that reaches it"),
    Column.number("error % there", ".1f"),
    Column.number("error % at the largest budget", ".1f"),
)


@dataclass(frozen=True, kw_only=True)
class BudgetTable(DefenceTable):
    """A table of errors for each budget, and the smallest budget at which each victim reaches the paper's error."""

    def run(self, workspace: Workspace, size: Size) -> Outcome:
        """Every line at all budgets before the next line: each is a curve of its own."""
        return self.outcome(run_grid(workspace, size), size)

    def outcome(self, grid: Grid, size: Size) -> Outcome:
        """The table of reached errors comes first."""
        outcome = super().outcome(grid, size)
        rows: list[tuple[Value, ...]] = []
        for recipe in size.victims:
            errors = {
                budget: 100 * sum(found.of_trainings) / len(found.of_trainings)
                for budget in size.budgets
                if (found := line_errors(evaluated(grid, recipe, budget), WORST)) is not None
            }
            if errors:
                paper = _PAPER.get(recipe.label)
                reached = None if paper is None else min((b for b, e in errors.items() if e >= paper), default=None)
                at = None if reached is None else errors[reached]
                rows.append((recipe.name, paper, reached, at, errors[max(errors)]))
        outcome.tables.insert(0, Table(f"{self.title}: the paper's error", _COLUMNS, tuple(rows)))
        return outcome


def _standards(*victims: Recipe) -> tuple[Recipe, ...]:
    return tuple(replace(victim, label=f"{victim.label}, standard") for victim in victims)


_BUDGETS = (1, 2, 4, 8, 16, LENGTH)

IMDB_BUDGETS = BudgetTable(
    name="imdb-budgets",
    title="Standard victims of IMDB by budget",
    source="an addition to Table 4",
    sizes={
        "smoke": Size(victims=(SPLICE_QUICK,), rows=20, budgets=(1, 60), attacks=("gga", "swap")),
        "cpu": Size(
            victims=_standards(IMDB_CNN_WITH_VECTORS, IMDB_LSTM_SHORT),
            rows=500,
            budgets=_BUDGETS,
            attacks=("gga", "ga", "swap"),
        ),
        "paper": Size(
            victims=_standards(IMDB_CNN_WITH_VECTORS, IMDB_LSTM_WITH_VECTORS),
            rows=1000,
            budgets=_BUDGETS,
            attacks=("gga", "ga", "pcaa", "auto"),
        ),
    },
    reasons=(
        *COMMON_REASONS,
        "The paper does not state how many words its attacks may change on IMDB. At the largest budget every word of a "
        "review may change.",
        "S(x): counter-fitted neighbours, see `defence-imdb-neighbours`. SA and GSA try all combinations of the chosen "
        "words and refuse the larger budgets.",
    ),
)
