"""How a comparison shows itself in a notebook: one line per attack, one curve per attack."""

from hammingbox.notebook import Axes, Frame, axes_or_new, data_frame, html_table
from hammingbox.report.summary import VictimSummary


def frame_of(summary: VictimSummary) -> Frame:
    """One line per attack, budget and seed, with the reason where an attack refused.

    Raises:
        InputError: pandas is not installed.
    """
    records = summary.records()
    names = list(dict.fromkeys(name for record in records for name in record))
    return data_frame({name: [record.get(name) for record in records] for name in names})


def html_of(summary: VictimSummary) -> str:
    """Success in per cent by attack and budget, and the reasons of attacks that refused."""
    lines = []
    for attack in summary.attacks:
        cells = [summary.ran(attack, budget) for budget in summary.budgets]
        lines.append((attack, *("-" if cell is None else f"{100 * cell.rate:.1f}" for cell in cells)))
    worst = {line.budget: line for line in summary.worst}
    shown = (f"{100 * worst[b].success.value:.1f}" if b in worst else "-" for b in summary.budgets)
    reasons = [
        f"{attack} at {'budgets' if len(budgets) > 1 else 'budget'} {', '.join(map(str, budgets))} was refused: {why}"
        for attack, budgets, why in summary.refused
    ]
    return html_table(
        f"{summary.results.data}, {summary.name}: success in % of the attacked rows, by budget",
        ("attack", *map(str, summary.budgets)),
        [*lines, ("worst case", *shown)],
        reasons,
    )


def curves_of(summary: VictimSummary, axes: Axes | None = None) -> Axes:
    """Success by budget: a thin line per attack, and the worst case over all of them.

    Raises:
        InputError: matplotlib is not installed.
    """
    axes = axes_or_new(axes, width=7.0, height=3.2)
    for attack in summary.attacks:
        points = [(b, 100 * cell.rate) for b in summary.budgets if (cell := summary.ran(attack, b)) is not None]
        if points:
            axes.plot(*zip(*points, strict=True), marker=".", linewidth=1, label=attack)
    worst = [(line.budget, 100 * line.success.value) for line in summary.worst]
    if worst:
        axes.plot(*zip(*worst, strict=True), color="black", linewidth=2, linestyle="--", label="worst case")
    axes.set_xticks(summary.budgets)
    axes.set_ylim(0, 102)
    axes.set_xlabel("budget (changed features)")
    axes.set_ylabel("success, %")
    axes.set_title(f"{summary.results.data}, {summary.name}", fontsize="medium", loc="left")
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize="small")
    return axes
