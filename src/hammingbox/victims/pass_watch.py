"""Who watches the passes of attacks, such as a progress bar: a batch may take minutes before its rows are done."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

OnPasses = Callable[[int], None]
"""Called with a number of rows that have just gone through the victim."""

_watcher: ContextVar[OnPasses | None] = ContextVar("watcher of passes", default=None)


@contextmanager
def watching_passes(on_passes: OnPasses) -> Iterator[None]:
    """Tells `on_passes` about every pass that attacks make inside the block, in this process.

    Nothing else changes: passes are counted for records elsewhere, and no result depends on who watches.
    """
    token = _watcher.set(on_passes)
    try:
        yield
    finally:
        _watcher.reset(token)


def passed(rows: int) -> None:
    """Tells whoever watches that rows have gone through the victim."""
    watcher = _watcher.get()
    if watcher is not None:
        watcher(rows)
