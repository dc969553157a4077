"""`certify --threat`: proofs in money, beside attacks under the same prices, in one report, checked by `verify`."""

import json
from pathlib import Path

import pytest

from toys.program import call_program as call

ROWS = [("abc"[i % 3], "xy"[i // 3 % 2], "pqr"[i // 6 % 3]) for i in range(72)]
TABLE = "one,two,three,label\n" + "".join(
    f"{one},{two},{three},{'yes' if one == 'a' else 'no'}\n" for one, two, three in ROWS
)
THREAT = """
unit = 0.5
currency = "EUR"
budgets = [0.5, 2]

[columns.one]
price = 0.5

[columns.two]
price = 1.5

[columns.three]
price = 1
"""


def test_proofs_in_money(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "table.csv").write_text(TABLE)
    (tmp_path / "threat.toml").write_text(THREAT)
    monkeypatch.chdir(tmp_path)
    call("train", "table.csv", "--label", "label", "--out", "model", "--epochs", "20")
    rules = ["table.csv", "--label", "label", "--victim", "model", "--threat", "threat.toml", "--out", "out"]
    found = json.loads(call("certify", *rules, "--json"))
    assert [line["amount"] for line in found["by_budget"]] == ["0.5 EUR", "2 EUR"]
    assert all(line["unknown"] == 0 and line["certified"] == line["attacked"] for line in found["by_budget"])
    assert found["by_budget"][0]["certified"] >= found["by_budget"][1]["certified"]
    assert found["by_budget"][1]["broken"] > 0
    attacked = json.loads(call("attack", *rules, "--attack", "auto", "--budget", "2", "--json"))
    assert attacked["success"] == found["by_budget"][1]["broken"]
    assert "2 EUR" in call("certify", *rules, "--budgets", "2")
    call("report", "out")
    assert "verified" in call("verify", "out").splitlines()[-1]
