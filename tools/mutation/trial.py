"""Trials: tests run against a fault, each in a process of its own that is forked after everything was collected.

The process that forks has imported the package and all test modules. A fault inside a function is put into the loaded
function (its code object is exchanged); only a fault outside of functions, such as in a constant, needs a copy of the
package that is imported anew. Tests that start the program in another process do not see an exchanged function, so the
score errs on the low side.
"""

import ast
import contextlib
import gc
import json
import os
import resource
import shutil
import signal
import sys
import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from mutation.faults import PACKAGE, ROOT, Mutant, exchange, loaded_functions, mutated
from mutation.reach import SLOWEST_TEST, ReachRecords, digest_of, reach_of

NO_END = "no end"
"""In place of a test's name: the tests did not end."""
NO_IMPORT = "no import"
"""In place of a test's name: the package cannot be imported."""
_NOTICED, _NO_VERDICT = 1, 99
_TIMES, _MORE = 3.0, 20.0
"""Tests have no end once they took this many times their recorded processor time, and so many seconds more, in which
shared fixtures are made."""
_IMPORT = 60.0
"""Seconds more where the package is imported anew."""
_WAITING = 3.0
"""Times the same limit on the clock: a fault that waits for ever takes no processor time, and others use the cores."""


class ChosenTests:
    """A pytest plugin that runs some of the collected tests, in an order of its own, up to the first that fails.

    Attributes:
        failed: where the name of the test that failed is written.
    """

    def __init__(self, failed: Path) -> None:
        self.failed = failed

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Ends the process at the first failure."""
        if report.failed:
            self.failed.write_text(report.nodeid)
            os._exit(_NOTICED)


def run_items(items: Sequence[pytest.Item]) -> None:
    """Runs collected tests one after another."""
    for item, following in zip(items, [*items[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)


@dataclass
class Trials:
    """Forks trials from a session whose tests are collected.

    Attributes:
        session: of pytest.
        place: a folder for what the trials write.
    """

    session: pytest.Session
    place: Path
    _sound: set[str] = field(default_factory=set)
    _unsound: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._items = {item.nodeid: item for item in self.session.items}
        # Of the files as they were collected: one that is edited while this runs is recorded by the next run.
        self._digests = {file: digest_of(ROOT / file) for file in {name.partition("::")[0] for name in self._items}}
        gc.collect()
        self._functions = loaded_functions()
        gc.freeze()  # a search for garbage in a fork would copy all memory that the forks share

    def test(self, mutant: Mutant, tests: Sequence[str], seconds: float) -> str:
        """The test that notices a fault, or ""; it must pass without the fault.

        Args:
            mutant: the fault.
            tests: to run, in this order.
            seconds: of processor time that they take without a fault, as recorded.
        """
        limit = _TIMES * seconds + _MORE + (0.0 if mutant.function else _IMPORT)
        while True:
            chosen = [name for name in tests if name in self._items and name not in self._unsound]
            if not chosen:
                return ""
            by = self._fork(lambda chosen=chosen: self._run(mutant, chosen), limit)  # type: ignore[misc]
            if by == NO_END and self._fork(lambda chosen=chosen: self._run(None, chosen), limit) == NO_END:  # type: ignore[misc]
                limit *= 2  # they take as long without the fault: the record was made on an idle machine
            elif by in ("", NO_END, NO_IMPORT) or self._is_sound(by, limit):
                return by

    def _is_sound(self, test: str, seconds: float) -> bool:
        """Whether a test passes without any fault, alone and after a fork."""
        if test not in self._sound | self._unsound:
            failed = self._fork(lambda: self._run(None, [test]), seconds)
            (self._unsound if failed else self._sound).add(test)
        return test in self._sound

    def _run(self, mutant: Mutant | None, tests: Sequence[str]) -> None:
        """Runs tests in this process, with a fault."""
        os.environ["PYTEST_DEBUG_TEMPROOT"] = str(self._folder("temporary"))
        if mutant is not None and not exchange(mutant, self._functions):
            self._run_copy(mutant, tests)
        self.session.config.pluginmanager.register(ChosenTests(self.place / "failed"))
        run_items([self._items[name] for name in tests])

    def _run_copy(self, mutant: Mutant, tests: Sequence[str]) -> None:
        """Replaces this process by one that imports a copy of the package with the fault."""
        copy = self._folder("copy")
        shutil.copytree(ROOT / "src", copy, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        (copy / "hammingbox" / mutant.file).write_text(ast.unparse(mutated(mutant)))
        (self.place / "chosen.json").write_text(json.dumps(list(tests)))
        paths = os.pathsep.join([str(copy), str(ROOT / "tools")])
        os.execve(
            sys.executable,
            [sys.executable, "-m", "mutation.trial", str(self.place)],
            os.environ | {"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"},
        )

    def _folder(self, name: str) -> Path:
        folder = self.place / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder

    def _fork(self, run: Callable[[], None], seconds: float) -> str:
        """Calls a function in a forked process; the name of the test that failed there."""
        failed = self.place / "failed"
        failed.unlink(missing_ok=True)
        process = os.fork()
        if process == 0:
            _in_fork(run, self.place / "log.txt", seconds)
        begin = time.monotonic()
        try:
            while True:
                done, status = os.waitpid(process, os.WNOHANG)
                late = time.monotonic() - begin > _WAITING * seconds
                if done or late:
                    break
                time.sleep(0.02)
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process, signal.SIGKILL)  # what tests started may outlive them, and tests whoever waits
        if late and not done:
            os.waitpid(process, 0)
            return NO_END
        code = os.waitstatus_to_exitcode(status)
        if code == _NO_VERDICT:
            sys.exit(f"the tests could not be run:\n{(self.place / 'log.txt').read_text()[-3000:]}")
        if code < 0:
            return NO_END  # the limit of processor time, or the fault brought the interpreter down
        return failed.read_text() if failed.exists() else (NO_IMPORT if code else "")

    def record(self, test_file: str, records: ReachRecords, judged: Sequence[str], seconds: float) -> None:
        """Records which lines of the judging files the tests of a file run."""
        items = [item for item in self.session.items if item.nodeid.startswith(f"{test_file}::")]
        if items:
            digest = self._digests[test_file]
            self._fork(lambda: _record(test_file, digest, items, records, judged, self._folder("temporary")), seconds)


def _in_fork(run: Callable[[], None], log: Path, seconds: float) -> None:
    """The whole life of a forked process."""
    code = _NO_VERDICT
    try:
        os.setpgrp()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        with log.open("w") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        limit = int(seconds) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        run()
        code = 0
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _record(
    test_file: str,
    digest: str,
    items: Sequence[pytest.Item],
    records: ReachRecords,
    judged: Sequence[str],
    temporary: Path,
) -> None:
    import coverage

    os.environ["PYTEST_DEBUG_TEMPROOT"] = str(temporary)
    files = [str(PACKAGE / file) for file in judged]
    measured = coverage.Coverage(data_file=None, include=files, config_file=False)
    measured.set_option("run:disable_warnings", ["no-data-collected"])
    watch = _Watch(measured)
    items[0].config.pluginmanager.register(watch)
    measured.start()
    run_items(items)
    measured.stop()
    data, lines = measured.get_data(), dict[str, dict[int, list[str]]]()
    fixture_lines: dict[str, set[int]] = defaultdict(set)
    for file, path in zip(judged, files, strict=True):
        for line, contexts in data.contexts_by_lineno(path).items():
            tests = [name for name in contexts if name in watch.seconds]
            lines.setdefault(file, {})[line] = tests
            if "fixture" in contexts:
                fixture_lines[file].add(line)
    records.write(test_file, reach_of(digest, watch.seconds, lines, fixture_lines))


class _Watch:
    """A pytest plugin that tells the measurement which test runs, and notes the processor time of those that pass."""

    def __init__(self, measured: Any) -> None:
        self._measured, self._failed = measured, set[str]()
        self.seconds: dict[str, float] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> object:
        begin = time.process_time()
        done = yield
        if item.nodeid not in self._failed:
            self.seconds[item.nodeid] = time.process_time() - begin
        return done

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self) -> object:
        self._measured.switch_context("fixture")
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> object:
        self._measured.switch_context(item.nodeid)
        signal.signal(signal.SIGPROF, _too_long)
        signal.setitimer(signal.ITIMER_PROF, SLOWEST_TEST)  # it would never be chosen, so its end is not waited for
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0.0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:
            self._failed.add(report.nodeid)


def _too_long(*_: object) -> None:
    pytest.fail("slow")


class _OnlyChosen(ChosenTests):
    """The same for a session that has just been started for one fault."""

    def __init__(self, failed: Path, chosen: Sequence[str]) -> None:
        super().__init__(failed)
        self._chosen = chosen

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        by_name = {item.nodeid: item for item in items}
        items[:] = [by_name[name] for name in self._chosen if name in by_name]


def session_options() -> list[str]:
    """Options of every session of pytest here."""
    imported = "ignore:Module already imported:pytest.PytestAssertRewriteWarning"
    return ["-q", "-s", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:cov", "--tb=line", "-W", imported]


def _run_chosen(place: Path) -> int:
    chosen = json.loads((place / "chosen.json").read_bytes())
    files = list(dict.fromkeys(name.partition("::")[0] for name in chosen))
    return int(pytest.main([*session_options(), *files], plugins=[_OnlyChosen(place / "failed", chosen)]))


if __name__ == "__main__":
    sys.exit(_run_chosen(Path(sys.argv[1])))
