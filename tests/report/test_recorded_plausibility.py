"""Plausibility beside the records: noted by content, read again, shown by budget, and never about another row."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from hammingbox.data.dataset import Dataset
from hammingbox.errors import FileError
from hammingbox.evaluation.plausibility import plausibility_of
from hammingbox.report.page.folder import read_contents, write_report
from hammingbox.report.plausible_success import LIMITS, plausible_success
from hammingbox.report.recorded_plausibility import NOTE, note_plausibility, read_notes
from hammingbox.running.store import open_store
from toys.result_folders import LETTERS, TABLE, fill, stored


def table(rows: int = 200) -> Dataset:
    """Rows in which the last column follows from the first."""
    generator = torch.Generator().manual_seed(3)
    ids = torch.stack([torch.randint(0, size, (rows,), generator=generator) for size in TABLE.cardinalities], 1)
    ids[:, 4] = ids[:, 0]
    return Dataset(TABLE, ids, torch.arange(rows) % len(TABLE.classes), "toy data")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    fill(tmp_path, TABLE)
    return tmp_path


def note(folder: Path, data: Dataset) -> None:
    with open_store(folder, readonly=True) as store:
        note_plausibility(store, folder, data)


def test_notes_are_what_the_rows_are(folder: Path) -> None:
    data = table()
    note(folder, data)
    notes = read_notes(folder)
    for _, _, rows in stored(folder):
        found = notes.of(rows, TABLE.digest)
        assert found is not None
        broken = rows.success.nonzero()[:, 0]
        known = plausibility_of(data, rows.clean[broken], rows.adversarial[broken], rows.logits[broken].argmax(1))
        assert found[0][broken].tolist() == known.unseen_pairs.tolist()
        assert np.allclose(found[1][broken], known.anomaly.numpy(), atol=1e-4, equal_nan=True)
        others = (~rows.success).nonzero()[:, 0]
        assert (found[0][others] == -1).all()
        assert np.isnan(found[1][others]).all()


def test_success_against_plausibility_is_recounted(folder: Path) -> None:
    note(folder, table())
    (results,) = read_contents(folder).result_sets
    lines = plausible_success(results, results.victims[0])
    assert [line.budget for line in lines] == [1, 2]
    notes, runs = read_notes(folder), stored(folder)
    for line in lines:
        ways: dict[int, list[tuple[int, float]]] = {}
        attacked = {int(n) for _, budget, rows in runs if budget == line.budget for n in rows.numbers[rows.attacked]}
        for _, budget, rows in runs:
            if budget <= line.budget:
                pairs, anomaly = notes.of(rows, TABLE.digest) or (np.empty(0), np.empty(0))
                for place in rows.success.nonzero()[:, 0].tolist():
                    ways.setdefault(int(rows.numbers[place]), []).append((pairs[place], anomaly[place]))
        assert line.all_rows.rows == len(attacked)
        assert line.all_rows.hits == len(ways)
        assert line.seen.hits == sum(any(p == 0 for p, _ in found) for found in ways.values())
        assert line.typical.hits == sum(any(not a >= 0.95 for _, a in found) for found in ways.values())
        assert line.both.hits == sum(any(p == 0 and not a >= 0.95 for p, a in found) for found in ways.values())
        for limit, rate in zip(LIMITS, line.by_limit, strict=True):
            assert rate.hits == sum(any(p == 0 and not a > limit for p, a in found) for found in ways.values())
        assert line.by_limit[-1] == line.seen
    assert lines[0].seen.hits < lines[0].all_rows.hits, "some evasions break what the table always shows"


def test_runs_that_came_later_are_noted_too(folder: Path) -> None:
    note(folder, table())
    before = read_notes(folder)
    fill(folder, TABLE, attacks=("gsa",))
    (results,) = read_contents(folder).result_sets
    assert plausible_success(results, results.victims[0]) == [], "half of the truth is not shown"
    note(folder, table())
    assert set(before.rows.items()) <= set(read_notes(folder).rows.items())
    (results,) = read_contents(folder).result_sets
    assert plausible_success(results, results.victims[0])


def test_a_folder_without_notes_has_no_such_section(folder: Path, tmp_path: Path) -> None:
    assert "Would anybody notice" not in write_report(folder).read_text("utf-8")
    note(folder, table())
    assert "Would anybody notice" in write_report(folder).read_text("utf-8")
    letters = tmp_path / "letters"
    fill(letters, LETTERS, attacks=("ga",), budgets=(1,))
    note(letters, Dataset(LETTERS, torch.zeros(3, 12, dtype=torch.int64), torch.zeros(3, dtype=torch.int64)))
    assert not (letters / NOTE).exists(), "positions of a sequence are no columns"


@pytest.mark.parametrize(
    "text", ["", "[]", '{"format": 2, "data": {}, "rows": {}}', '{"format": 1, "data": {}, "rows": {"a": [0, 7]}}',
             '{"format": 1, "data": {"a": [1]}, "rows": {}}', '{"format": 1, "rows": []}'],
)  # fmt: skip
def test_damaged_notes_are_one_sentence_and_can_be_made_again(folder: Path, text: str) -> None:
    (folder / NOTE).write_text(text)
    with pytest.raises(FileError, match=NOTE):
        write_report(folder)
    note(folder, table())
    assert json.loads((folder / NOTE).read_text())["format"] == 1
    write_report(folder)
