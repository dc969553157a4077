"""A comparison: several attacks at several budgets on the same rows, as a value that can be written and read."""

from dataclasses import dataclass, field
from typing import Any

from jaxtyping import Bool
from torch import Tensor

from hammingbox.attacks import ATTACKS
from hammingbox.data.schema import Schema
from hammingbox.diagnose import Finding, diagnose_results
from hammingbox.evaluate import Evaluation, Rate


@dataclass(frozen=True)
class Example:
    """A broken row: its categories before and after, and the classes the victim answers."""

    attack: str
    budget: int
    row: int
    before: tuple[str, ...]
    after: tuple[str, ...]
    label: str
    prediction: str
    confidence_before: float
    confidence_after: float


@dataclass(frozen=True)
class Cell:
    """One attack at one budget: its summary, or why it was not run."""

    attack: str
    budget: int
    summary: dict[str, Any] | None
    refused: str | None = None


@dataclass
class Comparison:
    """Cells of a table of attacks and budgets, and some rows to look at."""

    data: str
    victim: str
    accuracy: float
    classes: tuple[str, ...]
    alphabet: bool
    """All features share one alphabet of single letters: rows read as strings."""
    command: str
    cells: list[Cell] = field(default_factory=list)
    examples: list[Example] = field(default_factory=list)
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

    def cell(self, attack: str, budget: int) -> Cell | None:
        """The cell of an attack at a budget, if it is there."""
        return next((c for c in self.cells if (c.attack, c.budget) == (attack, budget)), None)

    def add(self, attack: str, budget: int, evaluation: Evaluation, *, examples: int = 3) -> None:
        """Adds a cell and its first few broken rows."""
        self.cells.append(Cell(attack, budget, evaluation.summary()))
        self._broken[attack, budget] = evaluation.rows.success
        self.examples += _examples(attack, evaluation, examples)

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
            limit = self._broken.get(("oracle", cell.budget), self._broken.get(("exhaustive", cell.budget)))
            if cell.summary is not None and limit is not None:
                missed = int((limit & ~self._broken[cell.attack, cell.budget]).sum())
                cell.summary["optimality_gap"] = missed / max(cell.summary["correct"], 1)
        rates = {
            (cell.attack, cell.budget): Rate(cell.summary["success"], cell.summary["correct"])
            for cell in self.cells
            if cell.summary is not None
        }
        self.findings += diagnose_results(rates, {name: ATTACKS[name]().needs_gradient for name in self.attacks})


def is_alphabet(schema: Schema) -> bool:
    """Whether rows of a schema read as strings of letters."""
    return schema.shares_alphabet and all(len(category) == 1 for category in schema.features[0].categories)


def _examples(attack: str, evaluation: Evaluation, count: int) -> list[Example]:
    rows, schema = evaluation.rows, evaluation.data.schema
    before, after = rows.clean_logits.softmax(1), rows.logits.softmax(1)
    return [
        Example(
            attack,
            evaluation.threat.budget,
            int(rows.numbers[i]),
            schema.decode(rows.clean[i].tolist()),
            schema.decode(rows.adversarial[i].tolist()),
            schema.classes[int(rows.labels[i])],
            schema.classes[int(rows.logits[i].argmax())],
            before[i, rows.labels[i]].item(),
            after[i].max().item(),
        )
        for i in rows.success.nonzero()[:count, 0].tolist()
    ]
