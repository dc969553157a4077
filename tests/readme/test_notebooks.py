"""The notebooks of the docs run, and show what they keep."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_executed(path: Path) -> None:
    code = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    kinds = {output["output_type"] for cell in code for output in cell["outputs"]}
    assert kinds <= {"execute_result", "display_data"}, "no error, no warning"
    assert str(ROOT) not in path.read_text()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_shows_what_it_keeps(path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "notebooks.py", "--check", path.stem],
        env=environment, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]


def test_the_audit_shows_frozen_columns() -> None:
    shown = (ROOT / "docs" / "notebooks" / "audit-a-table.ipynb").read_text()
    assert "frozen and the bad rows attacked again" in shown, "in what the audit shows of itself"
    assert "broken_without_freezing" in shown, "as a frame"
