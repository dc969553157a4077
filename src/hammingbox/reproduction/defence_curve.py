"""Clean error against robust error for several settings of a defence: one setting does not show a method."""

from dataclasses import replace
from typing import Any

from hammingbox.report.artefacts.figures import curve_figure
from hammingbox.reproduction.defence_ag import ALONE, SHORTER, TRAINING, wide
from hammingbox.reproduction.defence_imdb import MIXTURE, ZETA
from hammingbox.reproduction.recipes import AG, AG_WIDE, SPLICE, SPLICE_QUICK
from hammingbox.studies.defence_table import COMMON_REASONS, DefenceTable, errors, evaluated
from hammingbox.studies.grid import Grid
from hammingbox.studies.line_errors import CLEAN, WORST
from hammingbox.studies.recipe import Recipe, defended
from hammingbox.studies.statistics import over_seeds
from hammingbox.studies.study import Outcome, Size


class DefenceCurve(DefenceTable):
    """A defence table with a figure per budget: clean error against the error under the worst attack."""

    draws_bars = False

    def outcome(self, grid: Grid, size: Size) -> Outcome:
        """The tables, and one figure per budget."""
        outcome = super().outcome(grid, size)
        for budget in size.budgets:
            points = {}
            for recipe in size.victims:
                if cells := evaluated(grid, recipe, budget):
                    clean, robust = (100 * over_seeds(errors(cells, line)).mean for line in (CLEAN, WORST))
                    points[recipe.label] = (clean, robust)
            outcome.figures[f"{self.name}-budget{budget}"] = curve_figure(f"budget {budget}", points)
        return outcome


def _shares(start: Recipe, budget: int, **training: Any) -> tuple[Recipe, ...]:
    """Swap training and PAdvT, each with half of a batch clean and with no clean rows."""
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


SETTINGS_OF_SPLICE: tuple[tuple[str, str, dict[str, Any], dict[str, Any]], ...] = (
    ("swap, half clean", "swap", {"tries": 8, "clean_share": 0.5}, {}),
    ("swap", "swap", {"tries": 8, "clean_share": 0.0}, {}),
    ("swap, long", "swap", {"tries": 8, "clean_share": 0.0}, {"epochs": 45}),
    ("swap against 3, three quarters clean", "swap", {"tries": 8, "clean_share": 0.75}, {"budget": 3}),
    ("swap against 3, half clean", "swap", {"tries": 8, "clean_share": 0.5}, {"budget": 3}),
    ("swap against 3, a quarter clean", "swap", {"tries": 8, "clean_share": 0.25}, {"budget": 3}),
    ("swap against 3", "swap", {"tries": 8, "clean_share": 0.0}, {"budget": 3}),
    ("swap against 3, robust epoch", "swap", {"tries": 8, "clean_share": 0.0}, {"budget": 3, "criterion": "robust"}),
    ("swap against 4, half clean", "swap", {"tries": 8, "clean_share": 0.5}, {"budget": 4}),
    ("swap against 4, robust epoch", "swap", {"tries": 8, "clean_share": 0.0}, {"budget": 4, "criterion": "robust"}),
    ("PAdvT, half clean", "padvt", {"clean_share": 0.5}, {}),
    ("PAdvT", "padvt", {"clean_share": 0.0}, {}),
    ("PAdvT against 3", "padvt", {"clean_share": 0.0}, {"budget": 3}),
    ("TRADES 1/λ=1", "trades", {"weight": 1.0}, {}),
    ("TRADES 1/λ=5", "trades", {"weight": 5.0}, {}),
    ("TRADES 1/λ=5 against 3", "trades", {"weight": 5.0}, {"budget": 3}),
)
"""Label, defence, its settings, and the budget and training that differ from `_frontier`'s."""

OTHER_NETS_OF_SPLICE = (
    replace(SPLICE, label="wide LSTM", model_settings={"hidden": 96, "dropout": 0.5}),
    Recipe(label="CNN", data="splice", model="cnn", training={"epochs": 15}),
    Recipe(label="MLP", data="splice", model="mlp", training={"epochs": 15}),
)


def _frontier(**training: Any) -> tuple[Recipe, ...]:
    """Many settings of the LSTM, then standard and swap training of other nets, against 2 and 3 changes."""
    lines = [SPLICE]
    for label, defence, settings, changes in SETTINGS_OF_SPLICE:
        chosen = {"budget": 2} | training | changes
        lines.append(defended(f"LSTM, {label}", SPLICE, defence, settings=settings, **chosen))
    for net in OTHER_NETS_OF_SPLICE:
        lines.append(net)
        for budget in (2, 3):
            name, settings = f"{net.label}, swap against {budget}", ALONE | {"tries": 8}
            lines.append(defended(name, net, "swap", budget=budget, settings=settings, **training))
    return tuple(lines)


_AG_POINTS = (
    AG,
    *(
        defended(
            f"PAdvT, {share:.0%} clean, 16,000 rows", AG, "padvt", budget=4, settings={"clean_share": share},
            **SHORTER,
        )
        for share in (0.5, 0.0)
    ),
    defended("PAdvT, all rows", AG, "padvt", budget=4, settings=ALONE, **TRAINING),
    *wide(4)[:3],
    replace(AG_WIDE, label="standard, wide, a tenth blanked", model_settings={"channels": 384}),
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
        "cpu": Size(
            victims=_frontier(epochs=15),
            rows=633,
            budgets=(2,),
            attacks=("auto",),
        ),
        "paper": Size(
            victims=_frontier(epochs=30),
            rows=633,
            budgets=(1, 2, 3),
            attacks=("pcaa", "ga", "auto"),
        ),
    },
    reasons=COMMON_REASONS,
)

CURVE_AG = DefenceCurve(
    name="defence-curve-ag",
    title="Clean and robust error of PAdvT on AG's News",
    source="settings of a line in Table 5",
    sizes={
        "smoke": _SMOKE,
        "cpu": Size(victims=_AG_POINTS, rows=200, budgets=(4,), attacks=("hotflip", "pcaa", "gga", "auto")),
        "paper": Size(victims=_AG_POINTS, rows=1000, budgets=(4,), attacks=("hotflip", "pcaa", "gga", "auto")),
    },
    reasons=COMMON_REASONS,
)


def _settings_of_padvt(preset: str) -> tuple[Recipe, ...]:
    """The victims of the zeta and mixture tables, and the standard victims that they start from."""
    trained = (*ZETA.sizes[preset].victims, *MIXTURE.sizes[preset].victims)
    starts = {victim.start.folder: victim.start for victim in trained if victim.start is not None}
    return (*starts.values(), *trained)


CURVE_IMDB = DefenceCurve(
    name="defence-curve-imdb",
    title="Clean and robust error of PAdvT on IMDB",
    source="the lines of Tables 3 and 6",
    sizes={preset: replace(size, victims=_settings_of_padvt(preset)) for preset, size in ZETA.sizes.items()},
    reasons=COMMON_REASONS,
)
