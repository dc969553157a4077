"""Arrays come from the cache if the sources have the same content, and never from a damaged file."""

from pathlib import Path

import numpy as np
import pytest

from hammingbox.data.cache import Arrays, cached_arrays
from hammingbox.data.fetch import CACHE_VARIABLE, cache_folder
from hammingbox.errors import FileError


def test_the_cache_is_keyed_by_content_and_never_trusted_blindly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    source = tmp_path / "source.txt"
    built: list[str] = []

    def load(settings: str = "") -> Arrays:
        def build() -> Arrays:
            built.append(source.read_text())
            return {"codes": np.frombuffer(source.read_bytes(), dtype=np.uint8)}

        arrays = cached_arrays("toy", [source], settings, build)
        assert bytes(arrays["codes"]) == source.read_bytes()
        return arrays

    source.write_text("one")
    load()
    load()
    assert built == ["one"], "the second time from the cache"
    source.write_text("two")
    load()
    load("length 3")
    assert built == ["one", "two", "two"], "other content or settings have another key"
    for file in cache_folder().rglob("*.npz"):
        file.write_bytes(file.read_bytes()[:40])
    load()
    load()
    assert built == ["one", "two", "two", "two"], "a damaged file is built again, once"
    monkeypatch.setenv(CACHE_VARIABLE, str(source))  # a file where the folder should be
    load()
    load()
    assert len(built) == 6, "without a cache everything still works"
    with pytest.raises(FileError, match="expected a readable file at"):
        cached_arrays("toy", [tmp_path / "none"], "", dict)
