"""In which direction an attacker can move each column, taken alone, within a budget."""

from enum import Enum

import numpy as np
import torch
from jaxtyping import Bool, Int64
from torch import Tensor

from hammingbox.data.schema import Feature
from hammingbox.threat.ruled_space import RuledSpace
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.types import Ids

_CELLS_AT_ONCE = 2**24
"""Options of rows that are looked at together."""


class Reach(Enum):
    """What an attacker can do to a column. Up and down are the order of numbers, or of the ids of categories."""

    NOTHING = "nothing"
    UP = "up"
    DOWN = "down"
    BOTH = "both"


def column_reach(threat: ThreatModel, rows: Ids) -> tuple[Reach, ...]:
    """The reach of each column: the directions in which some value of it can be changed within the whole budget.

    Relations, the number of changes, and what other changes cost are not considered, so the true attacker can do this
    or less. A derived column is out of reach only if everything it is computed from is.

    Args:
        threat: what the attacker may do.
        rows: their S(x) is looked at, and that of the first one with each other value of each column. This is all of
            S(x) unless the space decides about a column by the values of others.

    Returns:
        One for each feature of the schema.
    """
    if threat.forbids_all or len(rows) == 0:
        return (Reach.NOTHING,) * len(threat.space.schema.features)
    features = threat.space.schema.features
    up = torch.zeros(len(features), dtype=torch.bool, device=rows.device)
    down = up.clone()
    order = [torch.from_numpy(_order(feature)).to(rows.device) for feature in features]
    options = int(_single(threat, rows[:1])[0].shape[1])
    for probes in (rows, _one_by_one(rows[0], threat.space.schema.cardinalities)):
        for part in probes.split(max(1, _CELLS_AT_ONCE // options)):
            ids, payable, feature_of = _single(threat, part)
            for feature in feature_of[payable.any(0)].unique().tolist():
                there = feature_of == feature
                before = order[feature][part[:, feature]][:, None].expand(-1, int(there.sum()))[payable[:, there]]
                after = order[feature][ids[:, there][payable[:, there]]]
                # What has no place in the order goes both ways: NaN is neither above nor below.
                up[feature] |= bool((~(after <= before)).any())
                down[feature] |= bool((~(after >= before)).any())
    if isinstance(threat.space, RuledSpace):
        for each in threat.space.rules.derived:  # each after those it is computed from
            moves = bool((up | down)[list(each.inputs)].any())
            up[each.column] = down[each.column] = moves
    names = {
        (False, False): Reach.NOTHING,
        (True, False): Reach.UP,
        (False, True): Reach.DOWN,
        (True, True): Reach.BOTH,
    }
    return tuple(names[pair] for pair in zip(up.tolist(), down.tolist(), strict=True))


def _single(
    threat: ThreatModel, rows: Ids
) -> tuple[Int64[Tensor, "batch options"], Bool[Tensor, "batch options"], Int64[Tensor, "options"]]:
    """What each option of a single column writes, whether it changes the row and can be paid, and its column."""
    space = threat.space
    if not isinstance(space, RuledSpace):
        found = space.slots_of(rows)
        return found.ids, found.moves, found.layout.feature_of
    base = space.base.slots_of(rows)
    ticks, allowed = space.rules.priced(rows, base)
    return base.ids, base.moves & allowed & (ticks <= threat.budget), base.layout.feature_of


def _one_by_one(row: Int64[Tensor, "columns"], cardinalities: tuple[int, ...]) -> Ids:
    """A row with every value of every column in turn."""
    column = torch.arange(len(row), device=row.device).repeat_interleave(torch.tensor(cardinalities, device=row.device))
    value = torch.cat([torch.arange(size, device=row.device) for size in cardinalities])
    return row.repeat(len(column), 1).scatter_(1, column[:, None], value[:, None])


def _order(feature: Feature) -> np.ndarray:
    """The place of each value in the order: its number, or its id."""
    return feature.numbers if feature.is_ordered else np.arange(len(feature.categories), dtype=np.float64)
