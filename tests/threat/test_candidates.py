"""S(x) as slots: which points exist, which rows they stand for, and what a copy is."""

import itertools

import pytest
import torch

from hammingbox.errors import InputError
from hammingbox.threat.candidates import Candidates, hamming
from toys import ToySynonyms, toy_schema

SIZES = (4, 2, 3)
SPACE = ToySynonyms(toy_schema(SIZES))
X = torch.tensor([[0, 0, 0], [1, 1, 2], [3, 0, 1], [2, 1, 0]])


def own(candidates: Candidates, row: int, feature: int) -> dict[int, int]:
    """The valid slots of a feature and what they write."""
    start, width = int(candidates.layout.starts[feature]), int(candidates.layout.widths[feature])
    options = range(start, start + width)
    return {o - start: int(candidates.ids[row, o]) for o in options if bool(candidates.valid[row, o])}


def test_points_are_choices_of_valid_slots() -> None:
    candidates = SPACE.slots_of(X)
    for slots in itertools.product(range(-1, 4), repeat=3):
        found = candidates.allows(torch.tensor([slots] * len(X))).tolist()
        for row in range(len(X)):
            assert found[row] == all(slot in own(candidates, row, f) for f, slot in enumerate(slots)), (row, slots)


def test_rows_are_in_the_space_if_each_value_can_be_written() -> None:
    candidates = SPACE.slots_of(X)
    for ids in itertools.product(*map(range, SIZES)):
        found = candidates.contains(torch.tensor([ids] * len(X))).tolist()
        for row in range(len(X)):
            assert found[row] == all(value in own(candidates, row, f).values() for f, value in enumerate(ids))


def test_counts_moves_and_the_nth_valid_slot() -> None:
    candidates = SPACE.slots_of(X)
    rows, features = torch.arange(len(X))[:, None].expand(-1, 3), torch.arange(3).expand(len(X), 3)
    for row, feature in itertools.product(range(len(X)), range(3)):
        valid = sorted(own(candidates, row, feature))
        assert int(candidates.counts[row, feature]) == len(valid)
        for n, slot in enumerate(valid):
            place = candidates.nth_valid(
                rows[row : row + 1, :1], features[:1, feature : feature + 1], torch.tensor([[n]])
            )
            assert int(place) == slot
    assert torch.equal(candidates.clean, X)
    assert int(candidates.moves.sum()) == int(candidates.counts.sum()) - X.numel()
    assert not candidates.moves[:, candidates.layout.starts].any(), "slot 0 changes nothing"


def test_slots_stand_for_rows() -> None:
    candidates = SPACE.slots_of(X)
    slots = torch.tensor([[1, 0, 2], [0, 0, 0], [2, 1, 0], [0, 2, 1]])
    wanted = [[candidates.ids[row, candidates.layout.starts[f] + s] for f, s in enumerate(line)]
              for row, line in enumerate(slots.tolist())]  # fmt: skip
    assert candidates.select(slots).tolist() == torch.tensor(wanted).tolist()
    rows = torch.tensor([2, 0, 2])
    assert torch.equal(candidates.select_points(rows, slots[rows]), candidates.select(slots)[rows])
    assert hamming(X, torch.tensor([[0, 0, 1], [1, 1, 2], [0, 1, 0], [2, 0, 0]])).tolist() == [1, 0, 3, 1]


def test_a_copy_shares_nothing_and_a_part_has_its_rows() -> None:
    found = SPACE.slots_of(X)
    candidates = Candidates(found.layout, found.ids, found.valid, shared=torch.arange(9))
    copy, part = candidates.copy(), candidates.take(torch.tensor([2, 1]))
    assert torch.equal(part.clean, X[[2, 1]])
    assert part.shared is candidates.shared
    for name in ("ids", "valid", "shared"):
        getattr(copy, name).zero_()
        assert getattr(candidates, name).any()
    assert copy.layout is not candidates.layout
    assert len(copy) == len(X)


def test_without_prices_only_the_number_of_changes_counts() -> None:
    candidates = SPACE.slots_of(X)
    assert candidates.purse(2) is None
    assert candidates.most_changes(2) == 2
    assert candidates.computed_columns == ()
    assert candidates.columns is candidates
    assert candidates.is_whole.all()
    assert candidates.writable(torch.tensor([0, 0]), torch.zeros(2, 3, dtype=torch.int64)).tolist() == [True, True]
    with pytest.raises(InputError, match="candidates with prices"):
        candidates.within(torch.ones(len(X), 2, dtype=torch.int64))


def test_what_is_too_dear_alone_is_no_option() -> None:
    plain = SPACE.slots_of(X[:1])
    tolls = torch.zeros(1, 9, 2, dtype=torch.int64)
    tolls[0, :, 0], tolls[0, :, 1] = plain.layout.slot_of.clamp(max=1), plain.layout.slot_of * 5
    priced = Candidates(plain.layout, plain.ids, torch.ones_like(plain.valid), tolls=tolls)
    for columns, ticks in ((1, 5), (1, 4), (1, 10), (0, 10)):
        found = priced.within(torch.tensor([[columns, ticks]])).valid[0]
        wanted = [int(slot > 0) <= columns and 5 * slot <= ticks for slot in plain.layout.slot_of.tolist()]
        assert found.tolist() == wanted
