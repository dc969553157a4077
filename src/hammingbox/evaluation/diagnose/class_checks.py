"""Checks of a model's classes against the labels: another order of its answers, ties, and what it says about itself."""

from itertools import permutations

import torch
from jaxtyping import Int64
from torch import Tensor

from hammingbox.evaluation.diagnose.finding import Finding, many_ties, model_note, wrong_class_order
from hammingbox.types import Labels, Logits
from hammingbox.victims.victim import Victim

_MOST_PERMUTED = 6
"""Classes whose orders are all tried: 720."""
_CLEARLY = 2.6
"""Standard errors between two accuracies that cannot be chance; about one in a hundred."""
_TIE = 1e-5
"""Below this, the two largest log-probabilities are equal up to what decides a tie."""


def class_findings(victim: Victim, logits: Logits, labels: Labels, classes: tuple[str, ...]) -> list[Finding]:
    """What a model's answers to labelled rows say about its classes.

    Args:
        victim: its notes become findings.
        logits: its answers.
        labels: the true classes.
        classes: their names.
    """
    findings = [model_note(note) for note in victim.notes]
    found = better_order(_confusion(logits.argmax(1), labels, len(classes)))
    if found is not None:
        order, right, better = found
        findings.append(wrong_class_order(right, better, len(labels), [classes[i] for i in order]))
    if not victim.has_gradient:
        top = logits.double().topk(2, dim=1).values
        ties = int((top[:, 0] - top[:, 1] < _TIE).sum())
        if ties:
            findings.append(many_ties(ties, len(labels)))
    return findings


def better_order(confusion: Int64[Tensor, "labels answers"]) -> tuple[tuple[int, ...], int, int] | None:
    """The order of classes under which clearly more rows are right than under the given one.

    Args:
        confusion: how many rows of each class got each answer.

    Returns:
        For each answer the class it stands for, the rows that are right now, and those that would be; None if the given
        order is as good as any, or there are too many classes to try.
    """
    count, rows = len(confusion), int(confusion.sum())
    if count > _MOST_PERMUTED or rows == 0:
        return None
    right = int(confusion.diagonal().sum())
    table = confusion.tolist()
    score, order = max((sum(table[order[k]][k] for k in range(count)), order) for order in permutations(range(count)))
    spread = (rows * 0.25) ** 0.5 * 2**0.5
    return (order, right, score) if score - right > _CLEARLY * spread else None


def _confusion(answers: Tensor, labels: Labels, count: int) -> Int64[Tensor, "labels answers"]:
    return torch.bincount(labels * count + answers, minlength=count * count).view(count, count)
