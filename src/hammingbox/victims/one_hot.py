"""Modules that take one-hot or soft rows."""

import torch
from torch import nn
from torch.nn import functional

from hammingbox.errors import VictimError
from hammingbox.types import Embedded, Ids, Logits
from hammingbox.victims.victim import Victim, device_of, float_type_of, logits_of


class OneHot(Victim):
    """A module that takes one-hot (or soft) rows of shape (batch, features, categories).

    Args:
        module: returns logits.
        categories: size of the last axis.
        blank: a category that is encoded as zeros, such as padding.
    """

    def __init__(self, module: nn.Module, *, categories: int, blank: int | None = None) -> None:
        super().__init__()
        self.module = module
        self.categories = categories
        table = torch.eye(categories, dtype=float_type_of(module), device=device_of(module))
        if blank is not None:
            table[blank] = 0.0
        self.register_buffer("table", table)

    def embed(self, ids: Ids) -> Embedded:
        """Rows of the identity matrix; zeros for the blank.

        Raises:
            VictimError: a column has more categories than the module takes.
        """
        if ids.numel() and int(ids.max()) >= self.categories:
            raise VictimError(
                f"expected ids below the {self.categories} categories of OneHot, got {int(ids.max())}. "
                "Pass the largest number of categories of a column as categories=..."
            )
        return functional.embedding(ids, self.get_buffer("table"))

    def head(self, embedded: Embedded, ids: Ids) -> Logits:  # noqa: ARG002
        """The module itself."""
        return logits_of(self.module(embedded))

    def layers(self) -> nn.Sequential | None:
        """The module, if it is a sequence of modules."""
        return self.module if isinstance(self.module, nn.Sequential) else None
