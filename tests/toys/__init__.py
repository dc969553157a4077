"""Small schemas, victims and rows that tests share."""

from typing import Any

import torch
from torch import nn

from hammingbox.data.dataset import Dataset
from hammingbox.data.schema import Feature, Schema
from hammingbox.evaluation.rows import Rows
from hammingbox.threat.candidates import Candidates
from hammingbox.threat.goal import RowGoals
from hammingbox.threat.layout import Layout
from hammingbox.threat.space import Space
from hammingbox.threat.table_space import TableSpace
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.types import Embedded, Ids, Labels, Logits
from hammingbox.victims.checkpoint import Checkpoint
from hammingbox.victims.victim import Victim
from hammingbox.victims.zoo.category_embedding import CategoryEmbedding, ColumnNumbers

Case = tuple[Checkpoint, Dataset, ThreatModel]
"""What a run of the store is of."""


def toy_schema(cardinalities: tuple[int, ...], classes: int = 3) -> Schema:
    """Features with categories c0, c1, ..."""
    features = tuple(Feature(f"f{i}", tuple(f"c{j}" for j in range(d))) for i, d in enumerate(cardinalities))
    return Schema(features, tuple(f"class {k}" for k in range(classes)))


def mixed_schema() -> Schema:
    """A number that may be missing, a category, a date and a boolean."""
    features = (
        Feature("amount", ("-1.5", "0", "0.25", "1", "2", "3.5", "7", "<missing>"), "number"),
        Feature("colour", ("red", "green", "blue")),
        Feature("day", tuple(f"2020-01-{day:02d}" for day in range(1, 7)), "date"),
        Feature("paid", ("False", "True"), "boolean"),
    )
    return Schema(features, ("class 0", "class 1", "class 2"))


def mixed_space(schema: Schema) -> TableSpace:
    """Few candidates of the number, steps of the date, every category but one."""
    return TableSpace(schema, {"amount": [0, 2, "7"]}, steps={"day": [-1, 1, 2]}, forbidden={"colour": ["green"]})


def mixed_victim(schema: Schema, seed: int = 0) -> "ToyVictim":
    """A victim that reads numbers and dates as such, standardised on the schema's own values."""
    values = tuple(feature.numbers if feature.is_ordered else None for feature in schema.features)
    victim = ToyVictim(schema.cardinalities, seed=seed, values=values)
    most = max(schema.cardinalities)
    victim.embedding.standardise(torch.arange(most)[:, None] % torch.tensor(schema.cardinalities))
    return victim


class ToyVictim(Victim):
    """A small non-linear victim. Its dropout makes an attack that forgets eval mode random, and so caught."""

    def __init__(
        self, cardinalities: tuple[int, ...], classes: int = 3, seed: int = 0, values: ColumnNumbers = ()
    ) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.embedding = CategoryEmbedding(cardinalities, 4, positions="own", values=values)
            first, last = nn.Linear(4 * len(cardinalities), 16), nn.Linear(16, classes)
            last.weight.data.mul_(3)
            self.body = nn.Sequential(nn.Flatten(), nn.Dropout(0.5), first, nn.Tanh(), last)

    def embed(self, ids: Ids) -> Embedded:
        return self.embedding(ids)

    def head(self, embedded: Embedded, ids: Ids) -> Logits:
        return self.body(embedded)


class ToySynonyms(Space):
    """Per-row candidates in few slots, as synonym sets have them: the next two categories, some features unchanged."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema

    def slots_of(self, ids: Ids) -> Candidates:
        layout = Layout.of((3,) * ids.shape[1], ids.device)
        sizes = torch.tensor(self.schema.cardinalities, device=ids.device)
        near = (ids[:, :, None] + torch.arange(3, device=ids.device)) % sizes[:, None]  # (batch, features, slots)
        distinct = torch.arange(3, device=ids.device) < sizes[:, None]
        free = (ids + torch.arange(ids.shape[1], device=ids.device)) % 3 != 0  # what may change depends on the row
        valid = distinct & free[:, :, None]
        valid[:, :, 0] = True
        return Candidates(layout, near.flatten(1), valid.flatten(1))

    def to_json(self) -> dict[str, Any]:
        return {"kind": "toy"}


def toy_rows(schema: Schema, victim: Victim, rows: int = 12, seed: int = 1) -> tuple[Ids, Labels]:
    """Random rows with the victim's own answers as labels, so that all are right before an attack."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.stack([torch.randint(d, (rows,), generator=generator) for d in schema.cardinalities], 1)
    training = victim.training
    labels = victim.eval()(ids).argmax(1)
    victim.train(training)
    return ids, labels


def same_rows(a: Rows, b: Rows) -> None:
    """Asserts that two evaluations found the same."""
    for name in Rows.__dataclass_fields__:
        assert torch.equal(getattr(a, name), getattr(b, name)), name


def untargeted(labels: Labels, classes: int = 3) -> RowGoals:
    """Any class but the true one, for each row."""
    return RowGoals(~torch.nn.functional.one_hot(labels, classes).bool())
