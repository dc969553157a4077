"""How rows are held: clean rows once, changes and likeliest classes as lists of different lengths."""

import numpy as np

from hammingbox.data.schema import Feature, Schema
from hammingbox.report.ragged_pairs import Ragged, changes, likeliest
from hammingbox.report.result_set import row_form
from toys.result_folders import LETTERS, TABLE
from toys.result_sets import toy_results


def test_clean_rows_are_held_once_whatever_number_of_runs_has_them() -> None:
    results = toy_results(TABLE, attacks=("ga", "random"), budgets=(1, 2), rows=20)
    assert len(results.runs) == 4
    assert len(results.clean) == len(results.numbers) == 20
    assert results.before["toy"].places == list(range(20))
    assert results.before["toy"].spread == 0
    clean = results.clean_ids()
    for run in results.runs:
        assert len(run) == 20
        assert np.array_equal(np.bincount(run.changes.owner(), minlength=20), run.distance)
        assert (clean[run.place[run.changes.owner()], run.changes.keys] != run.changes.values).all()


def test_lists_of_different_lengths() -> None:
    generator = np.random.default_rng(0)
    clean = generator.integers(0, 3, (40, 6))
    written = np.where(generator.random((40, 6)) < 0.3, generator.integers(0, 3, (40, 6)), clean)
    ragged = changes(clean, written)
    order = generator.permutation(40)[:17]
    taken, again = ragged.take(order), Ragged.join([ragged.take(order[:5]), ragged.take(order[5:])])
    at = 0
    for row in order:
        places = np.flatnonzero(clean[row] != written[row])
        span = slice(at, at + len(places))
        assert taken.keys[span].tolist() == places.tolist()
        assert taken.values[span].tolist() == written[row, places].tolist()
        at += len(places)
    assert at == len(taken.keys)
    for name in ("counts", "keys", "values"):
        assert getattr(taken, name).tolist() == getattr(again, name).tolist()


def test_the_true_class_is_kept_however_unlikely() -> None:
    logits = np.array([[9.0, 0.0, 0.0, 0.0, -30.0, 0.0, 0.0, 0.0]])
    kept = likeliest(logits, np.array([4]))
    assert 4 in kept.keys
    assert kept.values[kept.keys == 4].tolist() == [0]
    assert kept.keys[0] == 0


def test_how_rows_are_written() -> None:
    assert row_form(LETTERS) == "letters"
    assert row_form(TABLE) == "columns"
    assert row_form(Schema.sequence(4, ["10", "11"], ("a", "b"), prefix="event ")) == "events"
    assert row_form(Schema.sequence(4, ["<pad>", "<unknown>", "<name>", "good"], ("a", "b"))) == "words"
    answers = tuple(Feature(name, ("y", "n")) for name in ("vote a", "vote b"))
    assert row_form(Schema(answers, ("a", "b"))) == "columns", "columns with names are no string"
