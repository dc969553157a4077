"""Files are replaced as a whole or not at all, and errors name the file."""

import errno
import hashlib
import os
from pathlib import Path

import pytest

from hammingbox.errors import FileError
from hammingbox.files import atomic_write, file_sha256, read_bytes, read_json, sha256, write_bytes, write_json


def write_half(path: Path) -> None:
    with atomic_write(path) as file:
        file.write(b"half of the new")
        raise RuntimeError("interrupted")


def test_an_interrupted_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "file.bin"
    write_bytes(path, b"old")
    with pytest.raises(RuntimeError, match="interrupted"):
        write_half(path)
    assert path.read_bytes() == b"old"
    assert [p.name for p in path.parent.iterdir()] == ["file.bin"], "no temporary file is left behind"
    write_bytes(path, b"new")
    assert path.read_bytes() == b"new"


def test_a_folder_that_cannot_be_created_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(FileError, match=r"expected to write .*file/x\.json, got: .*choose another place"):
        write_json(tmp_path / "file" / "x.json", {})


def test_json_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "value.json"
    write_json(path, {"é": [1, None]})
    assert read_json(path) == {"é": [1, None]}
    assert "é" in path.read_text("utf-8")
    path.write_text('{"a": ')
    with pytest.raises(FileError, match=r"expected JSON in .*value\.json, got damaged or truncated text"):
        read_json(path)


def test_digests(tmp_path: Path) -> None:
    path = tmp_path / "file.bin"
    path.write_bytes(b"some bytes" * 100_000)
    assert file_sha256(path) == hashlib.sha256(path.read_bytes()).hexdigest() == sha256(path.read_bytes())
    assert sha256(b"some ", b"bytes") == sha256(b"some bytes")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    for read in (read_bytes, read_json, file_sha256):
        with pytest.raises(FileError, match=r"expected a readable file at .*none, got: No such file"):
            read(tmp_path / "none")


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


def test_a_reader_of_the_old_file_keeps_it_whole(tmp_path: Path) -> None:
    """The new file takes the place of the old one; nothing is written into the old one."""
    path = tmp_path / "file"
    write_bytes(path, b"old")
    with path.open("rb", buffering=0) as reader:
        write_bytes(path, b"new")
        assert reader.read() == b"old"
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path], "no temporary file is left"
