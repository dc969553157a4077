"""Spaces, batches and single steps that tests of defences share."""

from collections.abc import Callable

import torch

from hammingbox.data.schema import Schema
from hammingbox.defences import Batch, Defence
from hammingbox.threat.goal import AnyOther, Goal
from hammingbox.threat.masked_space import MaskedSpace
from hammingbox.threat.space import FullSpace, Space
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.victims.victim import Victim
from toys import ToySynonyms, toy_rows

SPACES: dict[str, Callable[[Schema], Space]] = {
    "full": FullSpace,
    "masked": lambda schema: MaskedSpace(schema, immutable=["f0"], forbidden={"f2": ["c1"]}),
    "synonyms": ToySynonyms,
}


def toy_batch(schema: Schema, victim: Victim, rows: int = 12, *, seed: int = 3, goal: Goal | None = None) -> Batch:
    """Rows that the victim gets right."""
    x, y = toy_rows(schema, victim, rows)
    return Batch(torch.arange(rows), x, y, seed, goal or AnyOther())


def loss_of(defence: Defence, victim: Victim, batch: Batch, threat: ThreatModel) -> torch.Tensor:
    """The loss of a first step, with the same dropout noise every time."""
    defence.begin(victim, len(batch), threat)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return defence(victim.train(), batch, threat).loss
