"""What the tests of training share."""

import pytest

from hammingbox.data.dataset import Splits
from toys.training import few_rows


@pytest.fixture(scope="package")
def small(splice_splits: Splits) -> Splits:
    return few_rows(splice_splits)
