"""Orders of attacks: McNemar's test by hand, rows that both have, several seeds, Holm's correction."""

from dataclasses import replace

import numpy as np
import pytest

from hammingbox.studies.attack_orders import attack_orders, compare_attacks
from hammingbox.studies.grid import GridCell
from hammingbox.studies.run_facts import RunFacts
from toys.studies import QUICK


def cell(attack: str, *outcomes: str, begin: int = 0, budget: int = 1) -> GridCell:
    runs = tuple(RunFacts(np.arange(begin, begin + len(o)), o, 0, 0, 0.0) for o in outcomes)
    return GridCell(QUICK, QUICK, attack, {}, budget, range(len(runs)), len(outcomes[0]), runs)


def test_one_seed_is_mcnemars_exact_test() -> None:
    order = compare_attacks(cell("pcaa", "xxxxxxoow"), cell("ga", "ooooooxow"))
    assert order is not None
    assert (order.rows, order.only_stronger, order.only_weaker) == (9, 6, 1)
    assert order.p == pytest.approx(2 * (1 + 7) / 2**7)  # at most one of seven discordant rows on either side
    assert order.difference == pytest.approx(5 / 9)


def test_seeds_of_an_attack_count_each_row_once() -> None:
    order = compare_attacks(cell("pcaa", "xxxoo", "xxoxo"), cell("ga", "ooooo"))
    assert order is not None
    assert (order.only_stronger, order.only_weaker) == (3, 0)
    assert order.p == pytest.approx(2 / 2**4)  # four rows differ, all to one side


def test_only_rows_that_both_have_are_compared() -> None:
    order = compare_attacks(cell("pcaa", "xxxx"), cell("pcaa_paper", "oo", begin=2))
    assert order is not None
    assert (order.rows, order.only_stronger) == (2, 2)
    assert compare_attacks(cell("pcaa", "xx"), cell("ga", "oo", begin=2)) is None
    assert compare_attacks(cell("pcaa", "xx"), replace(cell("ga", "oo"), runs=())) is None


def test_an_order_is_supported_only_after_holms_correction_and_in_its_direction() -> None:
    cells = [
        cell("pcaa", "x" * 8), cell("ga", "o" * 8), cell("gga", "o" * 6 + "xx"),
        cell("pcaa", "o" * 8, budget=2), cell("ga", "x" * 8, budget=2),
    ]  # fmt: skip
    table = attack_orders("order", cells, (("pcaa", "ga"), ("pcaa", "gga"), ("auto", "pcaa")))
    assert [(row[0], row[1], row[2], row[-1]) for row in table.rows] == [
        ("pcaa", "ga", 1, "supported"), ("pcaa", "ga", 2, "opposite supported"), ("pcaa", "gga", 1, "supported"),
    ]  # fmt: skip
    five = [cell("pcaa", "x" * 6), cell("ga", "o" * 6), cell("gga", "o" * 6)]
    (first, second) = attack_orders("order", five, (("pcaa", "ga"), ("pcaa", "gga"))).rows
    assert first[-1] == second[-1] == "not supported", "0.031 for one pair, 0.0625 for two"
