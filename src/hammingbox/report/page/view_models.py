"""What the template shows of a study: numbers as they are computed, curves as SVG, one view for each victim."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log10

from hammingbox.evaluation.diagnose import Finding
from hammingbox.report.breakdown import Attacked, ClassLine, by_class, by_feature
from hammingbox.report.page import charts
from hammingbox.report.page.packing import Packed
from hammingbox.report.result_set import Study
from hammingbox.report.summary import Cell, Worst, cells, worst_case


@dataclass(frozen=True)
class Bar:
    """A line of the trade-off: an attack at a budget, with the lengths of its bars between 0 and 1."""

    cell: Cell
    stands: float
    passes: float
    seconds: float


@dataclass(frozen=True)
class VictimView:
    """Everything about one victim."""

    study: Study
    name: str

    @cached_property
    def cells(self) -> dict[tuple[str, int], Cell]:
        """By attack and budget."""
        return cells(self.study, self.name)

    @cached_property
    def worst(self) -> list[Worst]:
        """The worst case at each budget."""
        return worst_case(self.study, self.name)

    @cached_property
    def classes(self) -> list[ClassLine]:
        """By true class."""
        return by_class(self.study, self.name)

    @property
    def attacks(self) -> list[str]:
        """Attacks that were tried on it."""
        return [name for name in self.study.attacks if any(attack == name for attack, _ in self.cells)]

    @property
    def budgets(self) -> list[int]:
        """Budgets that were tried on it."""
        return sorted({budget for _, budget in self.cells})

    def best(self, budget: int) -> float:
        """The highest success rate of one attack at a budget."""
        return max((c.rate for (_, b), c in self.cells.items() if b == budget and c.runs), default=0.0)

    @property
    def refused(self) -> list[tuple[str, list[int], str]]:
        """Attacks that refused: their budgets and the reason at the smallest of them."""
        found: dict[str, list[Cell]] = {}
        for cell in self.cells.values():
            if cell.refused and not cell.runs:
                found.setdefault(cell.attack, []).append(cell)
        return [(name, [c.budget for c in some], some[0].refused) for name, some in found.items()]

    def styles(self) -> list[tuple[int, str]]:
        """The attacks of its curves with the numbers of their looks."""
        return [(self.study.attacks.index(name), name) for name in self.attacks if self._made(name)]

    def _made(self, attack: str) -> list[Cell]:
        return [c for b in self.budgets if (c := self.cells.get((attack, b))) and c.runs]

    @property
    def budget_curves(self) -> str:
        """Success of each attack over the budget."""
        series = [
            charts.Series(
                name,
                style,
                tuple(
                    charts.Point(float(c.budget), c.rate, *c.interval, note=f"budget {c.budget}, {percent(c.rate)}")
                    for c in self._made(name)
                ),
            )
            for style, name in self.styles()
        ]
        title = f"Success rate of each attack against the budget, victim {self.name}; the same numbers are in the table"
        return charts.curves(series, x_label="budget: changed features", y_label="rows that fall, %", title=title)

    @property
    def pass_curves(self) -> str:
        """Success of each attack over its cost, a point a budget."""
        series = [
            charts.Series(
                name,
                style,
                tuple(
                    charts.Point(
                        max(1.0, c.passes), c.rate, note=f"budget {c.budget}, {c.passes:,.0f} passes, {percent(c.rate)}"
                    )
                    for c in self._made(name)
                ),
            )
            for style, name in self.styles()
        ]
        title = f"Success rate of each attack against victim passes a row, victim {self.name}; see the trade-off table"
        return charts.curves(
            series, x_label="victim passes a row (log scale)", y_label="rows that fall, %", log_x=True, title=title
        )

    def trade_off(self, budget: int) -> list[Bar]:
        """Attacks at a budget, those that leave the fewest rows standing first."""
        found = [c for (_, b), c in self.cells.items() if b == budget and c.runs]
        found.sort(key=lambda c: (-c.rate, c.passes))
        passes = _log_lengths([max(1.0, c.passes) for c in found])
        seconds = _log_lengths([max(1e-6, c.seconds) for c in found])
        return [Bar(c, 1 - c.rate, p, s) for c, p, s in zip(found, passes, seconds, strict=True)]


def _log_lengths(values: Sequence[float]) -> list[float]:
    """Lengths of bars on a logarithmic scale that begins one power of ten below the smallest value."""
    if not values:
        return []
    low, high = log10(min(values)) - 1, log10(max(values))
    return [(log10(value) - low) / (high - low) for value in values]


@dataclass(frozen=True)
class StudyView:
    """A study on the page."""

    number: int
    study: Study
    packed: Packed
    findings: Sequence[Finding]

    @cached_property
    def victims(self) -> list[VictimView]:
        """One view for each victim."""
        return [VictimView(self.study, name) for name in self.study.victims]

    @cached_property
    def features(self) -> Attacked:
        """Which features were attacked."""
        return by_feature(self.study)

    @property
    def rows(self) -> int:
        """Distinct clean rows."""
        return len(self.study.clean)

    @property
    def waiting(self) -> list[Cell]:
        """Runs that are not finished."""
        return [cell for victim in self.victims for cell in victim.cells.values() if cell.waiting]

    @property
    def enumerated(self) -> bool:
        """Whether it is known for some budget which rows can fall at all."""
        return any(cell.missed is not None for victim in self.victims for cell in victim.cells.values())

    @property
    def positions(self) -> str:
        """Where in a sequence the changes fall; nothing for tables, whose columns have names."""
        if self.study.form == "columns" or not self.features.fallen:
            return ""
        names = [feature.name for feature in self.study.schema.features]
        title = "Changes of fallen rows at each position; the same numbers are in the table"
        return charts.positions(self.features.per_feature, names, title=title)

    @property
    def victim_curves(self) -> str:
        """Robust error of every victim over the budget."""
        series = [
            charts.Series(
                victim.name,
                style,
                tuple(
                    charts.Point(
                        float(w.budget),
                        w.robust_error.value,
                        *w.robust_error.interval,
                        note=f"budget {w.budget}, {percent(w.robust_error.value)}",
                    )
                    for w in victim.worst
                ),
            )
            for style, victim in enumerate(self.victims)
        ]
        title = "Robust error of each victim against the budget; the same numbers are in the table"
        return charts.curves(series, x_label="budget: changed features", y_label="robust error, %", title=title)


def percent(value: float) -> str:
    """A share as it is written everywhere on the page."""
    return f"{100 * value:.1f}\N{NO-BREAK SPACE}%"
