"""Exports: one record per run or per row, with statuses and full numbers."""

import csv
import io
from dataclasses import replace
from pathlib import Path

from hammingbox.report.artefacts.export import FORMATS, records, row_records, run_record, runs_table, short_table
from hammingbox.report.artefacts.table import Interval
from hammingbox.running.store import open_store
from hammingbox.threat.goal import Target
from toys import toy_schema
from toys.result_folders import LETTERS, TABLE, fill


def test_rows_have_a_status(tmp_path: Path) -> None:
    fill(tmp_path, LETTERS, attacks=("exhaustive",), budgets=(1,), goal=Target(LETTERS.classes[1]))
    with open_store(tmp_path) as store:
        (run,) = store.runs()
        rows, schema = store.rows(run.id), store.schema(run)
        assert run_record(store, run)["goal"] == f"to {LETTERS.classes[1]}"
    unbroken = rows.attacked & ~rows.success
    found = list(row_records(run, schema, replace(rows, proven=unbroken)))
    assert {record["status"] for record in found} == {"broken", "proven", "wrong before", "not attacked"}
    for i, record in enumerate(found):
        status = "broken" if rows.success[i] else "proven" if unbroken[i] else "not attacked"
        assert record["status"] == (status if rows.correct[i] else "wrong before")
    unknown = list(row_records(run, schema, replace(rows, proven=unbroken & False)))
    assert sum(record["status"] == "unknown" for record in unknown) == int(unbroken.sum()) > 0


def test_the_table_of_runs_holds_numbers_and_proofs_where_there_are_any(tmp_path: Path) -> None:
    fill(tmp_path, TABLE, attacks=("ga", "random"), budgets=(1,))
    with open_store(tmp_path) as store:
        found = records(store, "runs")
    for record in found:
        record["proven"] = 0
    table = runs_table(found, "Results")
    assert table.headings == (
        "run", "data", "model", "defence", "attack", "ε", "seed", "rows", "clean error %", "success %",
        "95 % interval", "robust error %", "passes per row", "seconds per row",
    )  # fmt: skip
    assert table.column("success %") == [100 * record["success_rate"] for record in found]
    assert table.column("95 % interval")[0] == Interval(100 * found[0]["success_low"], 100 * found[0]["success_high"])
    found[0]["proven"] = 4
    assert runs_table(found, "Results").column("proven") == [4, 0]


def test_a_refused_run_has_empty_cells(tmp_path: Path) -> None:
    fill(tmp_path, toy_schema((9,) * 9), attacks=("exhaustive", "random"), budgets=(6,), rows=4)
    with open_store(tmp_path) as store:
        found = records(store, "runs")
    refused, ran = runs_table(found, "Results").texts()
    assert refused[-6:] == ("-",) * 6
    short = short_table(found)
    assert short.column("success %") == [None, 100 * found[1]["success_rate"]]
    assert short.notes == (f"refused to run: {found[0]['run']}",)
    assert "proven" not in short.headings or any(record["proven"] for record in found)
    assert "-" not in ran
    lines = list(csv.DictReader(io.StringIO(FORMATS["csv"](found).decode())))
    assert lines[0]["clean_error"] == ""
    assert float(lines[1]["success_rate"]) == found[1]["success_rate"]
