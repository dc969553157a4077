"""The paper's table of costs: formulas, measured victim passes, and how they grow in n, d and the budget."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import exp, log
from pathlib import Path

import torch

from hammingbox.attacks import ATTACKS, PCAA
from hammingbox.data.column_rules import ColumnRules
from hammingbox.data.dataset import Dataset
from hammingbox.data.schema_file import write_schema
from hammingbox.data.table_schema import TableSchema
from hammingbox.files import write_bytes
from hammingbox.report.artefacts.figures import growth_figure
from hammingbox.report.artefacts.table import Column, Table, Value
from hammingbox.running.data_reference import DataReference
from hammingbox.running.record import evaluate_into
from hammingbox.seeding import torch_generator
from hammingbox.studies.plan import Work
from hammingbox.studies.study import Outcome, Size, Study
from hammingbox.studies.workspace import Workspace
from hammingbox.threat.space import FullSpace
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.victims.checkpoint import CONFIG, Checkpoint
from hammingbox.victims.zoo.registry import build

_PCAA = PCAA(leave=False)
_LEAST_ROWS = 100
"""Random rows of a table; the first ones are attacked. A table with fewer could not be read and split again."""


@dataclass(frozen=True)
class Point:
    """A size of the problem: number of features, categories per feature, budget."""

    n: int
    d: int
    budget: int


@dataclass(frozen=True)
class Method:
    """An attack, the paper's formula, and ours for forward and backward passes together."""

    name: str
    paper: str
    ours: str
    count: Callable[[Point], int]


METHODS = (
    Method("sa", "nd + d^ε", "1 + n(d-1) + d^ε", lambda p: 1 + p.n * (p.d - 1) + p.d**p.budget),
    Method("ga", "nd + εd", "1 + n(d-1) + ε(d-1)", lambda p: 1 + (p.n + p.budget) * (p.d - 1)),
    Method("gsa", "1 + d^ε", "3 + d^ε", lambda p: 3 + p.d**p.budget),
    Method("gga", "1 + εd", "3 + ε(d-1)", lambda p: 3 + p.budget * (p.d - 1)),
    Method(
        "pcaa", "C", "1 + R(2 I n_g + draws)",
        lambda _p: 1 + _PCAA.rounds * (2 * _PCAA.steps * _PCAA.samples + _PCAA.draws),
    ),
)  # fmt: skip

AXES: dict[str, tuple[Point, ...]] = {
    "n": (Point(8, 4, 2), Point(16, 4, 2), Point(32, 4, 2)),
    "d": (Point(8, 4, 2), Point(8, 8, 2), Point(8, 16, 2)),
    "ε": (Point(8, 4, 1), Point(8, 4, 2), Point(8, 4, 3), Point(8, 4, 4)),
}
"""Sizes around one central size, varied along one axis at a time."""

POINTS = tuple(dict.fromkeys(point for axis in AXES.values() for point in axis))
"""Every size once; all axes contain the central one."""

Measured = dict[tuple[str, Point], float]
"""Passes per row by attack and size."""


_LAWS = {"n": "n^k", "d": "d^k", "ε": "k^ε"}
"""How passes grow along an axis, with k the fitted number."""

_GROWTH_COLUMNS = (
    Column.text("attack"),
    Column.text("paper"),
    Column.text("here"),
    Column.text("growth"),
    Column.number("k", ".2f"),
    Column.number("k by formula", ".2f"),
)
_PASSES_COLUMNS = (
    Column.text("attack"),
    *(Column.number(axis) for axis in AXES),
    Column.number("passes", ".0f"),
    Column.number("by formula"),
)


@dataclass(frozen=True, kw_only=True)
class Complexity(Study):
    """Metered passes on random tables of chosen sizes, compared with the formulas."""

    def plan(self, workspace: Workspace, size: Size) -> list[Work]:  # noqa: ARG002
        """The sum of the formulas."""
        passes = float(size.rows) * sum(method.count(point) for method in METHODS for point in POINTS)
        rows = size.rows * len(METHODS) * len(POINTS)
        return [Work("random tables of 8 to 32 features", rows, passes, 3e-5 * passes)]

    def run(self, workspace: Workspace, size: Size) -> Outcome:
        """Runs every attack at every size."""
        measured = {
            (method.name, point): _measure(workspace, method.name, point, size.rows)
            for method in METHODS
            for point in POINTS
        }
        lines = [
            (axis, method.name, [_value(axis, p) for p in points], [measured[method.name, p] for p in points])
            for axis, points in AXES.items()
            for method in METHODS
        ]
        return Outcome(
            tables=[self._growth_table(measured), _passes_table(measured)],
            figures={"growth": growth_figure(lines)},
            notes=self.reasons,
        )

    def _growth_table(self, measured: Measured) -> Table:
        rows = tuple(
            (
                method.name,
                method.paper,
                method.ours,
                _LAWS[axis],
                _growth(axis, points, [measured[method.name, point] for point in points]),
                _growth(axis, points, [float(method.count(point)) for point in points]),
            )
            for method in METHODS
            for axis, points in AXES.items()
        )
        return Table(self.title, _GROWTH_COLUMNS, rows)


def _passes_table(measured: Measured) -> Table:
    rows: list[tuple[Value, ...]] = []
    wrong = 0
    for method in METHODS:
        for point in POINTS:
            passes, formula = measured[method.name, point], method.count(point)
            rows.append((method.name, point.n, point.d, point.budget, passes, formula))
            wrong += passes != formula
    note = f"In {wrong} of {len(rows)} lines the count differs from the formula."
    return Table("Victim passes per row", _PASSES_COLUMNS, tuple(rows), notes=(note,))


def _measure(workspace: Workspace, attack: str, point: Point, rows: int) -> float:
    """Passes per row on random rows that a random model classifies correctly."""
    table = TableSchema(
        "label", tuple(ColumnRules(f"f{i}", tuple(f"c{j}" for j in range(point.d))) for i in range(point.n)),
        ("a", "b", "c"),
    )  # fmt: skip
    schema = table.schema
    victim = build("mlp", schema).eval()
    ids = torch.randint(point.d, (max(rows, _LEAST_ROWS), point.n), generator=torch_generator(0))
    with torch.no_grad():
        labels = victim(ids).argmax(1)
    name, size = f"random table n={point.n} d={point.d}", f"random-n{point.n}-d{point.d}"
    data, checkpoint = Dataset(schema, ids, labels, name), Checkpoint(victim, "mlp", {}, schema)
    path = workspace.folder / "victims" / size
    if not (path / CONFIG).exists():
        checkpoint.save(path)  # `verify` reads it
    found = evaluate_into(
        workspace.store, checkpoint, data.take(slice(0, rows)),
        ThreatModel(FullSpace(schema), point.budget), _PCAA if attack == "pcaa" else ATTACKS[attack](),
        name=attack, place=str(path), source=_written(data, table, workspace.folder / "data" / size),
    )  # fmt: skip
    workspace.records.add(path.name, checkpoint, found)
    return (found.rows.forward + found.rows.backward).double().mean().item()


def _written(data: Dataset, table: TableSchema, folder: Path) -> DataReference:
    """Writes random rows as a table with its schema, so that `verify` finds them again."""
    path, rules = folder / "rows.csv", folder / "schema.toml"
    names = [feature.name for feature in data.schema.features]
    lines = [
        ",".join([*data.schema.decode(row), data.schema.classes[label]])
        for row, label in zip(data.ids.tolist(), data.labels.tolist(), strict=True)
    ]
    content = "\n".join([",".join([*names, table.label]), *lines, ""]).encode()
    if not path.exists() or path.read_bytes() != content:
        write_bytes(path, content)
    if not rules.exists():
        write_schema(table, rules)
    return replace(DataReference.of(str(path), label=table.label, schema=rules), name=data.name)


def _value(axis: str, point: Point) -> float:
    return float({"n": point.n, "d": point.d, "ε": point.budget}[axis])


def _growth(axis: str, points: tuple[Point, ...], passes: Sequence[float]) -> float:
    """The exponent in n or d, or the factor per unit of budget, by least squares on logarithms."""
    x = [_value(axis, point) if axis == "ε" else log(_value(axis, point)) for point in points]
    y = [log(value) for value in passes]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    slope = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / sum((a - mean_x) ** 2 for a in x)
    slope = round(slope, 9) + 0.0  # never "-0.00"
    return exp(slope) if axis == "ε" else slope


COMPLEXITY = Complexity(
    name="complexity",
    title="Cost in victim passes",
    source="Table 1",
    sizes={"smoke": Size(rows=2), "cpu": Size(rows=16), "paper": Size(rows=100)},
    reasons=(
        "The paper gives orders of growth; here each count is exact. SA and GA need n(d-1) trials, not nd, because "
        "the clean category is known; one more pass scores the clean row. PCAA runs without early stopping, so its "
        "cost is C.",
        f"PCAA: R = {_PCAA.rounds} rounds, I = {_PCAA.steps}, n_g = {_PCAA.samples}, {_PCAA.draws} draws per row.",
    ),
)
