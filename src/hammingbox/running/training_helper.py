"""The program of a spawned process that takes part in trainings. It ends when its leader does."""

import json
import os
import sys
import threading

START = (
    "import json, signal, sys; "
    "signal.signal(signal.SIGINT, signal.SIG_IGN); signal.signal(signal.SIGTERM, signal.SIG_IGN); "
    "sys.path[:] = json.loads(sys.stdin.buffer.readline()); "
    "from hammingbox.running.training_helper import main; main()"
)
"""What its interpreter runs. Signals that ask a whole group of processes to end are the leader's."""


def main() -> None:
    """Joins the leader's process group and takes part in its trainings."""
    import torch

    from hammingbox.running.freed_memory import keep_freed_memory
    from hammingbox.running.training_processes import join
    from hammingbox.training.loop import serve
    from hammingbox.training.process_group import ProcessGroup

    keep_freed_memory()
    settings = json.loads(sys.stdin.buffer.readline())
    torch.set_num_threads(1)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a model prints is no answer
    answers.write(b"ready\n")
    answers.flush()
    if not sys.stdin.buffer.readline():
        return
    threading.Thread(target=_end_with_leader, daemon=True).start()
    try:
        join(settings)
        serve(ProcessGroup(torch.device(settings["device"])))
    except Exception:  # the leader says what it is, or is gone
        os._exit(1)
    os._exit(0)


def _end_with_leader() -> None:
    sys.stdin.buffer.read()
    os._exit(0)
