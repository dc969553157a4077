"""Defences on Splice: every method from the same standard victim, with three trainings of each line."""

from dataclasses import replace
from typing import Any

from hammingbox.reproduction.recipes import SPLICE, SPLICE_QUICK
from hammingbox.reproduction.training_curves import DefenceTableWithCurves
from hammingbox.reproduction.tuning import CHOSEN_ON_SPLICE, TRAINING_ON_SPLICE, Setting
from hammingbox.studies.defence_table import COMMON_REASONS
from hammingbox.studies.recipe import Recipe, defended
from hammingbox.studies.study import Size

LABELS = {"TRADES": "TRADES 1/λ=2"}
"""Labels that differ from the method's name."""

METHODS: dict[str, Setting] = {LABELS.get(method, method): setting for method, setting in CHOSEN_ON_SPLICE.items()}
"""The chosen setting of every line."""


def _lines(victim: Recipe, budget: int, **training: Any) -> tuple[Recipe, ...]:
    """The standard victim and every method, with the same rows and epochs."""
    start = replace(victim, label="standard")
    return (
        start,
        *(
            defended(
                label, start, method.defence, budget=budget, settings=method.settings,
                **(training | {"learning_rate": method.learning_rate}),
            )
            for label, method in METHODS.items()
        ),
    )  # fmt: skip


DEFENCE_SPLICE = DefenceTableWithCurves(
    name="defence-splice",
    title="Defences on Splice",
    source="an addition to Tables 4 and 5",
    sizes={
        "smoke": Size(
            victims=_lines(SPLICE_QUICK, 2, epochs=1, robust_rows=20), rows=20, budgets=(2,), attacks=("gga", "swap")
        ),
        "cpu": Size(
            victims=_lines(replace(SPLICE, trainings=3), 2, **TRAINING_ON_SPLICE),
            rows=633,
            budgets=(2,),
            attacks=("hotflip", "ga", "pcaa", "auto"),
            attack_rows={"pcaa": 300},
        ),
        "paper": Size(
            victims=_lines(replace(SPLICE, trainings=5), 2, epochs=30),
            rows=633,
            budgets=(1, 2, 3, 4, 5),
            seeds=5,
            attacks=("hotflip", "pcaa", "sa", "gsa", "ga", "gga", "auto"),
        ),
    },
    compared=tuple(("PAdvT", other) for other in ("standard", *(label for label in METHODS if label != "PAdvT"))),
    reasons=(
        *COMMON_REASONS,
        "The paper has no defence on Splice, because it has few rows. They suffice to train every method three times.",
        "All lines start from the standard victim of the same seed and train against budget 2, in the cpu preset for "
        "at most 6 epochs, as in `tuning-splice`, which chose the settings of each defence.",
        "The hull of ASCC and the l2 ball know no budget. On Splice every base has the same candidates, so the hull "
        "contains every sequence.",
    ),
)
