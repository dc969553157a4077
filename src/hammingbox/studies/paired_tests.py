"""Exact tests of an order between two victims, or two lines of several trainings each, on the same rows."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int64
from numpy import ndarray


def flip_test(differences: Int64[ndarray, "rows"]) -> float:
    """Two-sided p-value of the hypothesis that exchanging the two sides of any row changes nothing but a sign.

    A row's difference is how often it is wrong on the first side, minus how often on the second, counted over all
    trainings and attack seeds. The test flips the sign of whole rows: trainings that are attacked on the same rows are
    not independent of each other, rows are. Adding up discordant pairs of all trainings, or combining one p-value per
    training as Stouffer and Fisher do, would count every row several times and find orders where there are none.

    The distribution of the sum over all 2**rows sign patterns is computed exactly. With one training and one attack
    seed, differences are -1, 0 and 1, and the test is McNemar's exact test (two-sided binomial on discordant rows).

    Args:
        differences: one integer per row.

    Returns:
        The share of sign patterns whose sum is at least as far from 0 as the observed one.
    """
    sizes = np.abs(differences[differences != 0])
    observed = abs(int(differences.sum()))
    total = int(sizes.sum())
    chance = np.zeros(2 * total + 1)  # of each sum from -total to total
    chance[total] = 1.0
    for size in sizes.tolist():
        up, down = np.zeros_like(chance), np.zeros_like(chance)
        up[size:], down[:-size] = chance[:-size], chance[size:]
        chance = 0.5 * (up + down)
    far = np.abs(np.arange(-total, total + 1)) >= observed
    return min(1.0, float(chance[far].sum()))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values: the chance of one false claim among all of them stays below the level."""
    adjusted, running = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        running = max(running, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = running
    return adjusted
