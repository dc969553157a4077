"""Defences on bank fraud under the published prices: clean and exact robust accuracy on the test months.

Legitimate rows are not attacked. Every row that an attacker can afford with 30 EUR is tried, by an enumeration of its
own that shares nothing with the attacks, so robust accuracies are exact. The published frontier (Kireev et al. 2023,
their released nets measured the same way; budgets 0.2, 1, 3, 10, 30): clean .709, robust .704/.704/.703/.505/.403; and
clean .672, robust .665/.665/.664/.664/.655. The best epoch and the settings were chosen on validation rows of the
training months. The trees need no validation rows: for the test they are trained on all rows of these months. Needs
bank_fraud (HAMMINGBOX_DATA).

    python benchmarks/bank_fraud_defence.py --seeds 0,1,2
    python benchmarks/bank_fraud_defence.py --seeds 0,1,2 --lines "trees/1 EUR,trees/30 EUR"
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from hammingbox.data import bank_fraud
from hammingbox.data.dataset import Dataset, Splits
from hammingbox.defences import DEFENCES
from hammingbox.threat.goal import goal_between
from hammingbox.threat.ruled_space import RuledSpace
from hammingbox.threat.rules.rules import Rules
from hammingbox.threat.space import FullSpace
from hammingbox.threat.threat_file import read_threat
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.training.config import TrainConfig
from hammingbox.training.loop import fit
from hammingbox.training.unanimous_trees import fit_unanimous_trees
from hammingbox.victims.trees.tree_victim import TreeVictim
from hammingbox.victims.unanimous import Unanimous
from hammingbox.victims.victim import Victim
from hammingbox.victims.zoo.registry import build

PRICES = Path(__file__).parents[1] / "examples/bank_fraud/threat.toml"
GOAL = goal_between(("fraud",), ("legitimate",))
FRAUD = 1
LINES = {
    "standard": ("standard", "0", {}, 12, 3e-3),
    "exhaustive, 1 EUR": ("exhaustive", "1", {}, 12, 2e-3),
    "swap, 1 EUR": ("swap", "1", {"clean_share": 0.0, "tries": 8}, 12, 2e-3),
    "padvt, 1 EUR": ("padvt", "1", {"clean_share": 0.0}, 12, 2e-3),
    "trades, 1 EUR": ("trades", "1", {}, 12, 2e-3),
    "swap, 30 EUR": ("swap", "30", {"clean_share": 0.0, "tries": 8}, 10, 3e-3),
}
"""Defence, budget, settings, epochs and learning rate."""
TREES = {
    "trees, 1 EUR": ("1",),
    "trees, 30 EUR": ("30",),
    "unanimous, 1 EUR": ("1", "0"),
    "unanimous, 30 EUR": ("30", "0"),
}
"""Monotone trees against these budgets; of several models each can refuse a row."""
ORDERED = ("income", "name_email_similarity", "zip_count_4w", "customer_age", "device_distinct_emails_8w")
FALSE_ALARMS = 0.003


def trained(line: str, splits: Splits, rules: Rules, seed: int) -> Victim:
    """A model of the training months."""
    if line in TREES:
        assert rules.unit is not None
        space, budgets = RuledSpace(FullSpace(splits.schema), rules), [rules.unit.ticks(text) for text in TREES[line]]
        return fit_unanimous_trees(
            splits.train, space, GOAL, budgets, ordered=ORDERED, false_alarms=FALSE_ALARMS, seed=seed
        )
    name, amount, settings, epochs, rate = LINES[line]
    net = build("mlp", splits.schema, seed=seed, dim=8, hidden=64)
    if name == "standard":
        fit(net, splits, TrainConfig(epochs=epochs, batch_size=256, learning_rate=rate, seed=seed))
        return net
    assert rules.unit is not None
    threat = ThreatModel(RuledSpace(FullSpace(splits.schema), rules), rules.unit.ticks(amount))
    config = TrainConfig(
        epochs=epochs, batch_size=256, learning_rate=rate, seed=seed, criterion="mean", robust_rows=400, patience=epochs
    )
    fit(net, splits, config, defence=DEFENCES[name](**settings), threat=threat, goal=GOAL)
    return net


def cheapest(net: Victim, data: Dataset, rules: Rules, most: int) -> tuple[float, Tensor]:
    """Clean accuracy, and the cost of the cheapest evasion of each fraud that is caught (above `most`: none)."""
    x, y = (part.long() for part in data.batch(torch.arange(len(data))))
    with torch.no_grad():
        right = torch.cat([net(part).argmax(1) for part in x.split(4096)]) == y
    caught = x[right & (y == FRAUD)]
    sizes = data.schema.cardinalities
    prices = [_price_table(rules, x[:1], column, size) for column, size in enumerate(sizes)]
    free = [column for column, table in enumerate(prices) if bool((table > 0).any())]
    members = _members(net, free)
    if members:  # a change to a column that no member asks about costs and does nothing
        free = [column for column in free if any(column in asked for _, asked in members)]
    grid = _grid(free, sizes)
    views = [_View(member, asked, free, sizes, grid) for member, asked in members if len(asked) < len(free)]
    costs = torch.full((len(caught),), most + 1)
    for number, row in enumerate(caught):
        passed = [view.passed(row) for view in views]
        if not all(bool(each.any()) for each in passed):
            continue  # a member refuses the row whatever is written
        cost = torch.zeros(len(grid), dtype=torch.int64)
        for place, column in enumerate(free):
            price = prices[column][row[column]]
            cost += torch.where(price < 0, most + 1, price)[grid[:, place]]
        able = cost <= most
        for view, each in zip(views, passed, strict=True):
            able &= each[view.place]
        points = able.nonzero()[:, 0]
        points = points[cost[points].argsort(stable=True)]
        for part in points.tensor_split([16, 256, 4096, 20480, 65536]):  # the first one that evades is a cheapest one
            written = row.repeat(len(part), 1)
            written[:, free] = grid[part]
            with torch.no_grad():
                evades = net(written).argmax(1) != FRAUD
            if bool(evades.any()):
                costs[number] = cost[part][evades].min()
                break
    return right.double().mean().item(), costs


def _grid(columns: Sequence[int], sizes: Sequence[int]) -> Tensor:
    return torch.tensor(list(product(*(range(sizes[column]) for column in columns))), dtype=torch.int64)


def _members(net: Victim, free: Sequence[int]) -> list[tuple[Unanimous, list[int]]]:
    """The models of which each can refuse a row, alone, with the columns among `free` that they ask about."""
    if not isinstance(net, Unanimous):
        return []
    found = []
    for number, member in enumerate(net.members):
        assert isinstance(member, TreeVictim)
        trees = member.ensemble
        asked = set(trees.feature[trees.left != np.arange(len(trees.left))].tolist())
        alone = Unanimous([member], FRAUD, [float(net.needed[number])])
        found.append((alone, [column for column in free if column in asked]))
    return found


class _View:
    """What a member that asks about few columns passes, and where each point of the whole grid lies in its own."""

    def __init__(
        self, member: Unanimous, asked: list[int], free: list[int], sizes: Sequence[int], grid: Tensor
    ) -> None:
        self._member, self._asked, self._grid = member, asked, _grid(asked, sizes)
        self.place = torch.zeros(len(grid), dtype=torch.int64)
        for column in asked:
            self.place = self.place * sizes[column] + grid[:, free.index(column)]

    def passed(self, row: Tensor) -> Tensor:
        """Which points of its own grid the member passes."""
        written = row.repeat(len(self._grid), 1)
        written[:, self._asked] = self._grid
        return self._member(written).argmax(1) != FRAUD


def _price_table(rules: Rules, row: Tensor, column: int, size: int) -> Tensor:
    """What it costs to replace each value of a column by each other; -1 where it is not allowed."""
    before = row.repeat(size * size, 1)
    after = before.clone()
    before[:, column] = torch.arange(size).repeat_interleave(size)
    after[:, column] = torch.arange(size).repeat(size)
    return rules.bill(before, after)[:, column].view(size, size)


def joined(first: Dataset, second: Dataset) -> Dataset:
    """The rows of both."""
    return Dataset(
        first.schema, torch.cat([first.ids, second.ids]), torch.cat([first.labels, second.labels]), first.name
    )


def main() -> None:
    """Prints one line per defence and seed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--lines", default=",".join([*LINES, *TREES]).replace(", ", "/"), help="which lines, with / for the comma"
    )
    parser.add_argument("--seeds", default="0", help="of the trainings")
    parser.add_argument("--part", default="test", choices=("validation", "test"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    splits = bank_fraud.load()
    whole = replace(splits, train=joined(splits.train, splits.validation)) if options.part == "test" else splits
    threat = read_threat(PRICES, splits.schema, splits.train)
    unit, data = threat.rules.unit, getattr(splits, options.part)
    assert unit is not None
    print(f"{len(data)} rows of {options.part}; budgets {', '.join(unit.text(b) for b in threat.budgets)}")
    for line in options.lines.split(","):
        for seed in map(int, options.seeds.split(",")):
            begin = time.perf_counter()
            name = line.replace("/", ", ")
            net = trained(name, whole if name in TREES else splits, threat.rules, seed)
            middle = time.perf_counter()
            clean, costs = cheapest(net, data, threat.rules, max(threat.budgets))
            robust = [clean - int((costs <= budget).sum()) / len(data) for budget in threat.budgets]
            print(
                f"{name:20} seed {seed}: clean {clean:.4f}, robust "
                f"{' '.join(f'{r:.4f}' for r in robust)} (training {middle - begin:.0f} s, enumeration "
                f"{time.perf_counter() - middle:.0f} s)",
                flush=True,
            )


if __name__ == "__main__":
    main()
