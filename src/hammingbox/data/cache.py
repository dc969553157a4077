"""Caches arrays that are slow to build. The key is the content of the files they were built from."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hammingbox.data.fetch import cache_folder
from hammingbox.errors import FileError
from hammingbox.files import atomic_write, file_sha256, sha256

Arrays = dict[str, np.ndarray[Any, np.dtype[Any]]]


def cached_arrays(name: str, sources: Sequence[Path], settings: str, build: Callable[[], Arrays]) -> Arrays:
    """The result of `build`, from the cache if it was built before from the same files with the same settings.

    A changed source has another key. A damaged cache file is built again. If the cache cannot be written, the arrays
    are returned all the same. They are stored as NPZ and read with ``allow_pickle=False``.

    Args:
        name: of the data set.
        sources: the files that `build` reads.
        settings: everything else the arrays depend on, including the version of the code that builds them.
        build: makes the arrays.

    Raises:
        FileError: a source is missing or unreadable.
    """
    key = sha256(*(file_sha256(source).encode() for source in sources), settings.encode())
    path = cache_folder() / "built" / f"{name}-{key[:32]}.npz"
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except Exception:  # a damaged file may raise any error inside the reader, even that it is encrypted
        arrays = build()
    try:
        with atomic_write(path) as file:
            np.savez(file, allow_pickle=False, **arrays)
    except FileError:
        pass  # the disk is full or read-only: the next load takes longer, but this one has its result
    return arrays
