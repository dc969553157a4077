"""Findings about runs, each alone and beside the others."""

from collections.abc import Sequence

from hammingbox.evaluation.diagnose.finding import SHOWN, Finding
from hammingbox.evaluation.failed_row import FailedRow
from hammingbox.evaluation.rates import Rate


def failed_rows(failed: Sequence[FailedRow], rows: int) -> Finding:
    """Nobody could compute some of `rows` rows."""
    numbers = ", ".join(str(row.number) for row in failed[:SHOWN]) + (", ..." if len(failed) > SHOWN else "")
    return Finding(
        "failed rows",
        "warning",
        f"{len(failed):,} of {rows:,} rows could not be computed (rows {numbers}); the first one: {failed[0].reason}",
        "no rate counts these rows: they were neither broken nor did they withstand anything",
        "mend what the reason says and give the same command again: it tries only these rows",
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


def unequal_rows(short: int, runs: int, rows: int) -> Finding:
    """`short` of `runs` runs have fewer than the `rows` rows that others have."""
    return Finding(
        "unequal rows",
        "warning",
        f"{short} of {runs} runs have fewer than the {rows} rows that some run has",
        "rates of attacks are then over different rows and cannot be compared",
        "let the runs finish: the same command continues where it stopped",
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


def broken_and_proven(rows: int, budget: int) -> Finding:
    """`rows` rows are broken within a budget for which another run has proven that nothing breaks them."""
    return Finding(
        "broken and proven",
        "error",
        f"at budget {budget}, {rows} rows are broken by one run and proven unbreakable by another",
        "both cannot be true: the victim answers differently between runs, or one run is damaged",
        "check the store with `hammingbox verify`, and the victim for randomness",
    )
