"""Arguments of the API as a careless user passes them."""

from random import Random
from typing import Any

import numpy as np
import torch

from fuzz.damage import ODD_VALUES
from hammingbox.attacks import ATTACKS
from hammingbox.data.dataset import Dataset
from hammingbox.data.schema import Feature, Schema
from hammingbox.data.table import load_table
from hammingbox.seeding import RowRandom, torch_generator
from hammingbox.threat.goal import Direction, Target, goal_from_json
from hammingbox.threat.masked_space import MaskedSpace
from hammingbox.threat.space import FullSpace
from hammingbox.threat.space_json import space_from_json
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.training.config import TrainConfig

SCHEMA = Schema((Feature("a", ("x", "y", "z")), Feature("b", ("u", "v"))), ("no", "yes"))

ODD_ARRAYS: tuple[Any, ...] = (
    [[0, 1]], [[0, 1], [1]], [[0.5, 1]], [["x", "u"]], [[True, False]], [[3, 0]], [[-1, 0]], [0, 1], [], [[]],
    [[[0, 1]]],
    np.array([[0, 1]], dtype=np.uint8), np.array([[0, 1]], dtype=np.uint16), np.array([[0, 1]], dtype=np.uint32),
    np.array([[0, 2**64 - 1]], dtype=np.uint64), np.array([[0, 1]], dtype=">i4"), np.array([[0.0, 1.0]]),
    np.array([[None, 1]], dtype=object), np.array([["x"]]), np.array(5), np.zeros((0, 2), dtype=np.int64),
    np.arange(12)[::-1].reshape(6, 2)[:, ::-1] % 2, torch.tensor([[0, 1]], dtype=torch.uint16),
    torch.tensor([[0, 1]], dtype=torch.uint64), torch.tensor([[0, 1]], dtype=torch.int8), torch.tensor([[1.0, 0.0]]),
    torch.tensor([[True, False]]), torch.tensor(1), torch.tensor([[1 + 1j, 0]]), torch.zeros(1, 2, dtype=torch.int32),
)  # fmt: skip


def call_the_api(random: Random) -> object:
    """One call with an odd argument."""
    odd = random.choice(ODD_VALUES)
    array = random.choice([*ODD_ARRAYS, *ODD_VALUES])
    labels = random.choice([[0], [1], [2], [0.5], [True], [[0]], np.array([1], dtype=np.uint16), "x", None, [], odd])
    space = FullSpace(SCHEMA)
    attack = ATTACKS[random.choice(sorted(ATTACKS))]
    setting = random.choice(["steps", "samples", "queries", "objective", "population", "draws", "beam", "max_passes"])
    calls = (
        lambda: Feature("a", odd) and Schema((Feature("a", odd),), ("no", "yes")).digest,
        lambda: Schema((Feature(odd, ("x", "y")),), ("no", "yes")).digest,
        lambda: Schema(SCHEMA.features, odd).digest,
        lambda: Schema.from_json(odd),
        lambda: SCHEMA.as_ids(array),
        lambda: SCHEMA.as_labels(labels, 1),
        lambda: Dataset(SCHEMA, array, labels).digest,
        lambda: Dataset(SCHEMA, torch.tensor([[0, 1], [1, 0]]), torch.tensor([0, 1])).take(array),
        lambda: ThreatModel(space, odd),
        lambda: ThreatModel(odd, 1),
        lambda: MaskedSpace(SCHEMA, immutable=odd),
        lambda: MaskedSpace(SCHEMA, forbidden={"a": odd}),
        lambda: space.candidates(array),
        lambda: Target(odd).winning(SCHEMA),
        lambda: Direction(odd, random.choice(ODD_VALUES)).winning(SCHEMA),
        lambda: goal_from_json(odd),
        lambda: space_from_json(odd, SCHEMA),
        lambda: _with_setting(attack, setting, odd),
        lambda: TrainConfig(**{random.choice(["epochs", "batch_size", "seed", "learning_rate", "criterion"]): odd}),
        lambda: torch_generator(odd),
        lambda: RowRandom.for_rows(odd, torch.tensor([[0, 1]])),
        lambda: load_table({"a": odd, "b": ["x", "y"]}, label="b"),
        lambda: load_table(odd, label="b"),
    )
    return random.choice(calls)()


def _with_setting(attack: Any, name: str, value: object) -> object:
    try:
        return attack(**{name: value})
    except TypeError as error:
        if "unexpected keyword" in str(error):
            return None
        raise
