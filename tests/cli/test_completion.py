"""Completion as a shell asks for it: through environment variables, in the folder where somebody types."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hammingbox import ATTACKS, CERTIFICATES, DATASETS, DEFENCES, VICTIMS
from hammingbox.cli.app import app
from hammingbox.cli.completion import one_of, several_of
from hammingbox.victims.shipped import shipped_names
from toys.program import PROGRAM


def completed(*words: str) -> list[str]:
    """What bash offers for the last word."""
    asked = {"_HAMMINGBOX_COMPLETE": "complete_bash", "COMP_CWORD": str(len(words))}
    line = " ".join(["hammingbox", *words])
    return CliRunner().invoke(app, env=asked | {"COMP_WORDS": line}, prog_name="hammingbox").stdout.split()


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("attack", "splice", "--attack", ""), list(ATTACKS)),
        (("certify", "splice", "--method", ""), list(CERTIFICATES)),
        (("defend", "splice", "--defence", ""), list(DEFENCES)),
        (("defend", "splice", "--model", ""), list(VICTIMS)),
        (("train", "splice", "--model", ""), [*VICTIMS, "released"]),
        (("attack", ""), list(DATASETS)),
        (("attack", "splice", "--victim", ""), shipped_names()),
        (("compare", "splice", ""), shipped_names()),
        (("compare", "splice", "--victim", ""), shipped_names()),
        (("diagnose", "splice", "--victim", ""), shipped_names()),
        (("verify", "x.json", "--victim", ""), shipped_names()),
        (("defend", "splice", "--start", ""), shipped_names()),
        (("victims", ""), shipped_names()),
        (("attack", "splice", "--split", "t"), ["train", "test"]),
        (("attack", "splice", "--attack", "pc"), [name for name in ATTACKS if name.startswith("pc")]),
    ],
)
def test_names_are_offered(words: tuple[str, ...], offered: list[str]) -> None:
    assert completed(*words) == offered


@pytest.mark.parametrize("command", [("audit", "x.csv"), ("compare", "splice")])
def test_the_last_of_several_attacks_is_completed(command: tuple[str, ...]) -> None:
    assert completed(*command, "--attacks", "auto,orac") == ["auto,oracle"]
    rest = completed(*command, "--attacks", "auto,")
    assert rest == [f"auto,{name}" for name in ATTACKS if name != "auto"]


def test_files_stand_beside_names_and_alone_where_no_name_fits(tmp_path: Path) -> None:
    (tmp_path / "spam.csv").touch()
    (tmp_path / "splits").mkdir()
    (tmp_path / "splits" / "one.csv").touch()
    (tmp_path / ".hidden").touch()
    assert completed("attack", "sp") == ["splice", "splice_paper", "spam.csv", "splits/"]
    assert completed("attack", "") == [*DATASETS, "spam.csv", "splits/"]
    assert completed("attack", "splits/o") == [], "bash completes files by itself"
    (tmp_path / "splice").mkdir()
    (tmp_path / "splice" / "padvt-mine").mkdir()
    found = completed("attack", "splice", "--victim", "splice/padvt")
    assert "splice/padvt" in found
    assert "splice/padvt-mine/" in found


def test_a_name_is_not_offered_twice() -> None:
    assert several_of(["a", "b"])("a,") == ["a,b"]
    assert several_of(["a", "b"])("") == ["a", "b"]
    assert one_of(["a", "b"])("c") == []


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_with_the_script_that_the_program_prints(tmp_path: Path) -> None:
    script = subprocess.run(
        [PROGRAM, "--show-completion", "bash"], capture_output=True, text=True, check=True, timeout=120
    ).stdout
    asked = (
        f"{script}\nCOMP_WORDS=(hammingbox defend splice --defence hot); COMP_CWORD=4\n"
        f"_hammingbox_completion '{PROGRAM}'\nprintf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", asked], capture_output=True, text=True, check=True, timeout=120, cwd=tmp_path,
        env=os.environ,
    )  # fmt: skip
    assert done.stdout.split() == [name for name in DEFENCES if name.startswith("hot")]
