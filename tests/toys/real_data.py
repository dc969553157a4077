"""Real data sets that the package may not ship: tests that need them say so when they skip."""

import os
from pathlib import Path

import pytest

DATA = Path(os.environ.get("HAMMINGBOX_DATA", "no data folder"))


def needs(file: str) -> pytest.MarkDecorator:
    """Skips a test where a file of the data folder is not at hand."""
    return pytest.mark.skipif(not (DATA / file).is_file(), reason=f"needs {file} in the folder HAMMINGBOX_DATA names")
