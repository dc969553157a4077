"""Lines of defence tables with chosen wrong rows, for tests of statistics."""

from collections.abc import Sequence

import numpy as np

from hammingbox.studies.line_errors import LineErrors


def wrong_rows(*trainings: Sequence[Sequence[int]], numbers: Sequence[int] | None = None) -> LineErrors:
    """A line from zeros and ones: for each training one list of rows per attack seed."""
    wrong = np.array(trainings, dtype=bool)
    rows = np.arange(wrong.shape[2]) if numbers is None else np.array(numbers)
    return LineErrors(tuple(range(len(trainings))), rows, wrong)
