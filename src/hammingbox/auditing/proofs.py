"""What is proven about the rows of an audit: certified beside attacked, in the same store."""

from dataclasses import replace

from hammingbox.certificates import CERTIFICATES
from hammingbox.certificates.cascade import Cascade
from hammingbox.report.comparison import Comparison, ComparisonJob, OnProgress
from hammingbox.report.recorded_checks import findings_of
from hammingbox.report.run_rows import RunFacts
from hammingbox.report.summary import VictimSummary
from hammingbox.running.certify import certify_into
from hammingbox.running.store import Store
from hammingbox.threat.amount import amount_of
from hammingbox.threat.space import Space
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.victims.checkpoint import Checkpoint
from hammingbox.victims.victim import Victim

METHOD = "auto"
POINTS = 5_000
"""Points of a row that are enumerated at most: an audit should end, also with a model of which nothing is known."""


def prove(
    runs: ComparisonJob, checkpoint: Checkpoint, place: str, store: Store, found: Comparison, on_progress: OnProgress
) -> Comparison:
    """Certifies the rows of an audit by the cheapest methods that apply, into its store.

    Args:
        runs: the attacks of the audit.
        checkpoint: the model.
        place: where it is, for `verify`.
        store: of the audit.
        found: what the attacks found.
        on_progress: called as rows are done.

    Returns:
        What attacks and certificates found together. An audit of very many rows has it in its store and on its page.
    """
    method, name = Cascade(max_passes=POINTS), f"certify {METHOD}"
    certified = certify_into(
        store, checkpoint, runs.rows, ThreatModel(runs.space, max(runs.budgets)), method, name=METHOD,
        budgets=runs.budgets, goal=runs.goal, place=place, source=runs.source or runs.data, split=runs.split,
        seed=runs.seed, batch_size=runs.batch_size, memory=runs.memory, executor=runs.executor,
        on_rows=lambda budget, rows, _broken: on_progress(name, budget, rows),
    )  # fmt: skip
    results, victim = found.summary.results, found.summary.name
    if victim in results.whole:
        return found
    for budget, run in certified.items():
        facts = RunFacts(
            victim=victim, attack=name, name=name, settings=repr(method), budget=amount_of(budget, runs.space.unit),
            seed=runs.seed, seconds=run.seconds, planned=len(runs.rows), weights=found.weights,
        )  # fmt: skip
        results.add(facts, run.rows)
    return replace(found, summary=VictimSummary(results, victim), findings=findings_of(results, victim, found.queried))


def how_proven(victim: Victim, space: Space) -> str:
    """A sentence about the methods that certify this model, and about those that would certify more."""
    methods = Cascade().methods(victim, space)
    names = [name for method in methods for name, kind in CERTIFICATES.items() if kind is type(method)]
    if names != ["exact"]:
        return f"Certified by {', then '.join(names)}."
    return (
        f"Only enumeration applies to this model, so rows with more than {POINTS:,} points within a budget stay "
        "unknown. Linear models, windows, nets of dense layers and trees are certified by their weights, and any model "
        "by votes over rows with hidden columns (hb.Ablated); see `hammingbox certify`."
    )
