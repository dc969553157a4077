"""Random weights and rows in the form in which the paper's authors released theirs."""

from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

from hammingbox.victims.released import RELEASED

LAYERS = {"ips": 1, "splice_paper": 4}
"""LSTMs on top of each other in the authors' models."""
_SIZES = {"ips": (1104, 70), "splice_paper": (5, 30)}
"""Categories, and size of a vector, which is also that of a state."""


def released_weights(data: str) -> dict[str, Tensor]:
    """Random weights under the names of the authors."""
    generator = torch.Generator().manual_seed(0)
    categories, dim = _SIZES[data]
    sizes = {
        "embed.weight": (categories, dim),
        "attention.projection.0.weight": (64, dim),
        "attention.projection.0.bias": (64,),
        "attention.projection.2.weight": (1, 64),
        "attention.projection.2.bias": (1,),
        "fc.weight": (3, dim),
        "fc.bias": (3,),
    }
    for layer in range(LAYERS[data]):
        sizes |= {f"lstm.weight_{kind}_l{layer}": (4 * dim, dim) for kind in ("ih", "hh")}
        sizes |= {f"lstm.bias_{kind}_l{layer}": (4 * dim,) for kind in ("ih", "hh")}
    return {name: torch.randn(size, generator=generator) for name, size in sizes.items()}


def some_rows(data: str, rows: int = 6) -> tuple[Tensor, Tensor]:
    """Random rows and labels that fit a data set."""
    schema, generator = RELEASED[data].schema, torch.Generator().manual_seed(1)
    ids = torch.randint(schema.cardinalities[0], (rows, len(schema.features)), generator=generator)
    return ids, torch.arange(rows) % len(schema.classes)


def write_splice_paper(folder: Path, rows: int = 6) -> Path:
    """A data folder with random weights and rows in place of the authors' Splice victim and test rows."""
    place = folder / "splice"
    place.mkdir(parents=True, exist_ok=True)
    save_file(released_weights("splice_paper"), place / "victim.safetensors")
    ids, labels = some_rows("splice_paper", rows)
    lines = ["row,label,class,sequence,match_rows"]
    for row, (sequence, label) in enumerate(zip(ids.tolist(), labels.tolist(), strict=True)):
        lines.append(f"{row},{label},,{''.join('AGTCN'[base] for base in sequence)},")
    (place / "splice_test.csv").write_text("\n".join(lines))
    return folder
