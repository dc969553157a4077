"""Victims that come with the package: found by name, usable wherever a checkpoint is, small, with whole records."""

import json
import re
from pathlib import Path

import pytest
import torch

import hammingbox as hb
from hammingbox.data import splice
from hammingbox.errors import FileError, InputError
from hammingbox.running.store import open_store
from hammingbox.victims import shipped
from hammingbox.victims.checkpoint import Checkpoint, load_checkpoint, load_victim, weights_digest
from hammingbox.victims.zoo.registry import build
from toys.program import call_program

LIMIT = 2_000_000
"""Bytes that all shipped victims may take together."""


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of two shipped victims, seen from an empty working folder."""
    files, here = tmp_path / "files", tmp_path / "here"
    here.mkdir()
    schema = splice.load().schema
    for seed, name in enumerate(("plain", "robust")):
        settings = {"channels": 4, "dim": 2}
        victim = build("cnn", schema, seed=seed, **settings).eval()
        training = {"defence": "Swap()" if seed else "Standard()", "budget": 2 * seed, "test_accuracy": 0.5}
        Checkpoint(victim, "cnn", settings, schema, training).save(files / "splice" / name)
    monkeypatch.setattr(shipped, "FILES", files)
    monkeypatch.chdir(here)
    return files


def test_a_name_gives_the_victim_and_its_record(two: Path) -> None:
    assert shipped.shipped_names() == ["splice/plain", "splice/robust"]
    victim, checkpoint = load_victim("splice/robust"), load_checkpoint("splice/robust")
    assert not victim.training
    assert weights_digest(victim) == weights_digest(checkpoint.victim) != weights_digest(load_victim("splice/plain"))
    assert checkpoint.training["defence"] == "Swap()"
    rows = splice.load().test.ids[:3].long()
    assert torch.equal(hb.load_victim("splice/robust")(rows), load_checkpoint(two / "splice/robust").victim(rows))


def test_an_unknown_name_lists_the_known_ones(two: Path) -> None:
    with pytest.raises(InputError, match=r"splice/plain, splice/robust\), got 'splice/robus'. Did you mean"):
        load_victim("splice/robus")
    with pytest.raises(FileError, match=r"got none.*shipped victim \(splice/plain, splice/robust\)"):
        load_checkpoint("splice/robus")
    with pytest.raises(InputError, match="known shipped victim"):
        load_victim("splice")
    with pytest.raises(InputError, match="known shipped victim"):
        load_victim("../files/splice/plain")


def test_a_folder_of_the_same_name_is_refused_as_ambiguous(two: Path) -> None:
    other = load_checkpoint("splice/plain")
    other.save(Path("splice/robust"))
    with pytest.raises(InputError, match="expected 'splice/robust' to name one victim, got two"):
        load_checkpoint("splice/robust")
    there = load_checkpoint(Path("splice/robust").resolve())
    assert weights_digest(there.victim) == weights_digest(other.victim)
    assert load_checkpoint("splice/plain").model == "cnn", "another name stays usable"
    assert weights_digest(load_victim("splice/robust")) != weights_digest(other.victim), "a name is never a folder"


def test_every_command_takes_the_name_and_records_no_path_of_the_machine(two: Path) -> None:
    call_program(
        "attack", "splice", "--victim", "splice/robust", "--attack", "swap", "--budget", 1, "--rows", 8, "--out", "out"
    )
    call_program(
        "compare", "splice", "splice/plain", "--victim", "splice/robust", "--attacks", "swap", "--budgets", "1",
        "--rows", 8, "--out", "out",
    )  # fmt: skip
    assert json.loads(call_program("verify", "out", "--json"))["ok"]
    assert json.loads(call_program("verify", "out", "--victim", "splice/robust", "--run", 1, "--json"))["ok"]
    call_program("report", "out", "--diagnose")
    with open_store(Path("out"), readonly=True) as store:
        digests = {run.victim: run.key.victim_sha256 for run in store.runs()}
    assert digests == {f"splice/{name}": weights_digest(load_victim(f"splice/{name}")) for name in ("plain", "robust")}
    page = Path("out/report.html").read_text()
    assert "--victim splice/robust" in page
    assert str(two) not in page
    assert str(two).encode() not in Path("out/results.sqlite").read_bytes()


def test_training_starts_from_a_name(two: Path) -> None:
    facts = json.loads(
        call_program(
            "defend", "splice", "--start", "splice/plain", "--defence", "swap", "--budget", 1, "--epochs", 1,
            "--rows", 64, "--robust-rows", 8, "--out", "trained", "--json",
        )
    )  # fmt: skip
    assert facts["model"] == "cnn"
    assert load_checkpoint("trained").settings == {"channels": 4, "dim": 2}


def test_the_command_lists_names_and_shows_a_record(two: Path) -> None:
    listed = json.loads(call_program("victims", "--json"))
    assert [facts["name"] for facts in listed] == ["splice/plain", "splice/robust"]
    assert listed[1]["victim_sha256"] == weights_digest(load_victim("splice/robust"))
    assert re.search(r"splice/robust +cnn +[\d,]+ +Swap, budget 2 +50.00 %", call_program("victims"))
    assert json.loads(call_program("victims", "splice/plain", "--json"))["training"]["defence"] == "Standard()"
    with pytest.raises(InputError, match="known shipped victim"):
        call_program("victims", "splice/none")


def test_shipped_victims_are_small_together() -> None:
    sizes = {path: path.stat().st_size for path in shipped.FILES.rglob("*") if path.is_file()}
    assert sum(sizes.values()) <= LIMIT
    assert {path.name for path in sizes} <= {"config.json", "model.safetensors"}


@pytest.mark.parametrize("name", shipped.shipped_names())
def test_a_shipped_victim_is_what_its_record_says(name: str) -> None:
    splits = splice.load()
    checkpoint = load_checkpoint(name, schema=splits.schema)
    training = checkpoint.training
    assert {"data", "data_sha256", "defence", "budget", "config", "epochs", "train_rows", "history"} <= training.keys()
    assert len(training["history"]) == training["epochs"]
    assert training["data_sha256"] == splits.train.digest
    assert hb.accuracy(checkpoint.victim, splits.test) == pytest.approx(training["test_accuracy"], abs=2e-3)
