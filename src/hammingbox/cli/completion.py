"""What a shell completes: names that the program knows, where an option or an argument takes them.

A function gets what stands before the cursor and gives all that it may become. Where it gives nothing, the shell
completes files, so that names and files may stand in one place.
"""

from collections.abc import Callable, Iterable
from pathlib import Path

from hammingbox.victims.shipped import shipped_names

Complete = Callable[[str], list[str]]


def one_of(names: Iterable[str]) -> Complete:
    """One name."""
    known = list(names)

    def complete(incomplete: str) -> list[str]:
        return [name for name in known if name.startswith(incomplete)]

    return complete


def several_of(names: Iterable[str]) -> Complete:
    """Names with commas between them: the last one is completed, and none is offered twice."""
    known = list(names)

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        given = before.split(",")
        return [f"{before}{comma}{name}" for name in known if name.startswith(last) and name not in given]

    return complete


def one_or_file(names: Callable[[], Iterable[str]]) -> Complete:
    """One name, or else a file or a folder. Files are listed here where a name fits too: the shell asks only once."""

    def complete(incomplete: str) -> list[str]:
        found = [name for name in names() if name.startswith(incomplete)]
        return [*found, *_paths(incomplete)] if found else []

    return complete


a_shipped_victim = one_or_file(shipped_names)


def _paths(incomplete: str) -> list[str]:
    """Files and folders that begin like this, folders with a slash at their end, hidden ones only if asked for."""
    folder, _, beginning = incomplete.rpartition("/")
    if incomplete.startswith("/"):
        folder = folder or "/"
    try:
        entries = sorted(Path(folder or ".").iterdir())
        return [
            f"{incomplete.removesuffix(beginning)}{entry.name}{'/' if entry.is_dir() else ''}"
            for entry in entries
            if entry.name.startswith(beginning) and (beginning or not entry.name.startswith("."))
        ]
    except OSError:  # no such folder, or it may not be read
        return []
