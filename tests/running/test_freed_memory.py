"""Workers and the program keep the memory that they free, so no step waits for cleared pages again."""

import ctypes
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from hammingbox import ATTACKS, Processes, evaluate
from hammingbox.running import freed_memory
from toys import Case
from toys.workers import FaultingVictim

pytestmark = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library keeps its own rules")

FEW = 512
"""Pages; a step that is given all of its memory anew needs 8,192."""


def steps(before: str, **environment: str) -> int:
    """Page faults of a step in a fresh process."""
    own = {name: value for name, value in os.environ.items() if name not in freed_memory._OWN_CHOICE}
    own["PYTHONPATH"] = str(Path(__file__).parents[1])  # where it finds `toys`
    code = f"from toys.workers import faults_of_a_step\n{before}\nprint(faults_of_a_step())"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=own | environment
    )
    return int(done.stdout.split()[-1])


KEEP = "from hammingbox.running.freed_memory import keep_freed_memory; print(keep_freed_memory())"


def test_freed_memory_is_kept() -> None:
    assert steps("", MALLOC_MMAP_THRESHOLD_="131072") > FEW, "every block is returned, as may happen by default"
    assert steps(KEEP) < FEW
    assert steps(KEEP, MALLOC_MMAP_THRESHOLD_="131072") > FEW, "the user's own choice counts"


def test_the_program_keeps_it() -> None:
    program = (
        "import sys; from hammingbox.cli.app import main; sys.argv = ['hammingbox', '--version']\n"
        "try: main()\nexcept SystemExit: pass"
    )
    assert steps(program) < FEW


def test_a_worker_keeps_it(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in freed_memory._OWN_CHOICE:
        monkeypatch.delenv(name, raising=False)
    with Processes(1) as executor:
        evaluate(FaultingVictim(tmp_path / "faults"), *case[1:], ATTACKS["random"](), executor=executor)
    assert int((tmp_path / "faults").read_text()) < FEW


def test_other_libraries_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in freed_memory._OWN_CHOICE:
        monkeypatch.delenv(name, raising=False)
    for error in (AttributeError("mallopt"), OSError("no library"), TypeError("expected a name")):

        def fail(_name: object, error: Exception = error) -> None:
            raise error

        monkeypatch.setattr(ctypes, "CDLL", fail)
        assert freed_memory.keep_freed_memory() is False
