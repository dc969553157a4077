"""Mutation testing of the files that judge: small faults are put into them, one at a time, and the tests must notice.

    python tools/mutants.py [--sample 60] [--seed 0] [--jobs 2] [--only problem] [--minutes 60] [--least 0.9]

A mutant is one change of the syntax tree: a comparison, a boolean or arithmetic operator, a constant, a condition, or a
check that is dropped. Each runs in a process of its own against the tests that belong to its file, the file's own tests
first, and stops at the first failure. A mutant that takes more processor time than its limit counts as noticed: a fault
that never ends is one.

What makes it affordable: the process that forks has imported everything, the package included, and a fault inside a
function is put into the loaded function (its code object is exchanged). Only a fault outside of functions, such as in a
constant, needs a copy of the package that is imported anew. Tests that start the program in another process do not see
an exchanged function, so the score errs on the low side. `--sample` draws from all mutants at random, the same share of
every file; `--minutes` stops early, and the score is then over those that were tried.

Survivors that were looked at are listed in `tools/mutants_survivors.md` with the reason why no test notices them.
"""

import argparse
import ast
import gc
import importlib
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "hammingbox"
_NO_VERDICT = 99
"""Exit code of a process that could not even run the tests."""

_ATTACK_TESTS = (
    "tests/attacks/test_judge.py", "tests/attacks/test_extension.py", "tests/attacks/test_query_limit.py",
    "tests/attacks/test_passes.py", "tests/attacks/test_attack_input.py", "tests/victims/test_victim.py",
    "tests/attacks/test_attack_contract.py",
)  # fmt: skip
_EVALUATION_TESTS = (
    "tests/evaluation/test_evaluate.py", "tests/evaluation/test_verify_claims.py", "tests/evaluation/test_results.py",
    "tests/evaluation/test_result_tampering.py", "tests/evaluation/test_proofs.py", "tests/running/test_tampering.py",
)  # fmt: skip
_STORE_TESTS = (
    "tests/running/test_store.py", "tests/running/test_tampering.py", "tests/running/test_migration.py",
    "tests/running/test_store_identity.py", "tests/running/test_memory_store.py", "tests/running/test_runs.py",
)  # fmt: skip
JUDGES: dict[str, tuple[str, ...]] = {
    "problem.py": _ATTACK_TESTS,
    "attacks/base.py": _ATTACK_TESTS,
    "attacks/judge.py": _ATTACK_TESTS,
    "attacks/result.py": _ATTACK_TESTS,
    "attacks/cost.py": _ATTACK_TESTS,
    "victims/metered.py": _ATTACK_TESTS,
    "victims/frozen.py": _ATTACK_TESTS,
    "evaluation/*.py": _EVALUATION_TESTS,
    "running/verify_store.py": _STORE_TESTS,
    "running/data_reference.py": _STORE_TESTS,
    "running/store/*.py": _STORE_TESTS,
    "threat/*.py": ("tests/threat", "tests/attacks/test_judge.py", "tests/attacks/test_extension.py"),
}
"""The files that judge, and the tests that must notice a fault in them, the quickest first."""

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
    ast.FloorDiv: ast.Mult, ast.Div: ast.Mult,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One fault.

    Attributes:
        file: relative to the package.
        number: which of the faults of the file.
        line: where.
        what: in words.
        function: qualified name of the outermost function that holds it; "" outside of functions.
    """

    file: str
    number: int
    line: int
    what: str
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.what}"


class _Mutator(ast.NodeTransformer):
    """Walks a tree and applies the fault with one number; without a number it only lists them."""

    def __init__(self, wanted: int = -1) -> None:
        self.wanted, self.found = wanted, list[tuple[int, str, str]]()
        self._classes, self._function = list[str](), ""

    def _is_wanted(self, node: ast.AST, what: str) -> bool:
        self.found.append((getattr(node, "lineno", 0), what, self._function))
        return len(self.found) - 1 == self.wanted

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        outermost = not self._function
        if outermost:
            self._function = ".".join([*self._classes, node.name])
        node.body = self._statements(node.body)
        if outermost:
            self._function = ""
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        self._classes.append(node.name)
        node.body = self._statements(node.body)
        self._classes.pop()
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        if isinstance(node.value, ast.Constant):  # a docstring
            return node
        if isinstance(node.value, ast.Call) and self._is_wanted(node, f"drop {ast.unparse(node.value)[:60]}"):
            return ast.copy_location(ast.Pass(), node)
        return self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        if node.exc is not None and self._is_wanted(node, f"drop raise {ast.unparse(node.exc)[:40]}"):
            return ast.copy_location(ast.Pass(), node)
        return node  # words of a message are not judged

    def visit_If(self, node: ast.If) -> ast.AST:
        if self._is_wanted(node, f"never if {ast.unparse(node.test)[:60]}"):
            node.test = ast.copy_location(ast.Constant(False), node.test)
            return node
        return self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        for place, operator in enumerate(node.ops):
            other = _COMPARISONS.get(type(operator))
            if other and self._is_wanted(
                node, f"{ast.unparse(node)[:60]}: {type(operator).__name__} to {other.__name__}"
            ):
                node.ops[place] = other()
        return self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        if self._is_wanted(node, f"{ast.unparse(node)[:60]}: and, or exchanged"):
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        return self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        if isinstance(node.op, ast.Not | ast.Invert) and self._is_wanted(
            node, f"{ast.unparse(node)[:60]}: not dropped"
        ):
            return self.visit(node.operand)
        return self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        other = _OPERATORS.get(type(node.op))
        if other and self._is_wanted(node, f"{ast.unparse(node)[:60]}: {type(node.op).__name__} to {other.__name__}"):
            node.op = other()
        return self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, bool):
            if self._is_wanted(node, f"{node.value} to {not node.value}"):
                return ast.copy_location(ast.Constant(not node.value), node)
        elif isinstance(node.value, int | float) and self._is_wanted(node, f"{node.value} to {node.value + 1}"):
            return ast.copy_location(ast.Constant(node.value + 1), node)
        return node

    def _statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        return [self.visit(statement) for statement in body]


def mutants_of(file: str) -> list[Mutant]:
    """All faults of a file."""
    mutator = _Mutator()
    mutator.visit(ast.parse((PACKAGE / file).read_text()))
    return [Mutant(file, number, *found) for number, found in enumerate(mutator.found)]


def mutated(mutant: Mutant) -> ast.Module:
    """The syntax tree with one fault."""
    tree = ast.parse((PACKAGE / mutant.file).read_text())
    return ast.fix_missing_locations(_Mutator(mutant.number).visit(tree))


def exchange(mutant: Mutant) -> bool:
    """Puts a fault into the loaded function that holds it; whether there is one."""
    path = str(PACKAGE / mutant.file)
    # A property and its setter have one name, so the line decides too; decorators of an import hook move it a little.
    codes = [
        code
        for code in _codes(compile(mutated(mutant), path, "exec"))
        if code.co_qualname == mutant.function and code.co_firstlineno <= mutant.line
    ]
    if not mutant.function or not codes:
        return False
    new = max(codes, key=lambda code: code.co_firstlineno)
    loaded = [
        value
        for value in gc.get_objects()
        if type(value) is FunctionType  # isinstance would wake lazy modules
        and value.__code__.co_filename == path
        and value.__code__.co_qualname == mutant.function
        and abs(value.__code__.co_firstlineno - new.co_firstlineno) < 4
        and value.__code__.co_freevars == new.co_freevars
    ]
    for function in loaded:
        function.__code__ = new
    return bool(loaded)


def _codes(code: CodeType) -> Iterator[CodeType]:
    for value in code.co_consts:
        if isinstance(value, CodeType):
            yield value
            yield from _codes(value)


def all_mutants(only: str) -> list[tuple[Mutant, tuple[str, ...]]]:
    """Every fault with the tests of its file, those that bear the file's name first."""
    found = []
    for pattern, tests in JUDGES.items():
        for path in sorted(PACKAGE.glob(pattern)):
            file = path.relative_to(PACKAGE)
            if path.name == "__init__.py" or only not in str(file):
                continue
            own = f"tests/{file.parent}/test_{file.stem}.py"
            ordered = tuple(dict.fromkeys([*([own] if (ROOT / own).exists() else []), *tests]))
            found += [(mutant, ordered) for mutant in mutants_of(str(file))]
    return found


def spread_sample(
    mutants: Sequence[tuple[Mutant, tuple[str, ...]]], size: int, seed: int
) -> list[tuple[Mutant, tuple[str, ...]]]:
    """A random sample with the same share of every file, and at least one of each, in random order."""
    chance, chosen = random.Random(seed), []
    by_file: dict[str, list[tuple[Mutant, tuple[str, ...]]]] = {}
    for item in mutants:
        by_file.setdefault(item[0].file, []).append(item)
    for items in by_file.values():
        chosen += chance.sample(items, min(len(items), max(1, round(size * len(items) / len(mutants)))))
    chance.shuffle(chosen)
    return chosen


def _import_everything() -> None:
    """Imports what tests need, with the checks of shapes that `tests/conftest.py` installs, before any fork."""
    os.chdir(ROOT)
    sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]
    for name in ("hypothesis", "jaxtyping", "beartype", "numpy", "pytest", "rich.console", "typer.testing", "torch"):
        importlib.import_module(name)
    from jaxtyping import install_import_hook

    install_import_hook("hammingbox", "beartype.beartype")
    for name in ("hammingbox", "hammingbox.cli.app", "hammingbox.running.verify_store", "toys"):
        importlib.import_module(name)
    import torch

    torch.set_num_threads(1)


def _run_tests(mutant: Mutant, tests: tuple[str, ...], overlay: Path, limit: int) -> None:
    """Runs tests against the package with the fault in this process, which ends with their exit code."""
    import pytest

    os.setpgrp()
    with overlay.with_suffix(".log").open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    chosen = [test for test in tests if (ROOT / test).exists()]
    imported = "ignore:Module already imported:pytest.PytestAssertRewriteWarning"
    options = ("-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=line", "-W", imported)
    if exchange(mutant):
        os._exit(int(pytest.main([*options, *chosen])))
    _write_copy(mutant, overlay)
    os.execve(
        sys.executable,
        [sys.executable, "-m", "pytest", *options, *chosen],
        os.environ | {"PYTHONPATH": str(overlay)},
    )


def _write_copy(mutant: Mutant, overlay: Path) -> None:
    """Writes a copy of the package with the fault."""
    shutil.rmtree(overlay, ignore_errors=True)
    shutil.copytree(ROOT / "src", overlay, ignore=shutil.ignore_patterns("__pycache__"))
    (overlay / "hammingbox" / mutant.file).write_text(ast.unparse(mutated(mutant)))


def _start(mutant: Mutant, tests: tuple[str, ...], overlay: Path, limit: int) -> int:
    """Forks a process that runs the tests against the package with the fault."""
    process = os.fork()
    if process == 0:
        try:
            _run_tests(mutant, tests, overlay, limit)
        except BaseException:
            traceback.print_exc()
            os._exit(_NO_VERDICT)
    return process


def _finished(running: dict[int, tuple[float, Mutant]], limit: float) -> Iterator[tuple[int, Mutant, bool]]:
    """Processes that have ended, or are ended here because they hang, and whether a test failed."""
    while True:
        process, status = os.waitpid(-1, os.WNOHANG)
        if process in running:
            code = os.waitstatus_to_exitcode(status)
            if code == _NO_VERDICT:
                sys.exit(f"{running[process][1]}: the tests could not be run")
            yield process, running[process][1], code != 0
            return
        for late, (begin, mutant) in running.items():
            if time.monotonic() - begin > limit:
                os.killpg(late, signal.SIGKILL)
                os.waitpid(late, 0)
                yield late, mutant, True
                return
        time.sleep(0.05)


def main() -> None:
    """Prints survivors as they are found, then the score of every file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, help="how many mutants, drawn at random; all without it")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--only", default="", help="files whose path contains this")
    parser.add_argument("--limit", type=int, default=120, help="seconds of processor time for one mutant")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="start no mutant after this time")
    parser.add_argument("--least", type=float, default=0.0, help="exit with 1 below this score")
    parser.add_argument("--list", action="store_true", help="only list the mutants")
    options = parser.parse_args()
    chosen = all_mutants(options.only)
    total = len(chosen)
    if options.sample is not None and options.sample < total:
        chosen = spread_sample(chosen, options.sample, options.seed)
    if options.list:
        print("\n".join(str(mutant) for mutant, _ in chosen))
        return
    print(f"{len(chosen)} of {total} mutants", flush=True)
    _import_everything()
    end, tried, survived = time.monotonic() + 60 * options.minutes, Counter[str](), list[Mutant]()
    with tempfile.TemporaryDirectory() as folder:
        running: dict[int, tuple[float, Mutant]] = {}
        places: dict[int, Path] = {}
        free = [Path(folder) / str(number) for number in range(options.jobs)]
        waiting = list(chosen)
        while (waiting and time.monotonic() < end) or running:
            while waiting and free and time.monotonic() < end:
                (mutant, tests), place = waiting.pop(), free.pop()
                process = _start(mutant, tests, place, options.limit)
                running[process], places[process] = (time.monotonic(), mutant), place
            for process, mutant, failed in _finished(running, 30 * options.limit):
                del running[process]
                free.append(places.pop(process))
                tried[mutant.file] += 1
                if not failed:
                    survived.append(mutant)
                    print(f"survived: {mutant}", flush=True)
    lost = Counter(mutant.file for mutant in survived)
    for file in sorted(tried):
        print(f"{file}: {tried[file] - lost[file]} of {tried[file]} noticed")
    score = 1 - len(survived) / max(1, tried.total())
    print(
        f"score: {100 * score:.1f} % ({tried.total() - len(survived)} of {tried.total()} noticed; "
        f"{len(chosen)} drawn with seed {options.seed} from {total})"
    )
    if score < options.least:
        sys.exit(1)


if __name__ == "__main__":
    main()
