"""The totals of a run, added up by SQLite: millions of records are counted without being read into Python."""

import sqlite3

from hammingbox.evaluation.run_totals import RunTotals

_MASKS = ("correct", "attacked", "success", "proven")
_SUMS = (
    "count(*)", "sum(correct)", "sum(attacked)", "sum(success)", "sum(proven AND attacked)",
    "sum(proven AND NOT attacked)", "sum(correct = 0 OR success = 1)",
    "sum(CASE success WHEN 1 THEN distance ELSE 0 END)", "sum(forward)", "sum(backward)",
)  # fmt: skip
"""In the order of `hammingbox.evaluation.run_totals.COUNTS`."""
_WHOLE = ("number", "label", *_MASKS, "distance", "forward", "backward")
_DAMAGED = " OR ".join(
    [f"typeof({name}) != 'integer' OR {name} < 0" for name in _WHOLE] + [f"{name} > 1" for name in _MASKS]
)
"""Values that no record has; sums of them would be nonsense."""


def add_up_rows(connection: sqlite3.Connection, run: int, totals: RunTotals) -> bool:
    """Adds the records of a run.

    Args:
        connection: to the file.
        run: its number.
        totals: of as many classes as the run's schema has.

    Returns:
        Whether a record is damaged; the totals are then of no use.
    """
    select = f"SELECT label, sum({_DAMAGED}), {', '.join(_SUMS)} FROM rows WHERE run = ? GROUP BY label"
    try:
        found = connection.execute(select, (run,)).fetchall()
    except sqlite3.OperationalError as error:
        if "overflow" in str(error):  # the sum of numbers that no attack has
            return True
        raise
    for label, damaged, *sums in found:
        if damaged or not 0 <= label < len(totals.counts) or not all(isinstance(part, int) for part in sums):
            return True
        totals.counts[label] += sums
    return False
