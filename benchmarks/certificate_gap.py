"""Do exact methods leave a gap between certified and attacked accuracy? Budgets 1 to 3, every exact method.

    python benchmarks/certificate_gap.py [--only linear,trees]

Attacked accuracy counts rows that are right and that no witness breaks; every witness is put to the model itself.
Splice (N may not be written): all 633 test rows for models that add up scores, one hidden layer and XGBoost (90 trees
of depth 3: 30 rounds of 3 classes). Enumeration asks about every point, 3 changes of 60 letters are too many of them:
it runs on the first 100 test rows of car (6 columns, all of which may be written), with a net of two hidden layers.
"""

import argparse
from collections.abc import Callable
from time import process_time

import torch
import xgboost
from soundness import DATA, trained

from hammingbox import Splits, ThreatModel, Victim, tree_victim
from hammingbox.running.certify import certify


def _trees(splits: Splits) -> Victim:
    ids, labels = splits.train.batch(slice(None))
    kinds = ["c"] * ids.shape[1]
    model = xgboost.XGBClassifier(n_estimators=30, max_depth=3, n_jobs=1, enable_categorical=True, feature_types=kinds)
    return tree_victim(model.fit(ids.numpy(), labels.numpy()), splits.schema)


LINES: dict[str, tuple[str, str, int, Callable[..., Victim]]] = {
    "linear": ("splice", "additive", 633, lambda splits, space: trained(splits, space, "linear", epochs=4)),
    "windows of 2": ("splice", "additive", 633, lambda data, space: trained(data, space, "windows", epochs=4, width=2)),
    "windows of 3": ("splice", "additive", 633, lambda data, space: trained(data, space, "windows", epochs=4, width=3)),
    "one hidden layer (16)": (
        "splice", "relaxation", 633,
        lambda data, space: trained(data, space, "shallow", "certified", epochs=4, hidden=16),
    ),
    "trees": ("splice", "trees", 633, lambda splits, _space: _trees(splits)),
    "two hidden layers": (
        "car", "exact", 100, lambda data, space: trained(data, space, "mlp", epochs=20, dim=4, hidden=16)
    ),
}  # fmt: skip


def main() -> None:
    """Prints one line per model: certified and attacked accuracy, the gap, and rows left unknown."""
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(LINES))
    for name in parser.parse_args().only.split(","):
        data, method, count, made = LINES[name]
        splits, space = DATA[data]()
        victim, rows = made(splits, space).eval(), splits.test.take(slice(count))
        begin = process_time()
        found = certify(victim, rows, ThreatModel(space, 3), method)
        spent = 1000 * (process_time() - begin) / len(rows)
        shown = [f"{100 * found.certified(r).value:.1f} / {100 * found.attacked(r).value:.1f}" for r in (1, 2, 3)]
        gaps = [found.attacked(r).hits - found.certified(r).hits for r in (1, 2, 3)]
        print(
            f"{data}, {name}, {method}, {len(rows)} rows: certified / attacked % at 1, 2, 3: {', '.join(shown)}; "
            f"rows between the two: {', '.join(map(str, gaps))}; {spent:.2f} ms of CPU per row",
            flush=True,
        )


if __name__ == "__main__":
    main()
