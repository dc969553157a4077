"""Results in a notebook: short reprs, frames, HTML and figures that agree with the rows."""

import pytest
import torch
from matplotlib import pyplot

from hammingbox import Auto, Dataset, Evaluation, FullSpace, InputError, Schema, Target, ThreatModel, evaluate
from hammingbox.data.dataset import Splits
from hammingbox.evaluation.shown import STATUS
from toys import Case, ToyVictim, toy_rows, toy_schema

LONGEST = 200


@pytest.fixture(scope="module")
def result() -> Evaluation:
    schema = toy_schema((3, 2, 5, 3, 4))
    victim = ToyVictim(schema.cardinalities)
    x, y = toy_rows(schema, victim, rows=30)
    y[:4] = (y[:4] + 1) % 3
    data = Dataset(schema, x, y, "toy", torch.arange(100, 130))
    return evaluate(victim, data, ThreatModel(FullSpace(schema), 1), Auto())


def test_reprs_are_short(result: Evaluation, case: Case, splice_splits: Splits) -> None:
    values = (result, result.rows, result.data, result.data.schema, result.threat, splice_splits, splice_splits.schema)
    for value in (*values, splice_splits.schema.features[0], splice_splits.test):
        assert len(repr(value)) < LONGEST, value
        assert "\n" not in repr(value)
    wide = Schema.sequence(300, [f"word {i}" for i in range(9_000)], [f"class {i}" for i in range(50)])
    assert repr(wide).startswith("Schema(300 features of 9,000 categories; 50 classes: class 0, ")
    assert len(repr(wide)) < LONGEST
    assert "30 rows" in repr(result.data)


def test_the_repr_of_an_evaluation_says_what_was_found(result: Evaluation) -> None:
    rate = result.success_rate
    assert f"{rate.hits} of {rate.rows} attacked rows broken" in repr(result)
    assert "budget 1" in repr(result)


def test_a_frame_has_one_line_per_row(result: Evaluation) -> None:
    frame, rows = result.to_frame(), result.rows
    assert frame.index.tolist() == list(range(100, 130))
    assert (frame["status"] == "broken").to_numpy().tolist() == rows.success.tolist()
    assert (frame["status"] == "proven").sum() == int(rows.proven.sum())
    assert (frame["status"] == "wrong before").sum() == 4
    assert set(frame["status"]) <= set(STATUS)
    changed = frame[frame["distance"] > 0]
    assert (changed["changes"].str.count(" -> ") == changed["distance"]).all()
    assert (frame.loc[frame["status"] == "broken", "after"] != frame.loc[frame["status"] == "broken", "label"]).all()


def test_frames_of_values_decode_the_rows(result: Evaluation) -> None:
    schema = result.data.schema
    for contents, ids in (("clean", result.rows.clean), ("adversarial", result.rows.adversarial)):
        frame = result.to_frame(contents)
        assert frame.columns.tolist() == [feature.name for feature in schema.features]
        assert [tuple(line) for line in frame.to_numpy()] == [schema.decode(row) for row in ids.tolist()]
    with pytest.raises(InputError, match="Did you mean 'clean'"):
        result.to_frame("cleam")


def test_html_has_one_line_per_class_and_one_for_all(result: Evaluation) -> None:
    page = result._repr_html_()
    present = result.rows.labels.unique().tolist()
    assert page.count("<tr>") == 1 + len(present) + 1
    for place in present:
        assert f">class {place}</td>" in page
    assert f">{result.success_rate.hits}</td>" in page


def test_a_class_that_no_goal_is_about_has_no_rate() -> None:
    schema = toy_schema((3, 2, 5))
    victim = ToyVictim(schema.cardinalities)
    x, y = toy_rows(schema, victim, rows=30)
    result = evaluate(victim, Dataset(schema, x, y), ThreatModel(FullSpace(schema), 1), Auto(), goal=Target("class 0"))
    page = result._repr_html_()
    assert ">-</td>" in page, "0 of 0 rows is no rate"
    assert "Goal: Target" in page
    own = result.to_frame().query("label == 'class 0'")
    assert (own["status"] == "not attacked").all()


def test_bars_add_up_to_all_rows_of_a_class(result: Evaluation) -> None:
    axes = result.plot()
    ends: dict[float, float] = {}
    for bar in axes.patches:
        ends[bar.get_y()] = max(ends.get(bar.get_y(), 0.0), bar.get_x() + bar.get_width())
    assert list(ends.values()) == pytest.approx([100.0] * len(ends))
    assert result.plot(axes) is axes
    pyplot.close("all")


def test_the_usual_goal_is_not_worth_a_word(result: Evaluation) -> None:
    assert "Goal" not in result._repr_html_()
