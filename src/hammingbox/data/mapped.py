"""Arrays of a large table in temporary files: the system holds what is in use, and gives the rest of the memory back.

The files have no name from the moment they are made, so that nothing of them is left behind, however a program ends.
They lie in the system's folder for temporary files, which the environment variable TMPDIR names.
"""

import mmap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from tempfile import TemporaryFile, gettempdir
from typing import Any, BinaryIO
from weakref import WeakValueDictionary

import numpy as np
import torch
from torch import Tensor

from hammingbox.errors import FileError

Array = np.ndarray[Any, np.dtype[Any]]

MAPPED_CELLS = 4_000_000
"""Cells of a table from which its codes and ids are kept in files: 16 MB of codes."""
BLOCK = 2**14
"""Rows that are moved at once."""

_MAPPED: "WeakValueDictionary[int, Array]" = WeakValueDictionary()
"""Mapped arrays by their address, so that a tensor can be recognised as a view of one."""


class ArrayFile:
    """A table of numbers that is written from its first row to its last, and then mapped.

    Args:
        columns: of the table.
        dtype: of its numbers.
    """

    def __init__(self, columns: int, dtype: Any) -> None:
        self.columns, self.dtype, self.rows = columns, np.dtype(dtype), 0
        with _disk_errors():
            self._file: BinaryIO = TemporaryFile(prefix="hammingbox-")  # noqa: SIM115

    def __del__(self) -> None:
        """Closes the file of a table that was not read to its end."""
        if hasattr(self, "_file"):
            self._file.close()

    def append(self, rows: Array) -> None:
        """Writes rows.

        Raises:
            FileError: the disk is full.
        """
        with _disk_errors():
            self._file.write(rows.astype(self.dtype).tobytes())
        self.rows += len(rows)

    def mapped(self) -> Array:
        """All rows that were written, as an array of (rows, columns). Nothing can be written any more."""
        with _disk_errors():
            self._file.flush()
            # Copy-on-write: whoever writes into it changes neither the file nor what others see.
            found = np.memmap(self._file, self.dtype, "c", shape=(self.rows, self.columns))
        self._file.close()
        _MAPPED[found.ctypes.data] = found
        return found


def narrowest(largest: int) -> Any:
    """The narrowest type that torch computes with and that holds 0 to `largest`."""
    return np.uint8 if largest < 2**8 else np.int16 if largest < 2**15 else np.int32


def is_mapped(tensor: Tensor) -> bool:
    """Whether a tensor is a mapped array, or a view of one."""
    return tensor.device.type == "cpu" and tensor.untyped_storage().data_ptr() in _MAPPED


def is_mapped_array(array: Array) -> bool:
    """The same of an array."""
    return getattr(array, "_mmap", None) is not None


def forget_pages(array: Tensor | Array) -> None:
    """Gives back the memory of what was read of a mapped array; it is read from the file again when it is needed."""
    if isinstance(array, Tensor):
        found = _MAPPED.get(array.untyped_storage().data_ptr()) if array.device.type == "cpu" else None
    else:
        found = array
    pages = getattr(found, "_mmap", None)
    if pages is not None and hasattr(mmap, "MADV_DONTNEED"):
        pages.madvise(mmap.MADV_DONTNEED)


def gathered(table: Tensor, rows: Tensor) -> Tensor:
    """Some rows of a mapped table, in the given order, as another mapped table.

    Raises:
        FileError: the disk is full.
    """
    file = ArrayFile(table.shape[1], table.numpy().dtype)
    for block in rows.split(BLOCK):
        file.append(table[block].numpy())
        forget_pages(table)
    return torch.from_numpy(file.mapped())


def converted(table: Tensor, change: Callable[[Tensor], Tensor], most: int) -> Tensor:
    """A mapped table of the rows that a function makes of those of another one.

    Args:
        table: mapped.
        change: gets some rows and gives as many.
        most: above the largest number that it gives.

    Raises:
        FileError: the disk is full.
    """
    file = ArrayFile(table.shape[1], narrowest(most))
    for block in table.split(BLOCK):
        file.append(change(block).numpy())
        forget_pages(table)
    return torch.from_numpy(file.mapped())


def appended(tables: Sequence[Tensor]) -> Tensor:
    """The rows of several tables, one table after the other, as one mapped table.

    Raises:
        FileError: the disk is full.
    """
    file = ArrayFile(tables[0].shape[1], max((table.numpy().dtype for table in tables), key=lambda kind: kind.itemsize))
    for table in tables:
        for block in table.split(BLOCK):
            file.append(block.numpy())
            forget_pages(table)
    return torch.from_numpy(file.mapped())


@contextmanager
def _disk_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise FileError(
            f"expected room for a large table in {gettempdir()}, got: {error.strerror or error}. Free some space, or "
            "name another folder in the environment variable TMPDIR."
        ) from error
