"""Results folders that tests share, filled by real attacks through the store's own interface."""

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from hammingbox.attacks import ATTACKS
from hammingbox.data.dataset import Dataset
from hammingbox.data.schema import Feature, Schema
from hammingbox.errors import TooExpensiveError
from hammingbox.evaluation.rows import Rows
from hammingbox.running.record import evaluate_into
from hammingbox.running.store import open_store
from hammingbox.threat.goal import Goal
from hammingbox.threat.space import FullSpace
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.victims.checkpoint import Checkpoint
from toys import ToyVictim, toy_rows, toy_schema

NASTY = "<script>window.pwned=1</script>"
LETTERS = Schema.sequence(12, "ACGT", ("coding", "not"), prefix="base ")
WORDS = ("good", "bad", "film", ",", ".", "(", ")", '"', "'s", "n't", "$", "...", "<br />")
TEXT = Schema.sequence(90, ("<pad>", "<unknown>", "<name>", *WORDS), ("dull", "fine"), prefix="word ")
TABLE = toy_schema((3, 2, 5, 3, 4))
HOSTILE = Schema(
    (
        Feature(f"{NASTY} colour", (NASTY, "</script><img onerror=alert(1)>", "blue")),
        Feature('size" onmouseover="window.pwned=2', ("small", "'large' & <b>bold</b>")),
        Feature("shop", ("", " ", "c")),
    ),
    (f"good {NASTY}", "bad </style>"),
)


def fill(
    folder: Path,
    schema: Schema,
    *,
    attacks: Sequence[str] = ("ga", "hotflip", "random"),
    budgets: Sequence[int] = (1, 2),
    victims: Sequence[str] = ("toy",),
    rows: int = 30,
    wrong: int = 3,
    seeds: Sequence[int] = (0,),
    data: str = "toy data",
    goal: Goal | None = None,
    settings: Mapping[str, Any] | None = None,
) -> None:
    """Attacks toy victims; the first `wrong` rows have labels the victim does not give."""
    with open_store(folder, create=True) as store:
        for number, name in enumerate(victims):
            victim = ToyVictim(schema.cardinalities, len(schema.classes), seed=number)
            ids, labels = (values[:rows].clone() for values in toy_rows(schema, victim, 60))
            labels[:wrong] = (labels[:wrong] + 1) % len(schema.classes)
            part = Dataset(schema, ids, labels, data, torch.arange(rows) * 3 + 7)
            for seed in seeds:
                for attack in attacks:
                    for budget in budgets:
                        with contextlib.suppress(TooExpensiveError):
                            evaluate_into(
                                store, Checkpoint(victim, "mlp", {}, schema), part,
                                ThreatModel(FullSpace(schema), budget), ATTACKS[attack](**(settings or {})),
                                name=attack, place=f"runs/{name}", source=data, seed=seed, goal=goal,
                            )  # fmt: skip


def stored(folder: Path) -> list[tuple[str, int, Rows]]:
    """Attack, budget and rows of every run of a results folder."""
    with open_store(folder) as store:
        return [(run.name, run.key.budget, store.rows(run.id)) for run in store.runs()]
