"""The valid options of every feature side by side, for methods that compute on rectangles."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Int64
from torch import Tensor

from hammingbox.threat.candidates import Candidates


class OptionGrid(NamedTuple):
    """The valid options of every feature, the clean one first, padded to the largest number.

    Attributes:
        ids: what each option writes.
        valid: False for padding.
        slots: the slot of each option.
    """

    ids: Int64[Tensor, "batch features places"]
    valid: Bool[Tensor, "batch features places"]
    slots: Int64[Tensor, "batch features places"]

    @staticmethod
    def of(candidates: Candidates) -> "OptionGrid":
        """The grid of a batch, as wide as the feature with the most options."""
        layout = candidates.layout
        slots = torch.arange(int(layout.widths.max()), device=layout.widths.device)
        exists = slots < layout.widths[:, None]
        options = layout.starts[:, None] + torch.where(exists, slots, 0)
        valid = candidates.valid[:, options] & exists
        most = int(candidates.counts.max()) if len(candidates) else 1
        place = torch.where(valid, valid.cumsum(2) - 1, most)  # those that are not valid go to a place that is cut off
        order = torch.zeros(*valid.shape[:2], most + 1, dtype=torch.int64, device=slots.device)
        order = order.scatter_(2, place, slots.expand_as(place))[:, :, :most].contiguous()
        ids = candidates.ids.gather(1, (layout.starts[:, None] + order).flatten(1)).view(order.shape)
        return OptionGrid(ids, slots[:most] < candidates.counts[:, :, None], order)
