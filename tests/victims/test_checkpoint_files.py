"""Checkpoints come back as they were written, and damaged ones are named."""

import json
from pathlib import Path

import pytest
import torch

from hammingbox import Checkpoint, FileError, build, load_checkpoint
from toys import toy_schema


def test_checkpoints(tmp_path: Path) -> None:
    schema = toy_schema((4, 4, 4, 4, 4, 4, 4))
    victim = build("lstm", schema, hidden=8).eval()
    Checkpoint(victim, "lstm", {"hidden": 8}, schema, {"note": 1}).save(tmp_path)
    again = load_checkpoint(tmp_path, schema=schema)
    x = torch.randint(4, (5, 7))
    assert torch.equal(again.victim(x), victim(x))
    assert again.training == {"note": 1}
    with pytest.raises(FileError, match="this data's schema"):
        load_checkpoint(tmp_path, schema=toy_schema((4, 4, 4, 4, 4, 4, 3)))
    with pytest.raises(FileError, match=r"got none\. Make one"):
        load_checkpoint(tmp_path / "nowhere")
    weights = (tmp_path / "model.safetensors").read_bytes()
    (tmp_path / "model.safetensors").write_bytes(weights[: len(weights) // 2])
    with pytest.raises(FileError, match="truncated"):
        load_checkpoint(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(weights)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"settings": {"hidden": 16}}))
    with pytest.raises(FileError, match="damaged"):
        load_checkpoint(tmp_path)
    (tmp_path / "config.json").write_text('{"model": ')
    with pytest.raises(FileError, match="damaged or truncated"):
        load_checkpoint(tmp_path)
