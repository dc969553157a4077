"""The README's code runs as it stands there."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"


def test_quickstart(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.S)
    lines = [line for line in code.splitlines() if line.strip() and not line.startswith("import")]
    assert len(lines) <= 10
    exec(compile(code, "README.md", "exec"), {})
    shown = capsys.readouterr().out
    assert "success_rate" in shown
    assert "tensor([[" in shown
