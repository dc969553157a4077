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
_LETTERS = {letter: SCHEMA.features[0].categories.index(letter) for letter in "AGTC"}
_AMBIGUOUS = SCHEMA.features[0].categories.index("N")


def load(*, data_dir: Path | None = None) -> Splits:  # noqa: ARG001
    """The fixed split. 185 rows repeat an earlier sequence, so distinct sequences are divided, not rows.

    Args:
        data_dir: not used, as the data comes with the package; every loader takes it.
    """
    return divide(all_rows())


def all_rows() -> Dataset:
    """The 3,190 rows in the order of the file."""
    text = files("hammingbox.data").joinpath("files/splice.csv").read_text("ascii")
    rows = list(csv.DictReader(io.StringIO(text)))
    ids = torch.tensor([encode(row["sequence"]) for row in rows], device="cpu")
    labels = torch.tensor([SCHEMA.classes.index(row["class"]) for row in rows], device="cpu")
    return Dataset(SCHEMA, ids, labels, "splice")


def encode(sequence: str) -> list[int]:
    """The ids of a sequence of letters; every letter but A, G, T and C is an ambiguity code."""
    return [_LETTERS.get(letter, _AMBIGUOUS) for letter in sequence]
