"""Findings about the columns of a table and the rules of a threat."""

from collections.abc import Sequence

from hammingbox.evaluation.diagnose.finding import SHOWN, Finding, Severity


def leaked_label(columns: Sequence[tuple[str, int]], rows: int, majority: int, *, of: str = "") -> Finding:
    """Single columns give the label of nearly all of `rows` held-out rows; pairs are a column and its right rows.

    Args:
        columns: each with the rows that it gets right.
        rows: held-out rows.
        majority: rows that are right when always the commonest answer is given.
        of: the class that the columns tell from all others; "" where they give the label itself.
    """
    shown = ", ".join(f"{name!r} {right}" for name, right in columns[:SHOWN])
    gives = f"tells {of} from all other classes on" if of else "gives the label of"
    usual = "commonest answer" if of else "majority class"
    return Finding(
        "leaked label",
        "warning",
        f"one column alone {gives} nearly all of {rows} held-out rows: {shown}"
        f"{', ...' if len(columns) > SHOWN else ''} (the {usual}: {majority})",
        "such a column is often written after the fact, from the label: a model that reads it looks accurate, and is "
        "only as robust as this one column is hard to change",
        "drop the column if it is not known when the model is asked; otherwise say who could write it",
    )


def value_per_row(columns: Sequence[tuple[str, int]], rows: int) -> Finding:
    """Most of `rows` rows have a category of their own in some columns; pairs are a column and its different values."""
    shown = ", ".join(f"{name!r} {different:,}" for name, different in columns[:SHOWN])
    return Finding(
        "value per row",
        "warning",
        f"columns of texts or identifiers have a value of their own for most rows: {shown}"
        f"{', ...' if len(columns) > SHOWN else ''} different values in {rows:,} rows",
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
        for name, code, rows in most[:SHOWN]
    )
    return Finding(
        "missing value codes",
        severity,
        f"an attacker may write what looks like a code for a missing value: {shown}{', ...' * (len(codes) > SHOWN)}",
        "if nobody can hand in such a code, rows that it breaks are not broken by a real change",
        "if it is a code, list it under sentinels in the schema file (`hammingbox data inspect` writes one), or forbid "
        "it with --forbid COLUMN=VALUE; if an attacker can leave the field open, say so beside the rate",
    )


_MANY_WORDS = 0.05
"""Above this share of words, a model reads other texts than its owner wrote."""


def spelling_of_texts(
    rows: int, of: int, *, words: int, unknown: int, other: int, examples: Sequence[tuple[str, str]]
) -> Finding:
    """Texts that are written from rows of words are not read as these words again.

    Args:
        rows: texts where this is so.
        of: texts that were looked at.
        words: in them.
        unknown: words that the vocabulary does not have.
        other: words of the vocabulary that come back as others.
        examples: such words and what they come back as, the most frequent first.
    """
    shown = ", ".join(f"{before!r} as {after!r}" for before, after in examples[:SHOWN])
    causes = [
        *([f"{unknown:,} of {words:,} words are not in the vocabulary and are left out"] if unknown else []),
        *([f"{other:,} come back with other capitals or divisions ({shown})"] if other else []),
    ]
    return Finding(
        "spelling of texts",
        "warning" if unknown + other > _MANY_WORDS * words else "note",
        f"{rows} of {of} texts that the model is asked with are read as other words again: {'; '.join(causes)}",
        "the model is asked with texts that are written from rows of words, and these differ from the texts of the "
        "table: its accuracy may be another, and next to a changed word a capital or a space may change, too",
        "compare the accuracy here with the one you know; --text-unit characters asks with every character as it is",
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
