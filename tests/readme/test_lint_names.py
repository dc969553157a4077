"""`tools/lint_names.py`: names that code reads and nothing defines."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from toys.tools import TOOLS, load_tool

TOOL: Any = load_tool("lint_names")


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("from a import b\ndef f(x):\n    return b(x) + LEAST\n", ["LEAST"]),
        ("print(missing)\n", ["missing"]),
        ("def f():\n    def g():\n        return deep\n    return g\n", ["deep"]),
        ("def f(x: Float[Tensor, 'rows']): ...\nfrom j import Float\nfrom torch import Tensor\n", []),
        ("def f():\n    global counter\n    counter = 1\ndef g():\n    return counter\n", []),
        ("class A:\n    x = 1\n    y = [x for _ in range(len(__name__))]\n", ["x"]),
        ("try:\n    import a\nexcept ImportError as error:\n    a = str(error)\nprint(a)\n", []),
    ],
)
def test_names_that_nothing_defines(code: str, names: list[str]) -> None:
    assert TOOL.undefined(code, "code.py") == names


def test_it_fails_and_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("print(missing)\n")
    command = [sys.executable, str(TOOLS / "lint_names.py")]
    done = subprocess.run([*command, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "bad.py: expected missing to be defined or imported" in done.stdout
    (tmp_path / "bad.py").write_text("missing = 1\nprint(missing)\n")
    assert subprocess.run([*command, str(tmp_path)], check=False).returncode == 0
