"""Schemas: what ids mean, and errors for ids, labels and schemas that are wrong."""

import pickle
from collections.abc import Callable

import pytest
import torch

from hammingbox.data.schema import Feature, Schema
from hammingbox.errors import FileError, InputError
from toys import toy_schema


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda s: s.check_ids(torch.tensor([[0.0, 1.0]])), "integer category ids"),
        (lambda s: s.check_ids(torch.tensor([0, 1])), r"shape \(batch, 2\), got \(2,\)"),
        (lambda s: s.check_ids(torch.tensor([[0, 0], [0, 3]])), r"ids 0\.\.2 in feature 'f1', got 3 in row 1 of rows"),
        (lambda s: s.check_ids(torch.tensor([[-1, 0]]), what="mine"), "feature 'f0', got -1 in row 0 of mine"),
        (lambda s: s.check_labels(torch.tensor([3]), 1), r"labels 0\.\.2 .*got 3 in row 0"),
        (lambda s: s.check_labels(torch.tensor([0, 1]), 3), "3 integer labels"),
        (lambda s: s.feature_index("f7"), r"name of a feature \(f0, f1\), got 'f7'"),
        (lambda s: s.category_id(0, "c7"), r"category of feature 'f0' \(c0, c1, c2\), got 'c7'"),
        (lambda s: Schema((), ("a", "b")), "at least one feature"),
        (lambda s: Schema(s.features, ("a",)), "two classes"),
        (lambda s: Schema((Feature("a", ("x", "x")),), ("a", "b")), "distinct categories"),
        (lambda s: Schema((Feature("a", ("x",)), Feature("a", ("y",))), ("a", "b")), "distinct feature names"),
    ],
)
def test_mistakes_are_named(use: Callable[[Schema], object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        use(toy_schema((3, 3)))


def test_names_and_ids_are_inverse() -> None:
    schema = toy_schema((3, 2))
    assert schema.decode([2, 1]) == ("c2", "c1")
    assert schema.feature_index("f1") == 1
    assert schema.category_id(1, "c1") == 1


def test_only_equal_categories_share_an_alphabet() -> None:
    assert toy_schema((3, 3)).shares_alphabet, "equal tuples, not only one tuple"
    assert not toy_schema((3, 2)).shares_alphabet


def test_the_digest_is_fixed_and_depends_on_the_meaning_of_ids() -> None:
    schema = Schema.sequence(100, ("<pad>", "é", "b"), ("yes", "no"))
    assert schema.digest == "a35d0215127fa00cac498a93f62c8f8ecfb4a53c312e3e4fd8a52e5507b4504d"
    assert schema.digest != Schema.sequence(100, ("<pad>", "b", "é"), ("yes", "no")).digest
    assert schema.digest != Schema.sequence(100, ("<pad>", "é", "b"), ("no", "yes")).digest
    assert schema.digest != Schema.sequence(100, ("<pad>", "é", "b"), ("yes", "no"), prefix="p").digest


def test_json_round_trip() -> None:
    schema = Schema.sequence(100, ("<pad>", "é", "b"), ("yes", "no"))
    assert len(schema.to_json()["vocabularies"]) == 1, "a shared alphabet is written once"
    again = Schema.from_json(schema.to_json())
    assert (again, again.digest) == (schema, schema.digest)
    no_such_vocabulary = {"vocabularies": [["a"]], "features": [["f", 3]], "classes": ["x", "y"]}
    for damaged in ("", no_such_vocabulary, {"classes": ["x", "y"]}):
        with pytest.raises(FileError, match="expected a schema"):
            Schema.from_json(damaged)


def test_a_schema_can_be_sent_to_another_process() -> None:
    schema = Schema.sequence(100, [f"word {i}" for i in range(1000)], ("yes", "no"))
    sent = pickle.dumps(schema)
    assert len(sent) < 30_000, "a shared alphabet is sent once"
    again = pickle.loads(sent)
    assert (again, again.digest) == (schema, schema.digest)
    assert again.features[0].categories is again.features[99].categories
