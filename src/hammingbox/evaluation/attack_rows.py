"""One batch of an evaluation: predict, attack what the victim gets right, and put the outcome of every row together."""

import torch
from jaxtyping import Shaped
from torch import Tensor

from hammingbox.attacks.base import Attack
from hammingbox.attacks.judge import check_answers, judged
from hammingbox.attacks.result import AttackResult
from hammingbox.data.dataset import Dataset
from hammingbox.evaluation.accuracy import is_right
from hammingbox.evaluation.rows import Rows
from hammingbox.threat.goal import Goal
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.victims.ask_alike import ask_alike
from hammingbox.victims.frozen import frozen_eval
from hammingbox.victims.victim import Victim


def attack_rows(
    victim: Victim, data: Dataset, threat: ThreatModel, attack: Attack, goal: Goal, *, seed: int, memory: int
) -> Rows:
    """Attacks the rows of one batch that the victim gets right and that can be attacked, on the victim's device.

    A clean row goes through the victim once here; the attack is charged for that pass and does not repeat it. Each row
    that the attack changed goes through once more, to recount what came out, and a few clean rows do, to see that the
    victim repeats itself. The ids were checked when the data set was made.
    """
    x, y = (part.to(victim.device) for part in data.batch(slice(None)))
    with frozen_eval(victim):
        logits = ask_alike(victim, x)
    check_answers(logits, len(x), data.schema, victim)
    goals, correct = goal.of(y, data.schema), is_right(logits, y)
    attacked = correct & goals.possible
    zeros = torch.zeros_like(y)
    rows = Rows(
        numbers=data.numbers,
        labels=y,
        clean=x.clone(),
        adversarial=x.clone(),
        clean_logits=logits,
        logits=logits.clone(),
        correct=correct,
        attacked=attacked,
        success=torch.zeros_like(correct),
        distance=zeros.clone(),
        margin=goals.margin(logits).masked_fill(~goals.possible, 0.0),
        forward=zeros.clone(),
        backward=zeros.clone(),
        stage=zeros.clone(),
        proven=torch.zeros_like(correct),
    )
    chosen = attacked.nonzero()[:, 0]
    if len(chosen):
        found = judged(
            attack, victim, x[chosen], goals.take(chosen), threat, seed=seed, memory=memory, clean_logits=logits[chosen]
        )
        _put(rows, chosen, found)
    return rows.as_recorded()


def _put(rows: Rows, chosen: Shaped[Tensor, "some"], found: AttackResult) -> None:
    rows.adversarial[chosen], rows.logits[chosen] = found.ids, found.logits
    rows.success[chosen], rows.distance[chosen], rows.margin[chosen] = found.success, found.distance, found.margin
    rows.forward[chosen], rows.backward[chosen], rows.stage[chosen] = found.forward, found.backward, found.stage
    rows.proven[chosen] = found.proven | ~found.attackable
    rows.attacked[chosen] = found.attackable
