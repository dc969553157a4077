"""Results folders that tests of the report share, filled by real attacks through the store's own interface."""

import contextlib
from collections.abc import Sequence
from pathlib import Path

import torch

from hammingbox.attacks import attack_named
from hammingbox.data.schema import Dataset, Feature, Schema
from hammingbox.errors import TooExpensiveError
from hammingbox.running.record import evaluate_into
from hammingbox.running.store import Store
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
) -> None:
    """Attacks toy victims; the first `wrong` rows have labels the victim does not give."""
    with Store.open(folder, create=True) as store:
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
                                ThreatModel(FullSpace(schema), budget), attack_named(attack),
                                name=attack, victim=f"runs/{name}", source=data, seed=seed,
                            )  # fmt: skip
