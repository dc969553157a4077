"""How close `auto` is to the limit, on victims that were not used to choose its stages.

Run with `python benchmarks/auto_limit.py`, or name victims: lstm-1, lstm-1-swap, lstm-2, lstm-2-padvt, mlp-1,
mlp-1-swap, ips. IPS needs HAMMINGBOX_DATA to name a folder with ips/ips_test.csv and ips/victim.safetensors. Models are
trained once and kept in runs/bench/auto_limit.

For each victim, on the first test rows that it classifies correctly:

- at budget 2 the rows that can be broken at all, by enumeration, and
- at budget 3, on IPS at budget 2 too (a row has 231 million pairs), a swap search with 100 times `auto`'s passes.

Both search only the rows that `auto` leaves unbroken. What they add is what `auto` misses; it can never be ahead of
them. `auto` runs once per seed. The limit is the union over all runs.
"""

import os
import sys
from pathlib import Path

import torch
from splice_victim import space, splits

from hammingbox import (
    Checkpoint,
    Dataset,
    FileError,
    FullSpace,
    Space,
    TrainConfig,
    Victim,
    build,
    fit,
    load_checkpoint,
)
from hammingbox.attacks import Attack, Auto, Exhaustive, Swap
from hammingbox.defences import Defence, PAdvT, SwapTraining
from hammingbox.evaluation.accuracy import correctly_classified
from hammingbox.threat.threat_model import ThreatModel

FOLDER = Path("runs/bench/auto_limit")
DEFENCES: dict[str, type[Defence]] = {"swap": SwapTraining, "padvt": PAdvT}
SPLICE = ("lstm-1", "lstm-1-swap", "lstm-2", "lstm-2-padvt", "mlp-1", "mlp-1-swap")
SEEDS = (0, 1)
LONGER = 100
ROWS = 100
MOST_PAIRS = 30_000


def splice_victim(name: str) -> Victim:
    """A model of the Splice data: its kind, its training seed, and the defence it was trained with at budget 2."""
    data = splits()
    try:
        return load_checkpoint(FOLDER / name, schema=data.schema).victim
    except FileError:
        kind, seed, *defence = name.split("-")
        if defence:
            model = splice_victim(f"{kind}-{seed}")
            config = TrainConfig(seed=int(seed), epochs=4, learning_rate=1e-3)
            fit(model, data, config, defence=DEFENCES[defence[0]](), threat=ThreatModel(space(), 2))
        else:
            model = build(kind, data.schema, seed=int(seed))
            fit(model, data, TrainConfig(seed=int(seed)))
        Checkpoint(model, kind, {}, data.schema, {}).save(FOLDER / name)
        return model


def ips() -> tuple[Victim, Dataset, Space]:
    from hammingbox.data.ips import load
    from hammingbox.victims.released import released_victim

    model, test = released_victim("ips").victim, load().test
    return model, correctly_classified(model, test, ROWS), FullSpace(test.schema)


def attacked(
    attack: Attack, victim: Victim, rows: Dataset, threat: ThreatModel, *, seed: int = 0
) -> tuple[torch.Tensor, float, float]:
    """Which rows are broken, passes per row, and passes per unbroken row."""
    if len(rows) == 0:
        return torch.zeros(0, dtype=torch.bool), 0.0, 0.0
    result = attack(victim, *rows.batch(slice(None)), threat, seed=seed)
    passes = (result.forward + result.backward).double()
    unbroken = passes[~result.success]
    return result.success, float(passes.mean()), float(unbroken.mean()) if len(unbroken) else 0.0


def report(title: str, victim: Victim, rows: Dataset, allowed: Space, *, enumerate_pairs: bool) -> None:
    """Prints one line per budget."""
    for budget in (2, 3):
        threat = ThreatModel(allowed, budget)
        runs = [attacked(Auto(), victim, rows, threat, seed=seed) for seed in SEEDS]
        ever = torch.stack([found for found, _, _ in runs]).any(0)
        passes = sum(cost for _, cost, _ in runs) / len(runs)
        unbroken = sum(cost for _, _, cost in runs) / len(runs)
        left = (~ever).nonzero()[:, 0]
        line = (
            f"  budget {budget}: auto {[int(found.sum()) for found, _, _ in runs]} of {len(rows)} rows, seeds {SEEDS}"
        )
        line += f", {passes:.0f} passes per row, {unbroken:.0f} per unbroken row; together {int(ever.sum())}"
        exact = enumerate_pairs and budget == 2
        longer: Attack = Swap(steps=round(LONGER * passes / (Swap.tries + 2)), patience=4, fresh=True)
        limit = Exhaustive(verdict=True, max_passes=MOST_PAIRS) if exact else longer
        more, cost, _ = attacked(limit, victim, rows.take(left), threat, seed=len(SEEDS))
        what = "enumeration" if exact else "a walk"
        line += f"; {what} of {cost:.0f} passes on the other {len(left)}: +{int(more.sum())}"
        print(f"{title}\n{line}" if budget == 2 else line, flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    for name in sys.argv[1:] or (*SPLICE, *(("ips",) if "HAMMINGBOX_DATA" in os.environ else ())):
        if name == "ips":
            report("The authors' IPS LSTM", *ips(), enumerate_pairs=False)
        else:
            model = splice_victim(name)
            rows = correctly_classified(model, splits().test, ROWS)
            report(f"Splice {name}", model, rows, space(), enumerate_pairs=True)
