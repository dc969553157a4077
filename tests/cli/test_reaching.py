"""Derived values that the table never shows are values nevertheless: written, recorded, and found by `verify`."""

import csv
import io
import json
from math import log10
from pathlib import Path

import pytest

from hammingbox.running.store import open_store
from toys.program import call_program as call

ROWS = [(13 * i % 400, 7 * i % 90, ["web", "shop"][i % 2]) for i in range(200)]
TABLE = "net,tax,total,place,fraud\n" + "".join(
    f"{net},{tax},{net + tax},{place},{'yes' if net + tax > 240 else 'no'}\n" for net, tax, place in ROWS
)
THREAT = """
[[derived]]
column = "total"
formula = "net + tax"
"""
COMMAND = ["table.csv", "--label", "fraud", "--threat", "threat.toml"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reaching")
    for name, text in (("table.csv", TABLE), ("threat.toml", THREAT)):
        (folder / name).write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        call("train", "table.csv", "--label", "fraud", "--out", "model", "--epochs", "8")
        call("compare", *COMMAND, "--victim", "model", "--attacks", "auto", "--budgets", "1,2", "--rows", "20",
             "--out", "out")  # fmt: skip
    return folder


def broken(folder: str) -> list[dict[str, str]]:
    found = csv.DictReader(io.StringIO(call("results", "export", folder, "--what", "rows")))
    return [row for row in found if row["success"] == "True"]


def test_totals_that_no_row_has_are_written(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    known, rows = {net + tax for net, tax, _ in ROWS}, broken("out")
    assert rows
    for row in rows:
        net, tax, total = (float(row[f"{name} (after)"]) for name in ("net", "tax", "total"))
        assert total == net + tax
    assert any(float(row["total (after)"]) not in known for row in rows)
    assert all(int(row["distance"]) <= int(row["budget"]) for row in rows), "what follows does not count"


def test_records_are_verified_against_the_table(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    assert "verified" in call("verify", "out").splitlines()[-1]
    call("report", "out", "--plausibility")
    text = (place / "table.csv").read_text()
    try:
        (place / "table.csv").write_text(text.replace("\n0,0,0,web", "\n1,0,1,web"))
        call("verify", "out", code=1)
    finally:
        (place / "table.csv").write_text(text)


def test_a_run_goes_on(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same command leads to the same schema, and so to the same runs."""
    monkeypatch.chdir(place)
    with open_store(place / "out", readonly=True) as store:
        before = [(run.key, run.rows) for run in store.runs()]
    call("compare", *COMMAND, "--victim", "model", "--attacks", "auto", "--budgets", "1,2", "--rows", "20",
         "--out", "out")  # fmt: skip
    with open_store(place / "out", readonly=True) as store:
        assert [(run.key, run.rows) for run in store.runs()] == before


def test_attack_and_audit_do_the_same(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    known = {net + tax for net, tax, _ in ROWS}
    call("attack", *COMMAND, "--victim", "model", "--attack", "ga", "--budget", "2", "--rows", "20", "--out", "one")
    call("audit", *COMMAND, "--victim", "model", "--rows-per-class", "10", "--budgets", "2", "--what-if", "1",
         "--out", "audit")  # fmt: skip
    with open_store(place / "audit" / "what-if", readonly=True) as store:
        frozen = [store.space(run)["base"]["immutable"] for run in store.runs()]
    assert frozen
    assert not any("total" in names for names in frozen), "nobody writes a derived column"
    for folder in ("one", "audit"):
        assert any(float(row["total (after)"]) not in known for row in broken(folder))
        assert "verified" in call("verify", folder).splitlines()[-1]


def test_a_python_object_may_read_ids_itself(place: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its ids keep their meaning: nothing is added, and a finding says what is lost."""
    monkeypatch.chdir(place)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "own_model_of_totals.py").write_text(
        "import numpy as np\n"
        "def model(frame):\n"
        "    yes = frame['total'].to_numpy(float) > 240\n"
        "    return np.stack([~yes, yes], 1).astype(float)\n"
    )
    said = call("compare", *COMMAND, "--model", "own_model_of_totals:model", "--attacks", "random", "--budgets", "1",
                "--rows", "20", "--out", "object")  # fmt: skip
    assert "unwritable" in said or "cannot be written" in said
    known = {net + tax for net, tax, _ in ROWS}
    assert all(float(row["total (after)"]) in known for row in broken("object"))


def test_what_can_be_done_to_a_row_has_totals_that_no_row_has(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    said = json.loads(call("threat", "check", "table.csv", "threat.toml", "--label", "fraud", "--row", "5", "--json"))
    nets, taxes = len({net for net, _, _ in ROWS}), len({tax for _, tax, _ in ROWS})
    offered = min(nets, 11) * min(taxes, 11)  # quantiles of ten, and perhaps the row's own value
    assert said["log10_size"] >= log10(2 * offered), "every net with every tax, in both places"
