"""Frames from blocks are the frames that pandas itself makes."""

from io import StringIO

import numpy as np
import pytest

from hammingbox.data.schema import Feature, Schema
from hammingbox.victims import frames
from hammingbox.victims.frames import ColumnType, Frames

pandas = pytest.importorskip("pandas")

SCHEMA = Schema(
    (
        Feature("age", ("31", "47", "60")),
        Feature("colour", ("red", "green")),
        Feature("size", ("1.5", "2.25", "3")),
        Feature("children", ("0", "2")),
    ),
    ("no", "yes"),
)
COLUMNS = (
    ColumnType(1, "colour", "category", ("green", "red", "blue")),
    ColumnType(0, "age"),
    ColumnType(2, "size"),
    ColumnType(3, "children"),
)
IDS = np.array([[0, 1, 2, 1], [2, 0, 0, 0], [1, 1, 1, 1]])


def test_blocks_give_the_frame_of_the_constructor(monkeypatch: pytest.MonkeyPatch) -> None:
    fast = Frames(SCHEMA, COLUMNS)
    made = fast.build(IDS)
    monkeypatch.setattr(frames, "_from_blocks", lambda: None)
    expected = Frames(SCHEMA, COLUMNS).build(IDS)
    pandas.testing.assert_frame_equal(made, expected)
    assert made["age"].tolist() == [31, 60, 47]
    assert made["colour"].tolist() == ["green", "red", "green"]
    made.loc[0, "age"] = 99
    made.loc[0, "colour"] = "blue"
    monkeypatch.undo()
    pandas.testing.assert_frame_equal(fast.build(IDS), expected)


@pytest.mark.parametrize("gap", ["<missing>", "<unknown>"])
def test_booleans_with_gaps_stay_booleans(gap: str) -> None:
    schema = Schema((Feature("member", ("False", "True", gap), "boolean"),), ("no", "yes"))
    made = Frames(schema, [ColumnType(0, "member")]).build(np.array([[1], [0], [2]]))
    read = pandas.read_csv(StringIO("member\nTrue\nFalse\n\n"), skip_blank_lines=False)
    pandas.testing.assert_frame_equal(made, read)
    assert made["member"].tolist()[:2] == [True, False]
