"""A column that gives the label away is found; identifiers, honest columns and rare categories are not."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch

from hammingbox import Dataset, Feature, Schema, Splits
from hammingbox.evaluation.diagnose import diagnose_data, diagnose_leak


def table(leak: torch.Tensor, labels: torch.Tensor, categories: int = 2) -> Dataset:
    """A table of an honest column, an identifier and the column that is tested."""
    generator = torch.Generator().manual_seed(0)
    rows = len(labels)
    honest = torch.where(torch.rand(rows, generator=generator) < 0.9, labels, 1 - labels)
    ids = torch.stack([honest, torch.randperm(rows, generator=generator), leak], 1)
    names = (("honest", 2), ("id", rows), ("tested", categories))
    features = tuple(Feature(name, tuple(str(i) for i in range(size))) for name, size in names)
    return Dataset(Schema(features, ("ok", "fraud")), ids, labels)


def labels_of(rows: int, share: float) -> torch.Tensor:
    return (torch.rand(rows, generator=torch.Generator().manual_seed(1)) < share).long()


@pytest.mark.parametrize("share", [0.5, 0.1])
def test_a_copy_of_the_label_is_found(share: float) -> None:
    labels = labels_of(600, share)
    (finding,) = diagnose_leak(table(labels, labels))
    assert (finding.check, finding.severity) == ("leaked label", "warning")
    usual = int((labels[1::2] == 0).sum()) if share < 0.5 else None
    assert "of 300 held-out rows: 'tested' 300 (the majority class: " in finding.seen
    assert usual is None or f"class: {usual})" in finding.seen
    assert "'id'" not in finding.seen
    assert "'honest'" not in finding.seen


def test_a_nearly_perfect_column_is_found_and_a_good_one_is_not() -> None:
    labels = labels_of(2000, 0.5)
    for wrong, expected in ((6, 1), (40, 0)):  # of 1,000 held-out rows
        column = labels.clone()
        column[1 : 2 * wrong : 2] = 1 - column[1 : 2 * wrong : 2]
        assert len(diagnose_leak(table(column, labels))) == expected


def test_a_rare_class_is_not_hidden_by_the_common_one() -> None:
    labels = labels_of(4000, 0.02)
    half = labels.clone()
    half[(labels == 1).nonzero()[::2]] = 0
    assert diagnose_leak(table(half, labels)) == [], "99 % right, and half of the fraud is missed"
    assert len(diagnose_leak(table(labels, labels))) == 1


def test_an_ordered_column_with_many_values_is_found() -> None:
    generator = torch.Generator().manual_seed(2)
    score = torch.randperm(2000, generator=generator)
    assert len(diagnose_leak(table(score, (score >= 1000).long(), 2000))) == 1, "every value occurs once"


def test_too_few_rows_are_no_evidence() -> None:
    labels = labels_of(60, 0.1)
    assert diagnose_leak(table(labels, labels)) == []
    assert diagnose_leak(table(labels, labels).take(slice(0, 0))) == []
    assert diagnose_leak(table(labels, labels).take(slice(0, 1))) == []


def test_small_parts_are_joined_and_splice_leaks_nothing(splice_splits: Splits) -> None:
    labels = labels_of(90, 0.5)
    part = table(labels, labels)
    few = Splits(part.take(slice(0, 30)), part.take(slice(30, 60)), part.take(slice(60, 90)))
    assert diagnose_leak(few.train.take(slice(0, 10))) == []
    assert [found.check for found in diagnose_data(few)] == ["leaked label"]
    assert diagnose_data(splice_splits) == []
    assert diagnose_data(replace(splice_splits, train=splice_splits.train.take(slice(0, 0)))) == []


def test_a_column_that_tells_one_class_from_all_others() -> None:
    """With eight grades of injury no column gives the label; one still says who died."""
    generator = torch.Generator().manual_seed(2)
    labels = torch.randint(0, 3, (1200,), generator=generator)
    tells, noise = (labels == 1).long(), torch.randint(0, 2, (1200,), generator=generator)
    features = (Feature("tells", ("no", "yes")), Feature("noise", ("no", "yes")))
    rows = Dataset(Schema(features, ("hurt", "dead", "well")), torch.stack([tells, noise], 1), labels)
    splits = Splits(rows, rows, rows)
    assert diagnose_data(splits) == []
    assert diagnose_data(splits, positive="hurt") == []
    (finding,) = diagnose_data(splits, positive="dead")
    assert "tells dead from all other classes on nearly all of 600 held-out rows: 'tells' 600" in finding.seen


def of_one_column(values: Sequence[str], kind: str, ids: torch.Tensor) -> Splits:
    schema = Schema((Feature("tested", tuple(values), kind), Feature("other", ("a", "b"))), ("ok", "fraud"))
    data = Dataset(schema, torch.stack([ids, ids % 2], 1), ids % 2)
    return Splits(data, data.take(slice(0, 0)), data.take(slice(0, 0)))


@pytest.mark.parametrize(
    ("values", "kind", "named"),
    [
        ([f"text number {i}" for i in range(300)], "category", True),
        ([str(i) for i in range(1, 301)], "number", True),
        ([str(i * i) for i in range(300)], "number", False),  # amounts
        ([str(i / 8) for i in range(300)], "number", False),
    ],
)
def test_columns_that_tell_rows_apart_are_named(values: list[str], kind: str, named: bool) -> None:
    found = [f for f in diagnose_data(of_one_column(values, kind, torch.arange(300))) if f.check == "value per row"]
    assert len(found) == named
    if named:
        assert "most rows: 'tested' 300 different values in 300 rows" in found[0].seen
    few = diagnose_data(of_one_column(values, kind, torch.arange(300) // 3))
    assert [f for f in few if f.check == "value per row"] == [], "three rows for each value"


def test_positions_of_a_text_are_no_identifiers() -> None:
    ids = torch.stack([torch.randperm(400), torch.randperm(400)], 1)
    data = Dataset(Schema.sequence(2, [f"w{i}" for i in range(400)], ("ok", "fraud")), ids, ids[:, 0] % 2)
    none = data.take(slice(0, 0))
    assert "value per row" not in {found.check for found in diagnose_data(Splits(data, none, none))}
