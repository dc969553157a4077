"""Variants of PCAA on victims and rows that no table reports: the default was chosen here.

Run with `python benchmarks/pcaa_variants.py [AG_CHECKPOINT]`. It trains its own Splice LSTM and CNN (validation rows are
attacked) and, with HAMMINGBOX_DATA set, its own LSTM on the public IPS rows. With the folder of an AG's News checkpoint
it also attacks validation texts. `--rows N` and `--budgets 1,2,3` change the size.
"""

import argparse
import os
from pathlib import Path
from time import process_time

import torch
from torch import nn

from hammingbox import ATTACKS, PCAA, Attack, Dataset, FullSpace, Space, ThreatModel, TrainConfig, Victim, build, evaluate, fit
from hammingbox.data import ips
from hammingbox.data.registry import source_named
from hammingbox.evaluation.accuracy import correctly_classified
from hammingbox.running.tasks import SpaceChanges, Task
from hammingbox.seeding import borrowed_generators, torch_generator
from hammingbox.victims.checkpoint import Checkpoint, load_checkpoint

FOLDER = Path("runs/bench")
_SOFT = {"hard": False, "rounds": 8, "steps": 5, "samples": 3, "draws": 80}

VARIANTS: dict[str, Attack] = {}


def main() -> None:
    pass


if __name__ == "__main__":
    main()
