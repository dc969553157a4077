"""Settings of training for certificates on Splice, compared without a look at the test rows.

    python benchmarks/certified_settings.py OUT.jsonl [--folds 3] [--run 3] [--only A,B] [--seeds 0]

The training and the validation rows (2,557) are cut into folds by a hash of the sequence, so that repeated sequences
stay together. Each setting is trained on all folds but one and certified on the one left out; the figures are over all
rows that were left out (--run 1 trains for the first fold only). Every fold is one line of the output, and a fold that
is there already is not trained again.

Groups of settings: A (a clean accuracy of at least 92 %), B (at least 86 %), the same for windows that share scores
along the sequence (smooth A, smooth B), ablation (1,000 votes over k = 10 features; 300 rows of each fold).
"""

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from time import process_time
from typing import Any

import torch

from hammingbox import Ablated, Ablation, MaskedSpace, Splits, ThreatModel, TrainConfig, certify, fit
from hammingbox.data import splice
from hammingbox.data.dataset import Dataset
from hammingbox.defences import DEFENCES
from hammingbox.victims.zoo.registry import build

_ABLATED_ROWS = 300


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One way to train."""

    model: str
    budget: int
    epochs: int
    rate: float
    decay: float
    defence: str = "certified"
    ramp: int = 1
    settings: tuple[tuple[str, float], ...] = ()
    shape: tuple[tuple[str, int], ...] = ()


def _certified(
    model: str,
    budget: int,
    inner: float,
    clean: float,
    *,
    decay: float = 0.1,
    epochs: int = 20,
    ramp: int = 1,
    **shape: int,
) -> Setting:
    return Setting(
        model=model, budget=budget, epochs=epochs, rate=3e-3 if model == "shallow" else 1e-2, decay=decay, ramp=ramp,
        settings=(("clean_share", clean), ("inner_share", inner)), shape=tuple(shape.items()),
    )  # fmt: skip


def _ablation(hidden: int, decay: float, epochs: int = 20) -> Setting:
    return Setting(
        model="shallow", budget=0, epochs=epochs, rate=3e-3, decay=decay, defence="ablation",
        settings=(("keep", 10), ("draws", 4)), shape=(("hidden", hidden),),
    )  # fmt: skip


GROUPS: dict[str, tuple[Setting, ...]] = {
    "A": (
        _certified("linear", 1, 0.0, 0.2),
        _certified("shallow", 1, 0.0, 0.2, hidden=32),
        _certified("shallow", 2, 0.8, 0.2, hidden=32),
        _certified("linear", 2, 0.8, 0.2),
        _certified("shallow", 2, 0.6, 0.2, hidden=32),
        _certified("windows", 2, 0.8, 0.2, decay=1.0, epochs=8, width=2),
        _certified("windows", 2, 0.9, 0.3, decay=1.0, epochs=8, width=2),
        _certified("windows", 1, 0.0, 0.2, decay=1.0, epochs=8, width=2),
    ),
    "B": (
        _certified("windows", 2, 0.0, 0.1, decay=1.0, epochs=8, ramp=2, width=2),
        _certified("shallow", 2, 0.0, 0.1, ramp=5, hidden=16),
        _certified("windows", 2, 0.2, 0.1, decay=1.0, epochs=8, ramp=2, width=2),
    ),
    "smooth A": tuple(_certified("smooth_windows", 2, inner, 0.2, decay=1.0, epochs=8) for inner in (0.75, 0.875)),
    "smooth B": tuple(
        _certified("smooth_windows", 2, inner, 0.1, decay=decay, epochs=8)
        for inner, decay in ((0.15, 1.0), (0.35, 1.0), (0.35, 3.0), (0.55, 3.0))
    ),
    "ablation": tuple(_ablation(hidden, decay) for hidden, decay in ((64, 0.1), (64, 0.5), (64, 1.5), (256, 0.5))),
}


def folds(rows: Dataset, count: int) -> Iterator[tuple[int, Splits]]:
    """Each fold as validation and test rows, the others as training rows."""
    part = torch.tensor([blake2b(bytes(row), digest_size=4).digest()[0] % count for row in rows.ids.tolist()])
    for number in range(count):
        left = rows.take(part == number)
        yield number, Splits(rows.take(part != number), left, left)


def measured(setting: Setting, splits: Splits, seed: int) -> dict[str, Any]:
    """Rows of a fold that are right, and right and proven at 1, 2, 3 changes, by class."""
    begin = process_time()
    victim = build(setting.model, splits.schema, seed=seed, **dict(setting.shape))
    config = TrainConfig(
        epochs=setting.epochs, learning_rate=setting.rate, weight_decay=setting.decay, ramp=setting.ramp,
        criterion="last", seed=seed,
    )  # fmt: skip
    defence = DEFENCES[setting.defence](
        **{name: int(value) if name in ("keep", "draws") else value for name, value in setting.settings}
    )
    space = MaskedSpace(splits.schema, forbidden={"*": ["N"]})
    fit(victim, splits, config, defence=defence, threat=ThreatModel(space, setting.budget))
    trained = process_time()
    if setting.defence == "ablation":
        rows = splits.test.take(slice(0, _ABLATED_ROWS))
        found = certify(Ablated(victim, 10), rows, ThreatModel(space, 3), Ablation(), seed=seed)
    else:
        rows = splits.test
        found = certify(victim, rows, ThreatModel(space, 3), seed=seed)
    classes = range(len(splits.schema.classes))
    return {
        "rows": [int((rows.labels == label).sum()) for label in classes],
        "certified": [[found.certified(r, label).hits for label in classes] for r in range(4)],
        "correct": [int(found.correct[rows.labels == label].sum()) for label in classes],
        "training": round(trained - begin, 1),
        "certifying": round(process_time() - trained, 1),
    }


def summary(lines: list[dict[str, Any]]) -> str:
    """Clean and certified accuracy over all folds, and the class mean at two changes."""
    rows = torch.tensor([line["rows"] for line in lines]).sum(0)
    certified = torch.tensor([line["certified"] for line in lines]).sum(0)
    right = torch.tensor([line["correct"] for line in lines]).sum()
    rates = 100 * certified.sum(1) / rows.sum()
    mean = 100 * (certified[2] / rows).mean()
    shown = " / ".join(f"{float(rate):.1f}" for rate in rates[1:])
    return f"clean {100 * float(right / rows.sum()):.1f}, certified {shown}, class mean at 2 {float(mean):.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--run", type=int, default=3)
    parser.add_argument("--only", default=",".join(GROUPS))
    parser.add_argument("--seeds", default="0")
    options = parser.parse_args()
    torch.set_num_threads(1)
    splits = splice.load()
    rows = Dataset.join([splits.train, splits.validation])
    done: dict[str, dict[str, Any]] = {}
    if options.out.exists():
        done = {line["key"]: line for line in map(json.loads, options.out.read_text().splitlines())}
    for group in options.only.split(","):
        for setting in GROUPS[group]:
            lines = []
            for seed in map(int, options.seeds.split(",")):
                for number, part in folds(rows, options.folds):
                    if number >= options.run:
                        continue
                    key = f"{setting} seed={seed} fold={number} of {options.folds}"
                    if key not in done:
                        done[key] = {"key": key, **measured(setting, part, seed)}
                        with options.out.open("a") as file:
                            file.write(json.dumps(done[key]) + "\n")
                    lines.append(done[key])
            print(f"{group}: {setting}\n   {summary(lines)}", flush=True)


if __name__ == "__main__":
    main()
