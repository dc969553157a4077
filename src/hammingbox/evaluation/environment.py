"""What a number depends on besides its inputs: versions, threads, machine, revision of the code."""

import os
import platform
import subprocess
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch


def versions() -> dict[str, str]:
    """Versions of the package and of what it computes with."""
    return {
        "hammingbox": version("hammingbox"),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
    }


def environment() -> dict[str, Any]:
    """Versions, threads, machine and the git revision of the code."""
    return {
        **versions(),
        "threads": torch.get_num_threads(),
        "cores": os.cpu_count(),
        "platform": platform.platform(),
        "git": git_revision(),
    }


@cache
def git_revision() -> str | None:
    """The commit of the package's own source, with `-dirty` when it was edited since; None when it is installed."""
    folder = Path(__file__).parent.parent
    # An installed package may lie inside somebody else's repository: only a tracked file makes the commit ours.
    if _git(folder, "ls-files", "--error-unmatch", "__init__.py") is None:
        return None
    return _git(folder, "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
