"""The judge of an attack stands outside of it.

The attack gets a problem of its own: copies of the rows, of S(x) and of the goals, a victim that counts every pass, and
the victim's parameters out of reach. What it returns is a claim. The judge checks it against the rows, the space and
the budget that it was called with, and asks the victim itself. So whatever an attack does to its problem (candidates,
budget, goal, meter), the verdict and the cost are those of the original one.

What the judge cannot prevent: code in this process that changes the package itself or the victim's own Python code, and
an attack that holds a reference to the victim from elsewhere. The weights are compared before and after, so changing
them is noticed; passes that such a reference makes are not counted. `Problem` says which row a pass belongs to, so an
attack that edits `Problem.rows` may move passes between the rows of a batch; their sum stays true.
"""

import sys
from dataclasses import replace
from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Int64
from torch import Tensor

from hammingbox.attacks._search.affordable_points import affordable_points
from hammingbox.attacks.result import AttackResult, Found
from hammingbox.data.schema import Schema
from hammingbox.errors import AttackError, InputError, VictimError
from hammingbox.problem import Objective, Problem
from hammingbox.seeding import RowRandom
from hammingbox.threat.candidates import Candidates
from hammingbox.threat.goal import RowGoals
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.types import Ids, Logits, RowFloat, RowInt, RowMask, Slots
from hammingbox.victims.ask_alike import ask_alike
from hammingbox.victims.frozen import frozen_eval, unchanged
from hammingbox.victims.metered import Meter, MeteredVictim
from hammingbox.victims.victim import Victim, check_logits

_ASKED_TWICE = 4
"""Clean rows of a batch that the victim is asked about again, together with the rows that are recounted."""

_NOISE = 1e-2
"""Answers to one row differ by less than this between batches of different sizes, relative to its largest logit."""


@runtime_checkable
class Finder(Protocol):
    """What the judge needs of an attack."""

    @property
    def objective(self) -> Objective:
        """The loss that the attack maximises."""

    @property
    def queries(self) -> int | None:
        """Forward passes per row at most."""

    @property
    def needs_gradient(self) -> bool:
        """It cannot attack a black box."""

    @property
    def own_gradients(self) -> bool:
        """It differentiates something of its own."""

    def find(self, problem: Problem, random: RowRandom) -> Found:
        """Finds one point per row."""


class _Terms(NamedTuple):
    """What the judge reads from an attack, before it runs for the first time."""

    objective: Objective
    queries: int | None
    seed: int
    memory: int


def judged(
    attack: Finder,
    victim: Victim,
    x: Ids,
    goals: RowGoals,
    threat: ThreatModel,
    *,
    seed: int,
    memory: int,
    clean_logits: Logits | None = None,
) -> AttackResult:
    """Lets an attack run on rows that fit the schema and whose goal is possible, and judges what it returns.

    A row counts as proven if an attack of this package says that it has tried every point, and at least as many passes
    as there are points were made. The claim of any other attack is dropped.

    Args:
        attack: what is judged.
        victim: borrowed.
        x: clean rows.
        goals: what counts as success, row by row.
        threat: what the attacker may do.
        seed: of the rows' randomness.
        memory: bytes for a micro-batch.
        clean_logits: the victim's answers to the clean rows, where they are known.

    Raises:
        AttackError: the attack left S(x), its budget or its query limit, or changed the victim.
        VictimError: the victim has no gradient, does not return finite logits, or does not repeat its answers.
        InputError: a query limit on an attack with gradients, or a space whose slot 0 is not the row's own value.
    """
    check_victim(attack, victim)
    terms = _Terms(attack.objective, attack.queries, seed, memory)
    with frozen_eval(victim), unchanged(victim):
        known = ask_alike(victim, x) if clean_logits is None else clean_logits
        check_answers(known, len(x), threat.space.schema, victim)
        parts = _row_batches(terms, victim, x, goals, threat)
        return AttackResult.join(
            [_judged_part(attack, terms, victim, x[i], goals.take(i), threat, known[i]) for i in parts]
        )


def _judged_part(
    attack: Finder,
    terms: _Terms,
    victim: Victim,
    x: Ids,
    goals: RowGoals,
    threat: ThreatModel,
    clean_logits: Logits,
) -> AttackResult:
    candidates = _candidates(threat, x)
    able = candidates.changeable  # whatever the budget: a problem keeps only what it pays for
    if not bool(able.all()):
        return _judged_some(attack, terms, victim, candidates, goals, threat, clean_logits)
    own = _problem(terms, victim, candidates, goals, threat)
    ledger = Meter(len(x), x.device, terms.queries)
    theirs = replace(
        _copy(own),
        victim=_metered(victim, x, ledger, clean_logits),
        meter=Meter(len(x), x.device, terms.queries),
    )
    shown = theirs.meter
    found = _found(attack, own, theirs, RowRandom.for_rows(terms.seed, x))
    with frozen_eval(victim):  # the attack may have changed the mode
        logits = _recount(own, found.slots, clean_logits)
    # An attacker always has the clean row: a point that is worse than no attack is not returned.
    before, after = (_rank(own, answers) for answers in (clean_logits, logits))
    keep = (after >= before)[:, None]
    slots = torch.where(keep, found.slots, own.clean_slots)
    logits = torch.where(keep, logits, clean_logits)
    ids, margin = own.candidates.select(slots), own.goal.margin(logits)
    if own.purse is not None:
        _check_by_the_rules(attack, own, threat, x, ids)
    return AttackResult(
        ids=ids,
        slots=slots,
        distance=threat.space.distance(x, ids),
        cost=threat.space.cost(x, ids),
        margin=margin,
        clean_logits=clean_logits,
        logits=logits,
        forward=ledger.forward,
        backward=ledger.backward,
        stage=_stage(attack, shown, own),
        proven=_proven(attack, own, ledger, found.settled & (margin <= 0)),
        attackable=able,
    )


def _judged_some(
    attack: Finder,
    terms: _Terms,
    victim: Victim,
    candidates: Candidates,
    goals: RowGoals,
    threat: ThreatModel,
    clean_logits: Logits,
) -> AttackResult:
    """The result of rows some of which the threat leaves no change: only the others are handed to the attack."""
    x = candidates.clean
    slots = torch.zeros(len(x), candidates.layout.features, dtype=torch.int64, device=x.device)
    whole = AttackResult.of_fixed_rows(x, slots, goals.margin(clean_logits), clean_logits)
    rows = candidates.changeable.nonzero()[:, 0]
    if len(rows):
        part = _judged_part(attack, terms, victim, x[rows], goals.take(rows), threat, clean_logits[rows])
        whole.put(rows, part)
    return whole


def _candidates(threat: ThreatModel, x: Ids) -> Candidates:
    """S(x) of rows, as the judge knows it.

    Raises:
        InputError: the space does not offer a row its own values.
    """
    candidates = threat.space.slots_of(x.clone())
    if not torch.equal(candidates.clean, x):
        raise InputError(
            f"expected {type(threat.space).__name__} to have the row's own values at slot 0, got others. "
            "Write the clean ids to slot 0 of every feature in `slots_of`."
        )
    return candidates


def _problem(terms: _Terms, victim: Victim, candidates: Candidates, goals: RowGoals, threat: ThreatModel) -> Problem:
    """The problem as it was given to the judge."""
    return Problem.of(
        victim,
        candidates,
        goals,
        threat.budget,
        objective=terms.objective,
        memory=terms.memory,
    )


def _copy(problem: Problem) -> Problem:
    """The same problem with tensors of its own, down to the layout, which all batches of a space share."""
    return replace(
        problem,
        candidates=problem.candidates.copy(),
        purse=None if problem.purse is None else problem.purse.clone(),
        goal=RowGoals(problem.goal.wins.clone()),
        rows=problem.rows.clone(),
    )


def _metered(victim: Victim, x: Ids, ledger: Meter, clean_logits: Logits) -> Victim:
    return MeteredVictim(victim, x.clone(), ledger, clean_logits.clone())


def _row_batches(
    terms: _Terms, victim: Victim, x: Ids, goals: RowGoals, threat: ThreatModel
) -> tuple[Int64[Tensor, "some"], ...]:
    """Rows attacked at once, so that one soft row each fits the memory; it does not change what a row gets."""
    first = torch.arange(1, device=x.device)
    probe = _problem(terms, victim, _candidates(threat, x[first]), goals.take(first), threat)
    return torch.arange(len(x), device=x.device).split(probe.soft_rows_at_once)


def _found(attack: Finder, own: Problem, theirs: Problem, random: RowRandom) -> Found:
    """What the attack found, checked against the judge's problem.

    Raises:
        AttackError: something else than slots, a point outside S(x), or above the budget.
    """
    clean = own.clean_slots
    nothing = torch.zeros(len(clean), dtype=torch.bool, device=clean.device)
    if own.budget == 0:
        return Found(clean, nothing)
    with torch.inference_mode(_is_without_gradients(attack, own.victim)):
        returned: Any = attack.find(theirs, random)
    slots, settled = returned if isinstance(returned, tuple) and len(returned) == 2 else (returned, nothing)
    slots = _checked(attack, "slots", slots, clean)
    settled = _checked(attack, "settled rows", settled, nothing)
    if not bool(own.candidates.allows(slots).all()):
        raise AttackError(f"expected points of S(x) from {attack!r}, got one outside.")
    if int((slots != 0).sum(1).max()) > own.budget:
        raise AttackError(f"expected at most {own.budget} changes from {attack!r}, got more.")
    if own.purse is not None and not bool(own.affordable(torch.arange(len(slots), device=slots.device), slots).all()):
        raise AttackError(f"expected points that their rows can pay for from {attack!r}, got a dearer one.")
    return Found(slots, settled)


def _is_without_gradients(attack: Finder, victim: Victim) -> bool:
    """Whether an attack differentiates nothing, so that it can do without the bookkeeping of autograd.

    On a black box this saves a tenth of the time between the victim's answers. An attack of somebody else keeps it:
    that it has gradients of its own is easily forgotten to say.
    """
    return not victim.has_gradient and not attack.own_gradients and _is_of_this_package(type(attack))


def _check_by_the_rules(attack: Finder, own: Problem, threat: ThreatModel, x: Ids, ids: Ids) -> None:
    """Counts what whole rows cost and checks what must hold between their columns, from the rules and not from slots.

    Raises:
        AttackError: a row breaks a rule. Either the attack went around the judge, or the slots do not say what the
            rules say.
    """
    if not bool(own.candidates.contains(ids).all()):
        raise AttackError(f"expected rows that keep every rule from {attack!r}, got one that breaks some.")
    if not bool(threat.space.affords(x, ids, threat.budget).all()):
        raise AttackError(f"expected rows within the budget from {attack!r}, got a dearer one.")


def _checked(attack: Finder, what: str, value: Any, like: Tensor) -> Tensor:
    """A copy of a tensor that the attack returned.

    Raises:
        AttackError: it has another type, shape or place than expected.
    """
    wanted = f"{what} of shape {tuple(like.shape)} and type {like.dtype} on {like.device}"
    if not isinstance(value, Tensor):
        raise AttackError(f"expected {wanted} from {attack!r}, got {type(value).__name__}.")
    if value.shape != like.shape or value.dtype != like.dtype or value.device != like.device:
        raise AttackError(
            f"expected {wanted} from {attack!r}, got {tuple(value.shape)}, {value.dtype} on {value.device}."
        )
    return value.detach().clone()


def _recount(problem: Problem, slots: Slots, clean_logits: Logits) -> Logits:
    """The victim's answers to points. Cost: one forward pass per row that was changed, and a few clean rows again.

    Raises:
        VictimError: the victim does not answer the clean rows as before.
    """
    logits = clean_logits.clone()
    changed = (slots != 0).any(1).nonzero()[:, 0]
    again = _asked_twice(len(slots), slots.device)
    rows, points = torch.cat([changed, again]), torch.cat([slots[changed], problem.clean_slots[again]])
    if len(rows) == 0:
        return logits
    answers = ask_alike(problem.victim, problem.candidates.select_points(rows, points))
    logits[changed] = answers[: len(changed)].to(logits.dtype)
    then, now = clean_logits[again], answers[len(changed) :]
    noise = _NOISE * then.abs().amax(1, keepdim=True).clamp(min=1.0)
    if bool(((now - then).abs() > noise).any()):
        raise VictimError(
            "expected the victim to give the same answer to the same row, got another one: a row that survives a "
            "random pass is not robust. Switch its randomness off, or average over it inside the victim."
        )
    return logits


def _asked_twice(rows: int, device: torch.device) -> Int64[Tensor, "some"]:
    """A few rows, spread over the batch."""
    return torch.arange(0, rows, max(1, -(-rows // _ASKED_TWICE)), device=device)


def _rank(problem: Problem, logits: Logits) -> RowFloat:
    margin = problem.goal.margin(logits)
    if problem.objective == "margin":
        return margin
    return torch.where(margin > 0, torch.inf, problem.goal.cross_entropy(logits))


def _stage(attack: Finder, shown: Meter, own: Problem) -> RowInt:
    return _checked(attack, "stages", shown.stage, own.rows)


def _proven(attack: Finder, own: Problem, ledger: Meter, claimed: RowMask) -> RowMask:
    """Rows for which a claim to have tried every point can be true."""
    if not _is_of_this_package(type(attack)) or not bool(claimed.any()):
        return torch.zeros_like(claimed)
    rows = claimed.nonzero()[:, 0]
    tried = ledger.forward[rows] >= affordable_points(own, rows) - 1
    return torch.zeros_like(claimed).index_put_((rows,), tried)


def _is_of_this_package(kind: type) -> bool:
    """Whether a class is defined by this package: it is found under its name in a module of the package."""
    package = __name__.rpartition(".")[0]
    module = sys.modules.get(kind.__module__)
    return kind.__module__.startswith(f"{package}.") and getattr(module, kind.__qualname__, None) is kind


def check_victim(attack: Finder, victim: Victim) -> None:
    """Checks that an attack can run on a victim.

    Raises:
        InputError: a query limit on an attack that needs gradients.
        VictimError: the victim has no gradient, and the attack needs one.
    """
    if attack.queries is not None and attack.needs_gradient:
        raise InputError(
            f"expected a query limit on an attack that needs no gradient, got queries={attack.queries} "
            f"on {type(attack).__name__}. Leave it out, or choose an attack that needs losses only."
        )
    if attack.needs_gradient and not victim.has_gradient:
        raise VictimError(
            f"expected a victim with gradients for {type(attack).__name__}, got a black box. "
            "Use auto, or an attack that needs losses only, such as local, evolution, ga or genetic."
        )


def check_answers(logits: Any, rows: int, schema: Schema, victim: Victim) -> None:
    """Checks a victim's answers to clean rows against the schema.

    Raises:
        VictimError: not finite logits, probabilities instead of logits, or another number of classes.
    """
    check_logits(logits, rows, probabilities=victim.has_gradient)
    if logits.shape[1] != len(schema.classes):
        raise VictimError(
            f"expected logits for {len(schema.classes)} classes, got {logits.shape[1]}. Check victim and schema."
        )
