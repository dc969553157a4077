"""The attacks, one file each, and their table, which the command line and the tests read."""

from collections.abc import Callable
from functools import partial

from hammingbox.attacks.auto import Auto
from hammingbox.attacks.base import Attack, AttackResult
from hammingbox.attacks.best_first import BestFirst
from hammingbox.attacks.cost import Passes
from hammingbox.attacks.distribution import Distribution
from hammingbox.attacks.evolution import Evolution
from hammingbox.attacks.exhaustive import Exhaustive
from hammingbox.attacks.genetic import Genetic
from hammingbox.attacks.greedy import Greedy
from hammingbox.attacks.guided import Guided
from hammingbox.attacks.hotflip import HotFlip
from hammingbox.attacks.local import Local
from hammingbox.attacks.pcaa import PCAA
from hammingbox.attacks.random import Random
from hammingbox.attacks.score_pcaa import ScorePCAA
from hammingbox.attacks.sparse_rs import SparseRS
from hammingbox.attacks.swap import Swap
from hammingbox.attacks.two_stage import TwoStage
from hammingbox.errors import unknown_name

ATTACKS: dict[str, Callable[..., Attack]] = {
    "auto": Auto,
    "pcaa": PCAA,
    "pcaa_paper": PCAA.paper,
    "sa": partial(TwoStage, guide="loss", search="brute"),
    "ga": partial(TwoStage, guide="loss", search="greedy"),
    "gsa": partial(TwoStage, guide="gradient", search="brute"),
    "gga": partial(TwoStage, guide="gradient", search="greedy"),
    "gsa_released": partial(TwoStage, guide="gradient", search="brute", rank="gradient", objective="cross_entropy"),
    "gga_released": partial(TwoStage, guide="gradient", search="greedy", rank="gradient", objective="cross_entropy"),
    "hotflip": HotFlip,
    "hotflip_beam": partial(HotFlip, beam=8),
    "swap": Swap,
    "guided": Guided,
    "greedy": Greedy,
    "beam": partial(Greedy, beam=4),
    "best_first": BestFirst,
    "local": Local,
    "evolution": Evolution,
    "sparse_rs": SparseRS,
    "pcaa_blackbox": ScorePCAA,
    "genetic": Genetic,
    "genetic_public": partial(Genetic, population=60, generations=40, tries=8),
    "random": Random,
    "exhaustive": Exhaustive,
    "oracle": partial(Exhaustive, verdict=True),
}


def attack_named(name: str) -> Attack:
    """An attack of the table with its default settings.

    Raises:
        InputError: the table has no such name.
    """
    if name not in ATTACKS:
        raise unknown_name("attack", name, ATTACKS)
    return ATTACKS[name]()


__all__ = [
    "ATTACKS",
    "PCAA",
    "Attack",
    "AttackResult",
    "Auto",
    "BestFirst",
    "Distribution",
    "Evolution",
    "Exhaustive",
    "Genetic",
    "Greedy",
    "Guided",
    "HotFlip",
    "Local",
    "Passes",
    "Random",
    "ScorePCAA",
    "SparseRS",
    "Swap",
    "TwoStage",
    "attack_named",
]
