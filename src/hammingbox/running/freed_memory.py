"""What a process of this package's own does with memory that it frees: it keeps it for the next step."""

import ctypes
import os

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Names of glibc's settings, as `malloc.h` numbers them."""
_KEPT = 2**30
"""Bytes of freed memory that a process keeps: twice what a micro-batch takes by default."""
_LARGEST_BLOCK = 2**25
"""Bytes of the largest block that is kept; glibc takes no more."""
_OWN_CHOICE = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES")


def keep_freed_memory() -> bool:
    """Has glibc keep freed memory; whether it does.

    A step of an attack allocates and frees the same blocks again and again. By default, glibc may return them to the
    system each time, and the system then clears every page of them anew. Whether it does depends on what the process
    freed before, so workers and driver may differ in the same run.

    Called in processes that are this package's alone: the program, workers, actors. Somebody's settings in the
    environment, and other C libraries, are left as they are.
    """
    if any(name in os.environ for name in _OWN_CHOICE):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # musl and macOS have none; Windows has no library of all symbols
        return False
    done = mallopt(_MMAP_THRESHOLD, _LARGEST_BLOCK), mallopt(_TRIM_THRESHOLD, _KEPT)
    return done == (1, 1)
