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


def _beyond(start: Recipe, *budgets: int, **training: Any) -> tuple[Recipe, ...]:
    """Swap training against larger budgets than are measured, selected by attacked rows alone: clean error rises."""
    return tuple(
        defended(
            f"{start.label}, swap against {budget}", start, "swap", budget=budget, settings=ALONE | {"tries": 8},
            criterion="robust", **training,
        )
        for budget in budgets
    )  # fmt: skip


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
    *wide(4),
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
            victims=_shares(SPLICE, 2, epochs=15) + _beyond(SPLICE, 3, 4, epochs=20),
            rows=200,
            budgets=(2,),
            attacks=("pcaa", "ga", "auto"),
        ),
        "paper": Size(
            victims=_shares(SPLICE, 2, epochs=30) + _beyond(SPLICE, 3, 4, epochs=30),
            rows=600,
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
    """The victims of the zeta and mixture tables, the standard victims they start from, and one epoch of PAdvT."""
    trained = (*ZETA.sizes[preset].victims, *MIXTURE.sizes[preset].victims)
    starts = {victim.start.folder: victim.start for victim in trained if victim.start is not None}
    once = tuple(
        defended(
            start.label.replace("standard", f"every row once, against {budget}"), start, "padvt", budget=budget,
            settings=ALONE, **(dict(trained[0].training) | {"epochs": 1}),
        )
        for start in starts.values()
        for budget in (trained[0].budget, 2 * trained[0].budget)
    )  # fmt: skip
    return (*starts.values(), *trained, *once)


CURVE_IMDB = DefenceCurve(
    name="defence-curve-imdb",
    title="Clean and robust error of PAdvT on IMDB",
    source="the lines of Tables 3 and 6",
    sizes={preset: replace(size, victims=_settings_of_padvt(preset)) for preset, size in ZETA.sizes.items()},
    reasons=COMMON_REASONS,
)
