"""Arrays that took a while to build, kept in the cache under the content of the files they were built from."""

import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hammingbox.data.fetch import cache_folder, file_sha256
from hammingbox.errors import FileError
from hammingbox.files import atomic_write, sha256

Arrays = dict[str, np.ndarray[Any, np.dtype[Any]]]


def cached_arrays(name: str, sources: Sequence[Path], settings: str, build: Callable[[], Arrays]) -> Arrays:
    """What `build` returns, from the cache if it was built before from equal files with equal settings.

    A changed source has another key, a damaged cache file is built again, and a cache that cannot be written is done
    without. Arrays are kept as NPZ and read with ``allow_pickle=False``.

    Args:
        name: of the data set.
        sources: the files that `build` reads.
        settings: everything else that the arrays depend on, the version of the building code included.
        build: makes the arrays.

    Raises:
        FileError: a source is missing or unreadable.
    """
    key = sha256(*(file_sha256(source).encode() for source in sources), settings.encode())
    path = cache_folder() / "built" / f"{name}-{key[:32]}.npz"
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as kept:
            return {name: kept[name] for name in kept.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, KeyError):
        arrays = build()
    try:
        with atomic_write(path) as file:
            np.savez(file, allow_pickle=False, **arrays)
    except FileError:
        pass  # a full or read-only disk costs the next load some seconds, not this one its result
    return arrays
