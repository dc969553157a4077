"""The defences, one file each, and the table that the command line, tests and docs use."""

from collections.abc import Callable

from hammingbox.defences.ablation import AblationTraining
from hammingbox.defences.ascc import ASCC
from hammingbox.defences.base import Batch, Defence, Step
from hammingbox.defences.certified import CertifiedTraining
from hammingbox.defences.exhaustive import ExhaustiveTraining
from hammingbox.defences.hotflip import HotFlipTraining
from hammingbox.defences.l2_ball import L2Ball
from hammingbox.defences.padvt import PAdvT
from hammingbox.defences.standard import Standard
from hammingbox.defences.swap import SwapTraining
from hammingbox.defences.trades import Trades

DEFENCES: dict[str, Callable[..., Defence]] = {
    "standard": Standard,
    "padvt": PAdvT,
    "padvt_paper": PAdvT.paper,
    "trades": Trades,
    "hotflip": HotFlipTraining,
    "swap": SwapTraining,
    "exhaustive": ExhaustiveTraining,
    "l2_ball": L2Ball,
    "ascc": ASCC,
    "ascc_public": ASCC.public,
    "certified": CertifiedTraining,
    "ablation": AblationTraining,
}

__all__ = [
    "ASCC",
    "DEFENCES",
    "AblationTraining",
    "Batch",
    "CertifiedTraining",
    "Defence",
    "ExhaustiveTraining",
    "HotFlipTraining",
    "L2Ball",
    "PAdvT",
    "Standard",
    "Step",
    "SwapTraining",
    "Trades",
]
