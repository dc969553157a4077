"""Checks of the rows of one run: whether its rate is over enough of them, and whether every class is among them."""

from collections.abc import Sequence

import torch

from hammingbox.data.schema import Schema
from hammingbox.evaluation.diagnose.class_checks import diagnose_classes, diagnose_counts
from hammingbox.evaluation.diagnose.data_findings import no_change_allowed
from hammingbox.evaluation.diagnose.finding import Finding, by_severity
from hammingbox.evaluation.diagnose.run_findings import failed_rows, few_rows, nothing_attacked
from hammingbox.evaluation.failed_row import FailedRow
from hammingbox.evaluation.rates import Rate
from hammingbox.evaluation.rows import Rows
from hammingbox.evaluation.run_totals import RunTotals
from hammingbox.threat.goal import Goal

FEW = 30
"""Below this many attacked rows an interval is wider than most effects one looks for."""

WIDE = 0.25
"""The widest interval of a success rate that is not worth a note."""


def diagnose_rows(
    rows: Rows, schema: Schema, *, goal: Goal | None = None, failed: Sequence[FailedRow] = ()
) -> list[Finding]:
    """Checks of a run's rows and of the victim's answers to the clean ones. No query is made.

    Args:
        rows: what was recorded.
        schema: what ids and labels mean.
        goal: what counts as success; any class but the true one by default.
        failed: rows of the run that nobody could compute.
    """
    lost = [failed_rows(failed, len(rows) + len(failed))] if failed else []
    fixed = int(rows.not_attackable.sum())
    denominator = diagnose_denominator(rows.success_rate, rows=len(rows), correct=rows.accuracy.hits, fixed=fixed)
    return by_severity([*lost, *denominator, *diagnose_classes(rows.clean_logits, rows.labels, schema, goal=goal)])


def diagnose_totals(
    totals: RunTotals, schema: Schema, *, goal: Goal | None = None, failed: Sequence[FailedRow] = ()
) -> list[Finding]:
    """The same from what the rows add up to.

    Args:
        totals: of the rows.
        schema: what labels mean.
        goal: what counts as success.
        failed: rows of the run that nobody could compute.
    """
    lost = [failed_rows(failed, totals["rows"] + len(failed))] if failed else []
    denominator = diagnose_denominator(
        totals.success_rate, rows=totals["rows"], correct=totals["correct"], fixed=totals["not_attackable"]
    )
    answers, right = torch.from_numpy(totals.answers), torch.from_numpy(totals.column("correct"))
    return by_severity([*lost, *denominator, *diagnose_counts(answers, right, schema, goal=goal)])


def diagnose_denominator(rate: Rate, *, rows: int, correct: int, fixed: int = 0) -> list[Finding]:
    """Whether a success rate is over enough rows for a claim.

    Args:
        rate: broken rows over attacked rows.
        rows: of the run.
        correct: rows that were right before.
        fixed: of those, rows that the goal is about and that the threat leaves no change.
    """
    if rate.rows == 0:
        return [nothing_attacked(rows, correct, fixed)] if rows else []
    found = [no_change_allowed(fixed, fixed + rate.rows)] if fixed else []
    low, high = rate.interval
    return [*found, few_rows(rate, FEW)] if rate.rows < FEW or high - low > WIDE else found
