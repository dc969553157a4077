"""A comparison: several attacks at several budgets on the same rows, as a value."""

from dataclasses import dataclass, field
from typing import Any

from jaxtyping import Bool
from torch import Tensor

from hammingbox.attacks import ATTACKS
from hammingbox.evaluation.diagnose import Finding, diagnose_results
from hammingbox.evaluation.evaluation import Evaluation
from hammingbox.evaluation.rates import Rate
from hammingbox.report.summary import LIMITS


@dataclass(frozen=True)
class Cell:
    """One attack at one budget: its summary, or why it was not run."""

    attack: str
    budget: int
    summary: dict[str, Any] | None
    refused: str | None = None


@dataclass
class Comparison:
    """Cells of a table of attacks and budgets on one victim."""

    data: str
    victim: str
    cells: list[Cell] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    _broken: dict[tuple[str, int], Bool[Tensor, "rows"]] = field(default_factory=dict, repr=False)

    @property
    def attacks(self) -> list[str]:
        """Names in the order they were run."""
        return list(dict.fromkeys(cell.attack for cell in self.cells))

    @property
    def budgets(self) -> list[int]:
        """Budgets in rising order."""
        return sorted({cell.budget for cell in self.cells})

    @property
    def accuracy(self) -> float | None:
        """Share of rows that were right before; unknown where every attack refused."""
        ran = next((cell.summary for cell in self.cells if cell.summary is not None), None)
        return None if ran is None else ran["correct"] / ran["rows"]

    def cell(self, attack: str, budget: int) -> Cell | None:
        """The cell of an attack at a budget, if it is there."""
        return next((c for c in self.cells if (c.attack, c.budget) == (attack, budget)), None)

    def add(self, attack: str, budget: int, evaluation: Evaluation) -> None:
        """Adds a cell."""
        self.cells.append(Cell(attack, budget, evaluation.summary()))
        self._broken[attack, budget] = evaluation.rows.success

    def refuse(self, attack: str, budget: int, reason: str) -> None:
        """Adds a cell for an attack that was too expensive."""
        self.cells.append(Cell(attack, budget, None, reason))

    def best(self, budget: int) -> float:
        """The highest success rate at a budget."""
        cells = (self.cell(attack, budget) for attack in self.attacks)
        return max((cell.summary["success_rate"] for cell in cells if cell and cell.summary), default=0.0)

    def finish(self) -> None:
        """Adds what only shows when all cells are there: gaps to the oracle, and results that contradict each other."""
        for cell in self.cells:
            known = (self._broken.get((name, cell.budget)) for name in LIMITS)
            limit = next((broken for broken in known if broken is not None), None)
            if cell.summary is not None and limit is not None:
                missed = int((limit & ~self._broken[cell.attack, cell.budget]).sum())
                cell.summary["optimality_gap"] = missed / max(cell.summary["attacked"], 1)
        rates = {
            (cell.attack, cell.budget): Rate(cell.summary["success"], cell.summary["attacked"])
            for cell in self.cells
            if cell.summary is not None
        }
        self.findings += diagnose_results(rates, {name: ATTACKS[name]().needs_gradient for name in self.attacks})
