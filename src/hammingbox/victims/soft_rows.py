"""Soft rows: mixtures of option embeddings, the relaxed input through which gradients flow."""

import torch
from jaxtyping import Float
from torch import Tensor

from hammingbox.threat.candidates import Candidates
from hammingbox.threat.layout import Layout
from hammingbox.types import OptionIds, Weights
from hammingbox.victims.victim import Victim


class SoftRows:
    """The embeddings of a batch's options, and how to mix them.

    Where slots are categories (`Candidates.by_category`) all rows share one table, and a mixture is one matrix
    product per feature. Otherwise each row has its own table (synonym sets are small).
    """

    def __init__(self, victim: Victim, candidates: Candidates) -> None:
        layout = candidates.layout
        self._layout = layout
        self._shared = candidates.by_category
        table = _embed_options(victim, layout, layout.slot_of[None] if self._shared else candidates.ids)
        self._tables = [
            table[:, block.start : block.start + block.count * block.width].unflatten(1, (block.count, block.width))
            for block in layout.blocks
        ]
        if not self._shared:
            return
        # A table that is the same at every position (characters, DNA) is stored once.
        self._tables = [t[:, :1] if torch.equal(t, t[:, :1].expand_as(t)) else t for t in self._tables]
        # In S(x), slot 0 holds the clean category c and slot c holds category 0; the shared table has category j at
        # slot j. A mixture from the table is therefore off by (w_0 - w_c) (E_c - E_0), which `mix` adds.
        clean = candidates.clean
        self._has_partner = clean < layout.widths
        self._partner = layout.starts + torch.where(self._has_partner, clean, 0)
        self._exchange = victim.embed(clean) - table[0, layout.starts]

    def mix(self, weights: Weights) -> Float[Tensor, "batch samples features dim"]:
        """Mixtures of option embeddings under soft rows."""
        parts = [self._mix_block(w, t) for w, t in zip(self._layout.split(weights), self._tables, strict=True)]
        mixed = parts[0] if len(parts) == 1 else torch.cat(parts, dim=2)
        if self._layout.rank is not None:
            mixed = mixed.index_select(2, self._layout.rank)
        if not self._shared:
            return mixed
        on_clean = self._layout.first(weights)
        on_partner = (
            weights.gather(2, self._partner[:, None].expand(-1, weights.shape[1], -1)) * self._has_partner[:, None]
        )
        return torch.addcmul(mixed, (on_clean - on_partner)[..., None], self._exchange[:, None])

    def _mix_block(
        self,
        weights: Float[Tensor, "batch samples count width"],
        table: Float[Tensor, "tables positions width dim"],
    ) -> Float[Tensor, "batch samples count dim"]:
        if not self._shared:
            return torch.einsum("bscw,bcwe->bsce", weights, table)
        if table.shape[1] == 1:
            return weights @ table[0, 0]
        return torch.einsum("bscw,cwe->bsce", weights, table[0])


def _embed_options(victim: Victim, layout: Layout, ids: OptionIds) -> Float[Tensor, "batch options dim"]:
    """Embeddings of all options: embeds rows of equal slots, then arranges the vectors along the axis of options."""
    slots = torch.arange(int(layout.widths.max()), device=ids.device)
    grid = layout.starts + torch.minimum(slots[:, None], layout.widths - 1)  # (slots, features)
    rows = ids[:, grid.flatten()].view(-1, layout.features)
    embedded = victim.embed(rows).view(len(ids), len(slots), layout.features, -1)
    return embedded[:, layout.slot_of, layout.feature_of]
