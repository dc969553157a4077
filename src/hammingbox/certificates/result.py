"""What a method claims about rows, and what is certified after the claim was checked."""

from dataclasses import dataclass, fields
from typing import NamedTuple

import torch
from jaxtyping import Int64, Shaped
from torch import Tensor

from hammingbox.types import RowFloat, RowInt, RowMask, Slots


class Claims(NamedTuple):
    """What a method returns for the rows of a problem.

    Attributes:
        radius: the largest number of changes (of ticks, where changes have prices), from 0 to the budget, for which the
            method excludes every point that meets the goal. A method that ran into a limit returns what it had excluded
            by then; one that cannot even say what the victim's clean answer is (a vote that is too narrow) returns -1.
        witness: a point that meets the goal, where one was found; the clean row (zeros) elsewhere.
        bound: an upper bound on the margin of every point within the budget: at most 0 for a proven row. Infinity
            where the method has none.
        seconds: what each row took, for a method that works row by row; None shares the time of the batch equally.
        confidence: the probability that the proofs hold; None for that of the method.
    """

    radius: RowInt
    witness: Slots
    bound: RowFloat
    seconds: RowFloat | None = None
    confidence: float | None = None


@dataclass(frozen=True, eq=False)
class CertificateResult:
    """What is known about each row at a budget: proven, broken or unknown.

    Attributes:
        budget: the largest number of changes that was asked about, or of ticks where changes have prices.
        radius: the largest number of them, up to the budget, that is proven not to meet the goal; -1 where the clean
            row meets it already, or where the method abstains.
        broken: rows with a witness within the budget. It was put to the victim, which answered as the attacker wants.
        witness: the row that breaks a row, as slots; the clean row elsewhere.
        ids: the same as categories.
        bound: the best upper bound on the margin within the budget; a row that is neither proven nor broken has one
            above 0. Infinity where the method has none.
        confidence: the probability, over the method's own randomness, that a proof holds; 1 for exact methods.
        forward: forward passes of the victim.
        seconds: wall-clock time.
        distance: changed columns of the witness; 0 where there is none.
        cost: what the witness takes from the budget: its changes, or their price in ticks.
    """

    budget: int
    radius: RowInt
    broken: RowMask
    witness: Slots
    ids: Int64[Tensor, "batch columns"]
    bound: RowFloat
    confidence: RowFloat
    forward: RowInt
    seconds: RowFloat
    distance: RowInt
    cost: RowInt

    def __len__(self) -> int:
        return len(self.radius)

    @property
    def proven(self) -> RowMask:
        """Rows that no point within the budget breaks."""
        return self.radius >= self.budget

    @property
    def unknown(self) -> RowMask:
        """Rows that are neither proven nor broken."""
        return ~self.proven & ~self.broken

    @property
    def status(self) -> tuple[str, ...]:
        """Each row's status as a word: "proven", "broken" or "unknown"."""
        pairs = zip(self.proven.tolist(), self.broken.tolist(), strict=True)
        return tuple("proven" if proven else "broken" if broken else "unknown" for proven, broken in pairs)

    def take(self, rows: Shaped[Tensor, "some"]) -> "CertificateResult":
        """Some rows, in the given order."""
        parts = (getattr(self, field.name) for field in fields(self)[1:])
        return CertificateResult(self.budget, *(part[rows] for part in parts))

    def cpu(self) -> "CertificateResult":
        """The same on the CPU."""
        parts = (getattr(self, field.name) for field in fields(self)[1:])
        return CertificateResult(self.budget, *(part.cpu() for part in parts))

    @staticmethod
    def join(parts: "list[CertificateResult]") -> "CertificateResult":
        """One result of the results of parts of a batch, all at one budget."""
        names = [field.name for field in fields(CertificateResult)[1:]]
        return CertificateResult(
            parts[0].budget, *(torch.cat([getattr(part, name) for part in parts]) for name in names)
        )
