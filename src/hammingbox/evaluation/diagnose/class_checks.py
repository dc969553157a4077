"""Checks of a victim's answers to clean rows, class by class: has it collapsed, are its columns in the right order?"""

import torch
from jaxtyping import Int64
from torch import Tensor

from hammingbox.data.schema import Schema
from hammingbox.evaluation.accuracy import is_right
from hammingbox.evaluation.confusion import LEAST_SKILL, mean_recall
from hammingbox.evaluation.diagnose.class_findings import (
    absent_class,
    class_not_attacked,
    classes_in_another_order,
    collapsed_victim,
    less_accurate_than_majority,
    never_predicted,
    worse_than_majority,
)
from hammingbox.evaluation.diagnose.finding import Finding
from hammingbox.evaluation.rates import Rate
from hammingbox.threat.goal import AnyOther, Goal
from hammingbox.types import Labels, Logits

ByClass = Int64[Tensor, "classes"]
"""Rows of each class."""
Answers = Int64[Tensor, "said true"]
"""Rows by the class that a victim answers, and by their true class."""

NEARLY_ALL = 0.98
"""A victim that gives one answer to this share of the rows has collapsed, unless as many rows have this class."""

_EVIDENCE = 5
"""Fewer rows of a class say nothing about whether a victim knows it."""

_LEAST_ROWS = 20
"""Below this many rows no victim is compared with the majority class."""


def diagnose_classes(logits: Logits, labels: Labels, schema: Schema, *, goal: Goal | None = None) -> list[Finding]:
    """Checks of a victim's answers to clean rows. No query is made.

    Args:
        logits: the answers.
        labels: the true classes.
        schema: names the classes.
        goal: what counts as success; classes that it leaves alone need not be attacked.
    """
    classes = len(schema.classes)
    # An exact tie counts for the victim in every rate; here it is one answer like any other.
    pairs = torch.bincount(logits.argmax(1) * classes + labels, minlength=classes * classes)
    right = torch.bincount(labels[is_right(logits, labels)], minlength=classes)
    return diagnose_counts(pairs.reshape(classes, classes), right, schema, goal=goal)


def diagnose_counts(answers: Answers, right: ByClass, schema: Schema, *, goal: Goal | None = None) -> list[Finding]:
    """The same from counts.

    Args:
        answers: rows by the class that the victim answers, and by their true class.
        right: rows of each class that the victim gets right.
        schema: names the classes.
        goal: what counts as success.
    """
    given, said = answers.sum(0), answers.sum(1)
    if not int(given.sum()):
        return []
    order = _order(answers, right, given, schema)
    collapse = _collapse(given, said, schema)
    findings = [*order, *collapse]
    if not findings:
        findings += _majority(right, given, schema)
    if not collapse:
        findings += _unknown_classes(given, said, schema)
    return [*findings, *_attacked_classes(right, given, schema, goal or AnyOther())]


def _collapse(given: ByClass, said: ByClass, schema: Schema) -> list[Finding]:
    rows, answer = int(given.sum()), int(said.argmax())
    others, otherwise = rows - int(given[answer]), rows - int(said[answer])
    if others < _EVIDENCE or int(said[answer]) < NEARLY_ALL * rows:
        return []
    # Where 99 % of the rows have one class, a good victim predicts it for 99 % of them.
    if 2 * otherwise >= others:
        return []
    return [collapsed_victim(schema.classes[answer], int(said[answer]), int(given[answer]), rows)]


def _unknown_classes(given: ByClass, said: ByClass, schema: Schema) -> list[Finding]:
    missing = ((given >= _EVIDENCE) & (said == 0)).nonzero()[:, 0].tolist()
    if not missing:
        return []
    return [never_predicted([schema.classes[c] for c in missing], int(given[missing].sum()), int(given.sum()))]


def _majority(right: ByClass, given: ByClass, schema: Schema) -> list[Finding]:
    rate, most = Rate(int(right.sum()), int(given.sum())), int(given.max())
    if rate.rows < _LEAST_ROWS or rate.rows - most < _EVIDENCE or rate.hits > most:
        return []
    answer = schema.classes[int(given.argmax())]
    recall = [Rate(hits, rows) for hits, rows in zip(right.tolist(), given.tolist(), strict=True) if rows]
    guessing = 1 / len(recall)
    surely = sum(line.interval[0] for line in recall) / len(recall)
    # A detector of a rare class is less accurate than "never", and is of use all the same.
    if (surely - guessing) / (1 - guessing) >= LEAST_SKILL:
        return [less_accurate_than_majority(rate, answer, most, mean_recall(recall), guessing)]
    return [worse_than_majority(rate, answer, most)]


def _order(answers: Answers, right: ByClass, given: ByClass, schema: Schema) -> list[Finding]:
    """Reads the answers in another order: the commonest (predicted, true) pairs first, each class once.

    This need not be the best order, so it claims at most what the best one would.
    """
    classes, rate = len(schema.classes), Rate(int(right.sum()), int(given.sum()))
    pairs = answers.flatten().nonzero()[:, 0]
    counts = answers.flatten()[pairs]
    meant: dict[int, int] = {}
    fits = 0
    for place in counts.argsort(descending=True, stable=True).tolist():
        said, true = divmod(int(pairs[place]), classes)
        if said not in meant and true not in meant.values():
            meant[said] = true
            fits += int(counts[place])
    # Some order fits random answers a little better: this one must beat the given one and the majority class clearly.
    surely, _ = Rate(fits, rate.rows).interval
    if rate.rows < _LEAST_ROWS or surely <= max(rate.interval[1], int(given.max()) / rate.rows):
        return []
    names = [(schema.classes[said], schema.classes[true]) for said, true in sorted(meant.items())]
    return [classes_in_another_order(names, rate, fits)]


def _attacked_classes(known: ByClass, given: ByClass, schema: Schema, goal: Goal) -> list[Finding]:
    """Classes that could be attacked, and of which no row is there or no row is right before."""
    names = schema.classes
    every = torch.arange(len(names), device=given.device)
    possible = goal.of(every, schema).possible
    absent = (possible & (given == 0)).nonzero()[:, 0].tolist()
    wrong = (possible & (given > 0) & (known == 0)).nonzero()[:, 0].tolist()
    findings = [absent_class([names[c] for c in absent], int(given.sum()))] if absent else []
    if wrong:
        findings.append(class_not_attacked([names[c] for c in wrong], int(given[wrong].sum())))
    return findings
