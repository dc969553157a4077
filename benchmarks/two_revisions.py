"""Time per pass of two revisions of the package, in one process and in turns, so that other work hits both alike.

Splice, the shipped standard LSTM, the first test rows, budget 2. Seconds are of CPU. The records must be the same.

    git worktree add --detach ../base 2c8dfb0
    python benchmarks/two_revisions.py ../base/src src --attacks swap gga pcaa --times 7
"""

import argparse
import hashlib
import importlib
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import torch


def _taken_out() -> dict[str, ModuleType]:
    """The modules of the package, which Python then forgets."""
    names = [name for name in sys.modules if name.partition(".")[0] == "hammingbox"]
    return {name: sys.modules.pop(name) for name in names}


@dataclass
class Revision:
    """A revision with its victim, rows, threat and attacks."""

    modules: dict[str, ModuleType]
    package: Any
    victim: Any
    rows: Any
    threat: Any
    attacks: dict[str, Any]

    @staticmethod
    def of(source: Path, names: list[str], rows: int) -> "Revision":
        """Imports the package from a folder."""
        _taken_out()
        sys.path.insert(0, str(source.resolve()))
        package: Any = importlib.import_module("hammingbox")
        assert Path(package.__file__).is_relative_to(source.resolve()), package.__file__
        splits, victim = package.DATASETS["splice"].load(), package.load_victim("splice/standard")
        threat = package.ThreatModel(package.MaskedSpace(splits.schema, forbidden={"*": ["N"]}), 2)
        attacks = {name: package.ATTACKS[name]() for name in names}
        for attack in attacks.values():  # what is imported late
            package.evaluate(victim, splits.test.take(slice(0, 2)), threat, attack)
        sys.path.pop(0)
        return Revision(_taken_out(), package, victim, splits.test.take(slice(0, rows)), threat, attacks)

    def microseconds_per_pass(self, name: str) -> tuple[float, str]:
        """One run: microseconds of CPU per pass, and a digest of its records."""
        _taken_out()
        sys.modules.update(self.modules)
        begin = time.process_time()
        rows = self.package.evaluate(self.victim, self.rows, self.threat, self.attacks[name]).rows
        spent = time.process_time() - begin
        self.modules |= _taken_out()
        parts = (rows.adversarial, rows.forward, rows.backward)
        digest = hashlib.sha256(b"".join(part.numpy().tobytes() for part in parts)).hexdigest()
        return 1e6 * spent / int((rows.forward + rows.backward).sum()), digest


def main() -> None:
    """Prints one line per attack."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path, help="src of the earlier revision")
    parser.add_argument("after", type=Path, help="src of the later revision")
    parser.add_argument("--attacks", nargs="+", default=["swap", "gga", "pcaa"])
    parser.add_argument("--rows", type=int, default=64)
    parser.add_argument("--times", type=int, default=7)
    options = parser.parse_args()
    torch.set_num_threads(1)
    both = [Revision.of(source, options.attacks, options.rows) for source in (options.before, options.after)]
    for name in options.attacks:
        found: tuple[list[float], list[float]] = ([], [])
        digests: set[str] = set()
        for turn in range(options.times):
            for side in (0, 1) if turn % 2 == 0 else (1, 0):
                spent, digest = both[side].microseconds_per_pass(name)
                found[side].append(spent)
                digests.add(digest)
        before, after = (statistics.median(times) for times in found)
        ratios = [b / a for a, b in zip(*found, strict=True)]
        print(
            f"{name}: {before:.1f} -> {after:.1f} us per pass (medians), ratio {after / before:.3f}; of minima "
            f"{min(found[1]) / min(found[0]):.3f}; median of ratios {statistics.median(ratios):.3f}; "
            f"{'the same records' if len(digests) == 1 else 'OTHER RECORDS'}",
            flush=True,
        )


if __name__ == "__main__":
    main()
