"""Ids and labels as users pass them, turned into tensors: NumPy arrays, lists, and integers of any width."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from hammingbox.errors import InputError

_NARROW = {torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64}
"""Types with every operation; torch cannot even compare the other unsigned ones."""


def whole_numbers(value: Any, what: str) -> Tensor:
    """A tensor of whole numbers. A tensor keeps its device, and its type where torch can compute with it.

    Args:
        value: a tensor, a NumPy array, a list, or anything that NumPy turns into an array.
        what: its name in messages.

    Raises:
        InputError: it holds something other than whole numbers, or numbers that int64 cannot hold.
    """
    tensor = value if isinstance(value, Tensor) else _from_array(value, what)
    if tensor.is_floating_point() or tensor.is_complex() or tensor.dtype == torch.bool:
        raise InputError(f"expected integer {what}, got {tensor.dtype}. Pass ids, not one-hot rows or scores.")
    if tensor.dtype in _NARROW:
        return tensor
    wide = tensor.to(torch.int64)
    if tensor.dtype == torch.uint64 and bool((wide < 0).any()):
        raise InputError(f"expected {what} below 2**63, got larger numbers.")
    return wide


def _from_array(value: Any, what: str) -> Tensor:
    try:
        array = np.asarray(value)
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(f"expected {what} as a tensor, an array or a list of lists, got: {error}.") from error
    if array.size == 0 and not isinstance(value, np.ndarray):
        return torch.zeros(array.shape, dtype=torch.int64, device="cpu")
    if array.dtype == np.bool_ or array.dtype.kind not in "iu":
        shown = type(value).__name__ if array.dtype == object else f"{array.dtype}"
        raise InputError(f"expected integer {what}, got {shown}. Pass ids, not names or scores.")
    if array.dtype == np.uint64 and array.size and int(array.max()) >= 2**63:
        raise InputError(f"expected {what} below 2**63, got {int(array.max())}.")
    kept = array.dtype in (np.uint8, np.int8, np.int16, np.int32)
    # Copied: the array may be read-only, reversed or of another byte order, and its owner may change it later.
    return torch.from_numpy(np.array(array, dtype=array.dtype.newbyteorder("=") if kept else np.int64, order="C"))
