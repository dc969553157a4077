"""A ladder from the paper's PCAA to the default: one change per line, with success and cost."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hammingbox.attacks import PCAA
from hammingbox.report.artefacts.table import Column, Interval, Table, Value
from hammingbox.reproduction.recipes import IPS, SPLICE_QUICK
from hammingbox.studies.grid import GridCell, plan_grid, run_grid
from hammingbox.studies.plan import Work
from hammingbox.studies.recipe import Recipe
from hammingbox.studies.statistics import over_seeds, passes_per_row
from hammingbox.studies.study import Outcome, Size, Study
from hammingbox.studies.workspace import Workspace

_PAPER = "pcaa_paper"
_SPLICE_PAPER = Recipe(label="the authors' LSTM", data="splice_paper", released=True)


@dataclass(frozen=True)
class Line:
    """One line of the ladder.

    Attributes:
        label: what changes from the line above.
        changes: the settings that change; those of the lines above stay.
    """

    label: str
    changes: Mapping[str, Any] = field(default_factory=dict)


_DEFAULT = PCAA()
_SHORT_ROUNDS = ("rounds", "steps", "samples", "draws", "learning_rate", "start", "recentre")
LADDER = (
    Line("the paper's form, as released"),
    Line("+ margin of logits as loss", {"objective": "margin"}),
    Line("+ warm temperature", {"tau": _DEFAULT.tau}),
    Line(
        "+ steepest ascent on log pi",
        {"ascent": "steepest", "learning_rate": 0.25, "penalty": _DEFAULT.penalty, "ceiling": _DEFAULT.ceiling},
    ),
    Line("+ start from the number of options", {"start": 1.0}),
    Line("+ draws projected to the budget", {"drawing": "projected"}),
    Line(
        "+ four zetas in units of the budget, each from the start",
        {"zetas": _DEFAULT.zetas, "zeta_unit": "budget", "rounds": 4, "carry": False, "steps": 20, "samples": 3},
    ),
    Line("+ mirror ascent", {"ascent": "mirror"}),
    Line("+ new draws that spend the whole budget", {"drawing": "spent"}),
    Line(
        "+ many short rounds, each around the last best draw", {name: getattr(_DEFAULT, name) for name in _SHORT_ROUNDS}
    ),
    Line("+ hard samples", {"hard": True}),
    Line("+ draws exchange one change: the default", {"drawing": "exchanged"}),
)
"""Each line has the settings of all lines above it."""

_COLUMNS = (
    Column.text("PCAA"),
    Column.number("ε"),
    Column.number("success %", ".1f"),
    Column.interval("± rows", ".0f", separator="-"),
    Column.number("error %", ".1f"),
    Column.number("passes", ",.0f"),
)


@dataclass(frozen=True, kw_only=True)
class Ladder(Study):
    """Success and passes of PCAA, from the paper's form to the default."""

    def plan(self, workspace: Workspace, size: Size) -> list[Work]:
        """Attacks, line by line; a victim that must be skipped or trained is named once."""
        steps = [
            replace(step, what=f"{step.what} ({line.label})")
            if step.rows and not step.what.startswith("train")
            else step
            for line, one in _sizes(size)
            for step in plan_grid(workspace, one)
        ]
        return list(dict.fromkeys(steps))

    def run(self, workspace: Workspace, size: Size) -> Outcome:
        """One table per victim."""
        grids = [(line, run_grid(workspace, one)) for line, one in _sizes(size)]
        tables = []
        for recipe in size.victims:
            rows = [_row(line, cell) for line, grid in grids for cell in grid.of(recipe)]
            if rows:
                tables.append(Table(f"{self.title}: {recipe.name}", _COLUMNS, tuple(rows)))
        skipped = dict.fromkeys(reason for _, grid in grids for reason in grid.skipped)
        return Outcome(tables=tables, skipped=list(skipped), notes=(*self.reasons, *_numbers(size)))


def settings_of(line: int, size: Size) -> dict[str, Any]:
    """The settings of a line: those of the size, and the changes of all lines up to it."""
    settings = dict(size.attack_settings.get(_PAPER, {}))
    for above in LADDER[: line + 1]:
        settings |= above.changes
    return settings


def _sizes(size: Size) -> list[tuple[Line, Size]]:
    """Each line as a grid of its own, with one attack."""
    return [
        (line, replace(size, attacks=(_PAPER,), attack_settings={_PAPER: settings_of(number, size)}))
        for number, line in enumerate(LADDER)
    ]


def _row(line: Line, cell: GridCell) -> tuple[Value, ...]:
    rate = over_seeds([run.success_rate for run in cell.runs]).percent()
    error = over_seeds([run.robust_error for run in cell.runs]).percent()
    return (line.label, cell.budget, rate.mean, Interval(*rate.rows), error.mean, passes_per_row(cell.runs))


def _numbers(size: Size) -> tuple[str, ...]:
    paper = PCAA.paper(**size.attack_settings.get(_PAPER, {}))
    return (
        f"The lines with the paper's sweep have {paper.rounds} zetas, I = {paper.steps}, n_g = {paper.samples} "
        f"(released: 500), {paper.draws} draws.",
    )


LADDER_STUDY = Ladder(
    name="ladder",
    title="PCAA from the paper's form to the default",
    source="Algorithm 1",
    sizes={
        "smoke": Size(
            victims=(SPLICE_QUICK,), rows=4, budgets=(2,), attack_settings={_PAPER: {"samples": 1, "steps": 5}}
        ),
        "cpu": Size(victims=(_SPLICE_PAPER, IPS), rows=30, budgets=(2,), attack_settings={_PAPER: {"samples": 2}}),
        "paper": Size(victims=(_SPLICE_PAPER, IPS), rows=319, budgets=(1, 2, 3, 4, 5), seeds=5),
    },
    reasons=(
        "All lines: discrete draws are scored, a success at any zeta counts, a row that is broken leaves before the "
        "next round. The released code scores relaxed samples and keeps the last zeta only.",
        "Success is of the rows classified correctly before, error of all rows; passes are forward and backward, per "
        "attacked row.",
    ),
)
