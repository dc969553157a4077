"""How rates of classes are shown on a terminal."""

from collections.abc import Mapping, Sequence

from hammingbox.cli.console import out, plain, say
from hammingbox.cli.tables import grid_of
from hammingbox.evaluation.class_rates import ClassRate, ClassRates
from hammingbox.evaluation.rates import Rate, WeightedRate
from hammingbox.report.artefacts.table import MISSING, Column, Table, Value
from hammingbox.report.band import BandLine
from hammingbox.report.measured_what_if import MeasuredWhatIf
from hammingbox.report.plausible_success import PlausibleLine

NONE = "none"
"""Stands for a rate of no rows."""


def shown_rate(rate: Rate | WeightedRate | None) -> str:
    """A share in per cent; a share of no rows is none, not 0.0 %."""
    empty = rate is None or (isinstance(rate, Rate) and not rate.rows)
    return NONE if rate is None or empty else f"{100 * rate.value:.1f} %"


def interval(rate: Rate | WeightedRate | None) -> str:
    """The interval behind a share, with its blank; nothing where there are no rows."""
    if rate is None or (isinstance(rate, Rate) and not rate.rows):
        return ""
    low, high = rate.interval
    return f" ({100 * low:.1f} to {100 * high:.1f} %)"


def show_classes(classes: ClassRates) -> None:
    """Prints one line per class of one run, and the totals that no class is hidden in."""
    out.print(grid_of(classes_table(classes)))
    show_totals(classes)


def classes_table(classes: ClassRates) -> Table:
    """Rows, recall, success and robust error of each class, and where its broken rows go."""
    columns = (
        Column.text("class"), Column.number("rows"), Column.number("recall %", ".1f"), Column.number("attacked"),
        Column.number("success %", ".1f"), Column.number("robust error %", ".1f"), Column.text("becomes"),
    )  # fmt: skip
    lines: list[tuple[Value, ...]] = [
        (
            line.name, line.rows, _percent(line.recall), line.attacked, _percent(line.success),
            _percent(line.robust_error), _becomes(line),
        )
        for line in classes.lines
        if line.rows or line.population
    ]  # fmt: skip
    return Table("By true class", columns, tuple(lines))


def show_class_budgets(by_budget: Mapping[int, ClassRates]) -> None:
    """Prints the worst case of each class at each budget, and the totals at the largest."""
    if not by_budget:
        return
    say("[bold]by true class[/]: rows that any attack broke, in % of the attacked rows of the class")
    out.print(grid_of(class_budgets_table(by_budget)))
    largest = max(by_budget)
    say(f"at budget {largest}:")
    show_totals(by_budget[largest])


def class_budgets_table(by_budget: Mapping[int, ClassRates]) -> Table:
    """One line per class: its rows, its recall, and its success at each budget."""
    last = by_budget[max(by_budget)]
    names = [line.name for line in last.lines if line.rows or line.population]
    columns = (
        Column.text("class"), Column.number("rows"), Column.number("recall %", ".1f"),
        *(Column.number(str(budget), ".1f") for budget in by_budget),
    )  # fmt: skip
    at: dict[str, Sequence[Value]] = {
        name: [_percent(line.success) for rates in by_budget.values() for line in rates.lines if line.name == name]
        for name in names
    }
    lines = [(line.name, line.rows, _percent(line.recall), *at[line.name]) for line in last.lines if line.name in at]
    return Table("Success by true class, in %", columns, tuple(lines))


def show_band(lines: Sequence[BandLine], how: str) -> None:
    """Prints certified beside attacked accuracy, for all rows and by class, and how rows were proven."""
    say("[bold]proven[/]: rows that are right and cannot be broken, up to those that are right and were not, in %")
    if lines:
        names = list(lines[-1].by_class)
        columns = (Column.text("budget"), Column.text("all rows"), *(Column.text(name) for name in names))
        rows = tuple(
            (str(line.budget), *(_from_to(*rates) for rates in (line.rates, *(line.by_class[name] for name in names))))
            for line in lines
        )
        out.print(grid_of(Table("Certified to attacked accuracy in %", columns, rows)))
    else:
        say("no row was proven")
    say(plain(how))


def _from_to(certified: Rate, attacked: Rate) -> str:
    return f"{100 * certified.value:.1f} to {100 * attacked.value:.1f}"


def show_what_if(measured: MeasuredWhatIf) -> None:
    """Prints how far success falls when a column is frozen and the rows are attacked again."""
    whose = f" {plain(measured.of)}" if measured.of else ""
    say(f"[bold]what if[/] a column could not be changed: success on{whose} rows in %, attacked again")
    columns = (Column.text("frozen"), *(Column.number(str(budget), ".1f") for budget in measured.now))
    lines = [("none", measured.now), *measured.lines.items()]
    rows = tuple((name, *(_percent(rate) for rate in line.values())) for name, line in lines)
    out.print(grid_of(Table("Success in % with a column frozen", columns, rows)))


def show_plausible(lines: Sequence[PlausibleLine]) -> None:
    """Prints what is left of success when rows that look odd do not count."""
    whose = f"{plain(lines[0].of)} rows" if lines[0].of else "all rows"
    say(f"[bold]would anybody notice[/]: success on {whose} in %, when only plausible rows count (a lower bound)")
    headings = ("all", "no unseen pair", "typical", "both")
    columns = (Column.text("budget"), *(Column.number(heading, ".1f") for heading in headings))
    rows = tuple(
        (str(line.budget), *(_percent(rate) for rate in (line.all_rows, line.seen, line.typical, line.both)))
        for line in lines
    )
    out.print(grid_of(Table("Success in % against plausibility", columns, rows)))


def show_totals(classes: ClassRates) -> None:
    """Prints balanced accuracy beside the majority's share, the worst class, and rates of the whole split."""
    if classes.balanced_accuracy is not None and classes.majority is not None:
        name, share = classes.majority
        robust = classes.balanced_robust_accuracy or 0.0
        say(
            f"balanced accuracy {100 * classes.balanced_accuracy:.1f} %, under attack {100 * robust:.1f} % "
            f"(always answering {plain(name)} would be right on {100 * share:.1f} % of all rows)"
        )
    first = classes.of_positive
    if first is not None:
        say(f"[bold]{plain(first.name)} -> other[/]: {_in_words(first)}")
    worst, alike = classes.worst, classes.worst_alike
    if worst is not None and len(alike) == len(classes.seen) > 1:
        say(f"every class is as bad as the others: {shown_rate(worst.robust_error)} wrong before or broken")
    elif worst is not None and alike != (first,):
        names = ", ".join(plain(line.name) for line in alike)
        which = "worst class" if len(alike) == 1 else "worst classes"
        say(f"{which}: {names}, {shown_rate(worst.robust_error)} wrong before or broken")
    if classes.weighted_success is not None or classes.weighted_robust_error is not None:
        success, error = classes.weighted_success, classes.weighted_robust_error
        say(
            "weighted by the classes of the whole split: "
            f"success {shown_rate(success)}{interval(success)}, robust error {shown_rate(error)}{interval(error)}"
        )
    if classes.missing:
        say(f"[yellow]no rows of {plain(', '.join(classes.missing))}[/]: nothing is known about them")


def _in_words(line: ClassRate) -> str:
    rate = line.success
    if not rate.rows and line.correct:
        return (
            f"the model recognises {line.correct:,} of {line.rows:,} rows, and none was attacked: "
            "the goal is not about them, or the threat leaves them no change"
        )
    if not rate.rows:
        return "no row was attacked: the model gets none of them right"
    return f"{rate.hits} of {rate.rows} attacked rows broken, {shown_rate(rate)}{interval(rate)}"


def _becomes(line: ClassRate) -> str:
    if line.correct and not line.attacked:
        return "none attacked"
    return ", ".join(f"{name} ({count})" for name, count in line.becomes[:3]) or MISSING


def _percent(rate: Rate) -> float | None:
    return None if rate.known is None else 100 * rate.known
