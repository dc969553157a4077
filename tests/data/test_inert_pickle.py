"""Integers are read from pickles of every protocol, and no code of a file runs."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hammingbox.data.inert_pickle import MOST_BYTES, MOST_INSTRUCTIONS, MOST_NUMBERS, read_integers
from hammingbox.errors import FileError

ROWS = np.random.default_rng(0).integers(1, 1067, size=(6, 20))
RAN: list[str] = []


def run(text: str) -> None:
    RAN.append(text)


class Hostile:
    def __reduce__(self) -> Any:
        return run, ("code of the file ran",)


def objects(values: list[Any]) -> np.ndarray[Any, np.dtype[np.object_]]:
    """An array whose entries are these values, even where they are lists."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


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
        ROWS.astype(object),
        np.asfortranarray(ROWS.astype(object)),
        objects([list(row) for row in ROWS]),  # NumPy scalars
        objects(ROWS.tolist()),
        list(ROWS.astype(object)),
    ],
    ids=[
        "lists",
        "tuples",
        "array",
        "fortran",
        "big-endian",
        "scalars",
        "list of arrays",
        "object table",
        "fortran object table",
        "objects of scalars",
        "objects of lists",
        "list of object arrays",
    ],
)
def test_every_form_of_a_pickled_table_is_read(protocol: int, value: Any, tmp_path: Path) -> None:
    path = tmp_path / "rows.pickle"
    path.write_bytes(pickle.dumps(value, protocol))
    assert np.array_equal(read_integers(path), ROWS)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_an_object_array_of_labels_is_read(protocol: int, tmp_path: Path) -> None:
    path = tmp_path / "labels.pickle"
    for labels in ([2, 0, 1], [np.int64(2), np.int8(0), np.int32(1)]):
        path.write_bytes(pickle.dumps(np.array(labels, dtype=object), protocol))
        assert read_integers(path).tolist() == [2, 0, 1]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_hostile_pickle_does_not_run(protocol: int, tmp_path: Path) -> None:
    path = tmp_path / "rows.pickle"
    RAN.clear()
    for value in (Hostile(), [Hostile()], [[1, Hostile()]], np.array([1, Hostile()], dtype=object)):
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
        pickle.dumps([True, False]),
        pickle.dumps([[[1]]]),
        pickle.dumps([1, [2]]),
        pickle.dumps([2**70]),
        pickle.dumps(np.array([2**63], dtype=np.uint64)),
        pickle.dumps(np.zeros((2, 2, 2), dtype=object)),
        pickle.dumps(np.array([1, 1.5], dtype=object)),
        pickle.dumps(np.array([[1], [2, 3]], dtype=object)),
        pickle.dumps([ROWS, ROWS]),
        b"(ccos\nsystem\n.",
        b"t.",  # a tuple without a mark
        b"\x86.",  # a pair from an empty stack
        b"((t",
    ],
)
def test_other_pickles_are_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "rows.pickle"
    path.write_bytes(content)
    with pytest.raises(FileError, match="expected a pickle of plain lists of integers"):
        read_integers(path)


@pytest.mark.parametrize(
    "content",
    [
        pickle.dumps([[0] * 100_000] * 1_000),
        pickle.dumps([np.zeros(20_000, dtype=np.int8)] * 20_000),
        pickle.dumps([np.zeros(20_000, dtype=object)] * 20_000),
        pickle.dumps(objects([[0] * 20_000] * 20_000)),
        pickle.dumps(np.zeros(MOST_NUMBERS + 1, dtype=np.int8)),
    ],
    ids=["lists", "arrays", "object arrays", "objects", "one array"],
)
def test_a_short_file_of_too_many_numbers_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "rows.pickle"
    path.write_bytes(content)
    with pytest.raises(FileError, match=r"expected a pickle of at most 1,000,000 numbers in .*, got more\. It was not"):
        read_integers(path)


def test_a_file_of_too_many_instructions_or_bytes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.pickle"
    path.write_bytes(b"N" * (MOST_INSTRUCTIONS + 1))
    with pytest.raises(FileError, match="expected a pickle of at most 1,000,000 instructions"):
        read_integers(path)
    with path.open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    with pytest.raises(FileError, match="expected a pickle of at most 16,777,216 bytes"):
        read_integers(path)


def test_tens_of_thousands_of_marks_are_read(tmp_path: Path) -> None:
    """A reader that searches the stack for the last mark would take minutes."""
    path = tmp_path / "rows.pickle"
    path.write_bytes(b"(" + b"(K\x01t" * 60_000 + b"l.")  # a list of tuples (1,)
    assert read_integers(path).shape == (60_000, 1)
    path.write_bytes(b"(" * 60_000 + b"t" * 60_000 + b".")  # a tuple in a tuple in a tuple ...
    with pytest.raises(FileError, match="expected a pickle of plain lists of integers"):
        read_integers(path)


def test_a_long_text_that_names_many_functions_takes_no_more_memory_than_the_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.pickle"
    text = b"X" + (1_000_000).to_bytes(4, "little") + b"x" * 1_000_000
    path.write_bytes(b"\x80\x04" + text + b"\x94" + b"h\x00h\x00\x93" * 100_000 + b".")
    with pytest.raises(FileError, match="a long name of a function"):
        read_integers(path)
