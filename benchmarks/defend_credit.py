"""Does `defend` with its defaults help on German credit? New random splits, new seeds, and the command's own verdict.

    python benchmarks/defend_credit.py                   # splits and seeds 101 to 105
    python benchmarks/defend_credit.py --seeds 1,2,3

Each seed splits the 1,000 rows 70:10:20 at random into three files, and seeds the training. Nothing is chosen by
looking at the test rows: `hammingbox defend TRAIN --validation FILE --test FILE --label risk --budget 2 --seed S`.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
from audit import german


def defended(folder: Path, seed: int) -> dict[str, object]:
    """The verdict of one command on a split of its own."""
    frame, label, _ = german()
    order = np.random.default_rng(seed).permutation(len(frame))
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in zip(("train", "validation", "test"), np.split(order, [700, 800]), strict=True):
        frame.iloc[rows].to_csv(folder / f"{name}.csv", index=False)
    command = [
        sys.executable, "-m", "hammingbox", "--threads", "1", "defend", "train.csv", "--validation", "validation.csv",
        "--test", "test.csv", "--label", label, "--budget", "2", "--seed", str(seed), "--out", "defended", "--json",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    if done.returncode:
        return {"error": done.stderr.strip()[-300:]}
    verdict: dict[str, object] = json.loads(done.stdout)["verdict"]
    return verdict


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="101,102,103,104,105")
    parser.add_argument("--out", type=Path, default=Path("runs/defend_credit"))
    chosen = parser.parse_args()
    for seed in map(int, chosen.seeds.split(",")):
        print(json.dumps({"seed": seed} | defended(chosen.out / str(seed), seed)), flush=True)


if __name__ == "__main__":
    main()
