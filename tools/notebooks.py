"""Executes the notebooks of the docs and keeps them with their outputs.

    python tools/notebooks.py                   # all of them, into docs/notebooks
    python tools/notebooks.py quick-start       # one
    python tools/notebooks.py --check           # executes them, and fails if an output is not the one that is kept

A notebook is executed in a folder of its own, from a fresh kernel. What differs between two runs of the same code
(times, ids of cells) is not kept, so that a repeated execution changes nothing.
"""

import argparse
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[1] / "docs" / "notebooks"
_SECONDS = re.compile(r"\b\d+\.\d s\b")
"""Seconds in outputs."""


def executed(notebook: nbformat.NotebookNode, *, timeout: int = 600) -> nbformat.NotebookNode:
    """A notebook with the outputs of its cells, in order, from a fresh kernel.

    Raises:
        CellExecutionError: a cell fails.
    """
    with TemporaryDirectory() as folder:
        NotebookClient(notebook, timeout=timeout, resources={"metadata": {"path": folder}}).execute()
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
        cell.metadata = {}
        for output in cell.get("outputs", ()):
            output.get("metadata", {}).clear()
            for kind, text in output.get("data", {}).items():
                if kind.startswith("text/"):
                    output.data[kind] = _SECONDS.sub("... s", text)
    notebook.metadata.pop("widgets", None)
    notebook.metadata.get("language_info", {}).pop("version", None)
    return notebook


def outputs(notebook: nbformat.NotebookNode) -> list[str]:
    """What its cells show as text. Pictures are left out: another version of a library draws them otherwise."""
    shown = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    return [
        str(output.get("text") or output.get("data", {}).get("text/html") or output.get("data", {}).get("text/plain"))
        for output in shown
        if "image/png" not in output.get("data", {})
    ]


def read(name: str) -> nbformat.NotebookNode:
    """A notebook of the docs."""
    return nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)


def main(arguments: list[str]) -> None:
    """Executes notebooks and writes them back, or compares them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="notebooks; all by default")
    parser.add_argument("--check", action="store_true", help="compare outputs in place of writing them")
    chosen = parser.parse_args(arguments)
    for name in chosen.names or sorted(path.stem for path in FOLDER.glob("*.ipynb")):
        notebook = executed(read(name))
        nbformat.validate(notebook)
        if not chosen.check:
            nbformat.write(notebook, FOLDER / f"{name}.ipynb")
        elif outputs(notebook) != outputs(read(name)):
            sys.exit(f"expected the outputs that {name}.ipynb keeps, got others. Run: python tools/notebooks.py {name}")
        print(f"{name}: {len(notebook.cells)} cells executed")


if __name__ == "__main__":
    main(sys.argv[1:])
