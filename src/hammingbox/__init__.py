"""Adversarial robustness for categorical data: attacks, defences and honest scores under an L0 budget.

What a user needs is exported here, once; everything else is private and may change without notice.
"""

__version__ = "0.2.0"

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hammingbox.attacks import (
    ATTACKS,
    PCAA,
    Attack,
    AttackResult,
    Auto,
    BestFirst,
    Distribution,
    Evolution,
    Exhaustive,
    Genetic,
    Greedy,
    Guided,
    HotFlip,
    Local,
    Passes,
    Random,
    ScorePCAA,
    SparseRS,
    Swap,
    TwoStage,
)
from hammingbox.certificates import (
    CERTIFICATES,
    Ablation,
    Additive,
    Cascade,
    Certificate,
    CertificateResult,
    Claims,
    Exact,
    Relaxation,
    TreeSearch,
)
from hammingbox.data.dataset import Dataset, Splits
from hammingbox.data.inspection import inspect_table
from hammingbox.data.registry import DATASETS
from hammingbox.data.schema import Feature, Schema
from hammingbox.data.schema_file import read_schema, write_schema
from hammingbox.data.table import load_table
from hammingbox.data.texts import Labelled, text_splits
from hammingbox.defences import (
    ASCC,
    DEFENCES,
    AblationTraining,
    Batch,
    CertifiedTraining,
    Defence,
    ExhaustiveTraining,
    HotFlipTraining,
    L2Ball,
    PAdvT,
    Standard,
    Step,
    SwapTraining,
    Trades,
)
from hammingbox.errors import (
    AttackError,
    CertificateError,
    FileError,
    HammingboxError,
    InputError,
    TooExpensiveError,
    VictimError,
    VictimRaisedError,
    WorkerError,
)
from hammingbox.evaluation.accuracy import accuracy, correctly_classified
from hammingbox.evaluation.certificates import Certificates
from hammingbox.evaluation.certified_rates import CertifiedRates
from hammingbox.evaluation.class_rates import ClassRate, ClassRates
from hammingbox.evaluation.confusion import Confusion, confusion
from hammingbox.evaluation.diagnose import Finding, diagnose_victim
from hammingbox.evaluation.drawing import Draw, draw_rows
from hammingbox.evaluation.evaluation import Evaluation
from hammingbox.evaluation.failed_row import FailedRow
from hammingbox.evaluation.plausibility import Plausibility, plausibility_of
from hammingbox.evaluation.rates import Rate, WeightedRate
from hammingbox.evaluation.result_files import read_results, verify, write_results
from hammingbox.evaluation.rows import Rows
from hammingbox.evaluation.verify import Verification
from hammingbox.problem import Problem
from hammingbox.running.certify import certify, certify_into
from hammingbox.running.evaluate import evaluate
from hammingbox.running.executor import Executor, Serial
from hammingbox.running.processes import Processes
from hammingbox.running.ray_cluster import RayCluster
from hammingbox.running.record import evaluate_into
from hammingbox.running.run_spec import RunSpec
from hammingbox.running.store import MemoryStore, Store, open_store
from hammingbox.running.training_processes import TrainingProcesses
from hammingbox.seeding import RowRandom
from hammingbox.text.render import changed_text
from hammingbox.threat.candidates import Candidates, hamming
from hammingbox.threat.goal import AnyOther, Direction, Goal, RowGoals, Target
from hammingbox.threat.layout import Layout
from hammingbox.threat.masked_space import MaskedSpace
from hammingbox.threat.reachable import Reachable, with_reachable
from hammingbox.threat.ruled_space import RuledSpace
from hammingbox.threat.rules.rules import Rules
from hammingbox.threat.rules.unit import Unit
from hammingbox.threat.space import FullSpace, Space
from hammingbox.threat.synonym_space import SynonymSpace
from hammingbox.threat.table_space import TableSpace
from hammingbox.threat.threat_file import ThreatFile, read_threat
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.training.config import TrainConfig
from hammingbox.training.loop import fit
from hammingbox.training.monotone_trees import fit_monotone_trees
from hammingbox.training.process_group import Torchrun
from hammingbox.training.robust_trees import fit_robust_trees
from hammingbox.training.unanimous_trees import fit_unanimous_trees
from hammingbox.victims.ablated import Ablated
from hammingbox.victims.black_box import BlackBox
from hammingbox.victims.checkpoint import Checkpoint, load_checkpoint, load_victim
from hammingbox.victims.columns_file import write_columns
from hammingbox.victims.of_model import victim
from hammingbox.victims.one_hot import OneHot
from hammingbox.victims.open_model import open_model
from hammingbox.victims.service import Service
from hammingbox.victims.trees.tree_victim import TreeVictim, check_agreement, tree_victim
from hammingbox.victims.unanimous import Unanimous
from hammingbox.victims.victim import Victim
from hammingbox.victims.wrapped import wrap
from hammingbox.victims.zoo.registry import VICTIMS, build

if TYPE_CHECKING:  # these are imported when they are first used: they need libraries that others do not
    from hammingbox.auditing.audit import audit
    from hammingbox.auditing.result import Audit
    from hammingbox.estimators.robust_classifier import RobustClassifier

__all__ = [
    "ASCC",
    "ATTACKS",
    "CERTIFICATES",
    "DATASETS",
    "DEFENCES",
    "PCAA",
    "VICTIMS",
    "Ablated",
    "Ablation",
    "AblationTraining",
    "Additive",
    "AnyOther",
    "Attack",
    "AttackError",
    "AttackResult",
    "Audit",
    "Auto",
    "Batch",
    "BestFirst",
    "BlackBox",
    "Candidates",
    "Cascade",
    "Certificate",
    "CertificateError",
    "CertificateResult",
    "Certificates",
    "CertifiedRates",
    "CertifiedTraining",
    "Checkpoint",
    "Claims",
    "ClassRate",
    "ClassRates",
    "Confusion",
    "Dataset",
    "Defence",
    "Direction",
    "Distribution",
    "Draw",
    "Evaluation",
    "Evolution",
    "Exact",
    "Executor",
    "Exhaustive",
    "ExhaustiveTraining",
    "FailedRow",
    "Feature",
    "FileError",
    "Finding",
    "FullSpace",
    "Genetic",
    "Goal",
    "Greedy",
    "Guided",
    "HammingboxError",
    "HotFlip",
    "HotFlipTraining",
    "InputError",
    "L2Ball",
    "Labelled",
    "Layout",
    "Local",
    "MaskedSpace",
    "MemoryStore",
    "OneHot",
    "PAdvT",
    "Passes",
    "Plausibility",
    "Problem",
    "Processes",
    "Random",
    "Rate",
    "RayCluster",
    "Reachable",
    "Relaxation",
    "RobustClassifier",
    "RowGoals",
    "RowRandom",
    "Rows",
    "RuledSpace",
    "Rules",
    "RunSpec",
    "Schema",
    "ScorePCAA",
    "Serial",
    "Service",
    "Space",
    "SparseRS",
    "Splits",
    "Standard",
    "Step",
    "Store",
    "Swap",
    "SwapTraining",
    "SynonymSpace",
    "TableSpace",
    "Target",
    "ThreatFile",
    "ThreatModel",
    "TooExpensiveError",
    "Torchrun",
    "Trades",
    "TrainConfig",
    "TrainingProcesses",
    "TreeSearch",
    "TreeVictim",
    "TwoStage",
    "Unanimous",
    "Unit",
    "Verification",
    "Victim",
    "VictimError",
    "VictimRaisedError",
    "WeightedRate",
    "WorkerError",
    "accuracy",
    "audit",
    "build",
    "certify",
    "certify_into",
    "changed_text",
    "check_agreement",
    "confusion",
    "correctly_classified",
    "diagnose_victim",
    "draw_rows",
    "evaluate",
    "evaluate_into",
    "fit",
    "fit_monotone_trees",
    "fit_robust_trees",
    "fit_unanimous_trees",
    "hamming",
    "inspect_table",
    "load_checkpoint",
    "load_table",
    "load_victim",
    "open_model",
    "open_store",
    "plausibility_of",
    "read_results",
    "read_schema",
    "read_threat",
    "text_splits",
    "tree_victim",
    "verify",
    "victim",
    "with_reachable",
    "wrap",
    "write_columns",
    "write_results",
    "write_schema",
]

_LATER = {
    "Audit": "hammingbox.auditing.result",
    "RobustClassifier": "hammingbox.estimators.robust_classifier",
    "audit": "hammingbox.auditing.audit",
}


def __getattr__(name: str) -> Any:
    """What is imported when it is first used: an audit needs jinja2, the estimator scikit-learn."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)
