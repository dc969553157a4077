"""The tables and figures of the paper, one small file each, and the table of all of them."""

from collections.abc import Sequence

from hammingbox.errors import InputError, unknown_name
from hammingbox.reproduction.attack_table import ATTACK_TABLE
from hammingbox.reproduction.cases import CASES
from hammingbox.reproduction.certificates import CERTIFICATES_STUDY
from hammingbox.reproduction.complexity import COMPLEXITY
from hammingbox.reproduction.concentration import CONCENTRATION
from hammingbox.reproduction.defence_ag import DEFENCE_AG, TRADES
from hammingbox.reproduction.defence_curve import CURVE_AG, CURVE_IMDB, CURVE_SPLICE
from hammingbox.reproduction.defence_imdb import DEFENCE_BILSTM, DEFENCE_IMDB, DEFENCE_NEIGHBOURS, MIXTURE, ZETA
from hammingbox.reproduction.defence_splice import DEFENCE_SPLICE
from hammingbox.reproduction.imdb_budgets import IMDB_BUDGETS
from hammingbox.reproduction.ladder import LADDER_STUDY
from hammingbox.reproduction.trade_off import TRADE_OFF
from hammingbox.reproduction.tuning import TUNING, TUNING_SPLICE
from hammingbox.studies.study import Study

STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        ATTACK_TABLE, LADDER_STUDY, COMPLEXITY, TRADE_OFF, CONCENTRATION, TUNING_SPLICE, DEFENCE_SPLICE, DEFENCE_AG,
        TUNING, DEFENCE_NEIGHBOURS, DEFENCE_BILSTM, DEFENCE_IMDB, IMDB_BUDGETS, MIXTURE, TRADES, ZETA, CURVE_AG,
        CURVE_IMDB, CURVE_SPLICE, CERTIFICATES_STUDY, CASES,
    )
}  # fmt: skip
"""In the order in which `--all` runs them."""


def choose_studies(names: Sequence[str], *, everything: bool = False) -> list[Study]:
    """The studies of these names in the order given, or all of them.

    Raises:
        InputError: an unknown name, or none at all.
    """
    for name in names:
        if name not in STUDIES:
            raise unknown_name("table or figure", name, STUDIES)
    chosen = list(STUDIES) if everything else list(names)
    if not chosen:
        raise InputError(f"expected names of tables ({', '.join(STUDIES)}) or --all, got none.")
    return [STUDIES[name] for name in chosen]


__all__ = ["STUDIES", "choose_studies"]
