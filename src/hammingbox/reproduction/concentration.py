"""The paper's figure of concentration: unnormalised pi of three features at budgets 1, 3 and 5, and all entropies."""

from dataclasses import dataclass
from functools import cached_property

import torch

from hammingbox.attacks import PCAA, Distribution
from hammingbox.errors import FileError, InputError
from hammingbox.evaluation.accuracy import correctly_classified
from hammingbox.report.artefacts.figures import Panel, concentration_figure
from hammingbox.report.artefacts.table import Table
from hammingbox.reproduction.victims import IPS, SPLICE, SPLICE_QUICK
from hammingbox.studies.plan import Work, passes_a_row, plan_training, seconds_a_pass
from hammingbox.studies.recipe import Recipe
from hammingbox.studies.study import Experiment, Outcome, Size
from hammingbox.studies.workspace import Workspace


@dataclass(frozen=True)
class Found:
    """Distributions of some rows at one budget."""

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
        """Unnormalised pi in the order of categories."""
        start, width = self._place(feature)
        ids = self.distribution.candidates.ids[row, start : start + width]
        pi = torch.zeros(int(ids.max()) + 1).scatter(0, ids, self.distribution.pi[row, start : start + width].detach())
        title = f"budget {self.budget}, {name}"
        return Panel(title, tuple(pi.tolist()), int(ids[0]), int(ids[self.likeliest(row, feature)]))

    def _place(self, feature: int) -> tuple[int, int]:
        layout = self.distribution.candidates.layout
        return int(layout.starts[feature]), int(layout.widths[feature])


@dataclass(frozen=True, kw_only=True)
class Concentration(Experiment):
    """How sure PCAA's distribution is of each feature's category."""

    def plan(self, workspace: Workspace, size: Size) -> list[Work]:
        """One run of Algorithm 1 for each row and budget."""
        steps: list[Work] = []
        for recipe in size.victims:
            try:
                steps += plan_training(workspace, recipe)
                x, _ = workspace.rows(recipe, size.rows).batch(slice(None))
                once = seconds_a_pass(workspace.untrained(recipe).victim, x)
            except (FileError, InputError) as error:
                steps.append(Work(f"{recipe.data}, {recipe.label}", note=f"skipped: {error}"))
                continue
            _, backward = passes_a_row(PCAA(zetas=(1.0,)), torch.ones(1).double(), 1)
            passes = 2 * backward * len(x) * len(size.budgets)
            steps.append(
                Work(f"{recipe.data}, {recipe.label}", len(x) * len(size.budgets), passes, 1.5 * passes * once)
            )
        return steps

    def run(self, workspace: Workspace, size: Size) -> Outcome:
        """Distributions, figures and a table of entropies."""
        outcome = Outcome(notes=self.reasons)
        lines: list[tuple[str, ...]] = []
        for recipe in size.victims:
            try:
                workspace.need(recipe)
            except (FileError, InputError) as error:
                outcome.skipped.append(f"{recipe.data}, {recipe.label}: {error}")
                continue
            found = self._distributions(workspace, size, recipe)
            names = [feature.name for feature in workspace.opened(recipe).splits.schema.features]
            chosen = _three_features(found)
            if chosen is None:
                outcome.skipped.append(f"{recipe.data}: no row whose likeliest categories change at every budget")
            else:
                row, features = chosen
                panels = [[one.panel(row, f, names[f]) for f in features] for one in found]
                outcome.figures[f"{recipe.data}-pi"] = concentration_figure(panels)
            lines += [_entropies(recipe.data, one) for one in found]
        columns = ("data", "ε", "mean entropy, bits", "largest, bits", "features above 0.9", "likeliest one changed")
        outcome.tables.append(Table(self.title, columns, tuple(lines)))
        return outcome

    def _distributions(self, workspace: Workspace, size: Size, recipe: Recipe) -> list[Found]:
        victim = workspace.checkpoint(recipe).victim
        data = correctly_classified(victim, workspace.opened(recipe).splits.test, size.rows)
        x, y = data.batch(slice(None))
        return [
            Found(budget, PCAA().distribution(victim, x, y, workspace.threat(recipe, budget)))
            for budget in size.budgets
        ]


def _three_features(found: list[Found]) -> tuple[int, tuple[int, int, int]] | None:
    """A row and three of its features: two keep their category at every budget, one changes at as many as possible.

    The one that changes does so at the largest budget at least; None when no row has such three.
    """
    changed = torch.stack([one.likeliest_slots != 0 for one in found])  # budget, row, feature
    kept = ~changed.any(0)
    moves = changed.sum(0) * changed[-1] * (kept.sum(1, keepdim=True) >= 2)
    if not moves.any():
        return None
    row, moving = divmod(int(moves.argmax()), moves.shape[1])
    keeping = kept[row].nonzero()[:, 0].tolist()
    # Spread over the row, so that the two are not neighbours.
    return row, (keeping[len(keeping) // 3], keeping[2 * len(keeping) // 3], moving)


def _entropies(data: str, found: Found) -> tuple[str, ...]:
    """Over all features of all rows that may change."""
    candidates, log_p = found.distribution.candidates, found.distribution.log_probabilities
    layout = candidates.layout
    terms = torch.where(candidates.valid, -log_p.exp() * log_p, 0.0)
    entropy = layout.reduce(terms, lambda rectangle: rectangle.sum(-1)) / torch.log(torch.tensor(2.0))
    highest = layout.reduce(log_p, lambda rectangle: rectangle.amax(-1)).exp()
    free = candidates.counts > 1
    moved = layout.first(log_p).exp() < highest
    return (
        data,
        str(found.budget),
        f"{entropy[free].mean().item():.4f}",
        f"{entropy[free].max().item():.2f}",
        f"{100 * (highest[free] > 0.9).double().mean().item():.1f} %",
        f"{100 * moved[free].double().mean().item():.1f} %",
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
        "The paper shows three features of IPS and gives no numbers; entropies over all features are added here.",
        "The first zeta of our default sweep; a feature is sure when one category has more than 0.9.",
    ),
)
