"""Which tests run which lines of the files that judge, recorded once per test file.

A place is a function and the offset of a line in it, so that records stay right when functions move in their file. A
test file whose content changed is recorded again. Of a function that changed since, every test counts that ran any line
of it, and of a function that is new, every test that ran any of its file.
"""

import ast
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from mutation.faults import PACKAGE, ROOT, Mutant

SLOWEST_TEST = 3.0
"""Seconds: a test that takes longer is never chosen."""
FIRST_SECONDS, MOST_SECONDS = 6.0, 10.0
"""Processor time of the tests for one fault, as recorded: until further cases get their turn, and in all."""


@dataclass(frozen=True)
class Reach:
    """What the tests of one file run.

    Attributes:
        sha256: of the test file.
        seconds: by test; only tests that passed.
        places: by file of the package, function and offset: the tests that run that line.
        shared: the same for lines run by fixtures. A fixture may serve several tests, so it counts for all of them.
        functions: by file of the package: the hash of the text of each function when it was recorded.
    """

    sha256: str
    seconds: dict[str, float]
    places: dict[str, dict[str, dict[str, list[str]]]]
    shared: dict[str, dict[str, list[int]]]
    functions: dict[str, dict[str, str]] = field(default_factory=dict)


class ReachRecords:
    """One JSON file per test file, in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, Reach] = {}

    def path(self, test_file: str) -> Path:
        """Where the record of a test file is."""
        return self._folder / (test_file.replace("/", "-") + ".json")

    def get(self, test_file: str) -> Reach | None:
        """The record of a test file as it is now, if there is one."""
        path, now = self.path(test_file), digest_of(ROOT / test_file)
        if test_file not in self._known and path.exists():
            self._known[test_file] = Reach(**json.loads(path.read_bytes()))
        if test_file in self._known and self._known[test_file].sha256 != now:
            del self._known[test_file]  # this process or another may record it soon
        return self._known.get(test_file)

    def write(self, test_file: str, reach: Reach) -> None:
        """Keeps a record."""
        path = self.path(test_file)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(vars(reach)))

    def seconds_of(self, tests: Sequence[str]) -> float:
        """The recorded processor time of tests, together."""
        reaches = {name: self.get(name.partition("::")[0]) for name in tests}
        return sum(reach.seconds.get(name, 0.0) for name, reach in reaches.items() if reach is not None)

    def tests_for(self, mutant: Mutant, test_files: Sequence[str]) -> list[str]:
        """The tests that run the line of a fault, up to `MOST_SECONDS` of them, the quickest first.

        The tests of the file's own name come first. Of the others, the first case of every test function comes before
        further cases of any, as long as they leave some of the time for those.
        """
        own = str(Path("tests", Path(mutant.file).parent, f"test_{Path(mutant.file).stem}.py"))
        found: list[tuple[bool, bool, float, str]] = []
        for test_file in test_files:
            reach = self.get(test_file)
            names = set() if reach is None else _reaching(reach, mutant)
            if reach is not None and not mutant.function and test_file == own:  # lambdas of a table have no name
                names |= set(reach.seconds)
            seconds = {} if reach is None else {name: reach.seconds[name] for name in reach.seconds if name in names}
            functions = set[str]()
            for name, cost in seconds.items():
                function = name.partition("[")[0]
                if cost < SLOWEST_TEST:
                    found.append((test_file != own, function in functions, cost, name))
                functions.add(function)
        chosen, total = list[str](), 0.0
        for order, most in ((sorted(found), FIRST_SECONDS), (sorted(found, key=lambda one: one[2]), MOST_SECONDS)):
            for *_, cost, name in order:
                if name not in chosen and total + cost <= most:
                    chosen.append(name)
                    total += cost
        return chosen


def _reaching(reach: Reach, mutant: Mutant) -> set[str]:
    functions = reach.places.get(mutant.file, {})
    shared = reach.shared.get(mutant.file, {})
    if not mutant.function:  # a module's constant can matter to whatever runs any function of it
        if shared:
            return set(reach.seconds)
        return {name for offsets in functions.values() for names in offsets.values() for name in names}
    recorded, now = reach.functions.get(mutant.file, {}), texts_of(mutant.file).get(mutant.function)
    if recorded.get(mutant.function) != now:
        known_parts = [mutant.function] if mutant.function in recorded else [*functions, *shared]
        if any(part in shared for part in known_parts):
            return set(reach.seconds)
        return {name for part in known_parts for names in functions.get(part, {}).values() for name in names}
    offsets, offset = functions.get(mutant.function, {}), mutant.line - mutant.start
    if offset in shared.get(mutant.function, []):
        return set(reach.seconds)
    # An expression over several lines may run under the number of an earlier one.
    known = sorted((int(key) for key in offsets if int(key) <= offset), reverse=True)
    return set(offsets[str(known[0])]) if known else set()


def reach_of(
    sha256: str,
    seconds: dict[str, float],
    lines: dict[str, dict[int, list[str]]],
    fixture_lines: dict[str, set[int]],
) -> Reach:
    """Turns measured lines (by file of the package) into a record of a test file with this hash."""
    places: dict[str, dict[str, dict[str, list[str]]]] = {}
    shared: dict[str, dict[str, list[int]]] = {}
    for file, tests_of in lines.items():
        for function, start, end in functions_of(file):
            inside = {line - start: tests for line, tests in tests_of.items() if start < line <= end and tests}
            if inside:
                places.setdefault(file, {})[function] = {str(offset): tests for offset, tests in inside.items()}
            of_fixtures = sorted(line - start for line in fixture_lines.get(file, ()) if start < line <= end)
            if of_fixtures:
                shared.setdefault(file, {})[function] = of_fixtures
    return Reach(sha256, seconds, places, shared, {file: texts_of(file) for file in lines})


def functions_of(file: str) -> list[tuple[str, int, int]]:
    """The outermost functions of a file of the package: qualified name, first and last line."""
    return list(_functions(ast.parse((PACKAGE / file).read_text()), ""))


@cache
def texts_of(file: str) -> dict[str, str]:
    """The hash of the text of each outermost function of a file of the package."""
    lines = (PACKAGE / file).read_text().splitlines()
    return {
        name: hashlib.sha256("\n".join(lines[start - 1 : end]).encode()).hexdigest()[:16]
        for name, start, end in functions_of(file)
    }


def _functions(node: Any, prefix: str) -> Iterator[tuple[str, int, int]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef):
            yield f"{prefix}{child.name}", child.lineno, child.end_lineno or child.lineno
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.")
        elif not isinstance(child, ast.expr):
            yield from _functions(child, prefix)


def digest_of(path: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
