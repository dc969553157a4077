"""Mutation testing of the files that judge: small faults are put into them, one at a time, and the tests must notice.

    python tools/mutants.py [--sample 60] [--seed 0] [--fresh] [--only problem] [--minutes 60] [--part 1/2]

First it records, once per test file, which tests run which lines (`tools/mutation/reach.py`). A fault is then tried
with the tests that run its line and with no others, up to the first that fails; that test must pass without the fault.
Tests that take several times their recorded time count as noticed, if they end without the fault: a fault that never
ends is one. A line that no test runs is a survivor at once.

Records and verdicts are kept in the folder of `--records`, so a run that was stopped goes on, and all 3,500 faults can
be tried in parts: a fault that was noticed is not tried again as long as its file stays the same, a survivor is tried
again when a test file changed. `--sample` draws at random, the same share of every file; `--fresh` draws from faults
without a verdict, and keeps the draw; `--minutes` stops early, and the score is then over those that were tried.
`--part 1/2` and `--part 2/2` in two processes share the work of one sample; afterwards the same command without it, or
with `--minutes 0`, adds them up.

Survivors that were looked at are listed in `tools/mutants_survivors.md` with the reason why no test notices them. Its
first table has those that change nothing anybody can see. The score is said twice: over all faults that were tried, and
without those of that table.
"""

import argparse
import importlib
import json
import os
import re
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from mutation.faults import PACKAGE, ROOT, Mutant, mutants_of, spread_sample
from mutation.reach import ReachRecords
from mutation.trial import Trials, session_options
from mutation.verdicts import Verdicts

JUDGES = (
    "problem.py", "attacks/base.py", "attacks/judge.py", "attacks/result.py", "attacks/cost.py", "victims/metered.py",
    "victims/frozen.py", "evaluation/*.py", "running/evaluate.py", "running/record.py", "running/recorder.py",
    "running/resume_checks.py", "running/certify.py", "running/verify_store.py", "running/data_reference.py",
    "running/store/*.py", "threat/amount.py", "threat/candidates.py", "threat/goal.py", "threat/layout.py",
    "threat/*_space.py", "threat/space*.py", "threat/ruled_candidates.py", "threat/threat_model.py",
    "threat/rules/*.py",
)  # fmt: skip
"""The files that judge."""
SHOWS = ("evaluation/shown.py",)
"""Files among them that only draw and format what was judged."""
TESTS = (
    "test_problem.py", "evaluation/test_*.py", "running/test_*.py", "threat/test_*.py", "threat/rules/test_*.py",
    "attacks/test_judge.py", "attacks/test_extension.py", "attacks/test_query_limit.py", "attacks/test_attack_input.py",
    "attacks/test_exhaustive.py", "attacks/test_two_stage.py", "attacks/test_passes.py", "victims/test_victim.py",
    "victims/test_frozen.py", "victims/test_black_box.py", "certificates/test_certify.py", "text/test_substitution.py",
    "cli/test_results_cli.py", "cli/test_cli_certify.py", "report/test_measured_what_if.py",
)  # fmt: skip
"""Tests that may notice. The others are about other files, and slow."""
BLIND = ("running/test_processes.py", "running/test_ray.py", "running/test_store_kill.py")
"""Tests that watch other processes, in which an exchanged function is not seen."""
SURVIVORS = Path(__file__).parent / "mutants_survivors.md"


def judging_files(only: str = "") -> list[str]:
    """The files that judge, relative to the package, whose path contains a text."""
    found = [str(path.relative_to(PACKAGE)) for pattern in JUDGES for path in sorted(PACKAGE.glob(pattern))]
    return [file for file in found if not file.endswith("__init__.py") and file not in SHOWS and only in file]


def test_files() -> list[str]:
    """The test files that may notice, relative to the project."""
    found = [path for pattern in TESTS for path in sorted((ROOT / "tests").glob(pattern))]
    return [str(path.relative_to(ROOT)) for path in found if str(path.relative_to(ROOT / "tests")) not in BLIND]


class _Mutation:
    """A pytest plugin: once the tests are collected, trials take the place of running them."""

    def __init__(self, options: argparse.Namespace, chosen: Sequence[Mutant], verdicts: Verdicts, place: Path) -> None:
        self._options, self._chosen, self._verdicts, self._place = options, chosen, verdicts, place
        self._files = test_files()
        self._reach = ReachRecords(options.records / "reach")
        self._end = time.monotonic() + 60 * options.minutes
        self._part, self._parts = options.part

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        trials = Trials(session, self._place)
        self._record(trials)
        for number, mutant in list(enumerate(self._chosen, 1))[self._part - 1 :: self._parts]:
            if time.monotonic() > self._end:
                break
            tests = self._reach.tests_for(mutant, self._files)
            if self._verdicts.holds(mutant, tests) and not self._options.again:
                continue
            begin = time.monotonic()
            by = trials.test(mutant, tests, self._reach.seconds_of(tests)) if tests else ""
            self._verdicts.add(mutant, by, tests, time.monotonic() - begin)
            if not by:
                print(f"{number}: survived {len(tests)} tests: {mutant}", flush=True)
        return True

    def _record(self, trials: Trials) -> None:
        missing = [file for file in self._files if self._reach.get(file) is None]
        first = len(missing) * (self._part - 1) // self._parts  # every part begins elsewhere
        for file in missing[first:] + missing[:first]:
            if self._reach.get(file) is not None:  # another part has done it
                continue
            begin = time.monotonic()
            trials.record(file, self._reach, judging_files(), 1800)
            print(f"recorded {file}, {time.monotonic() - begin:.0f} s", flush=True)


def _import_everything() -> None:
    """Imports what tests need, with the checks of shapes that `tests/conftest.py` installs, before any fork."""
    os.chdir(ROOT)
    sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]
    for name in ("hypothesis", "jaxtyping", "beartype", "numpy", "rich.console", "typer.testing", "torch"):
        importlib.import_module(name)
    from jaxtyping import install_import_hook

    install_import_hook("hammingbox", "beartype.beartype")
    for name in ("hammingbox", "hammingbox.cli.app", "hammingbox.running.verify_store", "toys"):
        importlib.import_module(name)
    for file in judging_files():
        importlib.import_module(f"hammingbox.{file.removesuffix('.py').replace('/', '.')}")
    import torch

    torch.set_num_threads(1)


def _report(chosen: Sequence[Mutant], verdicts: Verdicts, total: int, seed: int) -> float:
    """Prints the score of every file, the survivors and the score; gives back the score."""
    tried = [mutant for mutant in chosen if verdicts.get(mutant)]
    survived = verdicts.survivors(tried)
    counts, lost = Counter(mutant.file for mutant in tried), Counter(mutant.file for mutant in survived)
    for file in sorted(counts):
        print(f"{file}: {counts[file] - lost[file]} of {counts[file]} noticed")
    equivalent, other = listed_survivors(SURVIVORS.read_text())
    for mutant in survived:
        kind = "equivalent" if mutant.name in equivalent else "listed" if mutant.name in other else "NOT LISTED"
        print(f"survived, {kind}: {mutant}")
    noticed, same = len(tried) - len(survived), sum(mutant.name in equivalent for mutant in survived)
    unlisted = sum(mutant.name not in equivalent | other for mutant in survived)
    score, of_all = noticed / max(1, len(tried) - same), noticed / max(1, len(tried))
    print(f"{len(chosen)} drawn with seed {seed} from {total}, {len(tried)} tried, {unlisted} survivors not listed")
    print(f"noticed of all: {100 * of_all:.1f} % ({noticed} of {len(tried)})")
    print(f"score, without {same} equivalent: {100 * score:.1f} % ({noticed} of {len(tried) - same})")
    return score


def listed_survivors(text: str) -> tuple[set[str], set[str]]:
    """The names in the first table of the list, of faults that change nothing, and in what follows it."""
    first, _, rest = text.partition("\n## Others\n")
    equivalent, other = (set(re.findall(r"^\| `(.+?)` \|", part, re.MULTILINE)) for part in (first, rest))
    return equivalent, other


def _drawn(every: Sequence[Mutant], verdicts: Verdicts, options: argparse.Namespace) -> list[Mutant]:
    """The mutants to try. A fresh draw is kept, so that it stays the same when its mutants have verdicts."""
    size = len(every) if options.sample is None else options.sample
    kept = options.records / f"fresh-{options.only.replace('/', '-')}-{size}-{options.seed}.json"
    if options.fresh and kept.exists():
        names = [tuple(name) for name in json.loads(kept.read_bytes())]
        by_name = {(mutant.name, mutant.number): mutant for mutant in every}
        return [by_name[name] for name in names if name in by_name]
    pool = [mutant for mutant in every if not options.fresh or verdicts.get(mutant) is None]
    chosen = spread_sample(pool, size, options.seed) if size < len(pool) else pool
    if options.fresh and not options.list:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps([(mutant.name, mutant.number) for mutant in chosen]))
    return chosen


def _part(text: str) -> tuple[int, int]:
    """Reads `1/2`: the first of two parts."""
    part, _, parts = text.partition("/")
    if not 1 <= int(part) <= int(parts):
        raise ValueError(text)
    return int(part), int(parts)


def main() -> None:
    """Prints survivors as they are found, then the score of every file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, help="how many mutants, drawn at random; all without it")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--fresh", action="store_true", help="draw from mutants without a verdict")
    parser.add_argument("--only", default="", help="files whose path contains this")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="start no mutant after this time")
    parser.add_argument("--part", type=_part, default=(1, 1), help="of several processes, such as 1/2")
    parser.add_argument("--least", type=float, default=0.0, help="exit with 1 below this score")
    parser.add_argument("--again", action="store_true", help="try mutants again that have a verdict")
    parser.add_argument("--list", action="store_true", help="only list the mutants")
    parser.add_argument("--records", type=Path, default=ROOT / "runs" / "mutants", help="folder of what is kept")
    options = parser.parse_args()
    options.records = options.records.absolute()
    verdicts = Verdicts(options.records / "verdicts.jsonl")
    every = [mutant for file in judging_files(options.only) for mutant in mutants_of(file)]
    chosen, total = _drawn(every, verdicts, options), len(every)
    if options.list:
        print("\n".join(map(str, chosen)))
        return
    print(f"{len(chosen)} of {total} mutants", flush=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped; the same command goes on"))  # and ends its trial
    _import_everything()
    with tempfile.TemporaryDirectory() as folder:
        plugin = _Mutation(options, chosen, verdicts, Path(folder))
        if pytest.main([*session_options(), *test_files()], plugins=[plugin]) not in (0, 5):
            sys.exit("the tests could not be collected")
    if _report(chosen, verdicts, total, options.seed) < options.least:
        sys.exit(1)


if __name__ == "__main__":
    main()
