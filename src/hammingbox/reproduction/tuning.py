"""How the settings of each defence were chosen: as many for every method, judged on validation rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from hammingbox.report.artefacts.table import Column, Table, Value
from hammingbox.reproduction.recipes import IMDB_CNN_WITH_VECTORS, SPLICE_QUICK, early
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

CHOSEN: Mapping[str, Setting] = {
    "HotFlip": TRIED["HotFlip"][0],
    "l2 ball": TRIED["l2 ball"][1],
    "ASCC": TRIED["ASCC"][0],
    "PAdvT": TRIED["PAdvT"][0],
    "PAdvT as printed": TRIED["PAdvT as printed"][1],
}
"""The settings of the tables."""


def trainings(victim: Recipe, budget: int, **training: Any) -> tuple[Recipe, ...]:
    """One short training for every setting, all from the same standard victim."""
    return tuple(
        defended(
            f"{method}, {_shown(setting)}", victim, setting.defence, budget=budget, settings=setting.settings,
            **(training | {"learning_rate": setting.learning_rate}),
        )
        for method, settings in TRIED.items()
        for setting in settings
    )  # fmt: skip


def _shown(setting: Setting) -> str:
    parts = [f"{name}={value:g}" for name, value in setting.settings.items()]
    return ", ".join([setting.defence, *parts, f"rate {setting.learning_rate:g}"])


_COLUMNS = (
    Column.text("setting"),
    Column.number("reviews", ",d"),
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


_IMDB: dict[str, Any] = {"train_rows": 4_000, "epochs": 2, "batch_size": 32, "robust_rows": 400}

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
        "400. The mean of both decides, as it decides which epoch of a training is kept.",
        "Seconds depend on what else the machine does.",
    ),
)
