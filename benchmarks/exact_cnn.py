"""The certificate `exact` on the convolution net of Splice against plain enumeration: CPU time and verdicts.

    python benchmarks/exact_cnn.py [--rows 60] [--repeats 5] [--epochs 10]

The net of the zoo is trained once (seed 0). The first test rows that it gets right are decided at two changes (N may
not be written) by `Exact`, which computes pairs of changes from the positions that they touch, and by
`Exhaustive(verdict=True)`, the oracle, which passes every pair through the net. Both run in turn; printed are the
median CPU times per row, their ratio, and the number of rows on which the two disagree.
"""

import argparse
from collections.abc import Callable
from statistics import median
from time import process_time

import torch

from hammingbox import MaskedSpace, ThreatModel, TrainConfig, build, fit
from hammingbox.attacks.exhaustive import Exhaustive
from hammingbox.certificates import Exact
from hammingbox.data import splice
from hammingbox.types import RowMask


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=60)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=10)
    options = parser.parse_args()
    torch.set_num_threads(1)
    splits = splice.load()
    victim = build("cnn", splits.schema, seed=0)
    fit(victim, splits, TrainConfig(epochs=options.epochs))
    victim.eval()
    threat = ThreatModel(MaskedSpace(splits.schema, forbidden={"*": ["N"]}), 2)
    x, y = splits.test.batch(slice(None))
    with torch.no_grad():
        right = (victim(x).argmax(1) == y).nonzero()[: options.rows, 0]
    x, y = x[right], y[right]
    methods: dict[str, Callable[[], RowMask]] = {
        "exact": lambda: Exact()(victim, x, y, threat).broken,
        "oracle": lambda: Exhaustive(verdict=True)(victim, x, y, threat).success,
    }
    seconds: dict[str, list[float]] = {name: [] for name in methods}
    broken: dict[str, RowMask] = {}
    for _ in range(options.repeats):
        for name, run in methods.items():
            begin = process_time()
            broken[name] = run()
            seconds[name].append(process_time() - begin)
    for name, times in seconds.items():
        print(
            f"{name:6} {1000 * median(times) / len(x):.1f} ms per row "
            f"(median of {len(times)}; {', '.join(f'{1000 * t / len(x):.1f}' for t in times)})"
        )
    ratios = [exact / oracle for exact, oracle in zip(seconds["exact"], seconds["oracle"], strict=True)]
    print(
        f"{len(x)} rows, {int(broken['exact'].sum())} broken, "
        f"{int((broken['exact'] != broken['oracle']).sum())} verdicts differ; "
        f"ratio {median(ratios):.3f} (from {min(ratios):.3f} to {max(ratios):.3f})"
    )


if __name__ == "__main__":
    main()
