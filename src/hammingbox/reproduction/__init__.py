"""The paper's tables and figures, one small file each, and the table that the command line reads."""

from hammingbox.reproduction.attack_table import ATTACK_TABLE
from hammingbox.reproduction.cases import CASES
from hammingbox.reproduction.complexity import COMPLEXITY
from hammingbox.reproduction.concentration import CONCENTRATION
from hammingbox.reproduction.defence_ag import DEFENCE_AG, TRADES
from hammingbox.reproduction.defence_curve import CURVE_AG, CURVE_IMDB, CURVE_SPLICE
from hammingbox.reproduction.defence_imdb import DEFENCE_IMDB, DEFENCE_NEIGHBOURS, MIXTURE, ZETA
from hammingbox.reproduction.trade_off import TRADE_OFF
from hammingbox.studies.study import PRESETS, Experiment, Outcome, Size
from hammingbox.studies.workspace import Workspace

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        ATTACK_TABLE, COMPLEXITY, TRADE_OFF, CONCENTRATION, DEFENCE_AG, DEFENCE_IMDB, DEFENCE_NEIGHBOURS, MIXTURE,
        TRADES, ZETA, CURVE_AG, CURVE_IMDB, CURVE_SPLICE, CASES,
    )
}  # fmt: skip

__all__ = ["EXPERIMENTS", "PRESETS", "Experiment", "Outcome", "Size", "Workspace"]
