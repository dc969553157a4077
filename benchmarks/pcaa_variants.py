"""Variants of PCAA on victims and rows that no table reports: the default was chosen here.

Run with `python benchmarks/pcaa_variants.py`. It trains a Splice LSTM and a Splice CNN, whose validation rows are
attacked, and, with HAMMINGBOX_DATA set, an LSTM on the public IPS rows. `--ag FOLDER` adds validation texts of AG's
News and the victim in that folder. `--rows N`, `--budgets 1,2,3` and `--only NAME` change the size.
"""

import argparse
import os
from pathlib import Path
from typing import Any

import torch
from torch import nn

from attacks import Target, say
from hammingbox import ATTACKS, PCAA, Attack, Dataset, FullSpace, TrainConfig, Victim, build, fit, load_checkpoint
from hammingbox.data import ips
from hammingbox.evaluation.accuracy import correctly_classified
from hammingbox.running.tasks import SpaceChanges, Task
from hammingbox.seeding import borrowed_generators, torch_generator

_FORMER: dict[str, Any] = {
    "rounds": 4, "steps": 20, "samples": 3, "draws": 100, "learning_rate": 0.25, "start": 1.0, "hard": False,
    "recentre": None,
}  # fmt: skip
_EIGHT = _FORMER | {"rounds": 8, "steps": 5, "draws": 80, "learning_rate": 0.5, "recentre": 1.0, "drawing": "spent"}
_TWENTY = _EIGHT | {"rounds": 20, "steps": 3, "draws": 26, "hard": True}
_FORTY = _TWENTY | {"rounds": 40, "steps": 2, "samples": 1, "draws": 18}
_CLOSE: dict[str, Any] = {"start": 0.1, "recentre": 3.0}

VARIANTS: dict[str, Attack] = {
    "former default": PCAA(**(_FORMER | {"ascent": "turns", "drawing": "projected"})),
    "mirror ascent in all rounds": PCAA(**(_FORMER | {"drawing": "projected"})),
    "draws spend the budget": PCAA(**(_FORMER | {"drawing": "spent"})),
    "8 rounds around the last draw": PCAA(**_EIGHT),
    "the same, hard samples": PCAA(**(_EIGHT | {"hard": True})),
    "20 rounds, hard": PCAA(**_TWENTY),
    "40 rounds, hard": PCAA(**_FORTY),
    "40 rounds, hard, closer": PCAA(**(_FORTY | _CLOSE)),
    "40 rounds, hard, pi carried on": PCAA(**(_FORTY | {"carry": True})),
    "40 rounds, closer, exchanges": PCAA(**(_FORTY | _CLOSE | {"drawing": "exchanged"})),
    "30 rounds of 3 steps, exchanges": PCAA(rounds=30, steps=3, learning_rate=0.5, draws=23),
    "30 rounds of 3 samples, exchanges": PCAA(rounds=30, samples=3, draws=23),
    "30 rounds of 3 soft samples, exchanges": PCAA(rounds=30, samples=3, draws=23, hard=False),
    "patience 3": PCAA(patience=3),
    "twice the step": PCAA(learning_rate=2.0),
    "default": PCAA(),
    "swap": ATTACKS["swap"](),
    "auto": ATTACKS["auto"](),
}
"""All variants of PCAA cost at most 881 passes per row."""


def splice(model: str, rows: int) -> Target:
    """A victim of the package's own kind with another seed, on validation rows."""
    task = Task.of("splice")
    victim = build(model, task.splits.schema, seed=1)
    fit(victim, task.splits, TrainConfig(seed=1))
    right = correctly_classified(victim, task.splits.validation, rows)
    return Target(f"Splice {model}, validation rows", victim, right, task.space(SpaceChanges()), seeds=(0,))


def own_ips(rows: int) -> Target:
    """A bidirectional LSTM fitted to the public IPS rows with noise; the authors' LSTM is another net."""
    data = ips.load().test
    victim = build("lstm", ips.SCHEMA, seed=5, positions="none", dim=48, hidden=64, dropout=0.2)
    _fit_with_noise(victim, data)
    right = correctly_classified(victim, data, rows)
    return Target("IPS rows, own LSTM", victim, right, FullSpace(ips.SCHEMA), seeds=(0,))


def _fit_with_noise(victim: Victim, data: Dataset) -> None:
    x, y = data.batch(slice(None))
    generator = torch_generator(11)
    optimiser = torch.optim.AdamW(victim.parameters(), lr=3e-3)
    with borrowed_generators(torch.device("cpu")):
        torch.default_generator.manual_seed(5)  # of the dropout
        for _ in range(600):
            some = torch.randint(len(x), (256,), generator=generator)
            noisy = torch.rand(256, x.shape[1], generator=generator) < 0.08
            noise = torch.randint(len(ips.SCHEMA.features[0].categories), noisy.shape, generator=generator)
            loss = nn.functional.cross_entropy(victim(torch.where(noisy, noise, x[some])), y[some])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    victim.eval()


def ag_news(folder: Path, rows: int) -> Target:
    task = Task.of("ag_news")
    victim = load_checkpoint(folder, schema=task.splits.schema).victim
    right = correctly_classified(victim, task.splits.validation, rows)
    return Target("AG's News, validation rows", victim, right, task.space(SpaceChanges()), seeds=(0,))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=60)
    parser.add_argument("--budgets", default="1,2,3")
    parser.add_argument("--only", action="append", help="a variant's name; may be repeated")
    parser.add_argument("--ag", type=Path, help="folder of a checkpoint for AG's News")
    options = parser.parse_args()
    torch.set_num_threads(1)
    targets = [splice("cnn", options.rows), splice("lstm", options.rows)]
    targets += [own_ips(options.rows)] if "HAMMINGBOX_DATA" in os.environ else []
    targets += [ag_news(options.ag, options.rows)] if options.ag else []
    budgets = tuple(int(budget) for budget in options.budgets.split(","))
    for target in targets:
        say(
            f"\n{target.title}: {len(target.rows)} rows; success in %, passes per row, CPU seconds at budgets {budgets}"
        )
        for name in options.only or VARIANTS:
            say(f"  {name:35s} " + " | ".join(str(target.measure(VARIANTS[name], budget)) for budget in budgets))


if __name__ == "__main__":
    main()
