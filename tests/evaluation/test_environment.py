"""What a run notes of its surroundings."""

import os
import platform
import shutil
import subprocess
from pathlib import Path

import pytest
import torch

from hammingbox.evaluation import environment as module
from hammingbox.evaluation.environment import environment, git_revision, versions


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    done = subprocess.run(["git", "-C", str(folder), *identity, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_versions_threads_and_machine() -> None:
    found = environment()
    assert found["torch"] == torch.__version__
    assert found["python"] == platform.python_version()
    assert found["threads"] == torch.get_num_threads()
    assert found["cores"] == os.cpu_count()
    assert found["git"] == git_revision()
    assert versions().items() <= found.items()


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_the_commit_counts_only_where_the_package_is_tracked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "repository" / "hammingbox"
    (package / "evaluation").mkdir(parents=True)
    monkeypatch.setattr(module, "__file__", str(package / "evaluation" / "environment.py"))
    fresh = git_revision.__wrapped__
    assert fresh() is None, "no repository"
    git(package, "init", "-q", str(package.parent))
    (package / "__init__.py").write_text("")
    (package.parent / "notes").write_text("")
    git(package.parent, "add", "notes")
    git(package.parent, "commit", "-q", "-m", "somebody else's")
    assert fresh() is None, "installed inside somebody else's repository"
    git(package, "add", "__init__.py")
    git(package, "commit", "-q", "-m", "ours")
    commit = git(package, "rev-parse", "HEAD")
    assert fresh() == commit
    (package / "__init__.py").write_text("edited")
    assert fresh() == f"{commit}-dirty"


def test_without_git_there_is_no_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert git_revision.__wrapped__() is None
