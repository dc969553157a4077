"""A defence table with the curves of its trainings: lambda of Algorithm 2 by epoch, and the accuracies beside it."""

from collections.abc import Mapping
from typing import Any

from hammingbox.report.artefacts.figures import Figure, epochs_figure
from hammingbox.report.artefacts.table import Column, Table, Value
from hammingbox.studies.defence_table import DefenceTable
from hammingbox.studies.recipe import Recipe
from hammingbox.studies.study import Outcome, Size
from hammingbox.studies.workspace import Workspace

_COLUMNS = (
    Column.text("victim"),
    Column.number("seed"),
    Column.number("epoch"),
    Column.number("λ", ".3f"),
    Column.number("right on attacked training rows %", ".1f"),
    Column.number("clean validation error %", ".1f"),
    Column.number("swap validation error %", ".1f"),
)


class DefenceTableWithCurves(DefenceTable):
    """A defence table, and one line per epoch of every training with a penalty; lambda is a mean over the epoch."""

    def run(self, workspace: Workspace, size: Size) -> Outcome:
        """The tables of errors, then the table and the figure of the trainings."""
        outcome = super().run(workspace, size)
        trained = [
            training
            for recipe in size.victims
            if not workspace.missing(recipe)
            for training in recipe.each_training()
            if training.start is not None
        ]
        histories = [(recipe, workspace.checkpoint(recipe).training.get("history", [])) for recipe in trained]
        penalised = [(recipe, lines) for recipe, lines in histories if lines and "penalty" in lines[0]["notes"]]
        if penalised:
            rows = tuple(_row(recipe, line) for recipe, lines in penalised for line in lines)
            outcome.tables.append(Table(f"{self.title}: λ by epoch", _COLUMNS, rows))
            outcome.figures[f"{self.name}-penalty"] = penalty_figure(penalised)
        return outcome


def _row(recipe: Recipe, line: Mapping[str, Any]) -> tuple[Value, ...]:
    notes, robust = line["notes"], line["robust_accuracy"]
    right = notes.get("adversarial_accuracy")
    return (
        recipe.name,
        recipe.seed,
        line["epoch"],
        notes["penalty"],
        None if right is None else 100 * right,
        100 * (1 - line["validation_accuracy"]),
        None if robust is None else 100 * (1 - robust),
    )


def penalty_figure(histories: list[tuple[Recipe, list[dict[str, Any]]]]) -> Figure:
    """Lambda by epoch, one curve per training."""
    curves = {
        f"{recipe.label}, seed {recipe.seed}" if recipe.seed else recipe.label: [
            line["notes"]["penalty"] for line in lines
        ]
        for recipe, lines in histories
    }
    return epochs_figure("λ", curves)
