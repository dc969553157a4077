"""What the template shows of a result set: numbers as they are computed, curves as SVG, one view per victim."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log10

from hammingbox.evaluation.diagnose import Finding
from hammingbox.report.band import BandLine, band
from hammingbox.report.breakdown import ClassLine, FeatureChanges, by_class, by_feature
from hammingbox.report.page import charts
from hammingbox.report.page.packing import Packed
from hammingbox.report.result_set import ResultSet
from hammingbox.report.status import NOT_ATTACKED, STATUSES
from hammingbox.report.summary import Cell, VictimSummary


@dataclass(frozen=True)
class Bar:
    """A line of the trade-off: an attack at a budget, with the lengths of its bars between 0 and 1."""

    cell: Cell
    unbroken: float
    passes: float
    seconds: float


@dataclass(frozen=True)
class VictimView(VictimSummary):
    """A victim's summary with its curves."""

    @cached_property
    def classes(self) -> list[ClassLine]:
        """By true class."""
        return by_class(self.results, self.name)

    def styles(self) -> list[tuple[int, str]]:
        """The attacks of its curves with the numbers of their styles."""
        return [(self.results.attacks.index(name), name) for name in self.attacks if self._ran(name)]

    def _ran(self, attack: str) -> list[Cell]:
        return [cell for budget in self.budgets if (cell := self.ran(attack, budget)) is not None]

    @property
    def budget_curves(self) -> str:
        """Success of each attack against the budget."""
        series = [
            charts.Series(
                name,
                style,
                tuple(
                    charts.Point(float(c.budget), c.rate, *c.interval, note=f"budget {c.budget}, {percent(c.rate)}")
                    for c in self._ran(name)
                ),
            )
            for style, name in self.styles()
        ]
        title = f"Success rate of each attack against the budget, victim {self.name}; the same numbers are in the table"
        return charts.curves(series, x_label="budget: changed features", y_label="broken rows, %", title=title)

    @property
    def pass_curves(self) -> str:
        """Success of each attack against its cost, one point per budget."""
        series = [
            charts.Series(
                name,
                style,
                tuple(
                    charts.Point(
                        max(1.0, c.passes), c.rate, note=f"budget {c.budget}, {c.passes:,.0f} passes, {percent(c.rate)}"
                    )
                    for c in self._ran(name)
                ),
            )
            for style, name in self.styles()
        ]
        title = (
            f"Success rate of each attack against victim passes per row, victim {self.name}; see the trade-off table"
        )
        return charts.curves(
            series, x_label="victim passes per row (log scale)", y_label="broken rows, %", log_x=True, title=title
        )

    def trade_off(self, budget: int) -> list[Bar]:
        """Attacks at a budget, the most successful first."""
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
class ResultSetView:
    """A result set on the page."""

    number: int
    results: ResultSet
    packed: Packed
    findings: Sequence[Finding]

    @cached_property
    def victims(self) -> list[VictimView]:
        """One view per victim."""
        return [VictimView(self.results, name) for name in self.results.victims]

    @cached_property
    def features(self) -> FeatureChanges:
        """Which features were changed."""
        return by_feature(self.results)

    @property
    def rows(self) -> int:
        """Distinct clean rows."""
        return len(self.results.clean)

    @property
    def unfinished(self) -> list[Cell]:
        """Runs that lack rows that others have."""
        return [cell for victim in self.victims for cell in victim.cells.values() if cell.lacking]

    @property
    def enumerated(self) -> bool:
        """Whether an exact attack was run at some budget."""
        return any(cell.missed is not None for victim in self.victims for cell in victim.cells.values())

    @property
    def bands(self) -> list[tuple[str, list[BandLine]]]:
        """Certified and attacked accuracy of every victim that has proofs."""
        found = [(name, band(self.results, name)) for name in self.results.victims]
        return [(name, lines) for name, lines in found if lines]

    @property
    def has_proofs(self) -> bool:
        """Whether any row is proven unbreakable."""
        return any(victim.has_proofs for victim in self.victims)

    @property
    def statuses(self) -> list[tuple[int, str]]:
        """The statuses that rows can be filtered by; "not attacked" only where there are such rows."""
        impossible = any((run.correct & ~run.attacked).any() for run in self.results.runs)
        return [(code, name) for code, name in enumerate(STATUSES) if code != NOT_ATTACKED or impossible]

    @property
    def positions(self) -> str:
        """How often each position of a sequence was changed; nothing for tables, whose columns have names."""
        if self.results.form == "columns" or not self.features.broken:
            return ""
        names = [feature.name for feature in self.results.schema.features]
        title = "Changes in broken rows at each position; the same numbers are in the table"
        return charts.positions(self.features.per_feature, names, title=title)

    @property
    def victim_curves(self) -> str:
        """Robust error of every victim against the budget."""
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
    """A share as the page writes it everywhere."""
    return f"{100 * value:.1f}\N{NO-BREAK SPACE}%"
