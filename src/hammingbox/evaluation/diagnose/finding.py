"""Findings, and one function for each check that builds its finding from numbers: every text exists once."""

import re
from dataclasses import dataclass
from typing import Literal

from hammingbox.evaluation.rates import Rate

Severity = Literal["error", "warning", "note"]
"""An error makes the figures wrong, a warning makes them doubtful, a note is good to know."""


@dataclass(frozen=True)
class Finding:
    """Something that makes an evaluation doubtful.

    Attributes:
        check: a short name.
        severity: how much it matters.
        seen: what was observed, with its numbers.
        means: why it matters.
        remedy: what to do.
    """

    check: str
    severity: Severity
    seen: str
    means: str
    remedy: str

    @property
    def slug(self) -> str:
        """The check's name in the documentation: its page is `diagnostics/<slug>`."""
        return re.sub(r"[^a-z0-9]+", "-", self.check.lower()).strip("-")


def train_mode(modules: int, spread: float) -> Finding:
    """Some modules are in train mode, and it changes the answers by up to `spread`."""
    return Finding(
        "train mode",
        "warning",
        f"{modules} modules are in train mode and two passes over the same rows differ by up to {spread:.3g}",
        "dropout or batch statistics are active; hammingbox attacks in eval mode, your own scores may not",
        "call victim.eval() before you measure accuracy",
    )


def not_finite_logits(bad: int, rows: int) -> Finding:
    """`bad` of `rows` rows have logits that are not numbers."""
    return Finding(
        "finite logits",
        "error",
        f"{bad} of {rows} rows have NaN or infinite logits",
        "no attack can compare losses that are not numbers",
        "check the weights and the encoding of the rows",
    )


def not_deterministic(spread: float, between: str) -> Finding:
    """Logits of the same rows differ by up to `spread` between what `between` names, such as "two runs"."""
    return Finding(
        "deterministic victim",
        "error",
        f"logits of the same rows differ by up to {spread:.3g} between {between}",
        "randomness can hide a weakness: a row that survives one random pass is not robust",
        "switch the randomness off, or average over it inside the victim and attack the average",
    )


def probabilities_as_logits(severity: Severity) -> Finding:
    """Every answer is not negative and sums to 1."""
    return Finding(
        "logits",
        severity,
        "every answer is not negative and sums to 1",
        "these look like probabilities: a second softmax makes gradients vanish and confident rows tie",
        "drop the victim's final softmax, or use BlackBox if you cannot",
    )


def saturated_softmax(certain: int, rows: int) -> Finding:
    """`certain` of `rows` clean rows have a probability of exactly 1."""
    return Finding(
        "saturated softmax",
        "note",
        f"{certain} of {rows} clean rows have a probability of exactly 1 in float32",
        "cross entropy and its gradient are 0 there; a search on probabilities cannot compare changes",
        "keep the margin loss (the default of every attack here)",
    )


def not_finite_gradients(bad: int, rows: int) -> Finding:
    """`bad` of `rows` rows have NaN gradients."""
    return Finding(
        "finite gradients",
        "error",
        f"{bad} of {rows} rows have NaN gradients",
        "gradient attacks cannot move on these rows and will look weak",
        "look for a division by zero, a logarithm of zero or a square root at zero in the victim",
    )


def zero_gradients(dead: int, rows: int) -> Finding:
    """The gradient of `dead` of `rows` rows is 0 in every allowed change."""
    return Finding(
        "zero gradients",
        "warning",
        f"{dead} of {rows} rows have a gradient of exactly 0 in every change",
        "gradients are masked (rounding, argmax, saturation) and tell gradient attacks nothing about these rows",
        "trust gradient-free attacks (ga, genetic, exhaustive) for these rows",
    )


def misleading_gradients(correlation: float) -> Finding:
    """First-order gains rank single changes differently from their true gains."""
    return Finding(
        "soft against discrete",
        "warning",
        f"first-order gains and true gains of single changes have a rank correlation of {correlation:.2f}",
        "the victim is far from linear between categories: methods that rely on one gradient are misled",
        "prefer pcaa (many gradients, real draws) and searches on true losses over hotflip, gsa and gga",
    )


def gradient_free_wins(budget: int, gradient: tuple[str, Rate], free: tuple[str, Rate]) -> Finding:
    """The best attack without gradients breaks more rows than the best attack with them."""
    (name, rate), (other, better) = gradient, free
    return Finding(
        "gradient-free attack wins",
        "warning" if better.value > rate.interval[1] else "note",
        f"at budget {budget}, {other} breaks {better.hits} rows and {name}, the best gradient attack, {rate.hits}",
        "gradients are masked, or the gradient attack has too few steps",
        "report the worst case over both; give the gradient attack more steps and restarts",
    )


def random_wins(budget: int, random: Rate, best: tuple[str, Rate]) -> Finding:
    """Random changes break more rows than the best other attack."""
    name, rate = best
    return Finding(
        "random search wins",
        "error",
        f"at budget {budget}, random changes break {random.hits} rows, {name}, the best other attack, {rate.hits}",
        "the other attacks do not search properly: wrong losses, wrong space, or masked gradients",
        "check the victim's outputs and the allowed changes before you trust any figure",
    )


def success_falls(attack: str, smaller: tuple[int, Rate], larger: tuple[int, Rate]) -> Finding:
    """An attack breaks fewer rows with a larger budget; each pair is a budget and its success."""
    (budget, before), (more, after) = smaller, larger
    return Finding(
        "success falls with budget",
        "warning",
        f"{attack} breaks {before.hits} rows at budget {budget} and {after.hits} at budget {more}",
        "a larger budget contains the smaller one, so the attack misses rows that it can break",
        "report the best over all budgets up to each, or use an attack that re-chooses its changes",
    )


def unequal_rows(short: int, runs: int, rows: int) -> Finding:
    """`short` of `runs` runs have fewer than the `rows` rows that others have."""
    return Finding(
        "unequal rows",
        "warning",
        f"{short} of {runs} runs have fewer than the {rows} rows that some run has",
        "rates of attacks are then over different rows and cannot be compared",
        "let the runs finish: the same command continues where it stopped",
    )


def few_rows(correct: int) -> Finding:
    """Only `correct` rows could be attacked."""
    return Finding(
        "few rows",
        "note",
        f"only {correct} rows were classified correctly before the attack",
        "intervals over so few rows are wide",
        "attack more rows",
    )


def broken_and_proven(rows: int, budget: int) -> Finding:
    """`rows` rows are broken within a budget for which another run has proven that nothing breaks them."""
    return Finding(
        "broken and proven",
        "error",
        f"at budget {budget}, {rows} rows are broken by one run and proven unbreakable by another",
        "both cannot be true: the victim answers differently between runs, or one run is damaged",
        "check the store with `hammingbox verify`, and the victim for randomness",
    )


def wrong_class_order(right: int, better: int, rows: int, order: list[str]) -> Finding:
    """Clearly more rows are right if the answers stand for the classes in another order."""
    return Finding(
        "class order",
        "error",
        f"{right} of {rows} rows are right, {better} would be if the model's answers stood for {', '.join(order)}",
        "the columns of the model's answers are probably in another order than the classes of the table",
        "pass `classes` in the order of the model's answers, or name them in the model's columns file",
    )


def many_ties(ties: int, rows: int) -> Finding:
    """The two largest probabilities of `ties` of `rows` rows are equal."""
    return Finding(
        "ties",
        "note",
        f"{ties} of {rows} rows have two classes that are equally probable",
        "the model's own `predict` takes the first of its classes then, and so does every rate here",
        "look at rates with and without such rows if they are many",
    )


def model_note(note: str) -> Finding:
    """Something about how a model of another library is asked."""
    return Finding(
        "how the model is asked",
        "note",
        note,
        "results are about the model as it is asked here",
        "compare the accuracy here with the one you know; pass `like`, `classes`, `takes` or `returns` if they differ",
    )
