"""Splice-junction gene sequences (UCI; Noordewier, Towell and Shavlik 1990), shipped with the package.

3,190 stretches of primate DNA of 60 letters around a possible splice junction. Classes: exon-intron (EI),
intron-exon (IE), neither (N). Letters A, G, T, C, and N for any ambiguity code (60 cells), in the paper's order.
"""

import csv
import io
from importlib.resources import files

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from hammingbox.data.schema import Dataset, Schema, Splits
from hammingbox.seeding import torch_generator

SCHEMA = Schema.sequence(60, "AGTCN", ("IE", "N", "EI"), prefix="base ")

_SHARES = (0.7, 0.1)
"""Train and validation share of the distinct sequences; the rest is the test set."""


def load() -> Splits:
    """The fixed split: 185 rows repeat an earlier sequence, so sequences, not rows, are divided."""
    text = files("hammingbox.data").joinpath("files/splice.csv").read_text("ascii")
    rows = list(csv.DictReader(io.StringIO(text)))
    letters = {letter: SCHEMA.features[0].categories.index(letter) for letter in "AGTC"}
    ambiguous = SCHEMA.features[0].categories.index("N")
    ids = torch.tensor([[letters.get(letter, ambiguous) for letter in row["sequence"]] for row in rows])
    labels = torch.tensor([SCHEMA.classes.index(row["class"]) for row in rows])
    data = Dataset(SCHEMA, ids, labels, "splice")
    distinct, sequence_of = torch.unique(ids, dim=0, return_inverse=True)
    place = torch.randperm(len(distinct), generator=torch_generator(0))[sequence_of]
    # The file is sorted by class: rows in the order of their place make any first part a fair sample.
    parts = (place.argsort(stable=True)[share] for share in _shares(place.sort().values / len(distinct)))
    return Splits(*(data.take(rows) for rows in parts))


def _shares(rank: Float[Tensor, "rows"]) -> tuple[Bool[Tensor, "rows"], Bool[Tensor, "rows"], Bool[Tensor, "rows"]]:
    train, validation = _SHARES
    return rank < train, (rank >= train) & (rank < train + validation), rank >= train + validation
