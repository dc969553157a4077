"""The rows packed into the page are the store's rows."""

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hammingbox.report.page.folder import read_contents
from hammingbox.report.page.packing import pack
from hammingbox.report.page.page import render
from hammingbox.report.status import STATUSES
from toys.result_folders import LETTERS, TABLE, fill, stored
from toys.result_sets import toy_results


def unpack(text: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What `rows.js` does, in Python."""
    block = gzip.decompress(base64.b64decode(text))
    length = int.from_bytes(block[:4], "little")
    head = json.loads(block[4 : 4 + length])
    columns = {
        name: np.frombuffer(block, f"<{kind}", count, 4 + length + offset).astype(np.int64)
        for name, (kind, offset, count) in head["columns"].items()
    }
    columns |= {name[:-5]: np.cumsum(values) for name, values in columns.items() if name.endswith("_step")}
    return head, columns


@pytest.mark.parametrize("schema", [LETTERS, TABLE], ids=["letters", "table"])
def test_the_packed_rows_are_the_stores_rows(schema: Any, tmp_path: Path) -> None:
    fill(tmp_path, schema, victims=("one", "two"))
    (results,) = read_contents(tmp_path).result_sets
    packed = pack(results, 10**7)
    assert packed.rows == packed.total == 2 * 3 * 2 * 30
    head, columns = unpack(packed.text)
    place = columns["place"]
    clean = columns["clean"].reshape(-1, len(schema.features))
    change_end, after_end = np.cumsum(columns["change_count"]), np.cumsum(columns["after_count"])
    at = 0
    for run, (name, budget, rows) in enumerate(stored(tmp_path)):
        assert (head["runs"][run]["attack"], head["runs"][run]["budget"]) == (name, budget)
        probabilities = rows.logits.double().softmax(1)
        for i in range(len(rows)):
            assert columns["run"][at] == run
            assert columns["number"][place[at]] == rows.numbers[i]
            assert columns["label"][place[at]] == rows.labels[i]
            written = clean[place[at]].copy()
            assert written.tolist() == rows.clean[i].tolist()
            span = slice(change_end[at] - columns["change_count"][at], change_end[at])
            written[columns["change_key"][span]] = columns["change_value"][span]
            assert written.tolist() == rows.adversarial[i].tolist()
            status = "broken" if rows.success[i] else "proven" if rows.proven[i] else "unknown"
            assert head["statuses"][columns["status"][at]] == (status if rows.correct[i] else "wrong before")
            assert (columns["forward"][at], columns["backward"][at]) == (rows.forward[i], rows.backward[i])
            span = slice(after_end[at] - columns["after_count"][at], after_end[at])
            for kind, parts in zip(columns["after_key"][span], columns["after_value"][span], strict=True):
                assert abs(parts / 1000 - probabilities[i, kind].item()) <= 0.00051
            at += 1
    assert at == len(place)


def test_proofs_are_packed() -> None:
    results = toy_results(LETTERS, attacks=("exhaustive",), budgets=(1,))
    _, columns = unpack(pack(results, 10**7).text)
    (run,) = results.runs
    assert run.proven.any()
    assert (columns["status"] == STATUSES.index("proven")).tolist() == run.proven.tolist()


def test_rows_beyond_the_limit_are_an_even_sample_and_the_page_says_so(tmp_path: Path) -> None:
    fill(tmp_path, LETTERS, attacks=("ga", "hotflip", "random", "beam"))
    contents = read_contents(tmp_path)
    (results,) = contents.result_sets
    whole = pack(results, 10**7)
    small = pack(results, len(whole.text) * 2 // 3)
    assert len(small.text) <= len(whole.text) * 2 // 3
    assert 0 < small.rows < small.total == whole.total
    _, columns = unpack(small.text)
    shown = np.unique(columns["place"])
    assert small.rows == len(shown) * len(results.runs), "every shown row has all its runs"
    page = render(contents, rows_limit=len(whole.text) // 2)
    assert re.search(r"Rows shown: \d+ of 240, .* all rows are in results.sqlite", page, re.S)
    assert "All 240 rows of all runs are here" in render(contents)
