"""Rows of numbers as bytes: ids in the smallest whole numbers that hold them, logits in float32, little-endian."""

import numpy as np
import torch

from hammingbox.types import Ids, Logits

_ID_TYPES = {1: "<u1", 2: "<u2", 4: "<i4"}


def ids_to_blobs(ids: Ids, largest: int) -> list[bytes]:
    """One blob a row.

    Args:
        ids: rows.
        largest: the largest id the schema knows.
    """
    size = next(size for size, limit in ((1, 2**8), (2, 2**16), (4, 2**31)) if largest < limit)
    table = np.ascontiguousarray(ids.cpu().numpy(), dtype=_ID_TYPES[size])
    return [row.tobytes() for row in table]


def blobs_to_ids(blobs: list[bytes], features: int) -> Ids:
    """Inverse of `ids_to_blobs`; how wide an id is follows from the length.

    Raises:
        ValueError: lengths do not fit the features.
    """
    if not blobs:
        return torch.empty((0, features), dtype=torch.int64)
    _check_sizes(blobs)
    size, rest = divmod(len(blobs[0]), features)
    if rest or size not in _ID_TYPES:
        raise ValueError(f"a row of {len(blobs[0])} bytes for {features} features")
    table = np.frombuffer(b"".join(blobs), dtype=_ID_TYPES[size]).reshape(len(blobs), features)
    return torch.from_numpy(table.astype(np.int64))


def logits_to_blobs(logits: Logits) -> list[bytes]:
    """One blob a row."""
    return [row.tobytes() for row in np.ascontiguousarray(logits.cpu().numpy(), dtype="<f4")]


def blobs_to_logits(blobs: list[bytes], classes: int) -> Logits:
    """Inverse of `logits_to_blobs`.

    Raises:
        ValueError: lengths do not fit the classes.
    """
    _check_sizes(blobs)
    table = np.frombuffer(b"".join(blobs), dtype="<f4").reshape(len(blobs), classes)
    return torch.from_numpy(table.astype(np.float32))


def _check_sizes(blobs: list[bytes]) -> None:
    """Refuses blobs of different sizes: joined, they could look like others.

    Raises:
        ValueError: they are no blobs, or differ in size.
    """
    if set(map(type, blobs)) - {bytes} or len(set(map(len, blobs))) > 1:
        raise ValueError("rows of different sizes")
