"""How long `import hammingbox` takes beside `import torch` alone: prints the ratio.

Each import runs in a new process, the two in turn, so that both meet the same load on the machine. The ratio of the
medians is printed for elapsed time and for processor time; the second is the steadier on a busy machine.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time

MODULES = ("torch", "hammingbox")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7, help="processes per module, after one that warms up")
    runs = parser.parse_args().runs
    for module in MODULES:
        import_once(module)  # compiles the modules and fills the disk's cache
    measured: dict[str, list[tuple[float, float]]] = {module: [] for module in MODULES}
    for _ in range(runs):
        for module in MODULES:
            measured[module].append(import_once(module))
    for place, kind in enumerate(("elapsed", "processor")):
        alone, ours = (statistics.median(times[place] for times in measured[module]) for module in MODULES)
        print(f"{kind:>9} time: torch {alone:.2f} s, hammingbox {ours:.2f} s, ratio {ours / alone:.2f}")


def import_once(module: str) -> tuple[float, float]:
    """Elapsed and processor seconds of a new process that imports the module."""
    before, start = os.times(), time.perf_counter()
    subprocess.run([sys.executable, "-c", f"import {module}"], check=True)
    elapsed, after = time.perf_counter() - start, os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return elapsed, used


if __name__ == "__main__":
    main()
