"""Mutation testing of the files that judge: small faults are put into them, one at a time, and the tests must notice.

    python tools/mutants.py [--sample 60] [--seed 0] [--jobs 2] [--only problem] [--least 0.9]

A mutant is one change of the syntax tree: a comparison, a boolean or arithmetic operator, a constant, a condition, or a
check that is dropped. Each runs in a process of its own, forked from one that has imported torch, against the tests
that belong to its file, which stop at the first failure. A mutant that outlasts the limit counts as noticed: a fault
that never ends is one. The whole set takes hours on two cores; `--sample` draws from it at random.

Survivors that were looked at are listed in `tools/mutants_survivors.md` with the reason why no test notices them.
"""

import argparse
import ast
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "hammingbox"

_ATTACK_TESTS = (
    "tests/attacks/test_judge.py", "tests/attacks/test_extension.py", "tests/attacks/test_query_limit.py",
    "tests/attacks/test_passes.py", "tests/attacks/test_attack_input.py", "tests/victims/test_victim.py",
    "tests/attacks/test_attack_contract.py",
)  # fmt: skip
_EVALUATION_TESTS = ("tests/evaluation", "tests/running/test_tampering.py")
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
    """

    file: str
    number: int
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.what}"


class _Mutator(ast.NodeTransformer):
    """Walks a tree and applies the fault with one number; without a number it only lists them."""

    def __init__(self, wanted: int = -1) -> None:
        self.wanted, self.found = wanted, list[tuple[int, str]]()

    def _is_wanted(self, node: ast.AST, what: str) -> bool:
        self.found.append((getattr(node, "lineno", 0), what))
        return len(self.found) - 1 == self.wanted

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.body = self._statements(node.body)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.body = self._statements(node.body)
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
    return [Mutant(file, number, line, what) for number, (line, what) in enumerate(mutator.found)]


def mutated(mutant: Mutant) -> str:
    """The source with one fault."""
    tree = ast.parse((PACKAGE / mutant.file).read_text())
    return ast.unparse(ast.fix_missing_locations(_Mutator(mutant.number).visit(tree)))


def all_mutants(only: str) -> list[tuple[Mutant, tuple[str, ...]]]:
    """Every fault with the tests of its file."""
    return [
        (mutant, tests)
        for pattern, tests in JUDGES.items()
        for path in sorted(PACKAGE.glob(pattern))
        for mutant in mutants_of(str(path.relative_to(PACKAGE)))
        if path.name != "__init__.py" and only in mutant.file
    ]


def _run_tests(overlay: Path, tests: tuple[str, ...], output: Path) -> None:
    """Runs tests in this process, which ends with their exit code."""
    import pytest

    os.setpgrp()
    with output.open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    os.chdir(ROOT)
    os.environ["PYTHONPATH"] = str(overlay)
    sys.path.insert(0, str(overlay))
    chosen = [test for test in tests if (ROOT / test).exists()]
    code = pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=line", *chosen])
    os._exit(int(code))


def _start(mutant: Mutant | None, tests: tuple[str, ...], overlay: Path) -> int:
    """Forks a process that runs the tests against a copy of the package with the fault."""
    shutil.rmtree(overlay, ignore_errors=True)
    shutil.copytree(ROOT / "src", overlay, ignore=shutil.ignore_patterns("__pycache__"))
    if mutant is not None:
        (overlay / "hammingbox" / mutant.file).write_text(mutated(mutant))
    process = os.fork()
    if process == 0:
        _run_tests(overlay, tests, overlay.with_suffix(".log"))
    return process


def _finished(running: dict[int, tuple[float, Mutant]], limit: float) -> Iterator[tuple[int, Mutant, bool]]:
    """Processes that have ended, or are ended here because they take too long, and whether a test failed."""
    while True:
        process, status = os.waitpid(-1, os.WNOHANG)
        if process in running:
            yield process, running[process][1], os.waitstatus_to_exitcode(status) != 0
            return
        for late, (begin, mutant) in running.items():
            if time.monotonic() - begin > limit:
                os.killpg(late, signal.SIGKILL)
                os.waitpid(late, 0)
                yield late, mutant, True
                return
        time.sleep(0.1)


def main() -> None:
    """Prints survivors as they are found, then the score of every file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, help="how many mutants, drawn at random; all without it")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--only", default="", help="files whose path contains this")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for one mutant")
    parser.add_argument("--least", type=float, default=0.0, help="exit with 1 below this score")
    parser.add_argument("--list", action="store_true", help="only list the mutants")
    options = parser.parse_args()
    chosen = all_mutants(options.only)
    total = len(chosen)
    if options.sample is not None and options.sample < total:
        chosen = random.Random(options.seed).sample(chosen, options.sample)
    if options.list:
        print("\n".join(str(mutant) for mutant, _ in chosen))
        return
    print(f"{len(chosen)} of {total} mutants", flush=True)
    import torch

    torch.set_num_threads(1)
    noticed, survived = Counter[str](), list[Mutant]()
    with tempfile.TemporaryDirectory() as folder:
        running: dict[int, tuple[float, Mutant]] = {}
        places: dict[int, Path] = {}
        free = [Path(folder) / str(number) for number in range(options.jobs)]
        waiting = list(chosen)
        while waiting or running:
            while waiting and free:
                (mutant, tests), place = waiting.pop(), free.pop()
                process = _start(mutant, tests, place)
                running[process], places[process] = (time.monotonic(), mutant), place
            for process, mutant, failed in _finished(running, options.limit):
                del running[process]
                free.append(places.pop(process))
                noticed[mutant.file] += failed
                if not failed:
                    survived.append(mutant)
                    print(f"survived: {mutant}", flush=True)
    tried = Counter(mutant.file for mutant, _ in chosen)
    for file in sorted(tried):
        print(f"{file}: {noticed[file]} of {tried[file]} noticed")
    score = 1 - len(survived) / len(chosen) if chosen else 1.0
    print(f"score: {100 * score:.1f} % ({len(chosen) - len(survived)} of {len(chosen)} noticed, seed {options.seed})")
    if score < options.least:
        sys.exit(1)


if __name__ == "__main__":
    main()
