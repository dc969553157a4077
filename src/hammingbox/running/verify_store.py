"""The runs of a store as claims, re-checked against the victim and the data they name."""

from hammingbox.data.schema import Dataset
from hammingbox.evaluation.verify import Claims, Verification, verify_claims
from hammingbox.running.store import Store
from hammingbox.threat.goal import Goal, goal_from_json
from hammingbox.threat.space import Space
from hammingbox.threat.space_json import space_from_json
from hammingbox.victims.victim import Victim


def verify_run(
    store: Store,
    run: int,
    victim: Victim,
    *,
    data: Dataset | None = None,
    space: Space | None = None,
    goal: Goal | None = None,
) -> Verification:
    """Re-checks every adversarial row of a run, see `verify_claims`.

    Args:
        store: read from disk.
        run: the run's number.
        victim: the model that was attacked; its weights must have the hash the run names.
        data: when given, the clean rows and labels are compared with it.
        space: S(x), needed when the run's space held a Python rule.
        goal: needed when the run's goal is the user's own.
    """
    facts, rows = store.run(run), store.rows(run)
    claims = Claims(
        victim_sha256=facts.key.victim_sha256,
        space=space or space_from_json(store.space(facts), store.schema(facts)),
        goal=goal or goal_from_json(store.goal(facts)),
        budget=facts.key.budget,
        numbers=rows.numbers,
        labels=rows.labels,
        clean=rows.clean,
        adversarial=rows.adversarial,
        success=rows.success,
        distance=rows.distance,
    )
    return verify_claims(claims, victim, data=data)
