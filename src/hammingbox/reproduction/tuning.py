"""How the settings of each defence were chosen: as many for every method, judged on validation rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from hammingbox.report.artefacts.table import Column, Table, Value
from hammingbox.reproduction.recipes import IMDB_CNN_WITH_VECTORS, SPLICE, SPLICE_QUICK, early
from hammingbox.studies.plan import Work, plan_training
from hammingbox.studies.recipe import Recipe, defended
from hammingbox.studies.study import Outcome, Size, Study
from hammingbox.studies.workspace import Workspace


class Setting(NamedTuple):
    """A setting of a defence that is tried."""

    defence: str
    settings: Mapping[str, Any]
    learning_rate: float = 2e-3


TRIED: Mapping[str, tuple[Setting, ...]] = {
    "HotFlip": (
        Setting("hotflip", {"clean_share": 0.0}),
        Setting("hotflip", {"clean_share": 0.0}, learning_rate=1e-3),
        Setting("hotflip", {"clean_share": 0.25}),
        Setting("hotflip", {"clean_share": 0.5}),
    ),
    "l2 ball": tuple(Setting("l2_ball", {"radius": radius}) for radius in (0.5, 1.0, 2.0, 4.0)),
    "ASCC": (
        Setting("ascc_public", {}),
        Setting("ascc_public", {}, learning_rate=1e-3),
        Setting("ascc_public", {"weight": 10.0}),
        Setting("ascc", {}),
    ),
    "PAdvT": (
        Setting("padvt", {"clean_share": 0.0}),
        Setting("padvt", {"clean_share": 0.0}, learning_rate=1e-3),
        Setting("padvt", {"clean_share": 0.25}),
        Setting("padvt", {"clean_share": 0.0, "zeta": 3.0}),
    ),
    "PAdvT as printed": tuple(Setting("padvt_paper", {"zeta": zeta}) for zeta in (0.1, 0.2, 0.32, 0.4)),
}
"""Four settings of each method of the paper's IMDB table; those of the last are the zetas of its Table 3."""

TRIED_ON_SPLICE: Mapping[str, tuple[Setting, ...]] = {
    "HotFlip": tuple(Setting("hotflip", {"clean_share": share}, 1e-3) for share in (0.0, 0.25, 0.5, 0.75)),
    "l2 ball": tuple(Setting("l2_ball", {"radius": radius}, 1e-3) for radius in (0.1, 0.25, 0.5, 1.0)),
    "ASCC": (
        Setting("ascc_public", {}, 1e-3),
        Setting("ascc_public", {"weight": 1.0}, 1e-3),
        Setting("ascc_public", {"weight": 0.25}, 1e-3),
        Setting("ascc", {"weight": 1.0}, 1e-3),
    ),
    "TRADES": tuple(Setting("trades", {"weight": weight}, 1e-3) for weight in (0.5, 1.0, 2.0, 5.0)),
    "PAdvT": tuple(Setting("padvt", {"clean_share": share}, 1e-3) for share in (0.0, 0.25, 0.5, 0.75)),
    "PAdvT as printed": (
        Setting("padvt_paper", {"zeta": 0.05}, 1e-3),
        Setting("padvt_paper", {"zeta": 0.1}, 1e-3),
        Setting("padvt_paper", {}, 1e-3),  # zeta is 0.2
        Setting("padvt_paper", {"zeta": 0.3}, 1e-3),
    ),
    "swap": tuple(Setting("swap", {"clean_share": share, "tries": 8}, 1e-3) for share in (0.0, 0.25, 0.5, 0.75)),
}
"""The same for Splice, and for the methods that the paper's IMDB table lacks."""

CHOSEN: Mapping[str, Setting] = {
    "HotFlip": TRIED["HotFlip"][0],
    "l2 ball": TRIED["l2 ball"][1],
    "ASCC": TRIED["ASCC"][0],
    "PAdvT": TRIED["PAdvT"][0],
    "PAdvT as printed": TRIED["PAdvT as printed"][1],
}
"""The settings of the tables of IMDB."""

CHOSEN_ON_SPLICE: Mapping[str, Setting] = {
    "HotFlip": TRIED_ON_SPLICE["HotFlip"][0],
    "l2 ball": TRIED_ON_SPLICE["l2 ball"][3],
    "ASCC": TRIED_ON_SPLICE["ASCC"][1],
    "TRADES": TRIED_ON_SPLICE["TRADES"][2],
    "PAdvT": TRIED_ON_SPLICE["PAdvT"][0],
    "PAdvT as printed": TRIED_ON_SPLICE["PAdvT as printed"][3],
    "swap": TRIED_ON_SPLICE["swap"][0],
}
"""The settings of the table of Splice: for each method the one with the lowest mean error in `tuning-splice`."""


def trainings(
    victim: Recipe, budget: int, tried: Mapping[str, tuple[Setting, ...]] = TRIED, **training: Any
) -> tuple[Recipe, ...]:
    """One short training for every setting, all from the same standard victim."""
    return tuple(
        defended(
            f"{method}, {_shown(setting)}", victim, setting.defence, budget=budget, settings=setting.settings,
            **(training | {"learning_rate": setting.learning_rate}),
        )
        for method, settings in tried.items()
        for setting in settings
    )  # fmt: skip


def _shown(setting: Setting) -> str:
    parts = [f"{name}={value:g}" for name, value in setting.settings.items()]
    return ", ".join([setting.defence, *parts, f"rate {setting.learning_rate:g}"])


_COLUMNS = (
    Column.text("setting"),
    Column.number("rows", ",d"),
    Column.number("epochs"),
    Column.number("clean error %", ".1f"),
    Column.number("swap error %", ".1f"),
    Column.number("mean %", ".1f"),
    Column.number("s"),
)


@dataclass(frozen=True, kw_only=True)
class Tuning(Study):
    """A line for every setting that was tried: its errors on validation rows and what it cost. No test row is used."""

    def plan(self, workspace: Workspace, size: Size) -> list[Work]:
        """The trainings that are left."""
        reason = workspace.missing(size.victims[0])
        if reason:
            return [Work(self.title, note=f"skipped: {reason}")]
        return [work for recipe in size.victims for work in plan_training(workspace, recipe)]

    def run(self, workspace: Workspace, size: Size) -> Outcome:
        """Trains what is not there yet and tabulates it."""
        if reason := workspace.missing(size.victims[0]):
            return Outcome(skipped=[f"{self.title}: {reason}"], notes=self.reasons)
        rows = tuple(self._row(recipe, workspace.checkpoint(recipe).training) for recipe in size.victims)
        return Outcome(tables=[Table(self.title, _COLUMNS, rows)], notes=self.reasons)

    def _row(self, recipe: Recipe, facts: Mapping[str, Any]) -> tuple[Value, ...]:
        clean = 100 * (1 - facts["validation_accuracy"])
        robust = 100 * (1 - facts["robust_validation_accuracy"])
        cost = round(facts["seconds"])
        return (recipe.label, facts["train_rows"], facts["epochs"], clean, robust, (clean + robust) / 2, cost)


_IMDB: dict[str, Any] = {"train_rows": 4_000, "epochs": 2, "batch_size": 32}

TUNING = Tuning(
    name="tuning",
    title="Settings tried for each defence on IMDB",
    source="an addition to Table 4",
    sizes={
        "smoke": Size(victims=trainings(SPLICE_QUICK, 2, epochs=1, robust_rows=20)[::4]),
        "cpu": Size(victims=trainings(early(IMDB_CNN_WITH_VECTORS), 4, **_IMDB)),
        "paper": Size(victims=trainings(early(IMDB_CNN_WITH_VECTORS), 4, **(_IMDB | {"train_rows": 22_394}))),
    },
    reasons=(
        "Word CNN, counter-fitted neighbours, budget 4, 4,000 reviews and 2 epochs in the cpu preset, all from one "
        "standard victim of two epochs. Errors are on validation rows: clean on all of them, under `swap` on the first "
        "200. The mean of both decides, as it decides which epoch of a training is kept.",
        "Seconds depend on what else the machine does.",
    ),
)

TRAINING_ON_SPLICE: dict[str, Any] = {"epochs": 6, "robust_rows": 316}
"""Also that of the table of Splice, whose first trainings are therefore those of the tuning."""

TUNING_SPLICE = Tuning(
    name="tuning-splice",
    title="Settings tried for each defence on Splice",
    source="an addition to Table 4",
    sizes={
        "smoke": Size(victims=trainings(SPLICE_QUICK, 2, TRIED_ON_SPLICE, epochs=1, robust_rows=20)[::8]),
        "cpu": Size(victims=trainings(SPLICE, 2, TRIED_ON_SPLICE, **TRAINING_ON_SPLICE)),
        "paper": Size(victims=trainings(SPLICE, 2, TRIED_ON_SPLICE, **(TRAINING_ON_SPLICE | {"epochs": 15}))),
    },
    reasons=(
        "LSTM, budget 2, all training rows and 6 epochs in the cpu preset, all from one standard victim. Errors are on "
        "all validation rows, clean and under `swap`. The mean of both decides.",
        "The hull of ASCC and the l2 ball know no budget. On Splice every base has the same candidates, so the hull "
        "contains every sequence.",
        "Seconds depend on what else the machine does.",
    ),
)
