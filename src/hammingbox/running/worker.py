"""The program of a spawned worker: reads messages from standard input, computes, and answers on standard output.

It never imports the user's main script, so a script needs no `if __name__ == "__main__"` around its call.
"""

import os
import pickle
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue
from shutil import rmtree
from typing import IO, Any

import torch

from hammingbox.running.freed_memory import keep_freed_memory
from hammingbox.running.shared_tables import fetch_table
from hammingbox.running.workbench import Workbench, own_versions, packed_error

START = (
    "import json, signal, sys; "
    "signal.signal(signal.SIGINT, signal.SIG_IGN); signal.signal(signal.SIGTERM, signal.SIG_IGN); "
    "sys.path[:] = json.loads(sys.stdin.buffer.readline()); "
    "from hammingbox.running.worker import main; main()"
)
"""What a worker's interpreter runs. Signals that ask a whole group of processes to end are the driver's: a worker ends
when its driver does, and gives the shared memory back. The driver also says where modules are."""

_SIZE = 8
"""Bytes before each message that hold its length."""


def write_message(file: IO[bytes], message: tuple[Any, ...]) -> None:
    """Writes one message."""
    content = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    file.write(len(content).to_bytes(_SIZE, "little"))
    file.write(content)
    file.flush()


def read_messages(file: IO[bytes]) -> Iterator[tuple[Any, ...]]:
    """Reads messages until whoever writes them closes the file or dies, if need be in the middle of one."""
    while len(size := _read(file, _SIZE)) == _SIZE:
        wanted = int.from_bytes(size, "little")
        content = _read(file, wanted)
        if len(content) < wanted:
            return
        yield pickle.loads(content)


def _read(file: IO[bytes], size: int) -> bytes:
    try:
        return file.read(size)
    except (OSError, ValueError):  # closed meanwhile
        return b""


def main() -> None:
    """Serves one driver until it closes the pipe or dies."""
    keep_freed_memory()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a model prints must not come between answers
    inbox: SimpleQueue[tuple[Any, ...]] = SimpleQueue()
    tables, device = pickle.loads(_first(sys.stdin.buffer))
    threading.Thread(target=_listen, args=(inbox, tables), daemon=True).start()
    bench = Workbench(fetch_table, device)
    write_message(answers, ("ready", own_versions()))
    while True:
        kind, *rest = inbox.get()
        if kind == "run":
            number, *run = rest
            try:
                bench.prepare(*run)
            except Exception as error:
                write_message(answers, ("refused", number, packed_error(error)))
        else:
            ticket, places, rows = rest
            answer = bench.compute(
                torch.from_numpy(places), rows, lambda passes: write_message(answers, ("passed", passes))
            )
            write_message(answers, ("answer", ticket, answer))


def _first(file: IO[bytes]) -> bytes:
    """The first message, which says how to work."""
    return _read(file, int.from_bytes(_read(file, _SIZE), "little"))


def _listen(inbox: "SimpleQueue[tuple[Any, ...]]", tables: Path) -> None:
    """Takes messages while a batch is computed, and ends the process at once when nobody wants its answers."""
    for message in read_messages(sys.stdin.buffer):
        inbox.put(message)
    rmtree(tables, ignore_errors=True)  # a driver that was killed could not do it
    os._exit(0)
