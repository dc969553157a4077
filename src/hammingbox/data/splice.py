"""Splice-junction gene sequences (UCI; Noordewier, Towell and Shavlik 1990), shipped with the package.

3,190 sequences of 60 bases of primate DNA around a possible splice junction. Classes: exon-intron (EI), intron-exon
(IE), neither (N). Bases: A, G, T, C, and N for every ambiguity code (60 cells), in the order of the paper.
"""

import csv
import io
from importlib.resources import files
from pathlib import Path

import torch

from hammingbox.data.dataset import Dataset, Splits
from hammingbox.data.schema import Schema
from hammingbox.data.split import divide

SCHEMA = Schema.sequence(60, "AGTCN", ("IE", "N", "EI"), prefix="base ")


def load(*, data_dir: Path | None = None) -> Splits:  # noqa: ARG001
    """The fixed split. 185 rows repeat an earlier sequence, so distinct sequences are divided, not rows.

    Args:
        data_dir: not used, as the data comes with the package; every loader takes it.
    """
    text = files("hammingbox.data").joinpath("files/splice.csv").read_text("ascii")
    rows = list(csv.DictReader(io.StringIO(text)))
    letters = {letter: SCHEMA.features[0].categories.index(letter) for letter in "AGTC"}
    ambiguous = SCHEMA.features[0].categories.index("N")
    encoded = [[letters.get(letter, ambiguous) for letter in row["sequence"]] for row in rows]
    ids = torch.tensor(encoded, device="cpu")
    labels = torch.tensor([SCHEMA.classes.index(row["class"]) for row in rows], device="cpu")
    return divide(Dataset(SCHEMA, ids, labels, "splice"))
