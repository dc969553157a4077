"""Attacks on bank fraud under the published prices, against enumeration in order of cost.

The attacker owns frauds and wants them taken for legitimate applications. Rows are the first frauds of the test months
that the model catches. Enumeration in order of cost gives the cheapest evasion of every row, and so the truth at every
budget. The targets: `auto` breaks what enumeration breaks at every budget, at 10 and 30 with at most 1/20 of its passes
(1/10 for a black box), and the cheapest evasion is exact on at least 99 % of rows. Needs bank_fraud (HAMMINGBOX_DATA).

    python benchmarks/bank_fraud_attack.py mlp --rows 300
    python benchmarks/bank_fraud_attack.py xgboost --rows 300
    python benchmarks/bank_fraud_attack.py exhaustive --rows 300 --keep victims   # trained against 1 EUR, and kept
"""

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xgboost
from torch import Tensor

from hammingbox.attacks import ATTACKS, Attack, AttackResult, Auto, Exhaustive
from hammingbox.attacks._search.affordable_points import affordable_points
from hammingbox.data import bank_fraud
from hammingbox.data.dataset import Dataset, Splits
from hammingbox.defences import DEFENCES
from hammingbox.problem import Problem
from hammingbox.threat.goal import Goal, goal_between
from hammingbox.threat.ruled_space import RuledSpace
from hammingbox.threat.space import FullSpace
from hammingbox.threat.threat_file import read_threat
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.training.config import TrainConfig
from hammingbox.training.loop import fit
from hammingbox.victims.black_box import BlackBox
from hammingbox.victims.checkpoint import Checkpoint, load_checkpoint
from hammingbox.victims.victim import Victim
from hammingbox.victims.zoo.registry import build

PRICES = Path(__file__).parents[1] / "examples/bank_fraud/threat.toml"
GOAL: Goal = goal_between(("fraud",), ("legitimate",))
FRAUD = 1
MOST_PASSES = 200_000
DEFENDED: dict[str, tuple[str, dict[str, Any], int]] = {
    "exhaustive": ("1", {}, 6),
    "padvt": ("1", {"clean_share": 0.0}, 3),
    "swap": ("30", {"clean_share": 0.0, "tries": 8}, 6),
    "trades": ("1", {}, 3),
}
"""Defences: the budget that each is trained against, its settings, and epochs."""


def trained(kind: str, splits: Splits, space: RuledSpace, seed: int, keep: Path | None) -> Victim:
    """A model of the training months: standard, or trained against the same attacker."""
    if kind != "xgboost":
        return _net(kind, splits, space, seed, keep)
    x, y = splits.train.batch(torch.arange(len(splits.train)))
    types = ["c"] * x.shape[1]  # every column is a category to the trees
    model = xgboost.XGBClassifier(
        n_estimators=100, max_depth=6, learning_rate=0.1, random_state=seed, n_jobs=1, enable_categorical=True,
        feature_types=types, tree_method="hist",
    )  # fmt: skip
    booster = model.fit(x.numpy().astype(np.float32), y.numpy()).get_booster()

    def predict_proba(rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        matrix = xgboost.DMatrix(rows.astype(np.float32), feature_types=types, enable_categorical=True, nthread=1)
        fraud = booster.predict(matrix).astype(np.float64)
        return np.stack([1 - fraud, fraud], 1)

    return BlackBox(predict_proba, name="xgboost")


def _net(kind: str, splits: Splits, space: RuledSpace, seed: int, keep: Path | None) -> Victim:
    """An MLP with entity embeddings; one that was kept is not trained again."""
    place = None if keep is None else keep / f"bank-fraud-{kind}-{seed}"
    if place is not None and place.is_dir():
        return load_checkpoint(place, schema=splits.schema).victim
    settings = {"dim": 8, "hidden": 64}
    net = build("mlp", splits.schema, seed=seed, **settings)
    defence = "Standard()"
    if kind == "mlp":
        fit(net, splits, TrainConfig(epochs=12, batch_size=256, seed=seed))
    else:
        amount, own, epochs = DEFENDED[kind]
        assert space.unit is not None
        config = TrainConfig(
            epochs=epochs, batch_size=256, learning_rate=2e-3, seed=seed, criterion="mean", robust_rows=200,
            patience=epochs,
        )  # fmt: skip
        trainer = DEFENCES[kind](**own)
        defence = f"{trainer!r} against {amount}"
        fit(net, splits, config, defence=trainer, threat=ThreatModel(space, space.unit.ticks(amount)), goal=GOAL)
    if place is not None:
        Checkpoint(net, "mlp", settings, splits.schema, {"defence": defence}).save(place)
    return net


def caught(victim: Victim, data: Dataset, rows: int) -> tuple[Tensor, Tensor]:
    """The first frauds that the model takes for frauds."""
    x, y = data.batch(torch.arange(len(data)))
    x, y = x.long()[y == FRAUD], y.long()[y == FRAUD]
    victim.eval()
    with torch.no_grad():
        right = torch.cat([victim(part).argmax(1) for part in x[: 4 * rows].split(4096)]) == FRAUD
    return x[: 4 * rows][right][:rows], y[: 4 * rows][right][:rows]


def attacked(attack: Attack, victim: Victim, x: Tensor, y: Tensor, threat: ThreatModel) -> tuple[AttackResult, float]:
    begin = time.process_time()
    result = attack(victim, x, y, threat, goal=GOAL)
    return result, time.process_time() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=("mlp", "xgboost", *DEFENDED))
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument(
        "--split", choices=("test", "validation"), default="test", help="validation: to choose settings"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the model")
    parser.add_argument("--keep", type=Path, help="folder for trained nets, which are not trained again")
    parser.add_argument("--attacks", nargs="+", default=["auto", "best_first", "pcaa"], choices=sorted(ATTACKS))
    options = parser.parse_args()
    torch.set_num_threads(1)
    splits = bank_fraud.load()
    prices = read_threat(PRICES, splits.schema, splits.train)
    space, unit = RuledSpace(FullSpace(splits.schema), prices.rules), prices.rules.unit
    assert unit is not None
    victim = trained(options.model, splits, space, options.seed, options.keep)
    x, y = caught(victim, splits.test if options.split == "test" else splits.validation, options.rows)
    most = max(prices.budgets)
    goals = GOAL.of(y, splits.schema)

    oracle = Exhaustive(verdict=True, max_passes=MOST_PASSES)
    exact, seconds = attacked(oracle, victim, x, y, ThreatModel(space, most))
    cheapest = torch.where(exact.success, exact.cost, most + 1)
    print(f"{options.model}, {len(x)} caught frauds ({options.split}), enumerated in {seconds:.0f} s")
    print(
        "| budget | attack | success | differs from enumeration | forward | backward | of all points | of oracle | s |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for budget in prices.budgets:
        threat, truth = ThreatModel(space, budget), cheapest <= budget
        problem = Problem.of(victim, space.candidates(x), goals, budget)
        points = affordable_points(problem, torch.arange(len(x))) - 1
        # A row broken within the budget is left at its cheapest evasion, whatever the budget; others are tried in full.
        stopped = torch.where(truth, exact.forward.double().minimum(points + 1), points + 1)
        share = f"{100 * truth.double().mean():.1f} %"
        print(f"| {unit.text(budget)} | enumeration | {share} | | {points.mean():.0f} | | 1 | |")
        print(f"| {unit.text(budget)} | oracle | {share} | | {stopped.mean():.0f} | | | 1 | |")
        for name in options.attacks:
            attack = ATTACKS[name]()
            if attack.needs_gradient and not victim.has_gradient:
                continue
            result, seconds = attacked(attack, victim, x, y, threat)
            passes = (result.forward + result.backward).double().mean()
            print(
                f"| {unit.text(budget)} | {name} | {100 * result.success.double().mean():.1f} % "
                f"| {int((result.success != truth).sum())} rows | {result.forward.double().mean():.0f} "
                f"| {result.backward.double().mean():.0f} | 1/{points.mean() / passes:.1f} "
                f"| 1/{stopped.mean() / passes:.1f} | {seconds:.1f} |",
                flush=True,
            )
    result, seconds = attacked(Auto(minimum=True), victim, x, y, ThreatModel(space, most))
    found = torch.where(result.success, result.cost, most + 1)
    broken = cheapest <= most
    print(
        f"cheapest evasion: exact on {int((found == cheapest)[broken].sum())} of {int(broken.sum())} breakable rows, "
        f"{result.forward.double().mean():.0f} forward and {result.backward.double().mean():.0f} backward passes "
        f"per row, {seconds:.0f} s"
    )


if __name__ == "__main__":
    main()
