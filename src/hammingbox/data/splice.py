"""Splice-junction gene sequences (UCI; Noordewier, Towell and Shavlik 1990), shipped with the package.

3,190 stretches of primate DNA of 60 letters around a possible splice junction. Classes: exon-intron (EI),
intron-exon (IE), neither (N). Letters A, G, T, C, and N for any ambiguity code (60 cells), in the paper's order.
"""

import csv
import io
from importlib.resources import files

import torch

from hammingbox.data.schema import Dataset, Schema, Splits
from hammingbox.data.split import divide

SCHEMA = Schema.sequence(60, "AGTCN", ("IE", "N", "EI"), prefix="base ")


def load() -> Splits:
    """The fixed split: 185 rows repeat an earlier sequence, so sequences, not rows, are divided."""
    text = files("hammingbox.data").joinpath("files/splice.csv").read_text("ascii")
    rows = list(csv.DictReader(io.StringIO(text)))
    letters = {letter: SCHEMA.features[0].categories.index(letter) for letter in "AGTC"}
    ambiguous = SCHEMA.features[0].categories.index("N")
    ids = torch.tensor([[letters.get(letter, ambiguous) for letter in row["sequence"]] for row in rows])
    labels = torch.tensor([SCHEMA.classes.index(row["class"]) for row in rows])
    return divide(Dataset(SCHEMA, ids, labels, "splice"))
