"""Audits in which a class, or every attack, has no attacked rows say why, and never that the model is wrong."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hammingbox as hb
from hammingbox.cli.class_tables import classes_table, show_totals

NOTHING = "the goal is not about them, or the threat leaves them no change"


def table() -> pd.DataFrame:
    rows = np.arange(60)
    return pd.DataFrame({"a": rows % 4, "b": rows % 3, "risk": np.where(rows % 4 < 2, "bad", "good")})


def model(frame: pd.DataFrame) -> np.ndarray:
    """It is right on every row."""
    bad = (frame["a"] < 2).to_numpy()
    return np.stack([bad, ~bad], 1).astype(float)


@pytest.fixture(scope="module")
def spared(tmp_path_factory: pytest.TempPathFactory) -> hb.Audit:
    """The positive class is not the one that the goal is about, and all rows are audited."""
    return hb.audit(
        model, table(), label="risk", positive="bad", goal=hb.Direction("good", "bad"), budgets=[1],
        rows_per_class=None, what_if=0, name="toy", folder=tmp_path_factory.mktemp("spared"),
    )  # fmt: skip


def test_a_class_that_the_goal_spares_is_not_called_unrecognised(
    spared: hb.Audit, capsys: pytest.CaptureFixture[str]
) -> None:
    page = " ".join(spared.report().read_text().split())
    assert "The model recognises 30 of 30 bad rows, and none was attacked:</strong> " + NOTHING in page
    assert "recognises none of" not in page
    assert "<strong>none attacked</strong>" in page
    assert spared.headline == f"bad: the model gets 30 of 30 rows right, and none was attacked: {NOTHING}"
    show_totals(spared.classes[1])
    assert f"the model recognises 30 of 30 rows, and none was attacked: {NOTHING}" in " ".join(
        capsys.readouterr().out.split()
    )
    assert [line[-1] for line in classes_table(spared.classes[1]).rows] == ["none attacked", "bad (30)"]


def test_only_rows_drawn_by_class_are_said_to_be(spared: hb.Audit, tmp_path: Path) -> None:
    page = spared.report().read_text()
    assert "As many rows of each class were drawn as possible" not in page
    assert "Figures for the whole split weigh each class" in page
    drawn = hb.audit(
        model, table(), label="risk", budgets=[1], rows_per_class=9, what_if=0, name="toy", folder=tmp_path
    )
    assert "As many rows of each class were drawn as possible" in drawn.report().read_text()


def test_an_audit_whose_attacks_were_all_refused_still_shows_itself() -> None:
    refused = hb.audit(model, table(), label="risk", budgets=[1], rows_per_class=9, what_if=0, attacks=["pcaa"])
    frame = refused.to_frame()
    assert len(frame) == 0
    assert [*frame.columns][:3] == ["budget", "class", "population"]
    with pytest.raises(hb.InputError, match=r"expected attacks that were run, got none to draw .*needs gradients"):
        refused.plot()
    with pytest.raises(hb.InputError, match=r"expected an attack that was run, got pcaa at budget 1: .*gradients"):
        refused.rows(1)
