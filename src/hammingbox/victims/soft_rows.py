"""Soft rows: mixtures of option embeddings, the relaxed input through which gradients flow."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from hammingbox.threat.candidates import Candidates
from hammingbox.threat.layout import Layout
from hammingbox.types import OptionIds, Weights
from hammingbox.victims.victim import Victim


class SoftRows:
    """The embeddings of a batch's options, and how to mix them.

    Where slots are categories (`Candidates.by_category`) all rows share one table, and a mixture is one matrix
    product per feature. So they do where most options write the same in every row (`Candidates.shared`): the vectors
    of the others, such as a row's own number, are added. Otherwise each row has its own table (synonym sets are
    small).
    """

    def __init__(self, victim: Victim, candidates: Candidates) -> None:
        layout = candidates.layout
        self._layout = layout
        self._by_category = candidates.by_category
        self._own = None
        self._one_table = candidates.by_category or candidates.shared is not None
        if candidates.by_category:
            table = _embed_options(victim, layout, layout.slot_of[None])
        elif candidates.shared is not None:
            written = candidates.shared >= 0
            table = _embed_options(victim, layout, torch.where(written, candidates.shared, 0)[None])
            table = table * written[None, :, None]
            self._own = _OwnOptions(victim, candidates, ~written)
        else:
            table = _embed_options(victim, layout, candidates.ids)
        self._tables = [
            table[:, block.start : block.start + block.count * block.width].unflatten(1, (block.count, block.width))
            for block in layout.blocks
        ]
        if not self._by_category:
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
        """Mixtures of option embeddings under soft rows, in the victim's precision."""
        weights = weights.to(self._tables[0].dtype)
        parts = [self._mix_block(w, t) for w, t in zip(self._layout.split(weights), self._tables, strict=True)]
        mixed = parts[0] if len(parts) == 1 else torch.cat(parts, dim=2)
        if self._layout.rank is not None:
            mixed = mixed.index_select(2, self._layout.rank)
        if self._own is not None:
            return mixed + self._own.mix(weights)
        if not self._by_category:
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
        if not self._one_table:
            return torch.einsum("bscw,bcwe->bsce", weights, table)
        if table.shape[1] == 1:
            return weights @ table[0, 0]
        return torch.einsum("bscw,cwe->bsce", weights, table[0])


class _OwnOptions:
    """The options of which each row has its own: slot 0, and steps from the row's own number.

    The j-th of them of every feature make up a row, so that J rows are embedded per row of the batch; J is 1 without
    steps.
    """

    def __init__(self, victim: Victim, candidates: Candidates, is_own: Bool[Tensor, "options"]) -> None:
        layout = candidates.layout
        before = torch.cumsum(is_own, 0) - is_own.long()
        place = (before - layout.spread(layout.first(before)))[is_own]
        count = int(place.max()) + 1
        options = is_own.nonzero()[:, 0]
        self._options = layout.starts.repeat(count, 1)  # features with fewer options repeat slot 0, with no weight
        self._options[place, layout.feature_of[options]] = options
        self._exists = torch.zeros_like(self._options, dtype=torch.bool)
        self._exists[place, layout.feature_of[options]] = True
        rows = candidates.ids[:, self._options.flatten()].view(-1, layout.features)
        self._vectors = victim.embed(rows).view(len(candidates), count, layout.features, -1)

    def mix(self, weights: Weights) -> Float[Tensor, "batch samples features dim"]:
        """Their part of the mixtures."""
        chosen = weights[:, :, self._options] * self._exists
        return torch.einsum("bsjf,bjfe->bsfe", chosen, self._vectors)


def _embed_options(victim: Victim, layout: Layout, ids: OptionIds) -> Float[Tensor, "batch options dim"]:
    """Embeddings of all options: embeds rows of equal slots, then arranges the vectors along the axis of options."""
    slots = torch.arange(int(layout.widths.max()), device=ids.device)
    grid = layout.starts + torch.minimum(slots[:, None], layout.widths - 1)  # (slots, features)
    rows = ids[:, grid.flatten()].view(-1, layout.features)
    embedded = victim.embed(rows).view(len(ids), len(slots), layout.features, -1)
    return embedded[:, layout.slot_of, layout.feature_of]
