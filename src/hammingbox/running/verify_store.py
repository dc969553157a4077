"""Rows of a store as results that `verify` re-checks and believes as little as a file's."""

from hammingbox.data.schema import Dataset
from hammingbox.evaluation.result_files import StoredResults, Verification, verify_stored
from hammingbox.running.store.store import Store
from hammingbox.threat.space import Space
from hammingbox.victims.victim import Victim


def verify_run(
    store: Store, run: int, victim: Victim, *, data: Dataset | None = None, space: Space | None = None
) -> Verification:
    """Re-checks every adversarial row of a run, see `hammingbox.verify`.

    Args:
        store: read from disk.
        run: the run's number.
        victim: the model that was attacked; its weights must have the hash the run names.
        data: when given, the clean rows and labels are compared with it.
        space: S(x), needed when the run's space held a Python rule.
    """
    facts, rows = store.run(run), store.rows(run)
    target = facts.key.target
    stored = StoredResults(
        header={
            "victim_sha256": facts.key.victim_sha256,
            "space": store.space(facts),
            "summary": {"budget": facts.key.budget},
        },
        schema=store.schema(facts),
        numbers=rows.numbers,
        labels=rows.labels,
        # A row whose target is its own class was not attacked; it claims nothing.
        targets=None if target is None else rows.labels.new_full((len(rows),), target),
        success=rows.success,
        distance=rows.distance,
        clean=rows.clean,
        adversarial=rows.adversarial,
    )
    return verify_stored(stored, victim, data=data, space=space)
