"""Files are written whole or not at all."""

import errno
import os
from pathlib import Path

import pytest

from hammingbox import FileError
from hammingbox.files import write_bytes


def test_a_full_disk_leaves_nothing_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "file.bin"
    write_bytes(target, b"old")

    def full(_fd: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileError, match=r"No space left on device\. Free some space"):
        write_bytes(target, b"new")
    assert target.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["file.bin"]


def test_a_folder_that_is_a_file_is_named(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_bytes(b"")
    with pytest.raises(FileError, match="choose another place"):
        write_bytes(plain / "file.bin", b"x")
    assert plain.read_bytes() == b""
