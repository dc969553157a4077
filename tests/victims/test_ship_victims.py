"""The tool that puts trained victims into the package."""

from pathlib import Path
from typing import Any

import pytest

from hammingbox.data import splice
from hammingbox.errors import FileError, InputError
from hammingbox.victims import shipped
from hammingbox.victims.checkpoint import Checkpoint, load_checkpoint, weights_digest
from hammingbox.victims.zoo.registry import build
from toys.tools import load_tool

tool = load_tool("ship_victims")

RECORD: dict[str, Any] = {
    "data": "splice", "data_sha256": "0" * 64, "model": "cnn", "defence": "PAdvT(draws=4)", "budget": 2,
    "config": {"seed": 0}, "epochs": 2, "best_epoch": 1, "train_rows": 20, "validation_accuracy": 0.5,
    "test_accuracy": 0.5, "history": [{"epoch": 1}, {"epoch": 2}],
}  # fmt: skip


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(shipped, "FILES", tmp_path / "files")
    return tmp_path / "files"


def _trained(folder: Path, *, seed: int = 0, **changed: Any) -> tuple[Path, dict[str, Any]]:
    schema, settings = splice.load().schema, {"channels": 4, "dim": 2}
    Checkpoint(build("cnn", schema, seed=seed, **settings), "cnn", settings, schema, RECORD | changed).save(folder)
    return folder, {"label": folder.name}


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("LSTM", "splice/standard"),
        ("standard", "splice/standard"),
        ("LSTM, standard", "splice/standard"),
        ("LSTM, PAdvT", "splice/padvt"),
        ("LSTM, PAdvT as printed", "splice/padvt-as-printed"),
        ("LSTM, l2 ball", "splice/l2-ball"),
        ("ASCC", "splice/ascc"),
        ("TRADES 1/λ=5", "splice/trades"),
        ("swap", "splice/swap"),
        ("LSTM, PAdvT, 50% clean", "splice/padvt-50-clean"),
    ],
)
def test_a_label_gives_a_name(label: str, name: str) -> None:
    assert tool.name_of(label, "splice") == name


def test_shipped_victims_keep_their_weights_and_records(files: Path, tmp_path: Path) -> None:
    sizes = tool.ship({
        "LSTM": _trained(tmp_path / "a", defence="Standard()", budget=0),
        "LSTM, PAdvT": _trained(tmp_path / "b", seed=1),
    })  # fmt: skip
    assert list(sizes) == shipped.shipped_names()[::-1] == ["splice/standard", "splice/padvt"]
    there = load_checkpoint("splice/padvt")
    assert weights_digest(there.victim) == weights_digest(load_checkpoint(tmp_path / "b").victim)
    assert there.training == RECORD | {"origin": {"label": "b"}}
    assert sizes["splice/padvt"] == sum(path.stat().st_size for path in (files / "splice/padvt").iterdir())


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"history": [{"epoch": 1}]}, "expected 2 epochs in the record of splice/padvt, got 1"),
        ({"config": {"seed": 0, "cache": "/home/me"}}, r"no path .* got '/home/me' in training.config.cache"),
        ({"defence": "ASCC(vectors='/tmp/v.txt')"}, "no path and no machine"),
        ({"history": [{"epoch": 1}, {"where": "on box-17"}]}, r"in training.history\[1\].where"),
    ],
)
def test_a_record_that_is_not_fit_to_be_shipped_is_refused(
    changed: dict[str, Any], message: str, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tool.platform, "node", lambda: "box-17")
    good, bad = _trained(tmp_path / "a"), _trained(tmp_path / "b", **changed)
    with pytest.raises(InputError, match=message):
        tool.ship({"LSTM": good, "LSTM, PAdvT": bad})
    assert not files.exists(), "all or nothing"


def test_missing_facts_missing_folders_equal_names_and_size_are_refused(files: Path, tmp_path: Path) -> None:
    folder, origin = _trained(tmp_path / "a")
    one = load_checkpoint(folder)
    Checkpoint(one.victim, "cnn", one.settings, one.schema, {"data": "splice"}).save(tmp_path / "bare")
    with pytest.raises(InputError, match="got none of data_sha256, model"):
        tool.ship({"LSTM": (tmp_path / "bare", {})})
    with pytest.raises(FileError, match="got none"):
        tool.ship({"LSTM": (tmp_path / "nowhere", {})})
    with pytest.raises(InputError, match="got splice/standard twice"):
        tool.ship({"LSTM": (folder, origin), "standard": (folder, origin)})
    size = sum(path.stat().st_size for path in folder.iterdir())
    with pytest.raises(InputError, match="Ship fewer or smaller ones"):
        tool.ship({"LSTM": (folder, origin)}, limit=size - 1)
    tool.ship({"LSTM": (folder, origin)}, limit=size)
    with pytest.raises(InputError, match="Ship fewer or smaller ones"):  # what is there already counts
        tool.ship({"LSTM, PAdvT": (folder, origin)}, limit=size + 10)
    tool.ship({"LSTM": (folder, origin)}, limit=size)  # replaced: counts once


def test_a_list_and_a_study_name_the_folders(tmp_path: Path) -> None:
    listed = tmp_path / "list.tsv"
    listed.write_text("LSTM\truns/a\n\nLSTM, PAdvT\truns/b\tLSTM\n")
    assert tool.victims_of_list(listed, "make it") == {
        "LSTM": (Path("runs/a"), {"command": "make it", "label": "LSTM", "folder": "a", "start": None}),
        "LSTM, PAdvT": (Path("runs/b"), {"command": "make it", "label": "LSTM, PAdvT", "folder": "b", "start": "LSTM"}),
    }
    listed.write_text("LSTM runs/a\n")
    with pytest.raises(InputError, match="expected LABEL<TAB>FOLDER"):
        tool.victims_of_list(listed, "make it")
    found = tool.victims_of_study(tmp_path, "defence-curve-splice", "cpu")
    folder, origin = found["LSTM, PAdvT, half clean"]
    assert folder == tmp_path / "victims" / origin["folder"]
    assert origin["start"] == "LSTM"
    assert found["LSTM"][1]["start"] is None
