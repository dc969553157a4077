"""What the template shows of a result set: numbers as they are computed, curves as SVG, one view per victim."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import isnan, log10

from hammingbox.evaluation.class_rates import ClassRate, ClassRates
from hammingbox.evaluation.diagnose import Finding
from hammingbox.report.band import BandLine, band
from hammingbox.report.breakdown import FeatureChanges, WhatIf, by_feature, what_if
from hammingbox.report.evasion_bills import EvasionBills, evasion_bills
from hammingbox.report.glossary import explained
from hammingbox.report.measured_what_if import MeasuredWhatIf
from hammingbox.report.page import charts
from hammingbox.report.page.packing import Packed
from hammingbox.report.plausible_success import LIMITS, PlausibleLine, plausible_success
from hammingbox.report.recommendations import Recommendation, recommendations
from hammingbox.report.result_set import ResultSet
from hammingbox.report.status import NOT_ATTACKABLE, NOT_ATTACKED, STATUSES
from hammingbox.report.summary import Cell, VictimSummary

WORST = "worst case"

_SHOWN_FIRST = 3
"""Attacks whose curves are drawn at once, beside the worst case; the others are faint until they are chosen."""


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

    @property
    def weights(self) -> str:
        """Hash of its weights."""
        return next((run.facts.weights for run in self.results.select(victim=self.name)), "")

    @property
    def last_classes(self) -> ClassRates | None:
        """Every class in the worst case at the largest budget."""
        return self.classes[max(self.classes)] if self.classes else None

    def of_class(self, name: str) -> list[tuple[int, ClassRate]]:
        """A class at each budget."""
        return [(budget, line) for budget, rates in self.classes.items() for line in rates.lines if line.name == name]

    @cached_property
    def money(self) -> EvasionBills | None:
        """What evading it costs; None where changes have no prices."""
        return evasion_bills(self.results, self.name)

    @property
    def cost_curve(self) -> str:
        """Rows that fall, against what the attacker pays for each."""
        if self.money is None or not self.money.bills:
            return ""
        points = tuple(
            charts.Point(
                self.results.on_axis(cost),
                rows / self.money.attacked,
                note=f"{cost}, {rows} of {self.money.attacked} rows",
            )
            for cost, rows in self.money.curve
        )
        title = f"Rows that fall against the cost of the cheapest evasion, victim {self.name}"
        series = [charts.Series("cheapest evasion", charts.WORST, points)]
        return charts.curves(
            series,
            x_label=self.results.budget_label,
            log_x=self.results.unit is not None,
            y_label="evaded rows, %",
            title=title,
        )

    @cached_property
    def plausible(self) -> list[PlausibleLine]:
        """What is left of success when rows that look odd do not count; empty where nothing was noted."""
        return plausible_success(self.results, self.name)

    @property
    def plausible_curves(self) -> str:
        """Success of rows without an unseen pair, against how typical they must be at least."""
        series = [
            charts.Series(
                f"budget {line.budget}",
                style,
                tuple(
                    charts.Point(
                        100 * limit, rate.value, *rate.interval,
                        note=f"at most {100 * limit:.0f} % of the class more typical, {percent(rate.value)}",
                    )
                    for limit, rate in zip(LIMITS, line.by_limit, strict=True)
                    if rate.rows
                ),
            )
            for style, line in enumerate(self.plausible)
        ]  # fmt: skip
        return charts.curves(
            series,
            x_label="rows of the class that may be more typical, %",
            y_label="broken rows, %",
            title=f"Success against plausibility, victim {self.name}; the table has the main numbers",
        )

    @property
    def class_styles(self) -> list[tuple[int, str]]:
        """The classes of the class curves with the numbers of their styles: those with attacked rows."""
        lines = [] if self.last_classes is None else self.last_classes.seen
        return [(self.results.schema.classes.index(line.name), line.name) for line in lines if line.attacked]

    @property
    def class_curves(self) -> str:
        """Worst-case success on each class against the budget."""
        series = [
            charts.Series(
                name,
                style,
                tuple(
                    charts.Point(
                        self.results.on_axis(budget), line.success.value, *line.success.interval,
                        note=f"budget {budget}, {line.broken} of {line.attacked}, {percent(line.success.value)}",
                    )
                    for budget, line in self.of_class(name)
                    if line.attacked
                ),
            )
            for style, name in self.class_styles
        ]  # fmt: skip
        title = f"Worst-case success on each class against the budget, victim {self.name}; the numbers are in the table"
        return charts.curves(
            series,
            x_label=self.results.budget_label,
            log_x=self.results.unit is not None,
            y_label="broken rows, %",
            title=title,
        )

    @cached_property
    def features(self) -> FeatureChanges:
        """Which features its strongest attack changed, in rows of the positive class if one is named."""
        return by_feature(self.results, self.name, of=self.results.positive or "")

    @cached_property
    def what_if(self) -> WhatIf:
        """What freezing a column could do at most, for rows of the positive class if one is named."""
        if self.results.form != "columns":
            return WhatIf("", {}, ())
        return what_if(self.results, self.name, of=self.results.positive or "")

    def recommendations(self, measured: MeasuredWhatIf | None) -> list[Recommendation]:
        """What its numbers suggest doing."""
        return recommendations(self, self.features, self.what_if, measured)

    def styles(self) -> list[tuple[int, str]]:
        """The attacks of its curves with the numbers of their styles."""
        return [(self.results.attacks.index(name), name) for name in self.attacks if self._ran(name)]

    @cached_property
    def shown_first(self) -> frozenset[int]:
        """The styles of the attacks that are drawn at first: the strongest, by their success over all budgets."""
        order = sorted(
            self.styles(), key=lambda item: -sum(cell.broken for cell in self._ran(item[1])) / len(self._ran(item[1]))
        )
        return frozenset(style for style, _ in order[:_SHOWN_FIRST])

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
                    charts.Point(
                        self.results.on_axis(c.budget),
                        c.rate,
                        *c.interval,
                        note=f"budget {c.budget}, {percent(c.rate)}",
                    )
                    for c in self._ran(name)
                    if c.attacked
                ),
                quiet=style not in self.shown_first,
            )
            for style, name in self.styles()
        ]
        worst = [line for line in self.worst if line.success.rows]
        points = tuple(
            charts.Point(
                self.results.on_axis(w.budget), w.success.value, *w.success.interval,
                note=f"budget {w.budget}, {percent(w.success.value)}",
            )
            for w in worst
        )  # fmt: skip
        series.append(charts.Series(WORST, charts.WORST, points))
        title = f"Success rate of each attack against the budget, victim {self.name}; the same numbers are in the table"
        return charts.curves(
            series,
            x_label=self.results.budget_label,
            log_x=self.results.unit is not None,
            y_label="broken rows, %",
            title=title,
        )

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
                    if c.attacked
                ),
                quiet=style not in self.shown_first,
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
        found = [c for (_, b), c in self.cells.items() if b == budget and c.attacked]
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
    measured: Mapping[str, MeasuredWhatIf] = field(default_factory=dict)

    @cached_property
    def victims(self) -> list[VictimView]:
        """One view per victim."""
        return [VictimView(self.results, name) for name in self.results.victims]

    @property
    def doubts(self) -> list[Finding]:
        """Errors and warnings: the reader sees them before any number."""
        return [finding for finding in self.findings if finding.severity != "note"]

    @property
    def notes(self) -> list[Finding]:
        """The other findings."""
        return [finding for finding in self.findings if finding.severity == "note"]

    @property
    def glossary(self) -> list[tuple[str, str]]:
        """The attacks of the page in plain words."""
        names = dict.fromkeys(run.facts.name for run in self.results.runs)
        return [(name, text) for name in names if (text := explained(name))]

    @property
    def drawn(self) -> str:
        """How the rows were chosen, in words; "" where that was not noted."""
        sample = self.results.sample
        if sample is None:
            return ""
        draw = sample.draw
        if draw.how == "all":
            return "all rows"
        count = (
            f"{draw.rows:,} rows" if draw.per_class is None else f"{draw.per_class:,} rows of each class, or all it has"
        )
        how = {
            "first": "the first ones",
            "random": f"at random, seed {draw.seed}",
            "classes": f"by class, seed {draw.seed}",
        }
        words = f"{count} ({how[draw.how]})"
        return f"{self.rows:,} rows from several draws; the last one: {words}" if self._is_of_several_draws else words

    @property
    def _is_of_several_draws(self) -> bool:
        """Whether there are more rows than the last draw has: the others are of draws with another seed or size."""
        sample = self.results.sample
        if sample is None:
            return False
        most = sample.draw.rows
        if most is None:
            most = sum(min(size, sample.draw.per_class or size) for size in sample.population)
        return self.rows > most

    @property
    def rows(self) -> int:
        """Distinct clean rows."""
        return self.results.rows

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
    def has_fixed_rows(self) -> bool:
        """Whether the threat leaves some row no change."""
        return any(line.not_attackable for victim in self.victims for line in victim.worst)

    @property
    def statuses(self) -> list[tuple[int, str]]:
        """The statuses that rows can be filtered by; those of rows that were not attacked only where there are some."""
        spared = [(run.correct & ~run.attacked, run.proven) for run in self.results.runs]
        there = {
            NOT_ATTACKABLE: any((rows & proven).any() for rows, proven in spared),
            NOT_ATTACKED: any((rows & ~proven).any() for rows, proven in spared),
        }
        return [(code, name) for code, name in enumerate(STATUSES) if there.get(code, True)]

    def positions(self, victim: VictimView) -> str:
        """How often each position of a sequence was changed; nothing for tables, whose columns have names."""
        if self.results.form == "columns" or not victim.features.broken:
            return ""
        names = [feature.name for feature in self.results.schema.features]
        title = "Changes in broken rows at each position; the same numbers are in the table"
        return charts.positions(victim.features.per_feature, names, title=title)

    @property
    def victim_curves(self) -> str:
        """Robust error of every victim against the budget."""
        series = [
            charts.Series(
                victim.name,
                style,
                tuple(
                    charts.Point(
                        self.results.on_axis(w.budget),
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
        return charts.curves(
            series,
            x_label=self.results.budget_label,
            log_x=self.results.unit is not None,
            y_label="robust error, %",
            title=title,
        )


def percent(value: float | None) -> str:
    """A share as the page writes it everywhere; a share of no rows is none, not 0.0 %."""
    if value is None or isnan(value):
        return "none"
    return f"{100 * value:.1f}\N{NO-BREAK SPACE}%"
