"""The paper's tables and figures, one small file each, and the table that the command line reads."""

from hammingbox.experiments.attack_table import ATTACK_TABLE
from hammingbox.experiments.base import PRESETS, Experiment, Outcome, Size
from hammingbox.experiments.cases import CASES
from hammingbox.experiments.complexity import COMPLEXITY
from hammingbox.experiments.concentration import CONCENTRATION
from hammingbox.experiments.defence_ag import DEFENCE_AG, TRADES
from hammingbox.experiments.defence_curve import CURVE_AG, CURVE_IMDB, CURVE_SPLICE
from hammingbox.experiments.defence_imdb import DEFENCE_IMDB, DEFENCE_NEIGHBOURS, MIXTURE, ZETA
from hammingbox.experiments.trade_off import TRADE_OFF
from hammingbox.experiments.workspace import Workspace

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        ATTACK_TABLE, COMPLEXITY, TRADE_OFF, CONCENTRATION, DEFENCE_AG, DEFENCE_IMDB, DEFENCE_NEIGHBOURS, MIXTURE,
        TRADES, ZETA, CURVE_AG, CURVE_IMDB, CURVE_SPLICE, CASES,
    )
}  # fmt: skip

__all__ = ["EXPERIMENTS", "PRESETS", "Experiment", "Outcome", "Size", "Workspace"]
