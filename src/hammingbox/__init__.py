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
from hammingbox.evaluate import Evaluation, Rate, correctly_classified, evaluate
from hammingbox.models.checkpoint import Checkpoint, load_checkpoint
from hammingbox.models.frozen import frozen_eval
from hammingbox.models.registry import VICTIMS, build
from hammingbox.models.victim import BlackBox, OneHot, Victim, wrap
from hammingbox.problem import Problem, Targeted, Untargeted
from hammingbox.results import read_results, verify, write_results
from hammingbox.space import Candidates, FullSpace, MaskedSpace, Space, ThreatModel, hamming
from hammingbox.store import Store, evaluate_into
from hammingbox.train import TrainConfig, accuracy, fit

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
