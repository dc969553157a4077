"""The paper's table of attacks: error and seconds per row of SA, GA, GSA, GGA and PCAA at budgets 1 to 5."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hammingbox.report.artefacts.table import Column, Interval, Table, Value
from hammingbox.reproduction.recipes import AG, AG_PAPER, IPS, SPLICE, SPLICE_PAPER, SPLICE_QUICK
from hammingbox.studies.attack_orders import attack_orders
from hammingbox.studies.grid import Grid, GridCell, plan_grid, refusals, run_grid
from hammingbox.studies.plan import Work
from hammingbox.studies.recipe import Recipe
from hammingbox.studies.statistics import OverSeeds, over_seeds, passes_per_row, seconds_per_row
from hammingbox.studies.study import Outcome, Size, Study
from hammingbox.studies.workspace import Workspace

ATTACKED = ("sa", "ga", "gsa", "gsa_released", "gga", "gga_released", "pcaa", "auto", "oracle", "pcaa_paper")

PAIRS = (*(("pcaa", other) for other in ("sa", "ga", "gsa", "gga", "pcaa_paper")), ("auto", "pcaa"), ("oracle", "auto"))
"""Attacks whose order the paper or this project claims: the stronger one first."""

Line = tuple[tuple[float, float] | None, ...]

PAPER: dict[str, dict[str, Line]] = {
    "ips": {
        "sa": ((66.11, 38.5), (81.24, 2028), None, None, None),
        "ga": ((66.11, 35.4), (71.32, 38.1), (79.44, 39.9), (85.28, 41.5), (91.15, 43.2)),
        "gsa": ((41.53, 2.06), (75.47, 1022), None, None, None),
        "gga": ((41.53, 2.06), (63.72, 2.01), (70.76, 2.94), (75.89, 3.74), (82.43, 4.56)),
        "pcaa": ((67.56, 14.04), (80.51, 13.75), (88.37, 13.02), (93.67, 12.21), (96.63, 14.59)),
    },
    "ag_news": {
        "sa": ((41.22, 15.3), (67.38, 21.9), (75.87, 356), (83.10, 19160), None),
        "ga": ((41.22, 15.3), (60.71, 15.4), (66.33, 15.5), (74.47, 15.7), (86.63, 15.9)),
        "gsa": ((32.39, 0.352), (59.21, 3.24), (67.79, 151), (79.22, 7551), None),
        "gga": ((32.39, 0.352), (41.29, 0.393), (56.11, 0.511), (67.53, 0.613), (72.28, 0.856)),
        "pcaa": ((46.31, 16.03), (67.27, 15.79), (76.71, 19.21), (84.65, 17.83), (90.21, 17.35)),
    },
    "splice_paper": {
        "sa": ((72.11, 0.905), (79.02, 1.02), (86.59, 1.36), (90.11, 2.73), (92.58, 8.29)),
        "ga": ((72.11, 0.905), (74.42, 0.911), (78.18, 0.915), (80.61, 0.922), (83.74, 0.928)),
        "gsa": ((61.71, 0.028), (68.28, 0.083), (72.82, 0.251), (77.11, 0.917), (82.53, 3.56)),
        "gga": ((61.71, 0.028), (65.26, 0.031), (70.31, 0.0337), (74.84, 0.035), (80.49, 0.037)),
        "pcaa": ((72.05, 3.27), (79.33, 2.82), (86.12, 3.18), (90.33, 2.56), (92.90, 3.02)),
    },
}
"""Rows that are wrong after the attack, in % of all rows, and seconds per row at budgets 1 to 5, by data set.

From Table 2 of the paper; its dashes are None. The paper calls it success rate, but rows that were wrong before count.
"""
PAPER["ag_news_paper"] = PAPER["ag_news"]

SAME_LINE = {"pcaa_paper": "pcaa", "gsa_released": "gsa", "gga_released": "gga"}
"""Attacks that stand beside the same line of the paper as another form of the same attack."""


@dataclass(frozen=True, kw_only=True)
class AttackTableSize(Size):
    """A size whose victims differ in what an attack costs.

    Attributes:
        victim_rows: number of rows for attacks that are too expensive for all of them, by data set and attack name.
        victim_seeds: number of seeds, by data set, where it is another one.
    """

    victim_rows: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    victim_seeds: Mapping[str, int] = field(default_factory=dict)


def size_per_victim(size: Size) -> list[Size]:
    """One size per victim, with the rows and seeds of that victim's attacks."""
    rows, seeds = (size.victim_rows, size.victim_seeds) if isinstance(size, AttackTableSize) else ({}, {})
    return [
        replace(
            size,
            victims=(recipe,),
            seeds=seeds.get(recipe.data, size.seeds),
            attack_rows=dict(size.attack_rows) | dict(rows.get(recipe.data, {})),
        )
        for recipe in size.victims
    ]


def plan_attacks(workspace: Workspace, size: Size) -> list[Work]:
    """Trainings and attacks, in the order in which they run."""
    return [step for part in _dearest_last(size) for step in plan_grid(workspace, part)]


def run_attacks(workspace: Workspace, size: Size) -> Grid:
    """The cells of all victims."""
    for part in _dearest_last(size):
        run_grid(workspace, part)
    grids = [run_grid(workspace, part) for part in size_per_victim(size)]  # reads what is recorded now
    return Grid([cell for grid in grids for cell in grid.cells], [line for grid in grids for line in grid.skipped])


def _dearest_last(size: Size) -> list[Size]:
    """All victims without the paper's PCAA, which takes longer than all the others, and then with it alone."""
    dearest = tuple(name for name in size.attacks if name == "pcaa_paper")
    others = tuple(name for name in size.attacks if name not in dearest)
    return [replace(part, attacks=some) for some in (others, dearest) if some for part in size_per_victim(size)]


_ORACLE: dict[str, dict[str, Any]] = {"oracle": {"max_passes": 30_000}}
"""Enough for all single changes on IPS and all pairs of changes on Splice."""
_FEW_SAMPLES: dict[str, dict[str, Any]] = {"pcaa_paper": {"samples": 5}}
"""n_g of the paper's PCAA: the released 500 would take two cores months."""

SIZES: dict[str, Size] = {
    "smoke": AttackTableSize(
        victims=(SPLICE_QUICK, SPLICE_PAPER, IPS),
        rows=4,
        budgets=(1, 3),
        seeds=2,
        attacks=tuple(name for name in ATTACKED if name != "pcaa_paper"),
        attack_settings=_ORACLE,
    ),
    "cpu": AttackTableSize(
        victims=(SPLICE_PAPER, IPS, AG, SPLICE),
        rows=500,  # all of 319 and 206 rows
        budgets=(1, 2, 3, 4, 5),
        seeds=3,
        attacks=ATTACKED,
        attack_settings=_ORACLE | _FEW_SAMPLES,
        attack_rows={"pcaa_paper": 50},
        victim_rows={
            "ag_news": {"sa": 100, "ga": 100, "oracle": 100, "pcaa_paper": 20},  # up to 17,600 single changes per row
            "ips": {"pcaa_paper": 20},  # samples of 20 x 1,104 categories
        },
        victim_seeds={"ag_news": 1},  # 17,920 options per row: a run of PCAA takes minutes
    ),
    "paper": AttackTableSize(
        victims=(SPLICE_PAPER, IPS, AG_PAPER, SPLICE),
        rows=7600,  # all test rows: 319, 206, 7,600 and 633
        budgets=(1, 2, 3, 4, 5),
        seeds=5,
        attacks=ATTACKED,
        attack_settings=_ORACLE | {name: {"max_passes": 25_000_000} for name in ("sa", "gsa", "gsa_released")},
    ),
}

REASONS = (
    "Success is the share of broken rows among those that the victim classified correctly before. Error is the share "
    "of all rows that are wrong after the attack. The paper's success rate is an error in this sense: its 72.1 % for "
    "SA at budget 1 on Splice is 230 of 319 rows, 3 of which are wrong before.",
    "Scoring: every success is a discrete row in S(x) within the budget, re-checked. The released PCAA counts relaxed "
    "samples whose summed weights are within the budget, of the last zeta only. On IPS and AG's News the paper's PCAA "
    "is above the paper's SA at budget 1, which tries every single change: no discrete row can do that.",
    "Victims: for Splice and IPS, the authors' weights and test rows (319 and 206). The victim for AG's News is "
    "trained here, on the texts available. Our own LSTM on Splice is another victim with another split.",
    "S(x): all categories, as in the paper, on the authors' victims. On AG's News a blank may be written but not "
    "replaced. The attacker of our own Splice LSTM may not write the letter N.",
    "gsa and gga rank features by the largest first-order gain of a valid change. gsa_released and gga_released rank "
    "them by the largest entry of |gradient| and maximise the cross entropy, as the released code does.",
    "pcaa_paper is the paper's PCAA with the released numbers; where n_g (samples) is smaller, the table says so.",
    "Seconds are of this machine, the paper's of another: compare passes, not seconds.",
    "SA, GA, GSA and GGA are deterministic: they run with one seed and have no interval over seeds.",
)

_COLUMNS = (
    Column.text("attack"),
    Column.number("ε"),
    Column.number("rows"),
    Column.number("success %", ".1f"),
    Column.number("error %", ".1f"),
    Column.number("± seeds", ".1f"),
    Column.interval("± rows", ".0f", separator="-"),
    Column.number("passes", ",.0f"),
    Column.number("seconds", ".3g"),
    Column.number("paper %", ".1f"),
    Column.number("paper s", "g"),
    Column.number("diff.", "+.1f"),
)


@dataclass(frozen=True, kw_only=True)
class AttackTable(Study):
    """Success, error and cost of attacks, beside the paper's."""

    def plan(self, workspace: Workspace, size: Size) -> list[Work]:
        """Trainings and attacks."""
        return plan_attacks(workspace, size)

    def run(self, workspace: Workspace, size: Size) -> Outcome:
        """One table per victim, and the orders of attacks on it."""
        grid = run_attacks(workspace, size)
        tables = []
        for recipe in size.victims:
            if cells := grid.of(recipe):
                orders = attack_orders(f"{self.title}, order: {recipe.name}", cells, PAIRS)
                tables += [self._table(recipe, cells), *([orders] if orders.rows else [])]
        return Outcome(tables=tables, skipped=grid.skipped, notes=self.reasons)

    def _table(self, recipe: Recipe, cells: list[GridCell]) -> Table:
        accuracy = max((run.accuracy for cell in cells for run in cell.runs), key=lambda r: r.rows, default=None)
        clean = "" if accuracy is None else f", {accuracy.hits} of {accuracy.rows} clean rows classified correctly"
        return Table(
            f"{self.title}: {recipe.name}{clean}",
            _COLUMNS,
            tuple(_row(cell) for cell in cells),
            notes=(*_summary(cells), *_other_settings(cells), *refusals(cells)),
        )


@dataclass(frozen=True)
class PaperCell:
    """A cell of the paper's table: error in %, and seconds per row."""

    error: float
    seconds: float


def paper_cell(cell: GridCell) -> PaperCell | None:
    """The paper's numbers for a cell, if it has them for this victim."""
    line = PAPER.get(cell.recipe.data, {}).get(SAME_LINE.get(cell.attack, cell.attack), ())
    found = line[cell.budget - 1] if 1 <= cell.budget <= len(line) else None
    return None if found is None else PaperCell(*found)


def error_percent(cell: GridCell) -> OverSeeds:
    """Rows that are wrong after the attack, in % of all rows, of a cell that has run."""
    return over_seeds([run.robust_error for run in cell.runs]).percent()


def _row(cell: GridCell) -> tuple[Value, ...]:
    paper = paper_cell(cell)
    of_paper = (None, None) if paper is None else (paper.error, paper.seconds)
    if not cell.runs:
        return (cell.attack, cell.budget, *[None] * 7, *of_paper, None)
    error = error_percent(cell)
    return (
        cell.attack,
        cell.budget,
        len(cell.runs[0]),
        over_seeds([run.success_rate for run in cell.runs]).percent().mean,
        error.mean,
        error.half_width,
        Interval(*error.rows),
        passes_per_row(cell.runs),
        seconds_per_row(cell.runs),
        *of_paper,
        None if paper is None else error.mean - paper.error,
    )


def _summary(cells: list[GridCell]) -> tuple[str, ...]:
    """What the columns mean, and how many of the paper's numbers are outside our intervals over rows."""
    outside = compared = 0
    for cell in cells:
        paper = paper_cell(cell)
        if paper is not None and cell.runs:
            low, high = error_percent(cell).rows
            compared += 1
            outside += not low <= paper.error <= high
    columns = (
        "success: of the rows that were right before; error: of all rows; ± seeds and ± rows: of the error, half the "
        "width of a 95 % t-interval, and a 95 % Wilson interval; passes and seconds are per attacked row."
    )
    if not compared:
        return (columns, "The paper has no numbers for this victim.")
    return (
        columns,
        "paper %: the paper's success rate, which counts rows that were wrong before; diff.: our error minus it.",
        f"Outside our 95 % interval over rows: {outside} of {compared} numbers of the paper.",
    )


def _other_settings(cells: list[GridCell]) -> tuple[str, ...]:
    """Names the settings that are not those of the attack's name."""
    given = {
        cell.attack: ", ".join(f"{name} = {value:,}" for name, value in cell.settings.items())
        for cell in cells
        if cell.settings
    }
    return tuple(f"{attack} runs with {settings}." for attack, settings in given.items())


ATTACK_TABLE = AttackTable(
    name="attack-table",
    title="Attacks",
    source="Table 2",
    sizes=SIZES,
    reasons=REASONS,
)
