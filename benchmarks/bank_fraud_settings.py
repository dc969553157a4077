"""Settings of monotone trees on bank fraud, compared by cross-validation within the training months.

Within its budget a monotone model cannot be turned: clean and robust accuracy are one, and no attack is needed to
compare settings. The share of false alarms of the model beside it trades clean accuracy for what is left at the first
budget, whatever an attacker does to the second model: a fraud counts as caught only if the first model catches it. That
is a bound which needs no enumeration. No test row is read. Needs bank_fraud (HAMMINGBOX_DATA).

    python benchmarks/bank_fraud_settings.py --folds 4
"""

import argparse
import time
from itertools import product
from pathlib import Path

import torch
from bank_fraud_defence import FRAUD, GOAL, ORDERED, PRICES, joined

from hammingbox.data import bank_fraud
from hammingbox.data.dataset import Dataset
from hammingbox.threat.ruled_space import RuledSpace
from hammingbox.threat.space import FullSpace
from hammingbox.threat.threat_file import read_threat
from hammingbox.training.unanimous_trees import fit_unanimous_trees
from hammingbox.victims.trees.tree_victim import TreeVictim
from hammingbox.victims.unanimous import Unanimous

DEPTHS, ROUNDS, RATES = (1, 2, 3), (75, 150, 300), (0.03, 0.06)
SHARES = (0.001, 0.003, 0.005, 0.01, 0.02)
AMOUNTS = ("1", "30")


def accuracies(model: Unanimous, data: Dataset) -> tuple[float, float]:
    """Clean accuracy, and what is left if an attacker turns every model but the first."""
    x, y = (part.long() for part in data.batch(torch.arange(len(data))))
    member = model.members[0]
    assert isinstance(member, TreeVictim)
    first = Unanimous([member], FRAUD, [float(model.needed[0])])
    with torch.no_grad():
        clean, alone = (part(x).argmax(1) for part in (model, first))
    left = torch.where(y == FRAUD, alone, clean)
    return (clean == y).double().mean().item(), (left == y).double().mean().item()


def main() -> None:
    """Prints one line per setting."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folds", type=int, default=4)
    options = parser.parse_args()
    torch.set_num_threads(1)
    splits = bank_fraud.load()
    known = joined(splits.train, splits.validation)
    rules = read_threat(Path(PRICES), splits.schema, splits.train).rules
    assert rules.unit is not None
    space = RuledSpace(FullSpace(splits.schema), rules)
    fold = torch.randperm(len(known), generator=torch.Generator().manual_seed(0)) % options.folds
    print(f"{len(known)} rows of the training months, {options.folds} folds, seed 0")

    def measured(amounts: tuple[str, ...], **settings: float) -> str:
        begin, found = time.process_time(), []
        budgets = [rules.unit.ticks(amount) for amount in amounts] if rules.unit else []
        for number in range(options.folds):
            train, held = (known.take(mask.nonzero()[:, 0]) for mask in (fold != number, fold == number))
            model = fit_unanimous_trees(train, space, GOAL, budgets, ordered=ORDERED, **settings)  # type: ignore[arg-type]
            found.append(accuracies(model, held))
        clean, left = torch.tensor(found, dtype=torch.float64).mean(0).tolist()
        return f"clean {clean:.4f}, left {left:.4f} ({time.process_time() - begin:.0f} s)"

    for amount in AMOUNTS:
        for depth, rounds, rate in product(DEPTHS, ROUNDS, RATES):
            line = measured((amount,), depth=depth, rounds=rounds, learning_rate=rate)
            print(f"against {amount:2} EUR, depth {depth}, {rounds:3} rounds, rate {rate}: {line}", flush=True)
    for amount, share in product(AMOUNTS, SHARES):
        line = measured((amount, "0"), false_alarms=share)
        print(f"unanimous, {amount:2} and 0 EUR, false alarms {share:.1%}: {line}", flush=True)


if __name__ == "__main__":
    main()
