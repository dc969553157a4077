"""Slots, layouts and spaces."""

from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hammingbox import Dataset, Feature, FullSpace, InputError, MaskedSpace, Schema, ThreatModel
from hammingbox.threat.layout import Layout
from toys import toy_schema

CARDINALITIES = st.lists(st.integers(1, 7), min_size=1, max_size=6).filter(lambda d: max(d) > 1)


def rows_of(cardinalities: list[int], seed: int, rows: int = 5) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.stack([torch.randint(d, (rows,), generator=generator) for d in cardinalities], 1)


@given(cardinalities=CARDINALITIES, seed=st.integers(0, 1000))
def test_full_space_is_every_category_with_the_clean_one_first(cardinalities: list[int], seed: int) -> None:
    x = rows_of(cardinalities, seed)
    candidates = FullSpace(toy_schema(tuple(cardinalities))).candidates(x)
    assert candidates.layout.options == sum(cardinalities), "no padding between cardinalities"
    assert torch.equal(candidates.clean, x)
    for feature, d in enumerate(cardinalities):
        start = int(candidates.layout.starts[feature])
        offered = candidates.ids[:, start : start + d]
        assert torch.equal(offered.sort(1).values, torch.arange(d).expand(len(x), d))


@given(cardinalities=CARDINALITIES, seed=st.integers(0, 1000))
def test_slots_and_rows_are_inverse(cardinalities: list[int], seed: int) -> None:
    x, other = rows_of(cardinalities, seed), rows_of(cardinalities, seed + 1)
    candidates = FullSpace(toy_schema(tuple(cardinalities))).candidates(x)
    assert bool(candidates.contains(other).all())
    layout = candidates.layout
    slots = layout.argmax((candidates.ids == layout.spread(other)).float())
    assert torch.equal(candidates.select(slots), other)
    assert torch.equal((slots != 0).sum(1), (x != other).sum(1)), "L0 is the number of slots that are not 0"
    assert torch.equal(layout.argmax(layout.one_hot(slots)), slots)


@given(widths=st.lists(st.integers(1, 6), min_size=1, max_size=8), seed=st.integers(0, 99))
def test_layout_works_feature_by_feature(widths: list[int], seed: int) -> None:
    layout = Layout.of(widths, torch.device("cpu"))
    flat = torch.randn(3, layout.options, generator=torch.Generator().manual_seed(seed))
    softmax = layout.map(flat, lambda rectangle: rectangle.softmax(-1))
    for feature, width in enumerate(widths):
        start = int(layout.starts[feature])
        own = flat[:, start : start + width]
        assert torch.allclose(softmax[:, start : start + width], own.softmax(1))
        assert torch.equal(layout.argmax(flat)[:, feature], own.argmax(1))
        assert torch.equal(layout.first(flat)[:, feature], own[:, 0])


def test_mixed_cardinalities_cost_their_sum() -> None:
    schema = toy_schema((3,) * 50 + (900,))
    candidates = FullSpace(schema).candidates(torch.zeros(2, 51, dtype=torch.int64))
    assert candidates.ids.shape == (2, 50 * 3 + 900)
    assert [(b.count, b.width) for b in candidates.layout.blocks] == [(50, 3), (1, 900)]


def test_masks() -> None:
    schema = toy_schema((3, 4, 2))
    space = MaskedSpace(schema, immutable=["f2"], forbidden={"f1": ["c0", "c3"]}, kept={"f0": ["c2"]})
    x = torch.tensor([[0, 0, 1], [2, 1, 0]])
    candidates = space.candidates(x)
    assert candidates.layout.options == 3 + 4 + 1, "an immutable feature costs one option"
    assert candidates.contains(torch.tensor([[1, 2, 1], [2, 2, 0]])).all()
    for outside in ([[0, 3, 1], [2, 0, 0]], [[0, 0, 0], [2, 1, 1]], [[0, 3, 1], [1, 1, 0]]):
        assert not candidates.contains(torch.tensor(outside)).any()
    assert candidates.counts.tolist() == [[3, 3, 1], [1, 2, 1]]
    rows, features = torch.zeros(1, 3, dtype=torch.int64), torch.tensor([[1, 1, 1]])
    slots = candidates.nth_valid(rows, features, torch.tensor([[0, 1, 2]]))
    assert [candidates.ids[0, int(candidates.layout.starts[1]) + s] for s in slots[0]] == [0, 1, 2]


def test_per_row_rule() -> None:
    schema = toy_schema((3, 3))

    def never_fall(ids: torch.Tensor) -> torch.Tensor:
        return torch.arange(3) >= ids[:, :, None]

    candidates = MaskedSpace(schema, rule=never_fall).candidates(torch.tensor([[0, 2], [1, 1]]))
    assert candidates.counts.tolist() == [[3, 1], [2, 2]]
    bad = MaskedSpace(schema, rule=lambda ids: torch.ones(1, dtype=torch.bool))
    with pytest.raises(InputError, match="bool mask of shape"):
        bad.candidates(torch.tensor([[0, 2]]))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda s: MaskedSpace(s, immutable=["f0", "f1"]), "empty space"),
        (lambda s: MaskedSpace(s, forbidden={"*": ["c0", "c1", "c2"]}), "empty space"),
        (lambda s: MaskedSpace(s, immutable=["nope"]), "name of a feature .*got 'nope'"),
        (lambda s: MaskedSpace(s, forbidden={"f0": ["x"]}), "category of feature 'f0' .*got 'x'"),
        (lambda s: MaskedSpace(s, forbidden={"*": ["x"]}), "categories that some feature has, got 'x'"),
        (lambda s: ThreatModel(FullSpace(s), -1), r"budget of 0\.\.2 .*got -1"),
        (lambda s: ThreatModel(FullSpace(s), 3), r"budget of 0\.\.2 .*got 3"),
        (lambda s: FullSpace(s).candidates(torch.tensor([[0, 7]])), r"ids 0\.\.2 in feature 'f1', got 7 in row 0"),
        (lambda s: FullSpace(s).candidates(torch.tensor([[0, -1]])), "got -1"),
        (lambda s: s.check_ids(torch.tensor([[0.0, 1.0]])), "integer category ids"),
        (lambda s: s.check_ids(torch.tensor([0, 1])), r"shape \(batch, 2\), got \(2,\)"),
        (lambda s: s.check_labels(torch.tensor([3]), 1), r"labels 0\.\.2 .*got 3 in row 0"),
        (lambda s: s.check_labels(torch.tensor([0, 1]), 3), "3 integer labels"),
        (lambda s: Dataset(s, torch.tensor([[0, 0]]), torch.tensor([5])), "got 5"),
        (lambda s: Schema((), ("a", "b")), "at least one feature"),
        (lambda s: Schema(s.features, ("a",)), "two classes"),
        (lambda s: Schema((Feature("a", ("x", "x")),), ("a", "b")), "distinct categories"),
        (lambda s: Schema((Feature("a", ("x",)), Feature("a", ("y",))), ("a", "b")), "distinct feature names"),
    ],
)
def test_mistakes_are_named(make: Callable[[Schema], object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make(toy_schema((3, 3)))


def test_schema_json_round_trip_and_digest() -> None:
    schema = Schema.sequence(100, ("<pad>", "é", "b"), ("yes", "no"))
    assert len(schema.to_json()["vocabularies"]) == 1, "a shared alphabet is written once"
    again = Schema.from_json(schema.to_json())
    assert again == schema
    assert again.digest == schema.digest
    assert schema.digest != Schema.sequence(100, ("<pad>", "b", "é"), ("yes", "no")).digest


def test_what_is_no_space_is_one_sentence() -> None:
    """Checked also where no types are checked at run time, as in a user's program."""
    threat = object.__new__(ThreatModel)
    object.__setattr__(threat, "space", "full")
    object.__setattr__(threat, "budget", 1)
    with pytest.raises(InputError, match="expected a space such as FullSpace"):
        threat.__post_init__()
