"""The program as a user calls it: in a process of its own, or in this one, which is faster."""

import subprocess
import sys
from pathlib import Path

from typer.testing import CliRunner

from hammingbox.cli.app import app

PROGRAM = Path(sys.executable).with_name("hammingbox")


def run_program(*arguments: object, code: int = 0) -> str:
    """Runs the program in a process of its own; what it printed."""
    done = subprocess.run(
        [PROGRAM, "--threads", "1", *map(str, arguments)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == code, done.stderr + done.stdout
    assert "Traceback" not in done.stderr
    return done.stdout


def call_program(*arguments: object, code: int = 0) -> str:
    """Runs the program in this process; what it printed. A user's mistake is raised as the error itself."""
    done = CliRunner().invoke(app, ["--threads", "1", *map(str, arguments)])
    if done.exception is not None and done.exit_code != (code or None):
        raise done.exception
    assert done.exit_code == code
    return done.stdout
