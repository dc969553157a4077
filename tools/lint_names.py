"""Finds names that code uses and nothing defines: `python tools/lint_names.py [FOLDER...]`.

ruff (F821) and mypy (name-defined) have checks for this, which are off: they take the axis names of jaxtyping,
`Float[Tensor, "rows"]`, for names. Python's own symbol table holds names of code only and leaves strings alone.
"""

import builtins
import sys
from collections.abc import Iterator
from pathlib import Path
from symtable import SymbolTable, symtable

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("src", "tests", "tools", "benchmarks", "examples", "docs")
GIVEN = {*dir(builtins), "__file__", "__path__", "__annotations__"}


def undefined(code: str, path: str) -> list[str]:
    """Names that `code` reads from its module, where neither the module nor Python defines them."""
    module = symtable(code, path, "exec")
    scopes = list(_scopes(module))
    defined = {one.get_name() for one in module.get_symbols() if one.is_assigned() or one.is_imported()}
    # A function may define a name of its module: `global counter`.
    defined |= {
        one.get_name()
        for scope in scopes
        for one in scope.get_symbols()
        if one.is_declared_global() and one.is_assigned()
    }
    read = {
        one.get_name() for scope in scopes for one in scope.get_symbols() if one.is_global() and one.is_referenced()
    }
    read |= {one.get_name() for one in module.get_symbols() if one.is_referenced()}
    return sorted(read - defined - GIVEN)


def _scopes(table: SymbolTable) -> Iterator[SymbolTable]:
    for child in table.get_children():
        yield child
        yield from _scopes(child)


def main() -> int:
    """Prints one line per name; 0 if there is none."""
    folders = [Path(name) for name in sys.argv[1:]] or [ROOT / name for name in FOLDERS]
    found = 0
    for path in sorted(file for folder in folders for file in folder.rglob("*.py")):
        for name in undefined(path.read_text("utf-8"), str(path)):
            print(f"{path}: expected {name} to be defined or imported, got neither.")
            found += 1
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
