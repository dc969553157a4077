"""The points that each row has tried, so that no query is spent twice."""

import numpy as np
import torch
from jaxtyping import Bool, Int64
from torch import Tensor

from hammingbox.seeding import torch_generator
from hammingbox.threat.layout import Layout

Keys = Int64[Tensor, "some points"]

_NO_KEY = torch.iinfo(torch.int64).max
"""Fills the places that a row has not used. Sorted, they come after all keys."""


class Visited:
    """Tried points as 64-bit keys. The key of a point is the sum of the random keys of its options (Zobrist 1970).

    Changing one feature changes the key by one difference, so a whole neighbourhood can be looked up without building
    its points. Two different points have the same key with probability 2^-64. The clean row has key 0 and counts as
    visited from the start.
    """

    def __init__(self, layout: Layout, batch: int) -> None:
        device = layout.starts.device
        # Drawn on the CPU, so that keys do not depend on the device.
        keys = torch.randint(-(2**62), 2**62, (layout.options,), generator=torch_generator(0), device="cpu").to(device)
        self.key_of = keys.masked_fill_(layout.slot_of == 0, 0)
        self._starts = layout.starts
        # Sorted keys of each row, with room for more, and how many places each row has used.
        self._seen = torch.zeros(batch, 1, dtype=torch.int64, device=device)
        self._used = np.ones(batch, dtype=np.int64)

    def keys(self, slots: Int64[Tensor, "... features"]) -> Int64[Tensor, "..."]:
        """Keys of points."""
        options = self._starts + slots
        return self.key_of.index_select(0, options.flatten()).view(options.shape).sum(-1)

    def knows(self, rows: Int64[Tensor, "some"], keys: Keys) -> Bool[Tensor, "some points"]:
        """Which of these points their rows have tried."""
        if len(rows) == 0:
            return torch.zeros_like(keys, dtype=torch.bool)
        used = int(self._used[rows.cpu().numpy()].max())
        seen = self._seen[:, :used].index_select(0, rows)
        place = torch.searchsorted(seen, keys.contiguous()).clamp_(max=used - 1)
        return seen.gather(1, place) == keys

    def add(self, rows: Int64[Tensor, "some"], keys: Keys) -> None:
        """Marks points as tried. Key 0, the clean row, can stand for a missing point.

        Cost: sorting the keys of these rows. Rows that have left the search are not touched.
        """
        if len(rows) == 0:
            return
        places = rows.cpu().numpy()
        used = self._used[places]
        before = int(used.max())
        self._used[places] = used + keys.shape[1]
        after, room = before + keys.shape[1], self._seen.shape[1]
        if after > room:
            more = self._seen.new_full((len(self._seen), max(after, 2 * room) - room), _NO_KEY)
            self._seen = torch.cat([self._seen, more], 1)
        known = self._seen[:, :before].index_select(0, rows)
        self._seen[:, :after].index_copy_(0, rows, _sorted(torch.cat([known, keys], 1)))

    def visit(
        self, rows: Int64[Tensor, "some"], points: Int64[Tensor, "some points features"]
    ) -> Bool[Tensor, "some points"]:
        """Marks points as tried and returns which of them are new; of equal points only the first one is."""
        keys = self.keys(points)
        new = ~self.knows(rows, keys) & first_in_row(keys)
        self.add(rows, keys)
        return new


def _sorted(keys: Keys) -> Keys:
    """Each row's keys in order. On the CPU, NumPy sorts whole numbers in a third of torch's time."""
    if keys.device.type == "cpu":
        return torch.from_numpy(np.sort(keys.numpy(), axis=1))
    return keys.sort(1).values


def first_in_row(keys: Keys) -> Bool[Tensor, "some points"]:
    """Marks the first of equal keys in every row."""
    order = keys.argsort(dim=1, stable=True)
    ordered = keys.gather(1, order)
    first = torch.ones_like(keys, dtype=torch.bool)
    first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    return torch.empty_like(first).scatter_(1, order, first)
