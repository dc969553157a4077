"""A defence table with the curves of its trainings: lambda of Algorithm 2 by epoch, and the accuracies beside it."""

from collections.abc import Mapping
from typing import Any

from hammingbox.report.artefacts.figures import epochs_figure
from hammingbox.report.artefacts.table import Column, Table, Value
from hammingbox.studies.defence_table import DefenceTable
from hammingbox.studies.grid import Grid
from hammingbox.studies.recipe import Recipe
from hammingbox.studies.study import Outcome, Size

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

    def outcome(self, grid: Grid, size: Size) -> Outcome:
        """The tables and figures of errors, then the table and the figure of lambda."""
        outcome = super().outcome(grid, size)
        penalised = [
            (recipe, facts)
            for recipe in size.victims
            for facts in grid.trained(recipe)
            if any("penalty" in epoch["notes"] for epoch in facts.get("history", ()))
        ]
        if penalised:
            rows = tuple(_row(recipe, facts, epoch) for recipe, facts in penalised for epoch in facts["history"])
            outcome.tables.append(Table(f"{self.title}: λ by epoch", _COLUMNS, rows))
            curves = {_name(recipe, facts): _penalties(facts) for recipe, facts in penalised}
            outcome.figures[f"{self.name}-penalty"] = epochs_figure("λ, mean over the epoch", curves)
        return outcome


def _row(recipe: Recipe, facts: Mapping[str, Any], epoch: Mapping[str, Any]) -> tuple[Value, ...]:
    notes, robust = epoch["notes"], epoch["robust_accuracy"]
    right = notes.get("adversarial_accuracy")
    return (
        recipe.name,
        facts["config"]["seed"],
        epoch["epoch"],
        notes.get("penalty"),
        None if right is None else 100 * right,
        100 * (1 - epoch["validation_accuracy"]),
        None if robust is None else 100 * (1 - robust),
    )


def _name(recipe: Recipe, facts: Mapping[str, Any]) -> str:
    seed = facts["config"]["seed"]
    return f"{recipe.label}, seed {seed}" if recipe.trainings > 1 else recipe.label


def _penalties(facts: Mapping[str, Any]) -> list[float]:
    return [epoch["notes"]["penalty"] for epoch in facts["history"] if "penalty" in epoch["notes"]]
