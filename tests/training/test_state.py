"""A killed training ends with the same weights, and the state of another training is refused."""

import json
import re
import shutil
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import torch

from hammingbox.data.dataset import Splits
from hammingbox.defences import DEFENCES, PAdvT
from hammingbox.errors import FileError, InputError
from hammingbox.threat.goal import AnyOther, Direction
from hammingbox.threat.masked_space import MaskedSpace
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.training import training
from hammingbox.training.config import TrainConfig
from hammingbox.training.history import Epoch
from hammingbox.training.loop import fit
from hammingbox.training.state import STATE
from hammingbox.victims.checkpoint import load_checkpoint
from hammingbox.victims.zoo.registry import build
from toys.training import KilledError, kill_after, splice_threat, train_cnn, without_times

OLD = Path(__file__).parents[1] / "fixtures" / "d15ede3" / "training"


@pytest.mark.parametrize("name", [name for name in DEFENCES if name != "certified"])  # no bounds for this model
def test_a_killed_training_ends_with_the_same_weights(name: str, small: Splits, tmp_path: Path) -> None:
    config = TrainConfig(epochs=3, robust_rows=10, criterion="mean", ramp=2)
    settings = {"warm": 4} if name in ("padvt", "trades") else {}
    whole, history = train_cnn(small, DEFENCES[name](**settings), config)

    def kill(epoch: Epoch) -> None:
        raise KilledError

    # The first kill comes when an epoch is shown, the second within the next one: that epoch is repeated.
    with pytest.raises(KilledError):
        train_cnn(small, DEFENCES[name](**settings), config, tmp_path, on_epoch=kill)
    assert (tmp_path / STATE).exists(), "an epoch that was shown is stored"
    kill_after(1, small, DEFENCES[name](**settings), config, tmp_path)
    shown: list[Epoch] = []
    resumed, again = train_cnn(small, DEFENCES[name](**settings), config, tmp_path, on_epoch=shown.append)
    assert resumed == whole
    assert without_times(again) == without_times(history)
    assert shown == again, "a resumed run shows the epochs that are done, too"


def test_a_state_of_version_0_1_is_continued_to_the_weights_of_that_version(
    splice_splits: Splits, tmp_path: Path
) -> None:
    splits = replace(
        splice_splits,
        train=splice_splits.train.take(slice(0, 160)),
        validation=splice_splits.validation.take(slice(0, 60)),
    )
    shutil.copy(OLD / STATE, tmp_path)
    victim = load_checkpoint(OLD / "start", schema=splits.schema).victim
    config = TrainConfig(epochs=2, learning_rate=1e-2, criterion="mean", robust_rows=10, ramp=2)
    defence = PAdvT(ascent="steepest", penalty_step=0.1, warm=2)
    history = fit(victim, splits, config, defence=defence, threat=splice_threat(splits), folder=tmp_path)
    assert [epoch.budget for epoch in history] == [1, 2]
    expected = load_checkpoint(OLD / "end", schema=splits.schema).victim.state_dict()
    for name, weights in victim.state_dict().items():
        # Not by hash: another CPU may round the last bits in another way.
        torch.testing.assert_close(weights, expected[name], rtol=0, atol=1e-5)
    start = load_checkpoint(OLD / "start").victim.state_dict()
    assert max(float((expected[name] - start[name]).abs().max()) for name in start) > 1e-2, "the case tests nothing"


def test_a_state_of_another_training_is_refused(small: Splits, tmp_path: Path) -> None:
    config = TrainConfig(epochs=2)
    kill_after(1, small, DEFENCES["hotflip"](), config, tmp_path)
    with pytest.raises(FileError, match=r"another defence\. Choose another folder"):
        train_cnn(small, DEFENCES["swap"](), config, tmp_path)
    with pytest.raises(FileError, match="another config"):
        train_cnn(small, DEFENCES["hotflip"](), replace(config, seed=1), tmp_path)


def test_a_state_of_other_validation_rows_is_refused(small: Splits, tmp_path: Path) -> None:
    config = TrainConfig(epochs=2)
    kill_after(1, small, DEFENCES["standard"](), config, tmp_path)
    other = replace(small, validation=small.validation.take(slice(0, 50)))
    with pytest.raises(FileError, match="another validation_sha256"):
        train_cnn(other, DEFENCES["standard"](), config, tmp_path)


def test_a_state_of_another_goal_is_refused(small: Splits, tmp_path: Path) -> None:
    config, defence = TrainConfig(epochs=2), DEFENCES["hotflip"]
    for folder, written, wanted in (("default", None, Direction("EI")), ("direction", Direction("EI"), None)):
        kill_after(1, small, defence(), config, tmp_path / folder, goal=written)
        with pytest.raises(FileError, match=r"another goal\."):
            train_cnn(small, defence(), config, tmp_path / folder, goal=wanted)
        digest, _ = train_cnn(small, defence(), config, tmp_path / folder, goal=written)
        assert digest == train_cnn(small, defence(), config, goal=written)[0]


def test_the_default_goal_is_not_part_of_a_state(small: Splits, tmp_path: Path) -> None:
    """States written before goals existed have no goal."""
    kill_after(1, small, DEFENCES["hotflip"](), TrainConfig(epochs=2), tmp_path, goal=AnyOther())
    assert "goal" not in _metadata(tmp_path)["identity"]


def test_a_state_of_the_first_version_is_continued(small: Splits, tmp_path: Path) -> None:
    """It contained neither the hash of validation rows nor the elapsed time."""
    config = TrainConfig(epochs=2)
    whole, _ = train_cnn(small, DEFENCES["standard"](), config)
    kill_after(1, small, DEFENCES["standard"](), config, tmp_path)
    content = (tmp_path / STATE).read_bytes()
    size = int.from_bytes(content[:8], "little")
    header, metadata = json.loads(content[8 : 8 + size]), _metadata(tmp_path)
    del metadata["identity"]["validation_sha256"]
    for line in metadata["numbers"]["history"]:
        del line["elapsed"]
        line["seconds"] = 500.0
    header["__metadata__"] = {name: json.dumps(value) for name, value in metadata.items()}
    text = json.dumps(header).encode()
    (tmp_path / STATE).write_bytes(len(text).to_bytes(8, "little") + text + content[8 + size :])
    resumed, history = train_cnn(small, DEFENCES["standard"](), config, tmp_path)
    assert resumed == whole
    assert history[-1].elapsed > 500.0


def test_elapsed_time_includes_earlier_sessions_but_not_the_time_between(
    small: Splits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def clock_from(start: int) -> None:
        ticks = count(start)
        monkeypatch.setattr(training, "perf_counter", lambda: float(next(ticks)))

    # The clock advances by 1 whenever it is read: when the training begins, and three times per epoch.
    clock_from(0)
    kill_after(2, small, DEFENCES["standard"](), TrainConfig(epochs=3), tmp_path)
    clock_from(1000)
    _, history = train_cnn(small, DEFENCES["standard"](), TrainConfig(epochs=3), tmp_path)
    assert [epoch.seconds for epoch in history] == [1, 1, 1]
    assert [epoch.elapsed for epoch in history] == [3, 6, 9]


def test_a_rule_without_a_name_has_no_state_to_continue_from(small: Splits, tmp_path: Path) -> None:
    space = MaskedSpace(small.schema, rule=lambda ids: torch.ones(*ids.shape, 5, dtype=torch.bool))
    victim = build("cnn", small.schema, seed=0)
    with pytest.raises(InputError, match="Pass rule_name="):
        fit(victim, small, TrainConfig(epochs=1), threat=ThreatModel(space, 1), folder=tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_damaged_state_is_refused(small: Splits, tmp_path: Path) -> None:
    config = TrainConfig(epochs=2)
    kill_after(1, small, DEFENCES["standard"](), config, tmp_path)
    content = (tmp_path / STATE).read_bytes()
    for damaged in (content[: len(content) // 2], b"", b"\0" * 64):
        (tmp_path / STATE).write_bytes(damaged)
        with pytest.raises(FileError, match="damaged"):
            train_cnn(small, DEFENCES["standard"](), config, tmp_path)


def test_a_state_is_plain_tensors_and_json(small: Splits, tmp_path: Path) -> None:
    kill_after(1, small, DEFENCES["padvt"](), TrainConfig(epochs=2), tmp_path)
    assert re.search(r"PAdvT\(", _metadata(tmp_path)["identity"]["defence"])
    content = (tmp_path / STATE).read_bytes()
    assert "defence/adapted_penalty" in json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])


def _metadata(folder: Path) -> dict[str, Any]:
    content = (folder / STATE).read_bytes()
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    return {name: json.loads(value) for name, value in header["__metadata__"].items()}
