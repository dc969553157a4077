"""Verdicts on faults, kept in a file so that a run that was stopped goes on where it was."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from mutation.faults import PACKAGE, Mutant
from mutation.reach import digest_of


@dataclass(frozen=True)
class Verdict:
    """What the tests said about a fault.

    Attributes:
        name: of the fault.
        number: which fault of its file.
        source: SHA-256 of the file it was put into.
        by: the test that noticed, "no end" for tests that did not end, or "" if none did.
        tests: how many were run; 0 if no test runs that line.
        seconds: of the trial.
    """

    name: str
    number: int
    source: str
    by: str
    tests: int
    seconds: float


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

    def add(self, mutant: Mutant, by: str, tests: int, seconds: float) -> None:
        """Keeps a verdict."""
        one = Verdict(mutant.name, mutant.number, digest_of(PACKAGE / mutant.file), by, tests, round(seconds, 2))
        self._known[one.source, one.number] = one
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a") as file:
            file.write(json.dumps(asdict(one)) + "\n")

    def survivors(self, mutants: Iterable[Mutant]) -> list[Mutant]:
        """The faults that no test noticed."""
        return [mutant for mutant in mutants if (found := self.get(mutant)) and not found.by]
