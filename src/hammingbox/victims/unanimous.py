"""Several models of which each can refuse a row."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from hammingbox.errors import InputError, VictimError
from hammingbox.types import Embedded, Ids, Logits
from hammingbox.victims.victim import Victim


class Unanimous(Victim):
    """Gives a row one of two classes only if every member does; the other class needs one member that is sure enough.

    A model that resists an attacker has to ignore most columns. Beside it, a model that sees everything may refuse what
    is plain: an attacker evades it by paying, honest mistakes do not, and the first model stands behind it. Its price
    is what it refuses wrongly, so it must be surer than the first one.

    It has no gradient: attack it with what needs none. An attacker has to satisfy all members at once, so a row is safe
    if one of them cannot be moved.

    Args:
        members: models of two classes.
        refused: the class (0 or 1) that one member suffices for.
        needed: by how much a member's logit of that class must exceed the other one.

    Raises:
        InputError: no members, not one number for each, or a class other than 0 and 1.
    """

    has_gradient = False
    needed: Tensor
    refused: Tensor

    def __init__(self, members: Sequence[Victim], refused: int, needed: Sequence[float]) -> None:
        super().__init__()
        if not members or len(members) != len(needed):
            raise InputError(
                f"expected a number for each of at least one member, got {len(members)} members, {len(needed)} numbers."
            )
        if refused not in (0, 1):
            raise InputError(f"expected 0 or 1 for the class that one member suffices for, got {refused!r}.")
        self.members = nn.ModuleList(members)
        # Buffers: a record identifies the victim by them.
        self.register_buffer("needed", torch.tensor(list(needed), dtype=torch.float64, device="cpu"))
        self.register_buffer("refused", torch.tensor(refused, device="cpu"))

    def embed(self, ids: Ids) -> Embedded:  # noqa: ARG002
        """Raises VictimError: members may be of any kind."""
        raise VictimError("expected a victim with gradients, got a Unanimous. Use an attack that needs no gradient.")

    def head(self, embedded: Embedded, ids: Ids) -> Logits:  # noqa: ARG002
        """Raises VictimError: members may be of any kind."""
        raise VictimError("expected a victim with gradients, got a Unanimous. Use an attack that needs no gradient.")

    def forward(self, ids: Ids) -> Logits:
        """The logits of the surest member: 0, and by how much it exceeds what it needs, at the refused class."""
        surest = torch.stack([self.lead(number, ids) for number in range(len(self.members))]).amax(0)
        logits = torch.zeros(len(ids), 2, dtype=surest.dtype, device=surest.device)
        logits[:, int(self.refused)] = surest
        return logits

    def lead(self, number: int, ids: Ids) -> Tensor:
        """By how much a member exceeds what it needs to refuse rows; it refuses those above 0."""
        logits = self.members[number](ids).double()
        refused = int(self.refused)
        return logits[:, refused] - logits[:, 1 - refused] - self.needed[number]
