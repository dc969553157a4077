"""Findings, and one function for each check that builds its finding from numbers: every text exists once."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from hammingbox.evaluation.failed_row import FailedRow
from hammingbox.evaluation.rates import Rate

Severity = Literal["error", "warning", "note"]
"""An error makes the figures wrong, a warning makes them doubtful, a note is good to know."""

_SHOWN = 5
"""Names that a finding lists before it breaks off."""


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

    def to_json(self) -> dict[str, Any]:
        """As commands print it with --json, and as a checkpoint keeps it."""
        return asdict(self) | {"slug": self.slug}


def by_severity(findings: Iterable[Finding]) -> list[Finding]:
    """Errors first, then warnings, then notes."""
    return sorted(findings, key=lambda finding: ("error", "warning", "note").index(finding.severity))


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


def failed_rows(failed: Sequence[FailedRow], rows: int) -> Finding:
    """Nobody could compute some of `rows` rows."""
    numbers = ", ".join(str(row.number) for row in failed[:_SHOWN]) + (", ..." if len(failed) > _SHOWN else "")
    return Finding(
        "failed rows",
        "warning",
        f"{len(failed):,} of {rows:,} rows could not be computed (rows {numbers}); the first one: {failed[0].reason}",
        "no rate counts these rows: they were neither broken nor did they withstand anything",
        "mend what the reason says and give the same command again: it tries only these rows",
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
    found = f"at budget {budget}, random changes break {random.hits} rows, {name}, the best other attack, {rate.hits}"
    if random.value <= rate.interval[1]:
        return Finding(
            "random search wins",
            "note",
            found,
            "the difference is within the error of so few rows, or these attacks are weak on this model",
            "attack more rows, add auto, and report the worst case over all attacks",
        )
    return Finding(
        "random search wins",
        "error",
        found,
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


def few_rows(rate: Rate, least: int) -> Finding:
    """The success rate is over so few rows that its interval is wide; below `least` rows it says next to nothing."""
    low, high = rate.interval
    return Finding(
        "few rows",
        "warning" if rate.rows < least else "note",
        f"the success rate is over {rate.rows} attacked row{'s' * (rate.rows != 1)}: {100 * rate.value:.0f} %, "
        "with a 95 % interval from "
        f"{100 * low:.0f} to {100 * high:.0f} %",
        "a claim about this model needs a narrower interval, and a comparison of two models even more rows",
        "attack more rows, with --rows or --rows-per-class",
    )


def nothing_attacked(rows: int, correct: int, fixed: int = 0) -> Finding:
    """No row was attacked: `correct` of `rows` rows were right before, and the threat leaves `fixed` of them no change.

    The goal is about none of the others.
    """
    why = f", and the goal is about none of the {correct} that were right before" if correct else ": all were wrong"
    if fixed:
        why = f": the threat leaves {fixed} of the {correct} that were right before no change at all"
        why += "" if fixed == correct else ", and the goal is about none of the others"
    return Finding(
        "nothing attacked",
        "error",
        f"none of the {rows} rows was attacked{why}",
        "a success rate over no rows is not 0 %, it is unknown",
        "attack more rows; check the victim, the encoding of the rows, the goal and the threat",
    )


def collapsed_victim(answer: str, predicted: int, labelled: int, rows: int) -> Finding:
    """The victim predicts `answer` for `predicted` of `rows` rows, of which only `labelled` have this class."""
    return Finding(
        "collapsed victim",
        "error",
        f"the victim predicts {answer!r} for {predicted} of {rows} rows; {labelled} rows have this class",
        "a model that gives everybody the same answer cannot be broken and is of no use: its robustness means nothing",
        "train it again (weaker defence, smaller budget, class weights, more epochs) and check its encoding of rows",
    )


def never_predicted(names: Sequence[str], labelled: int, rows: int) -> Finding:
    """The victim predicts some classes for no row, although `labelled` of `rows` rows have them."""
    return Finding(
        "class never predicted",
        "warning",
        f"the victim never predicts {some_names(names)}; {labelled} of {rows} rows are of "
        f"{'this class' if len(names) == 1 else 'these classes'}",
        "the victim is wrong on these rows before any attack, so they are not attacked; rates are about the others",
        "train a model that knows every class, or drop the class from the claim",
    )


def worse_than_majority(right: Rate, answer: str, labelled: int) -> Finding:
    """The victim is right on no more rows than one that always answers with the class that most rows have."""
    return Finding(
        "no better than the majority class",
        "error" if right.interval[1] < labelled / right.rows else "warning",
        f"the victim is right on {right.hits} of {right.rows} rows; always answering {answer!r} is right on {labelled}",
        "how hard it is to break such a model says nothing about a model that one would use",
        "check the training, the encoding of the rows and the order of the classes",
    )


def less_accurate_than_majority(right: Rate, answer: str, labelled: int, balanced: float, guessing: float) -> Finding:
    """As `worse_than_majority`, of a victim that knows every class: it gives up accuracy to find the rare ones."""
    return Finding(
        "no better than the majority class",
        "note",
        f"the victim is right on {right.hits} of {right.rows} rows; always answering {answer!r} is right on {labelled}"
        f"; its balanced accuracy is {100 * balanced:.1f} % (guessing: {100 * guessing:.1f} %)",
        "it is less accurate than that answer because it finds the rarer classes: accuracy alone says nothing about it",
        "report recall and robustness by class, or balanced accuracy",
    )


def classes_in_another_order(order: Sequence[tuple[str, str]], right: Rate, fits: int) -> Finding:
    """Predictions fit the labels much better when classes are renamed; pairs are (predicted, meant)."""
    renamed = [f"{said!r} as {meant!r}" for said, meant in order if said != meant]
    return Finding(
        "class order",
        "error",
        f"the victim is right on {right.hits} of {right.rows} rows, and would be right on {fits} if its answers were "
        f"read in another order ({', '.join(renamed[:_SHOWN])}{', ...' if len(renamed) > _SHOWN else ''})",
        "the columns of the victim's answers stand for other classes than the schema says; every rate is wrong",
        "put the columns into the order of schema.classes, or name the classes in the order of the columns",
    )


def absent_class(names: Sequence[str], rows: int) -> Finding:
    """No row has some of the classes that could be attacked."""
    return Finding(
        "absent class",
        "warning",
        f"none of the {rows} rows is of class {some_names(names)}",
        "nothing is known about rows of such a class; the rates are about the other classes only",
        "attack more rows, or rows that are drawn from every class",
    )


def class_not_attacked(names: Sequence[str], labelled: int) -> Finding:
    """The victim is wrong on every one of the `labelled` rows of some classes, so none of them is attacked."""
    return Finding(
        "class not attacked",
        "warning",
        f"the victim is wrong on all {labelled} rows of class {some_names(names)}, so none of them was attacked",
        "the success rate is about the other classes only",
        "report the rates by class; attack more rows; check whether the victim has learnt this class",
    )


def leaked_label(columns: Sequence[tuple[str, int]], rows: int, majority: int, *, of: str = "") -> Finding:
    """Single columns give the label of nearly all of `rows` held-out rows; pairs are a column and its right rows.

    Args:
        columns: each with the rows that it gets right.
        rows: held-out rows.
        majority: rows that are right when always the commonest answer is given.
        of: the class that the columns tell from all others; "" where they give the label itself.
    """
    shown = ", ".join(f"{name!r} {right}" for name, right in columns[:_SHOWN])
    gives = f"tells {of} from all other classes on" if of else "gives the label of"
    usual = "commonest answer" if of else "majority class"
    return Finding(
        "leaked label",
        "warning",
        f"one column alone {gives} nearly all of {rows} held-out rows: {shown}"
        f"{', ...' if len(columns) > _SHOWN else ''} (the {usual}: {majority})",
        "such a column is often written after the fact, from the label: a model that reads it looks accurate, and is "
        "only as robust as this one column is hard to change",
        "drop the column if it is not known when the model is asked; otherwise say who could write it",
    )


def value_per_row(columns: Sequence[tuple[str, int]], rows: int) -> Finding:
    """Most of `rows` rows have a category of their own in some columns; pairs are a column and its different values."""
    shown = ", ".join(f"{name!r} {different:,}" for name, different in columns[:_SHOWN])
    return Finding(
        "value per row",
        "warning",
        f"columns of texts or identifiers have a value of their own for most rows: {shown}"
        f"{', ...' if len(columns) > _SHOWN else ''} different values in {rows:,} rows",
        "each value is a category or a number that says nothing about new rows, and an attacker who changes it writes "
        "what stands in another row",
        "name a column of texts with --text; leave an identifier out of the schema file (`hammingbox data inspect` "
        "writes one), or freeze it with --immutable if the model needs it",
    )


def codes_offered(codes: Sequence[tuple[str, str, int | None]], severity: Severity) -> Finding:
    """An attacker may write codes for missing values: a column, a code, and the broken rows where it was written."""
    most = sorted(codes, key=lambda code: -(code[2] or 0))
    shown = ", ".join(
        f"{name!r} {code}" + ("" if rows is None else f" (written in {rows} broken rows)")
        for name, code, rows in most[:_SHOWN]
    )
    return Finding(
        "missing value codes",
        severity,
        f"an attacker may write what looks like a code for a missing value: {shown}{', ...' * (len(codes) > _SHOWN)}",
        "if nobody can hand in such a code, rows that it breaks are not broken by a real change",
        "if it is a code, list it under sentinels in the schema file (`hammingbox data inspect` writes one), or forbid "
        "it with --forbid COLUMN=VALUE; if an attacker can leave the field open, say so beside the rate",
    )


def no_change_allowed(rows: int, of: int) -> Finding:
    """The threat leaves `rows` of some rows, which the goal is about, no change at all."""
    return Finding(
        "no change allowed",
        "warning" if 2 * rows > of else "note",
        f"the threat leaves {rows} of {of} rows no change at all: they are not attackable",
        "such rows are not attacked and stand in no success rate: the threat keeps them standing, not the model",
        "check the rules with `hammingbox threat check`; if they are right, say so beside the rate",
    )


def budget_too_small(rows: int, of: int) -> Finding:
    """The largest budget pays for no change in `rows` of some rows, although changes are allowed."""
    return Finding(
        "budget too small",
        "warning" if 2 * rows > of else "note",
        f"the largest budget pays for no change in {rows} of {of} rows",
        "such rows count as attacked and stand in every rate: an attacker with more money may break them",
        "try larger budgets; `hammingbox threat check` shows what the cheapest changes cost",
    )


def unwritable_changes(lost: int, of: int) -> Finding:
    """Derived columns have no value for `lost` of some single changes."""
    return Finding(
        "unwritable changes",
        "warning",
        f"{lost} of {of} single changes cannot be written: a derived column has no such value in this table",
        "an attacker could write them, so success is underestimated",
        "extend the schema by the values that changes lead to, with hammingbox.with_reachable, and attack from Python; "
        "the commands do it themselves for numbers and dates, unless the model is a Python object or they are too many",
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
        "compare the accuracy here with the one you know; if they differ, say `classes`, `takes` or `returns` "
        "in Python, or in a .columns.json file next to the model",
    )


def some_names(names: Sequence[str]) -> str:
    """Names in quotes, the first of them where there are many."""
    shown = ", ".join(repr(name) for name in names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"
