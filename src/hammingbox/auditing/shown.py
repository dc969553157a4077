"""How an audit is shown: a headline of one class, a table of all classes, a curve per class."""

from collections.abc import Mapping, Sequence

from hammingbox.evaluation.class_rates import ClassRate, ClassRates
from hammingbox.evaluation.shown import interval_in_words, percent
from hammingbox.notebook import Axes, axes_or_new, html_table
from hammingbox.report.band import BandLine
from hammingbox.report.measured_what_if import MeasuredWhatIf

_BECOMES_SHOWN = 2


def headline_of(by_budget: Mapping[int, ClassRates]) -> str:
    """One sentence about the positive class, or about the class that is worst at the largest budget."""
    if not by_budget:
        return "no attack could be run"
    largest = by_budget[max(by_budget)]
    line = largest.of_headline
    if line is None:
        return "no row was attacked"
    if not line.correct:
        return f"{line.name}: the model gets none of {line.rows:,} rows right, so none could be attacked"
    if not line.attacked:
        return (
            f"{line.name}: the model gets {line.correct:,} of {line.rows:,} rows right, and none was attacked: "
            "the goal is not about them, or the threat leaves them no change"
        )
    parts = [f"{_rate_at(by_budget[budget], line.name)} at budget {budget}" for budget in _ends(by_budget)]
    becomes = " or ".join(name for name, _ in line.becomes[:_BECOMES_SHOWN]) or "another class"
    able = "" if line.attacked == line.correct else " and that can be attacked"
    those = "row" if line.attacked == 1 else "rows"
    rates = ", ".join(parts)
    return f"{line.name} -> {becomes}: {rates} of the {line.attacked:,} {those} that the model gets right{able}"


def html_by_class(by_budget: Mapping[int, ClassRates], title: str, notes: Sequence[str]) -> str:
    """A table with one line per class and a column per budget, and the totals that no class is hidden in."""
    if not by_budget:
        return html_table(title, ("class",), (), notes)
    largest = by_budget[max(by_budget)]
    lines: list[tuple[object, ...]] = [
        (
            f"{line.name} (positive)" if line.name == largest.positive else line.name,
            "-" if line.population is None else f"{line.population:,}",
            f"{line.rows:,}",
            percent(line.recall),
            f"{line.attacked:,}",
            *(_rate_at(rates, line.name) for rates in by_budget.values()),
            _direction(line) if line.broken else "-",
        )
        for line in largest.lines
        if line.rows or line.population
    ]
    headings = ("class", "in the table", "rows", "recall", "attacked")
    success = tuple(f"broken, budget {budget}" for budget in by_budget)
    return html_table(title, (*headings, *success, "becomes"), lines, [*_totals(by_budget), *notes])


def frozen_in_words(measured: MeasuredWhatIf) -> list[str]:
    """One sentence per column that was frozen, the largest fall first."""
    budget = min(measured.now, default=0)
    found = sorted(measured.lines.items(), key=lambda item: item[1][budget].hits)
    now = percent(measured.now[budget]) if measured.now else ""
    return [
        f"With {name} frozen and the {measured.of} rows attacked again, {percent(line[budget])} in place of {now} fall "
        f"at budget {budget}."
        for name, line in found
    ]


def band_in_words(lines: Sequence[BandLine]) -> list[str]:
    """One sentence per budget: between which two the robust accuracy lies."""
    return [
        f"At budget {line.budget}, {percent(line.certified)} of the rows are right and proven to hold, and "
        f"{percent(line.attacked)} are right and not broken."
        for line in lines
    ]


def curves_by_class(by_budget: Mapping[int, ClassRates], title: str, axes: Axes | None = None) -> Axes:
    """Success by budget with its 95 % interval, a line per class; the positive class is thick.

    Raises:
        InputError: matplotlib is not installed.
    """
    axes = axes_or_new(axes, width=7.0, height=3.2)
    largest = by_budget[max(by_budget)]
    for line in (line for line in largest.lines if line.attacked):
        rates = [_line(rates, line.name).success for rates in by_budget.values()]
        low, high = zip(*(rate.interval for rate in rates), strict=True)
        values = [100 * rate.value for rate in rates]
        thick = line.name == largest.positive
        (drawn,) = axes.plot(list(by_budget), values, marker="o", linewidth=3 if thick else 1.5, label=line.name)
        axes.fill_between(
            list(by_budget), [100 * v for v in low], [100 * v for v in high], alpha=0.15, color=drawn.get_color()
        )
    axes.set_xticks(list(by_budget))
    axes.set_ylim(0, 102)
    axes.set_xlabel("budget (changed columns)")
    axes.set_ylabel("broken, % of the rows\nthe model gets right")
    axes.set_title(title, fontsize="medium", loc="left")
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize="small", title="true class")
    return axes


def _totals(by_budget: Mapping[int, ClassRates]) -> list[str]:
    budget = max(by_budget)
    rates = by_budget[budget]
    found = []
    if rates.balanced_accuracy is not None and rates.majority is not None:
        robust, (name, share) = rates.balanced_robust_accuracy or 0.0, rates.majority
        found.append(
            f"Balanced accuracy {100 * rates.balanced_accuracy:.1f} %, at budget {budget} {100 * robust:.1f} %. "
            f"Always answering {name} would be right on {100 * share:.1f} % of the table."
        )
    if rates.weighted_success is not None:
        low, high = rates.weighted_success.interval
        found.append(
            f"Weighted by the classes of the whole table, {100 * rates.weighted_success.value:.1f} % "
            f"({100 * low:.1f} to {100 * high:.1f} %) of the rows that the model gets right fall at budget {budget}."
        )
    return found


def _line(rates: ClassRates, name: str) -> ClassRate:
    return next(line for line in rates.lines if line.name == name)


def _rate_at(rates: ClassRates, name: str) -> str:
    rate = _line(rates, name).success
    return f"{percent(rate)} ({interval_in_words(rate)})" if rate.rows else "-"


def _direction(line: ClassRate) -> str:
    shown = ", ".join(f"{name} {count:,}" for name, count in line.becomes[:_BECOMES_SHOWN])
    return shown + (", ..." if len(line.becomes) > _BECOMES_SHOWN else "")


def _ends(by_budget: Mapping[int, ClassRates]) -> list[int]:
    return sorted({min(by_budget), max(by_budget)})
