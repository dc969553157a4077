"""Trained victims that come with the package, by name: `splice/padvt` is the folder files/splice/padvt."""

from pathlib import Path

from hammingbox.errors import InputError

FILES = Path(__file__).parent / "files"
"""One folder per data set, and in it one checkpoint folder per victim."""


def shipped_names() -> list[str]:
    """The names of all shipped victims, in alphabetical order."""
    return sorted(folder.relative_to(FILES).as_posix() for folder in FILES.glob("*/*") if folder.is_dir())


def shipped_folder(name: str) -> Path | None:
    """The folder of a shipped victim, None if there is no such victim."""
    return FILES / name if name in shipped_names() else None


def checkpoint_folder(place: Path) -> Path:
    """The folder of a checkpoint that is named by a folder, by a file in it, or by the name of a shipped victim.

    Raises:
        InputError: the name of a shipped victim is also that of a folder here. Neither is preferred, because the same
            command would attack different victims in different places.
    """
    shipped = shipped_folder(place.as_posix())
    if shipped is None:
        return place.parent if place.is_file() else place
    if place.exists():
        raise InputError(
            f"expected {place.as_posix()!r} to name one victim, got two: the one that is shipped and the folder "
            f"{place.resolve()}. Give the folder's absolute path, or run the command in another folder."
        )
    return shipped
