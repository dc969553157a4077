"""The reprs of attacks are keys of recorded runs: a change would orphan every record written before it."""

import pytest

import hammingbox.attacks as names
from hammingbox.attacks import ATTACKS

REPRS = {
    "auto": "Auto(objective='margin', queries=None, minimum=False)",
    "pcaa": (
        "PCAA(objective='margin', queries=None, zetas=(1.5, 0.7, 3.0, 2.0), zeta_unit='budget', rounds=40, "
        "steps=1, samples=1, hard=True, tau=2.0, penalty=2.0, learning_rate=1.0, ascent='mirror', start=0.1, "
        "carry=False, recentre=3.0, patience=5, ceiling=10000.0, draws=20, drawing='exchanged', leave=True)"
    ),
    "pcaa_paper": (
        "PCAA(objective='cross_entropy', queries=None, zetas=(0.13, 0.14, 0.15, 0.16, 0.17, 0.18, 0.19, 0.2, 0.21,"
        " 0.22, 0.23, 0.24, 0.25, 0.26, 0.27, 0.28, 0.29, 0.3, 0.31, 0.32, 0.33, 0.34), zeta_unit='feature', "
        "rounds=22, steps=100, samples=500, hard=False, tau=0.1, penalty=10.0, learning_rate=0.1, ascent='sign', "
        "start=None, carry=True, recentre=None, patience=5, ceiling=15.0, draws=100, drawing='dropped', "
        "leave=True)"
    ),
    "sa": "TwoStage(objective='margin', queries=None, guide='loss', search='brute', max_passes=20000)",
    "ga": "TwoStage(objective='margin', queries=None, guide='loss', search='greedy', max_passes=20000)",
    "gsa": "TwoStage(objective='margin', queries=None, guide='gradient', search='brute', max_passes=20000)",
    "gga": "TwoStage(objective='margin', queries=None, guide='gradient', search='greedy', max_passes=20000)",
    "gsa_released": (
        "TwoStage(objective='cross_entropy', queries=None, guide='gradient', search='brute', max_passes=20000, "
        "rank='gradient')"
    ),
    "gga_released": (
        "TwoStage(objective='cross_entropy', queries=None, guide='gradient', search='greedy', max_passes=20000, "
        "rank='gradient')"
    ),
    "hotflip": "HotFlip(objective='margin', queries=None, beam=1)",
    "hotflip_beam": "HotFlip(objective='margin', queries=None, beam=8)",
    "swap": "Swap(objective='margin', queries=None, steps=12, tries=16, patience=6, starts=8, fresh=False)",
    "guided": ("Guided(objective='margin', queries=None, steps=10, samples=4, learning_rate=0.5, flips=48, beam=4)"),
    "greedy": "Greedy(objective='margin', queries=None, beam=1)",
    "beam": "Greedy(objective='margin', queries=None, beam=4)",
    "best_first": "BestFirst(objective='margin', queries=None)",
    "local": (
        "Local(objective='margin', queries=None, steps=100, tries=8, patience=6, starts=8, fresh=False, sweep=256)"
    ),
    "evolution": (
        "Evolution(objective='margin', queries=None, population=40, generations=24, weight=0.5, keep=0.3, follow=0.3)"
    ),
    "sparse_rs": "SparseRS(objective='margin', queries=None, steps=998, share=0.8)",
    "pcaa_blackbox": (
        "ScorePCAA(objective='margin', queries=None, steps=50, samples=20, learning_rate=0.5, start=1.0, zeta=1.5, "
        "penalty=0.1)"
    ),
    "genetic": "Genetic(objective='margin', queries=None, population=20, generations=10, tries=4)",
    "genetic_public": "Genetic(objective='margin', queries=None, population=60, generations=40, tries=8)",
    "random": "Random(objective='margin', queries=None, draws=300, batch=50)",
    "exhaustive": "Exhaustive(objective='margin', queries=None, verdict=False, max_passes=20000, skip=False)",
    "oracle": "Exhaustive(objective='margin', queries=None, verdict=True, max_passes=20000, skip=False)",
}


@pytest.mark.parametrize("name", REPRS)
def test_reprs_are_those_of_recorded_runs(name: str) -> None:
    assert repr(ATTACKS[name]()) == REPRS[name]


@pytest.mark.parametrize("name", ATTACKS)
def test_repr_rebuilds_the_attack(name: str) -> None:
    attack = ATTACKS[name]()
    assert eval(repr(attack), vars(names)) == attack


def test_no_recorded_attack_has_left_the_table() -> None:
    assert REPRS.keys() <= ATTACKS.keys()
