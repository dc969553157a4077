"""`hammingbox diagnose`, and how findings are shown on a terminal."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from hammingbox.cli.console import plain, print_json, progress, say
from hammingbox.cli.options import (
    DataDir,
    DataName,
    Device,
    From,
    Functions,
    Json,
    Label,
    ModelSpec,
    SchemaFile,
    Seed,
    Task,
    ThreatFile,
    To,
    VictimPath,
    budget_text,
    budgets_from,
    goal_from,
    model_from,
)
from hammingbox.cli.own_file import reads_own_file
from hammingbox.cli.sampling import DrawHow, RowsPerClass, RowsSeed, sample_from
from hammingbox.cli.workers import RayAddress, Workers, driver_device, executor_from
from hammingbox.data.reading import Reading
from hammingbox.evaluation.diagnose import Finding, by_severity, diagnose_data
from hammingbox.running.probe import probe_victim, probes_of
from hammingbox.running.reaching import reaching
from hammingbox.running.tasks import SpaceChanges
from hammingbox.settings import MOST_ROWS
from hammingbox.threat.threat_model import ThreatModel

_COLOURS = {"error": "bold red", "warning": "yellow", "note": "cyan"}


@reads_own_file
def diagnose(
    data: DataName,
    *,
    reading: Reading,
    victim: VictimPath = None,
    model: ModelSpec = None,
    budgets: Annotated[
        str | None, typer.Option(help="Budgets: 1-3 (the default) or 1,3; with --threat, amounts of money.")
    ] = None,
    rows: Annotated[
        int | None, typer.Option(min=1, max=MOST_ROWS, help="How many test rows are used; 50 by default.")
    ] = None,
    rows_per_class: RowsPerClass = None,
    draw: DrawHow = None,
    rows_seed: RowsSeed = 0,
    seed: Seed = 0,
    sources: From = None,
    targets: To = None,
    label: Label = None,
    schema_file: SchemaFile = None,
    threat: ThreatFile = None,
    function: Functions = None,
    data_dir: DataDir = None,
    device: Device = "cpu",
    workers: Workers = None,
    ray: RayAddress = None,
    json: Json = False,
) -> None:
    """Checks whether an evaluation of this victim would be sound; exit code 1 when a check says it is not."""
    task = Task.of(data, label, schema_file, data_dir, reading=reading)
    where = driver_device(device, ray)
    part, _ = sample_from(task, "test", _at_most(rows, task), rows_per_class, draw, rows_seed, default=50)
    space = task.space(SpaceChanges(threat=threat, functions=tuple(function or ())))
    task, part, space = reaching(task, part, space, [model])
    opened = model_from(victim, model, task.splits.schema, label=label)[0].victim.to(where)
    threats = [ThreatModel(space, budget) for budget in sorted(budgets_from(budgets, space, (1, 2, 3)))]
    with progress() as bars, executor_from(workers, ray, device) as executor:
        bar = bars.add_task("diagnose", total=len(probes_of(opened)) * len(threats))

        def show(name: str, budget: int) -> None:
            bars.update(bar, advance=1, description=f"{name}, {budget_text(budget, space)}")

        found = diagnose_data(task.splits) + probe_victim(
            opened, part, threats, goal=goal_from(sources, targets), seed=seed, executor=executor, on_attack=show
        )
    findings = by_severity(found)
    if json:
        print_json({"findings": [finding.to_json() for finding in findings]})
    else:
        show_findings(findings)
    if any(finding.severity == "error" for finding in findings):
        raise typer.Exit(1)


def _at_most(rows: int | None, task: Task) -> int | None:
    return None if rows is None else min(rows, len(task.splits.test))


def show_findings(findings: Sequence[Finding], *, whose: str = "") -> None:
    """Prints what is doubtful, or that no check found a problem; `whose` names the victim where there are several."""
    name = f"{plain(whose)}: " if whose else ""
    if not findings:
        say(f"{name}diagnostics: no check found a problem")
    for finding in findings:
        say(f"{name}[{_COLOURS[finding.severity]}]{finding.severity}[/] {finding.check}: {plain(finding.seen)};")
        say(f"  {plain(finding.means)}. To do: {plain(finding.remedy)}.")
        say(f"  [dim]see docs: diagnostics/{finding.slug}[/]")


def show_doubts(records: Sequence[dict[str, Any]]) -> None:
    """Prints the findings in the facts of a training; nothing if there are none."""
    if records:
        show_findings([Finding(**{k: v for k, v in record.items() if k != "slug"}) for record in records])


def exit_if_nothing_attacked(findings: Sequence[Finding]) -> None:
    """Ends a command with exit code 1 after its output if no row could be attacked: there is no rate to speak of."""
    if any(finding.slug == "nothing-attacked" for finding in findings):
        raise typer.Exit(1)
