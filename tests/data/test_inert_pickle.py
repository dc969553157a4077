"""Integers are read from pickles of every protocol, and no code of a file runs."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hammingbox.data.inert_pickle import read_integers
from hammingbox.errors import FileError

ROWS = np.random.default_rng(0).integers(1, 1067, size=(6, 20))
RAN: list[str] = []


def run(text: str) -> None:
    RAN.append(text)


class Hostile:
    def __reduce__(self) -> Any:
        return run, ("code of the file ran",)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize(
    "value",
    [
        ROWS.tolist(),
        [tuple(row) for row in ROWS.tolist()],
        ROWS,
        np.asfortranarray(ROWS),
        ROWS.astype(">i2"),
        [list(row) for row in ROWS],  # NumPy scalars
        list(ROWS.astype(np.uint16)),
    ],
    ids=["lists", "tuples", "array", "fortran", "big-endian", "scalars", "list of arrays"],
)
def test_every_form_of_a_pickled_table_is_read(protocol: int, value: Any, tmp_path: Path) -> None:
    path = tmp_path / "rows.pickle"
    path.write_bytes(pickle.dumps(value, protocol))
    assert np.array_equal(read_integers(path), ROWS)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_hostile_pickle_does_not_run(protocol: int, tmp_path: Path) -> None:
    path = tmp_path / "rows.pickle"
    RAN.clear()
    for value in (Hostile(), [Hostile()], [[1, Hostile()]]):
        content = pickle.dumps(value, protocol)
        path.write_bytes(content)
        with pytest.raises(FileError, match="It was not unpickled"):
            read_integers(path)
        assert RAN == []
    pickle.loads(content)
    assert RAN == ["code of the file ran"], "unpickling the file does run its code"


def endless() -> list[Any]:
    value: list[Any] = [1]
    value.append(value)
    return value


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no pickle",
        pickle.dumps(ROWS)[:-30],
        pickle.dumps({"rows": [1]}),
        pickle.dumps([1.5, 2.5]),
        pickle.dumps(ROWS / 2),
        pickle.dumps(np.array([object()])),
        pickle.dumps(["1"]),
        pickle.dumps([[1, 2], [3]]),
        pickle.dumps(endless()),
        pickle.dumps([[0] * 100_000] * 1_000),
    ],
)
def test_other_pickles_are_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "rows.pickle"
    path.write_bytes(content)
    with pytest.raises(FileError, match="expected a pickle of plain lists of integers"):
        read_integers(path)
