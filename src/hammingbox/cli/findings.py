"""`hammingbox diagnose`, and how findings are shown on a terminal."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer

from hammingbox.attacks import attack_named
from hammingbox.cli.console import plain, print_json, progress, say
from hammingbox.cli.options import DataDir, DataName, Json, Label, SchemaFile, Seed, Task, VictimPath, budgets_from
from hammingbox.evaluation.diagnose import Finding, diagnose_results, diagnose_victim
from hammingbox.evaluation.evaluate import evaluate
from hammingbox.evaluation.rates import Rate
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.victims.checkpoint import load_checkpoint

PROBES = ("hotflip", "pcaa", "ga", "random")
"""Two attacks with gradients and two without: if those without win, the gradients are masked."""

_COLOURS = {"error": "bold red", "warning": "yellow", "note": "cyan"}


def diagnose(
    data: DataName,
    victim: VictimPath,
    budgets: Annotated[str, typer.Option(help="Budgets: 1-3 or 1,3.")] = "1-3",
    rows: Annotated[int, typer.Option(min=1, help="How many test rows are used.")] = 50,
    seed: Seed = 0,
    label: Label = None,
    schema_file: SchemaFile = None,
    data_dir: DataDir = None,
    json: Json = False,
) -> None:
    """Checks whether an evaluation of this victim would be sound; exit code 1 when a check says it is not."""
    opened = Task.of(data, label, schema_file, data_dir)
    model = load_checkpoint(victim, schema=opened.splits.schema).victim
    part = opened.part("test", min(rows, len(opened.splits.test)))
    threats = [ThreatModel(opened.space(), budget) for budget in budgets_from(budgets)]
    findings = diagnose_victim(model, part, threats[-1])
    rates: dict[tuple[str, int], Rate] = {}
    if all(finding.severity != "error" for finding in findings):
        with progress() as bars:
            task = bars.add_task("probe", total=len(PROBES) * len(threats))
            for name in PROBES:
                for threat in threats:
                    rates[name, threat.budget] = evaluate(
                        model, part, threat, attack_named(name), seed=seed
                    ).success_rate
                    bars.update(task, advance=1, description=f"{name}, budget {threat.budget}")
        findings += diagnose_results(rates, {name: attack_named(name) for name in PROBES})
    if json:
        print_json({"findings": [asdict(finding) | {"slug": finding.slug} for finding in findings]})
    else:
        show_findings(findings)
    if any(finding.severity == "error" for finding in findings):
        raise typer.Exit(1)


def show_findings(findings: Sequence[Finding]) -> None:
    """Prints what is doubtful, or that no check found a problem."""
    if not findings:
        say("diagnostics: no check found a problem")
    for finding in findings:
        say(f"[{_COLOURS[finding.severity]}]{finding.severity}[/] {finding.check}: {plain(finding.seen)};")
        say(f"  {plain(finding.means)}. To do: {plain(finding.remedy)}.")
        say(f"  [dim]see docs: diagnostics/{finding.slug}[/]")
