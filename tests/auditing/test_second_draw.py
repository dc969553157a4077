"""A second audit into one folder, with other rows, is about its own rows: on the terminal and on its page."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hammingbox as hb
from hammingbox.report.page.folder import read_contents, write_report

ROWS = 120


def table() -> pd.DataFrame:
    rows = np.random.default_rng(0).integers(0, 6, (ROWS, 3))
    return pd.DataFrame(rows, columns=["a", "b", "c"]).assign(risk=np.where(rows.sum(1) < 7, "bad", "good"))


def model(frame: pd.DataFrame) -> np.ndarray:
    bad = (frame[["a", "b", "c"]].sum(axis=1) < 7).to_numpy() * 0.8 + 0.1
    return np.stack([bad, 1 - bad], 1)


def audited(folder: Path, *, per_class: int = 20, rows_seed: int = 0) -> hb.Audit:
    return hb.audit(
        model, table(), label="risk", positive="bad", budgets=[1, 2], rows_per_class=per_class, rows_seed=rows_seed,
        what_if=1, name="toy", folder=folder,
    )  # fmt: skip


@pytest.mark.parametrize(("per_class", "rows_seed"), [(20, 1), (8, 0)])
def test_page_and_headline_of_a_second_audit_agree(per_class: int, rows_seed: int, tmp_path: Path) -> None:
    alone = audited(tmp_path / "alone", per_class=per_class, rows_seed=rows_seed)
    audited(tmp_path / "both")
    second = audited(tmp_path / "both", per_class=per_class, rows_seed=rows_seed)
    assert second.headline == alone.headline
    assert second.plausible == alone.plausible
    pages = [" ".join((tmp_path / name / "report.html").read_text().split()) for name in ("alone", "both")]
    of, first = per_class, second.classes[1].lines[0]
    assert f"{first.broken} of {of}</strong> bad rows that the model recognises" in pages[1]
    counts = [re.findall(r"([\d,]+) of ([\d,]+) broken", page) for page in pages]
    assert counts[0]
    assert counts[1] == counts[0]
    assert all(f"{of:,} rows of each class, or all it has (by class, seed {rows_seed})" in page for page in pages)
    (contents,) = read_contents(second.folder, chosen=second.chosen).measured
    (expected,) = read_contents(alone.folder).measured
    assert [found.now for found in contents.values()] == [found.now for found in expected.values()]


def test_a_page_of_all_rows_says_that_they_are_of_several_draws(tmp_path: Path) -> None:
    audited(tmp_path)
    assert "several draws" not in write_report(tmp_path).read_text()
    audited(tmp_path, rows_seed=1)
    (results,) = read_contents(tmp_path).result_sets
    assert results.rows > 40
    last = "20 rows of each class, or all it has (by class, seed 1)"
    assert f"{results.rows} rows from several draws; the last one: {last}" in write_report(tmp_path).read_text()
