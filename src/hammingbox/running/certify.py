"""`certify`: what can be proven about every row of a data set, in memory or into a store."""

from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter
from typing import Any

import torch

from hammingbox.certificates import Certificate, CertificateResult, certificate_named
from hammingbox.data.dataset import Dataset
from hammingbox.errors import InputError
from hammingbox.evaluation.accuracy import is_right
from hammingbox.evaluation.certificates import Certificates
from hammingbox.evaluation.evaluation import Evaluation
from hammingbox.problem import DEFAULT_MEMORY
from hammingbox.running.record import evaluate_into
from hammingbox.running.run_spec import RunSpec
from hammingbox.running.store import Store
from hammingbox.threat.goal import AnyOther, Goal
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.victims.checkpoint import Checkpoint, weights_digest
from hammingbox.victims.frozen import frozen_eval
from hammingbox.victims.victim import Victim, ask


def certify(
    victim: Victim,
    data: Dataset,
    threat: ThreatModel,
    method: Certificate | str = "auto",
    *,
    goal: Goal | None = None,
    seed: int = 0,
    batch_size: int | None = None,
    memory: int = DEFAULT_MEMORY,
    on_rows: Callable[[int], None] = lambda _done: None,
) -> Certificates:
    """Proves, row by row, how many changes cannot break the victim, up to the threat's budget.

    Args:
        victim: borrowed.
        data: rows and labels.
        threat: what the attacker may do.
        method: a certificate, or its name in `CERTIFICATES`; "auto" takes the cheapest that applies.
        goal: what counts as success; any class but the true one by default.
        seed: with a row's content, decides the randomness of that row.
        batch_size: rows certified together; it changes speed and memory, not results. 256 by default, 1,024 for
            `additive`, which divides them itself.
        memory: bytes for a micro-batch.
        on_rows: called after each batch with the number of its rows.

    Raises:
        InputError: no rows, data and threat that do not fit, or a method that does not apply to the victim; the
            message says which one does.
        VictimError: the victim does not return finite logits.
    """
    chosen = certificate_named(method) if isinstance(method, str) else method
    if not isinstance(chosen, Certificate):
        raise InputError(f"expected a certificate or its name, got {type(chosen).__name__}.")
    size = chosen.batch_size if batch_size is None else batch_size
    spec = RunSpec(victim, data, threat, chosen, goal or AnyOther(), seed, size, memory)
    applied = chosen.chosen_for(victim, threat.space)
    parts: list[CertificateResult] = []
    right: list[torch.Tensor] = []
    begin = perf_counter()
    for places in spec.batches():
        x, y = (part.to(victim.device) for part in data.batch(places))
        with frozen_eval(victim):
            right.append(is_right(ask(victim, x), y).cpu())
        goals = spec.goal.of(y, data.schema)
        found = applied.certify(victim, threat.space.slots_of(x), goals, threat.budget, seed=seed, memory=memory)
        parts.append(found.cpu())
        on_rows(len(places))
    return Certificates(
        data=data,
        threat=threat,
        method=chosen,
        correct=torch.cat(right),
        result=CertificateResult.join(parts),
        seconds=perf_counter() - begin,
        victim_digest=weights_digest(victim),
        goal=spec.goal,
    )


def certify_into(
    store: Store,
    victim: Checkpoint | Victim,
    data: Dataset,
    threat: ThreatModel,
    method: Certificate | str = "auto",
    *,
    name: str = "",
    budgets: Sequence[int] | None = None,
    on_rows: Callable[[int, int, int], None] = lambda _budget, _done, _broken: None,
    **others: Any,
) -> dict[int, Evaluation]:
    """Certifies rows into a store: one run per budget, resumable and shared as the runs of attacks are.

    Its rows are those of an attack that also proves: broken ones have their witness, proven ones are marked.

    Args:
        store: where records go and come from.
        victim: the victim, or its checkpoint.
        data: rows and labels.
        threat: what the attacker may do.
        method: a certificate, or its name in `CERTIFICATES`.
        name: a short name of the method; its own by default.
        budgets: the budgets to certify; all from 1 to the threat's by default.
        on_rows: called after each batch with the budget and the number of rows done and broken in it.
        others: see `evaluate_into`.

    Returns:
        The rows of each budget.
    """
    chosen = certificate_named(method) if isinstance(method, str) else method
    known = method if isinstance(method, str) else type(method).__name__.lower()
    found = {}
    for budget in budgets or range(1, threat.budget + 1):
        found[budget] = evaluate_into(
            store,
            victim,
            data,
            ThreatModel(threat.space, budget),
            chosen,
            name=f"certify {name or known}",
            on_rows=partial(on_rows, budget),
            **others,
        )
    return found
