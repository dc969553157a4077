"""What an attack gets in place of a victim: every row that goes through it is charged, whoever sends it."""

from collections.abc import Callable

import torch
from jaxtyping import Int64
from torch import Tensor

from hammingbox.errors import AttackError
from hammingbox.types import Embedded, Ids, Logits, RowInt
from hammingbox.victims.ask_alike import enough_rows
from hammingbox.victims.pass_watch import passed
from hammingbox.victims.victim import Victim, check_logits

_COMPARED = 64
"""Points whose nearest row is looked for at once; the comparison takes points x rows x features bytes."""


class Meter:
    """Counts the forward and backward passes of each row of a batch.

    Attributes:
        forward: forward passes so far.
        backward: backward passes so far.
        limit: the most forward passes per row; None for no limit.
        stage: the stage of an ensemble that the row is in; 0 for a single attack.
    """

    def __init__(self, rows: int, device: torch.device, limit: int | None = None) -> None:
        self.limit = limit
        self.forward: RowInt = torch.zeros(rows, dtype=torch.int64, device=device)
        self.backward: RowInt = torch.zeros(rows, dtype=torch.int64, device=device)
        self.stage: RowInt = torch.zeros(rows, dtype=torch.int64, device=device)

    def charge(self, rows: Int64[Tensor, "some"], times: int = 1) -> None:
        """Counts forward passes of some rows, which may repeat.

        Raises:
            AttackError: a row has more than its limit.
        """
        self.forward.index_add_(0, rows, torch.full_like(rows, times))
        if self.limit is not None and bool((self.forward > self.limit).any()):
            raise AttackError(
                f"expected at most {self.limit} queries per row, got more. "
                "Query only the points that `Problem.may_query` allows."
            )

    def count_backward(self, rows: Int64[Tensor, "some"], times: int = 1) -> None:
        """Counts backward passes of some rows."""
        self.backward.index_add_(0, rows, torch.full_like(rows, times))


class MeteredVictim(Victim):
    """A victim whose passes are counted in a ledger that the caller never sees.

    `Problem` says which row each pass belongs to. A direct call of the victim does not: each of its rows is charged to
    the row of the batch that it differs from in the fewest features. The victim, the ledger and the known answers are
    held in closures; the parameters of the victim are not parameters of this object.

    Args:
        victim: what is asked.
        clean: the rows of the batch.
        ledger: where passes are counted.
        known: the victim's answers to the clean rows; whoever reads them is charged a pass per row.
    """

    def __init__(self, victim: Victim, clean: Ids, ledger: Meter, known: Logits | None = None) -> None:
        super().__init__()
        self.has_gradient = victim.has_gradient
        self.name, self.identity = victim.name, victim.identity
        self._device = victim.device
        self._charge: Callable[..., None] = lambda rows, times=1: ledger.charge(rows, times)
        self._victim: Callable[[], Victim] = lambda: victim
        self._clean: Callable[[], Ids] = lambda: clean
        self._known: Callable[[], Logits | None] = lambda: known
        self._count_backward: Callable[..., None] = lambda rows, times: ledger.count_backward(rows, times)

    @property
    def device(self) -> torch.device:
        """The device of the victim."""
        return self._device

    # For `Problem`, which knows the rows ----------------------------------------------------------------------

    def answer(self, ids: Ids, rows: Int64[Tensor, "batch"]) -> Logits:
        """Logits of rows that nobody else holds; each is charged to a row of the batch."""
        self._charge(rows)
        victim = self._victim()
        filled = enough_rows(ids) if victim.has_gradient else ids
        logits = _asked(victim, filled)
        passed(len(ids))
        check_logits(logits, len(filled))
        logits = logits[: len(ids)]
        return logits.clone()  # the victim may write into its own tensor at the next call

    def known_answers(self, rows: RowInt) -> Logits | None:
        """The answers to some clean rows, at the price of a pass per row; None if they are not known."""
        known = self._known()
        if known is None:
            return None
        self._charge(rows)
        return known[rows]

    def soft_answer(self, embedded: Embedded, ids: Ids, rows: Int64[Tensor, "some"], samples: int) -> Logits:
        """Logits of soft rows: `samples` for each of some rows, one row after another."""
        if len(rows) * samples != len(embedded):
            raise AttackError(f"expected {len(embedded)} soft rows to be charged, got {len(rows) * samples}.")
        self._charge(rows, samples)
        filled = enough_rows(embedded)
        logits = self._victim().head(filled, enough_rows(ids))
        passed(len(embedded))
        check_logits(logits, len(filled))
        logits = logits[: len(embedded)]
        if logits.requires_grad:
            logits.register_hook(lambda _: self._count_backward(rows, samples))
        return logits

    # For whoever calls the victim directly --------------------------------------------------------------------

    def forward(self, ids: Ids) -> Logits:
        """Logits of rows; each is charged to the row of the batch that is nearest to it."""
        return self.answer(ids.clone(), self._nearest(ids))

    def head(self, embedded: Embedded, ids: Ids) -> Logits:
        """Logits of embedded rows; each is charged to the row of the batch that is nearest to its ids."""
        return self.soft_answer(embedded, ids.clone(), self._nearest(ids), 1)

    def embed(self, ids: Ids) -> Embedded:
        """The vectors of categories, which is not a pass."""
        return self._victim().embed(ids.clone())

    def _nearest(self, ids: Ids) -> Int64[Tensor, "batch"]:
        clean = self._clean()
        if ids.dim() != 2 or ids.shape[1] != clean.shape[1]:
            raise AttackError(f"expected rows of {clean.shape[1]} features to query, got {tuple(ids.shape)}.")
        parts = [(part[:, None] != clean).sum(2).argmin(1) for part in ids.split(_COMPARED)]
        return torch.cat(parts) if parts else torch.empty(0, dtype=torch.int64, device=ids.device)


def _asked(victim: Victim, ids: Ids) -> Logits:
    """A victim's answers. A search may run in torch's inference mode, of which the victim must not notice anything."""
    if not torch.is_inference_mode_enabled():
        return victim(ids)
    with torch.inference_mode(mode=False), torch.no_grad():
        return victim(ids.clone())  # made here, so that it can be written to, as rows outside of that mode can
