"""Small faults: one change of a file's syntax tree each.

A fault is another comparison, boolean or arithmetic operator, another constant, a condition that is never true, or a
call or a `raise` that is dropped. `strict=True` of a `zip` is left alone: it asserts what is true anyway.
"""

import ast
import gc
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "hammingbox"

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
    ast.FloorDiv: ast.Mult, ast.Div: ast.Mult,
}  # fmt: skip


_LEFT_ALONE = "left alone"


@dataclass(frozen=True)
class Mutant:
    """One fault.

    Attributes:
        file: relative to the package.
        number: which of the faults of the file.
        line: where.
        what: in words; a number follows where a function has several that read alike.
        function: qualified name of the outermost function that holds it; "" outside of functions.
        start: the line where that function begins; 0 outside of functions.
    """

    file: str
    number: int
    line: int
    what: str
    function: str
    start: int

    @property
    def name(self) -> str:
        """What stays when lines move: file, function and fault."""
        return f"{self.file} {self.function or 'module'}: {self.what}"

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.function or 'module'}: {self.what}"


class _Mutator(ast.NodeTransformer):
    """Walks a tree and applies the fault with one number; without a number it only lists them."""

    def __init__(self, wanted: int = -1) -> None:
        self.wanted, self.found = wanted, list[tuple[int, str, str, int]]()
        self._classes, self._function, self._start = list[str](), "", 0

    def _is_wanted(self, node: ast.AST, what: str) -> bool:
        self.found.append((getattr(node, "lineno", 0), what, self._function, self._start))
        return len(self.found) - 1 == self.wanted

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        outermost = not self._function
        if outermost:
            self._function, self._start = ".".join([*self._classes, node.name]), node.lineno
        node.body = self._statements(node.body)
        if outermost:
            self._function, self._start = "", 0
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
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":  # never true at run time
            return node
        # Found where its body begins: only tests that get there can notice.
        if self._is_wanted(node.body[0], f"never if {ast.unparse(node.test)[:60]}"):
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

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        if node.arg == "strict" and isinstance(node.value, ast.Constant):
            self.found.append(
                (node.lineno, _LEFT_ALONE, self._function, self._start)
            )  # other faults keep their numbers
            return node
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
    faults, alike = list[Mutant](), Counter[tuple[str, str]]()
    for number, (line, what, function, start) in enumerate(mutator.found):
        if what == _LEFT_ALONE:
            continue
        alike[function, what] += 1
        count = alike[function, what]
        faults.append(Mutant(file, number, line, what if count == 1 else f"{what} ({count})", function, start))
    return faults


def mutated(mutant: Mutant) -> ast.Module:
    """The syntax tree with one fault."""
    tree = ast.parse((PACKAGE / mutant.file).read_text())
    return ast.fix_missing_locations(_Mutator(mutant.number).visit(tree))


Functions = dict[tuple[str, str], list[FunctionType]]
"""Loaded functions of the package, by the path of their file and their qualified name."""


def loaded_functions() -> Functions:
    """The functions of the package that are loaded now."""
    found: Functions = {}
    for value in gc.get_objects():
        # isinstance would wake lazy modules
        if type(value) is FunctionType and value.__code__.co_filename.startswith(str(PACKAGE)):
            found.setdefault((value.__code__.co_filename, value.__code__.co_qualname), []).append(value)
    return found


def exchange(mutant: Mutant, functions: Functions) -> bool:
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
        function
        for function in functions.get((path, mutant.function), [])
        if abs(function.__code__.co_firstlineno - new.co_firstlineno) < 4
        and function.__code__.co_freevars == new.co_freevars
    ]
    for function in loaded:
        function.__code__ = new
    return bool(loaded)


def _codes(code: CodeType) -> Iterator[CodeType]:
    for value in code.co_consts:
        if isinstance(value, CodeType):
            yield value
            yield from _codes(value)


def spread_sample(mutants: Sequence[Mutant], size: int, seed: int) -> list[Mutant]:
    """A random sample with the same share of every file, and at least one of each, in random order."""
    chance, chosen = random.Random(seed), list[Mutant]()
    by_file: dict[str, list[Mutant]] = {}
    for mutant in mutants:
        by_file.setdefault(mutant.file, []).append(mutant)
    for items in by_file.values():
        chosen += chance.sample(items, min(len(items), max(1, round(size * len(items) / len(mutants)))))
    chance.shuffle(chosen)
    return chosen
