"""Verdicts on faults, kept in a file so that a run that was stopped goes on where it was."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from mutation.faults import PACKAGE, ROOT, Mutant
from mutation.reach import digest_of


@dataclass(frozen=True)
class Verdict:
    """What the tests said about a fault.

    Attributes:
        name: of the fault.
        number: which fault of its file.
        source: SHA-256 of the file it was put into.
        by: the test that noticed, "no end" for tests that did not end, or "" if none did.
        tests: how many were chosen; 0 if no test runs that line.
        version: of the tests that were chosen and of their files.
        seconds: of the trial.
    """

    name: str
    number: int
    source: str
    by: str
    tests: int
    seconds: float
    version: str = ""


class Verdicts:
    """A file with one verdict per line; the last one on a fault counts."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[tuple[str, int], Verdict] = {}
        if path.exists():
            for line in path.read_text().splitlines():
                one = Verdict(**json.loads(line))
                self._known[one.source, one.number] = one

    def get(self, mutant: Mutant) -> Verdict | None:
        """The verdict on a fault in the file as it is now, if there is one."""
        return self._known.get((digest_of(PACKAGE / mutant.file), mutant.number))

    def holds(self, mutant: Mutant, tests: Sequence[str]) -> bool:
        """Whether there is a verdict that these tests would not change: the fault was noticed, or by none of them."""
        known = self.get(mutant)
        return known is not None and (bool(known.by) or known.version == _version(tests))

    def add(self, mutant: Mutant, by: str, tests: Sequence[str], seconds: float) -> None:
        """Keeps a verdict."""
        source, seconds = digest_of(PACKAGE / mutant.file), round(seconds, 2)
        one = Verdict(mutant.name, mutant.number, source, by, len(tests), seconds, _version(tests))
        self._known[one.source, one.number] = one
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a") as file:
            file.write(json.dumps(asdict(one)) + "\n")

    def survivors(self, mutants: Iterable[Mutant]) -> list[Mutant]:
        """The faults that no test noticed."""
        return [mutant for mutant in mutants if (found := self.get(mutant)) and not found.by]


def _version(tests: Sequence[str]) -> str:
    """Changes with the tests that were chosen and with the files they are in."""
    files = sorted({name.partition("::")[0] for name in tests})
    return hashlib.sha256("\n".join([*tests, *(digest_of(ROOT / file) for file in files)]).encode()).hexdigest()[:16]
