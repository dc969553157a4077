"""The paper's figure of concentration: unnormalised pi of three features at budgets 1, 3 and 5, and entropies."""

from dataclasses import dataclass
from functools import cached_property
from math import log

import torch

from hammingbox.attacks import PCAA, Distribution
from hammingbox.evaluation.accuracy import correctly_classified
from hammingbox.report.artefacts.figures import Panel, concentration_figure
from hammingbox.report.artefacts.table import Column, Table, Value
from hammingbox.reproduction.recipes import IPS, SPLICE, SPLICE_QUICK
from hammingbox.studies.plan import Work, plan_training, seconds_per_pass
from hammingbox.studies.recipe import Recipe
from hammingbox.studies.study import Outcome, Size, Study
from hammingbox.studies.workspace import Workspace

_PCAA = PCAA(steps=20, samples=3, learning_rate=0.25, start=1.0)
"""One long round instead of many short ones: the figure shows a distribution that has settled."""
_SURE = 0.9
"""Probability of one category above which a feature counts as decided."""

_COLUMNS = (
    Column.text("data"),
    Column.number("ε"),
    Column.number("mean entropy, bits", ".4f"),
    Column.number("largest, bits", ".2f"),
    Column.number("features above 0.9, %", ".1f"),
    Column.number("likeliest one changed, %", ".1f"),
)


@dataclass(frozen=True)
class Found:
    """The distributions of some rows at one budget."""

    budget: int
    distribution: Distribution

    @cached_property
    def likeliest_slots(self) -> torch.Tensor:
        """The most probable slot of every feature of every row; slot 0 is the original category."""
        layout = self.distribution.candidates.layout
        return layout.reduce(self.distribution.log_probabilities, lambda rectangle: rectangle.argmax(-1))

    def likeliest(self, row: int, feature: int) -> int:
        """The most probable slot of a feature."""
        return int(self.likeliest_slots[row, feature])

    def panel(self, row: int, feature: int, name: str) -> Panel:
        """Unnormalised pi of a feature, in the order of categories."""
        start, width = self._place(feature)
        ids = self.distribution.candidates.ids[row, start : start + width]
        pi = torch.zeros(int(ids.max()) + 1).scatter(0, ids, self.distribution.pi[row, start : start + width].detach())
        title = f"budget {self.budget}, {name}"
        return Panel(title, tuple(pi.tolist()), int(ids[0]), int(ids[self.likeliest(row, feature)]))

    def _place(self, feature: int) -> tuple[int, int]:
        layout = self.distribution.candidates.layout
        return int(layout.starts[feature]), int(layout.widths[feature])


@dataclass(frozen=True, kw_only=True)
class Concentration(Study):
    """How much of PCAA's distribution is on one category of each feature."""

    def plan(self, workspace: Workspace, size: Size) -> list[Work]:
        """One run of Algorithm 1 per row and budget."""
        steps: list[Work] = []
        for recipe in size.victims:
            if reason := workspace.missing(recipe):
                steps.append(Work(recipe.name, note=f"skipped: {reason}"))
                continue
            steps += plan_training(workspace, recipe)
            x, _ = workspace.rows(recipe, size.rows).batch(slice(None))
            seconds = seconds_per_pass(workspace.untrained(recipe).victim, x)
            rows = len(x) * len(size.budgets)
            passes = 2.0 * _PCAA.steps * _PCAA.samples * rows
            # Half of the passes are backward passes, which take about as long as two forward passes.
            steps.append(Work(recipe.name, rows, passes, 1.5 * passes * seconds))
        return steps

    def run(self, workspace: Workspace, size: Size) -> Outcome:
        """Distributions, figures and a table of entropies."""
        outcome = Outcome(notes=self.reasons)
        rows: list[tuple[Value, ...]] = []
        for recipe in size.victims:
            if reason := workspace.missing(recipe):
                outcome.skipped.append(f"{recipe.name}: {reason}")
                continue
            found = self._distributions(workspace, size, recipe)
            names = [feature.name for feature in workspace.task(recipe).splits.schema.features]
            chosen = _three_features(found)
            if chosen is None:
                outcome.skipped.append(f"{recipe.data}: no row has two features that stay and one that changes")
            else:
                row, features = chosen
                panels = [[one.panel(row, f, names[f]) for f in features] for one in found]
                outcome.figures[f"{recipe.data}-pi"] = concentration_figure(panels)
            rows += [_entropies(recipe.data, one) for one in found]
        outcome.tables.append(Table(self.title, _COLUMNS, tuple(rows)))
        return outcome

    def _distributions(self, workspace: Workspace, size: Size, recipe: Recipe) -> list[Found]:
        victim = workspace.checkpoint(recipe).victim
        data = correctly_classified(victim, workspace.task(recipe).splits.test, size.rows)
        x, y = data.batch(slice(None))
        return [
            Found(budget, _PCAA.distribution(victim, x, y, workspace.threat(recipe, budget))) for budget in size.budgets
        ]


def _three_features(found: list[Found]) -> tuple[int, tuple[int, int, int]] | None:
    """A row and three of its features: two keep their category at every budget, one changes at as many as possible.

    The third changes at least at the largest budget. None if no row has three such features.
    """
    changed = torch.stack([one.likeliest_slots != 0 for one in found])  # budget, row, feature
    kept = ~changed.any(0)
    moves = changed.sum(0) * changed[-1] * (kept.sum(1, keepdim=True) >= 2)
    if not moves.any():
        return None
    row, moving = divmod(int(moves.argmax()), moves.shape[1])
    keeping = kept[row].nonzero()[:, 0].tolist()
    # Spread over the row, so that the two are not adjacent.
    return row, (keeping[len(keeping) // 3], keeping[2 * len(keeping) // 3], moving)


def _entropies(data: str, found: Found) -> tuple[Value, ...]:
    """Statistics over all features of all rows, without features that cannot change."""
    candidates, log_p = found.distribution.candidates, found.distribution.log_probabilities
    layout = candidates.layout
    terms = torch.where(candidates.valid, -log_p.exp() * log_p, 0.0)
    entropy = layout.reduce(terms, lambda rectangle: rectangle.sum(-1)) / log(2)
    highest = layout.reduce(log_p, lambda rectangle: rectangle.amax(-1)).exp()
    free = candidates.counts > 1
    changed = layout.first(log_p).exp() < highest
    return (
        data,
        found.budget,
        entropy[free].mean().item(),
        entropy[free].max().item(),
        100 * (highest[free] > _SURE).double().mean().item(),
        100 * changed[free].double().mean().item(),
    )


CONCENTRATION = Concentration(
    name="concentration",
    title="Concentration of PCAA's distribution",
    source="Figure 5",
    sizes={
        "smoke": Size(victims=(SPLICE_QUICK, IPS), rows=8, budgets=(1, 3, 5)),
        "cpu": Size(victims=(IPS, SPLICE), rows=100, budgets=(1, 3, 5)),
        "paper": Size(victims=(IPS,), rows=190, budgets=(1, 3, 5)),
    },
    reasons=(
        "The paper shows three features of IPS and gives no numbers; the entropies over all features are added here.",
        "The distributions are those of the first zeta of our default sweep.",
    ),
)
