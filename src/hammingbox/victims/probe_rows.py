"""Random rows of a schema, to see how a model treats its input."""

import torch

from hammingbox.data.schema import Schema
from hammingbox.types import Ids

_PROBES = 64
"""So many rows tell columns apart: two columns of two categories agree on all of them once in 2**64."""


def probe_rows(schema: Schema) -> Ids:
    """Random rows, with the smallest and the largest ids among them; always the same for a schema."""
    generator = torch.Generator(device="cpu").manual_seed(0)
    rows = torch.stack(
        [torch.randint(0, count, (_PROBES,), generator=generator, device="cpu") for count in schema.cardinalities], 1
    )
    rows[0], rows[1] = 0, torch.tensor(schema.cardinalities, device="cpu") - 1
    return rows
