"""A relation by a function of one's own: passed by name, used by attacks and `verify`, and never run by a file."""

from pathlib import Path

import pytest

from hammingbox.errors import HammingboxError
from toys.program import call_program as call

FUNCTION = """
def plausible(written, clean):
    return written["b"] == written["c"]
"""
ROWS = [(i % 40, "xy"[i // 40], ["no", "yes"][(i % 40 + i // 40) % 2]) for i in range(80)]
TABLE = "a,b,c,label\n" + "".join(f"k{a},{b},{b},{label}\n" for a, b, label in ROWS)
THREAT = """
[[relations]]
kind = "function"
function = "own_rules:plausible"
columns = ["b", "c"]
"""


def test_a_function_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in (("own_rules.py", FUNCTION), ("table.csv", TABLE), ("threat.toml", THREAT)):
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    call("train", "table.csv", "--label", "label", "--out", "model", "--epochs", "2")
    command = ["compare", "table.csv", "--label", "label", "--victim", "model", "--attacks", "auto", "--budgets", "1,2",
               "--rows", "12", "--threat", "threat.toml", "--out", "out"]  # fmt: skip
    with pytest.raises(HammingboxError, match="own_rules:plausible"):
        call(*command)
    call(*command, "--function", "own_rules:plausible")
    call("report", "out")
    assert "verified" not in call("verify", "out", code=1).splitlines()[-1], "a store never runs code"
    assert "verified" in call("verify", "out", "--function", "own_rules:plausible")
    with pytest.raises(HammingboxError, match="no_such"):
        call(*command, "--function", "no_such:thing")
