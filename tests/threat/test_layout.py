"""The axis of options against loops over features and slots."""

import pytest
import torch

from hammingbox.errors import InputError
from hammingbox.threat import layout as module
from hammingbox.threat.layout import Layout

CPU = torch.device("cpu")
WIDTHS = (3, 1, 5, 1, 3, 2)


def places(layout: Layout) -> dict[tuple[int, int], int]:
    """The option of every (feature, slot)."""
    pairs = zip(layout.feature_of.tolist(), layout.slot_of.tolist(), strict=True)
    return {pair: option for option, pair in enumerate(pairs)}


@pytest.mark.parametrize("widths", [WIDTHS, (2, 2, 2), (1, 2, 4), (4, 1), (7,)])
def test_every_pair_has_one_place_and_features_lie_together(widths: tuple[int, ...]) -> None:
    layout = Layout.of(widths, CPU)
    place = places(layout)
    assert set(place) == {(feature, slot) for feature, width in enumerate(widths) for slot in range(width)}
    assert layout.features == len(widths)
    assert layout.options == sum(widths)
    for (feature, slot), option in place.items():
        assert option == int(layout.starts[feature]) + slot
    assert (layout.rank is None) == (list(widths) == sorted(widths))
    assert [feature for block in layout.blocks for feature in block.features.tolist()] == list(
        dict.fromkeys(layout.feature_of.tolist())
    )
    assert len(layout.blocks) == len(set(widths)), "one rectangle per width"


@pytest.mark.parametrize("widths", [WIDTHS, (2, 2, 2), (1, 2, 4)])
def test_what_works_feature_by_feature(widths: tuple[int, ...]) -> None:
    layout = Layout.of(widths, CPU)
    place = places(layout)
    flat = torch.randn(2, 3, sum(widths), generator=torch.Generator().manual_seed(0))
    own = [flat[..., [place[f, s] for s in range(width)]] for f, width in enumerate(widths)]
    soft = layout.map(flat, lambda rectangle: rectangle.softmax(-1))
    for feature, width in enumerate(widths):
        part = soft[..., [place[feature, slot] for slot in range(width)]]
        assert torch.allclose(part, own[feature].softmax(-1))
    assert torch.allclose(layout.reduce(flat, lambda r: r.sum(-1)), torch.stack([part.sum(-1) for part in own], -1))
    assert torch.equal(layout.argmax(flat), torch.stack([part.argmax(-1) for part in own], -1))
    assert torch.equal(layout.first(flat), torch.stack([part[..., 0] for part in own], -1))
    per_feature = torch.arange(len(widths)) + 10
    assert layout.spread(per_feature).tolist() == [10 + feature for feature in layout.feature_of.tolist()]
    slots = torch.tensor([[width - 1 for width in widths], [0] * len(widths)])
    hot = layout.one_hot(slots)
    assert hot.shape == (2, sum(widths))
    for row, chosen in enumerate(slots.tolist()):
        assert hot[row].nonzero()[:, 0].tolist() == sorted(place[pair] for pair in enumerate(chosen))
        assert hot[row].sum() == len(widths)


def test_a_copy_shares_nothing() -> None:
    layout = Layout.of(WIDTHS, CPU)
    copy = layout.copy()
    for name in ("widths", "starts", "feature_of", "slot_of", "rank"):
        theirs = getattr(copy, name)
        assert torch.equal(theirs, getattr(layout, name))
        theirs.fill_(99)
        assert not (getattr(layout, name) == 99).any()
    copy.blocks[0].features.fill_(99)
    assert not (layout.blocks[0].features == 99).any()
    assert Layout.of(WIDTHS, CPU) is layout, "a constant of its space"


def test_a_row_has_so_many_options_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="at most 20,000,000 options per row"):
        Layout.of((15_000_000, 5_000_001), CPU)
    monkeypatch.setattr(module, "MOST_OPTIONS", 10)
    assert Layout.of((4, 6), CPU).options == 10
    with pytest.raises(InputError, match="got 11"):
        Layout.of((4, 7), CPU)
