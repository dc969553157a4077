"""Clean error against robust error over several settings of a defence: one point is not the method."""

from typing import Any

from matplotlib.figure import Figure

from hammingbox.experiments.base import Outcome, Size
from hammingbox.experiments.defence_ag import ALONE, TRAINING
from hammingbox.experiments.defence_table import CLEAN, COMMON_REASONS, WORST, DefenceTable
from hammingbox.experiments.recipe import Recipe, defended
from hammingbox.experiments.victims import AG, SPLICE, SPLICE_QUICK
from hammingbox.experiments.workspace import Workspace


class DefenceCurve(DefenceTable):
    """A defence table, and a figure of its first and last line for every victim."""

    def run(self, workspace: Workspace, size: Size) -> Outcome:
        """The table, and the figure made from it."""
        outcome = super().run(workspace, size)
        for table in outcome.tables:
            points: dict[str, dict[str, float]] = {}
            for victim, attack, error, *_ in table.rows:
                if attack in (CLEAN, WORST) and error != "-":
                    points.setdefault(victim, {})[attack] = float(error)
            outcome.figures[self.name] = _figure(
                {name: (p[CLEAN], p[WORST]) for name, p in points.items() if WORST in p}
            )
        return outcome


def _figure(points: dict[str, tuple[float, float]]) -> Figure:
    figure = Figure(figsize=(5.5, 4.0), layout="constrained")
    axes = figure.add_subplot()
    for name, (clean, robust) in points.items():
        axes.plot(clean, robust, "o", label=name)
        axes.annotate(name, (clean, robust), xytext=(4, 4), textcoords="offset points", fontsize=7)
    axes.set_xlabel("clean error, %")
    axes.set_ylabel("error under the worst attack, %")
    axes.grid(alpha=0.3)
    return figure


def _shares(start: Recipe, budget: int, **training: Any) -> tuple[Recipe, ...]:
    """Swap training and PAdvT with half, and with none, of each batch clean."""
    return (
        start,
        *(
            defended(
                f"{start.label}, {label}, {share:.0%} clean", start, defence, budget=budget,
                settings={"clean_share": share} | settings, **training,
            )
            for label, defence, settings in (("swap", "swap", {"tries": 8}), ("PAdvT", "padvt", {}))
            for share in (0.5, 0.0)
        ),
    )  # fmt: skip


_AG_POINTS = (
    AG,
    *(
        defended(
            f"PAdvT, {share:.0%} clean, 16,000 rows", AG, "padvt", budget=4, settings={"clean_share": share},
            **(TRAINING | {"epochs": 3, "train_rows": 16_000}),
        )
        for share in (0.5, 0.0)
    ),
    defended("PAdvT, all rows", AG, "padvt", budget=4, settings=ALONE, **TRAINING),
)  # fmt: skip

_SMOKE = Size(
    victims=_shares(SPLICE_QUICK, 2, epochs=1, robust_rows=20)[:3],
    rows=20,
    budgets=(2,),
    attacks=("gga", "swap"),
)

CURVE_SPLICE = DefenceCurve(
    name="defence-curve-splice",
    title="Clean and robust error on Splice",
    source="an addition to the defence tables",
    sizes={
        "smoke": _SMOKE,
        "cpu": Size(victims=_shares(SPLICE, 2, epochs=15), rows=200, budgets=(2,), attacks=("pcaa", "ga", "auto")),
        "paper": Size(
            victims=_shares(SPLICE, 2, epochs=30), rows=600, budgets=(1, 2, 3), attacks=("pcaa", "ga", "auto")
        ),
    },
    reasons=COMMON_REASONS,
)

CURVE_AG = DefenceCurve(
    name="defence-curve-ag",
    title="Clean and robust error of PAdvT on AG's News",
    source="three settings of a line in Table 5",
    sizes={
        "smoke": _SMOKE,
        "cpu": Size(victims=_AG_POINTS, rows=200, budgets=(4,), attacks=("hotflip", "pcaa", "gga", "auto")),
        "paper": Size(victims=_AG_POINTS, rows=1000, budgets=(4,), attacks=("hotflip", "pcaa", "gga", "auto")),
    },
    reasons=COMMON_REASONS,
)
