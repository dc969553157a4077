"""Trees that no attacker can turn, and beside them trees that see more and refuse only what is plain."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hammingbox.data.dataset import Dataset
from hammingbox.errors import InputError
from hammingbox.seeding import torch_generator
from hammingbox.threat.goal import Goal
from hammingbox.threat.space import Space
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.training.monotone_trees import fit_monotone_trees
from hammingbox.types import Ids
from hammingbox.victims.trees.tree_victim import TreeVictim, tree_victim
from hammingbox.victims.unanimous import Unanimous


def fit_unanimous_trees(
    data: Dataset,
    space: Space,
    goal: Goal,
    budgets: Sequence[int],
    *,
    false_alarms: float = 0.005,
    folds: int = 3,
    seed: int = 0,
    **settings: Any,
) -> Unanimous:
    """Monotone trees against several budgets, of which each model can refuse a row.

    The first model cannot be turned within the first budget and decides by its own answer. Each further one may be
    turned by whoever pays more than its budget, so it only adds refusals: how sure it must be is set on rows that it
    was not trained on (cross-fitting), such that it wrongly refuses a given share of the rows that nobody attacks.
    Within the first budget, robust accuracy therefore falls by no more than that share of those rows, but for chance,
    and clean accuracy rises by whatever is plain.

    Cost: `folds` + 1 trainings of each model.

    Args:
        data: training rows of two classes.
        space: what the attacker may write.
        goal: whose rows are attacked, one of the two classes.
        budgets: of the models, falling; 0 is a model that sees every column.
        false_alarms: the share of the other class's rows that each further model may wrongly refuse beyond those that
            the models before it refuse.
        folds: for setting how sure a model must be.
        seed: of the folds and the trainings.
        settings: of :func:`fit_monotone_trees`.

    Raises:
        InputError: budgets that do not fall, a goal that attacks both classes, settings out of range, or what
            `fit_monotone_trees` refuses.
    """
    budgets = list(budgets)
    if not budgets or any(low >= high for high, low in pairwise(budgets)):
        raise InputError(f"expected budgets that fall, got {budgets}.")
    if folds < 2 or not 0 <= false_alarms < 1:
        raise InputError(f"expected at least 2 folds and false alarms from 0 to 1, got {folds} and {false_alarms}.")
    attacked = goal.winning(data.schema).any(1)
    if int(attacked.sum()) != 1:
        raise InputError("expected a goal that attacks one class of two, got another. Use a goal with a direction.")
    refused = int(attacked.int().argmax())
    threats = [ThreatModel(space, budget) for budget in budgets]

    def trained(rows: Dataset, threat: ThreatModel) -> TreeVictim:
        return tree_victim(fit_monotone_trees(rows, threat, goal, seed=seed, **settings), data.schema)

    needed = [0.0]
    if len(budgets) > 1:
        order = torch.randperm(len(data), generator=torch_generator(seed), device="cpu")
        leads, honest = [], []
        for part in range(folds):
            rest, left_out = order[torch.arange(len(data), device="cpu") % folds != part], order[part::folds]
            ids, labels = data.take(left_out).batch(slice(None))
            members = [trained(data.take(rest), threat) for threat in threats]
            leads.append(torch.stack([_lead(member, ids, refused) for member in members]))
            honest.append(labels.long() != refused)
        needed = _needed(torch.cat(leads, 1)[:, torch.cat(honest)], false_alarms)
    return Unanimous([trained(data, threat) for threat in threats], refused, needed)


def _lead(victim: TreeVictim, ids: Ids, refused: int) -> Tensor:
    logits = victim(ids.long())
    return logits[:, refused] - logits[:, 1 - refused]


def _needed(leads: Tensor, share: float) -> list[float]:
    """How sure each model must be, from what it says about rows that nobody attacks.

    Example: leads of a second model (0.2, 1.5, 0.9, 3.0) on four rows that the first one passes, and a share of 1/4: it
    needs 1.5, which only the last row exceeds.
    """
    rows = leads.shape[1]
    passed, found = leads[0] <= 0, [0.0]
    for lead in leads[1:]:
        waiting = np.sort(lead[passed].cpu().numpy())[::-1]
        wrongly = int(share * rows)
        found.append(max(0.0, float(waiting[wrongly])) if wrongly < len(waiting) else 0.0)
        passed = passed & (lead <= found[-1])
    return found
