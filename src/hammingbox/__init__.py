"""Adversarial robustness for categorical data: attacks, defences and honest scores under an L0 budget."""

__version__ = "0.1.0"

from hammingbox.attacks import (
    ATTACKS,
    PCAA,
    Attack,
    AttackResult,
    Distribution,
    Exhaustive,
    Genetic,
    HotFlip,
    Random,
    TwoStage,
)
from hammingbox.data.registry import DATASETS
from hammingbox.data.schema import Dataset, Feature, Schema, Splits
from hammingbox.defences import ASCC, DEFENCES, Defence, HotFlipTraining, L2Ball, PAdvT, Standard, SwapTraining, Trades
from hammingbox.errors import FileError, HammingboxError, InputError, TooExpensiveError, VictimError
from hammingbox.evaluation.accuracy import accuracy
from hammingbox.evaluation.evaluate import Evaluation, correctly_classified, evaluate
from hammingbox.evaluation.rates import Rate
from hammingbox.evaluation.result_files import read_results, verify, write_results
from hammingbox.problem import Problem, Targeted, Untargeted
from hammingbox.running.record import evaluate_into
from hammingbox.running.store import Store
from hammingbox.threat.candidates import Candidates, hamming
from hammingbox.threat.masked_space import MaskedSpace
from hammingbox.threat.space import FullSpace, Space
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.training.config import TrainConfig
from hammingbox.training.loop import fit
from hammingbox.victims.black_box import BlackBox
from hammingbox.victims.checkpoint import Checkpoint, load_checkpoint
from hammingbox.victims.frozen import frozen_eval
from hammingbox.victims.one_hot import OneHot
from hammingbox.victims.victim import Victim
from hammingbox.victims.wrapped import wrap
from hammingbox.victims.zoo.registry import VICTIMS, build

__all__ = [
    "ASCC",
    "ATTACKS",
    "DATASETS",
    "DEFENCES",
    "PCAA",
    "VICTIMS",
    "Attack",
    "AttackResult",
    "BlackBox",
    "Candidates",
    "Checkpoint",
    "Dataset",
    "Defence",
    "Distribution",
    "Evaluation",
    "Exhaustive",
    "Feature",
    "FileError",
    "FullSpace",
    "Genetic",
    "HammingboxError",
    "HotFlip",
    "HotFlipTraining",
    "InputError",
    "L2Ball",
    "MaskedSpace",
    "OneHot",
    "PAdvT",
    "Problem",
    "Random",
    "Rate",
    "Schema",
    "Space",
    "Splits",
    "Standard",
    "Store",
    "SwapTraining",
    "Targeted",
    "ThreatModel",
    "TooExpensiveError",
    "Trades",
    "TrainConfig",
    "TwoStage",
    "Untargeted",
    "Victim",
    "VictimError",
    "accuracy",
    "build",
    "correctly_classified",
    "evaluate",
    "evaluate_into",
    "fit",
    "frozen_eval",
    "hamming",
    "load_checkpoint",
    "read_results",
    "verify",
    "wrap",
    "write_results",
]
