"""Large tensors that all processes of one machine read from the same memory."""

import os
import tempfile
from pathlib import Path
from shutil import rmtree
from typing import Any

import numpy as np
import torch
from torch import Tensor

_MEMORY = Path("/dev/shm")


class SharedTables:
    """A folder of tensors, in memory where the system has a folder there.

    Whoever reads one maps the file: all processes share its pages, and what one writes into its tensor, no other sees.
    """

    def __init__(self) -> None:
        where = _MEMORY if _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK) else None
        self.folder = Path(tempfile.mkdtemp(prefix="hammingbox-", dir=where))
        self._count = 0

    def share(self, tensor: Tensor) -> Any:
        """Writes a tensor; what is given back names it."""
        self._count += 1
        path = self.folder / str(self._count)
        # As bytes, because not every type of torch has one of NumPy.
        tensor.detach().reshape(-1).view(torch.uint8).numpy().tofile(path)
        return str(path), str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape)

    def forget(self, name: Any) -> None:
        """Removes a tensor; processes that have mapped it keep it until they drop it."""
        Path(name[0]).unlink(missing_ok=True)

    def close(self) -> None:
        """Removes the folder; processes that have mapped a tensor keep it."""
        rmtree(self.folder, ignore_errors=True)


def fetch_table(name: Any) -> Tensor:
    """A tensor that was shared, or one that was sent as an array."""
    if isinstance(name, np.ndarray):
        return torch.from_numpy(name)
    path, dtype, shape = name
    kind: torch.dtype = getattr(torch, dtype)
    size = int(np.prod(shape, dtype=np.int64))
    return torch.from_file(path, shared=False, size=size, dtype=kind).reshape(shape)
