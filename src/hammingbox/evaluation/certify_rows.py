"""One batch of a certification: predict, certify what the victim gets right, and record it as an attack's rows are."""

import torch

from hammingbox.attacks.judge import check_answers
from hammingbox.certificates.base import Certificate
from hammingbox.data.dataset import Dataset
from hammingbox.evaluation.accuracy import is_right
from hammingbox.evaluation.rows import Rows
from hammingbox.threat.goal import Goal
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.victims.ask_alike import ask_alike
from hammingbox.victims.frozen import frozen_eval
from hammingbox.victims.victim import Victim


def certify_rows(
    victim: Victim, data: Dataset, threat: ThreatModel, certificate: Certificate, goal: Goal, *, seed: int, memory: int
) -> Rows:
    """Certifies the rows of one batch that the victim gets right, on the victim's device.

    A broken row has its witness as adversarial row, so it is checked as an attack's is. The record is about the
    threat's budget: what holds at smaller budgets is the record of runs with these.

    Raises:
        InputError: the method does not apply to the victim.
    """
    x, y = (part.to(victim.device) for part in data.batch(slice(None)))
    method = certificate.chosen_for(victim, threat.space)
    with frozen_eval(victim):
        logits = ask_alike(victim, x)
    check_answers(logits, len(x), data.schema, victim)
    goals, correct = goal.of(y, data.schema), is_right(logits, y)
    attacked = correct & goals.possible
    adversarial, after = x.clone(), logits.clone()
    proven, broken = torch.zeros_like(correct), torch.zeros_like(correct)
    forward, distance = torch.zeros_like(y), torch.zeros_like(y)
    candidates = threat.space.slots_of(x)
    proven |= attacked & ~candidates.changeable  # by there being nothing to try
    attacked &= candidates.changeable
    rows = attacked.nonzero()[:, 0]
    if len(rows):
        found = method.certify(victim, candidates.take(rows), goals.take(rows), threat.budget, seed=seed, memory=memory)
        proven[rows], broken[rows] = found.proven, found.broken
        adversarial[rows], forward[rows], distance[rows] = found.ids, found.forward, found.distance
        changed = broken.nonzero()[:, 0]
        if len(changed):
            with frozen_eval(victim):
                after[changed] = ask_alike(victim, adversarial[changed])
    return Rows(
        numbers=data.numbers,
        labels=y,
        clean=x.clone(),
        adversarial=adversarial,
        clean_logits=logits,
        logits=after,
        correct=correct,
        attacked=attacked,
        success=broken,
        distance=distance,
        margin=goals.margin(after).masked_fill(~goals.possible, 0.0),
        forward=forward,
        backward=torch.zeros_like(y),
        stage=torch.zeros_like(y),
        proven=proven,
    ).as_recorded()
