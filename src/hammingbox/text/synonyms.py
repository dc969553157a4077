"""Tables of synonyms: the one made from WordNet that comes with the package, and neighbours from a local file."""

import gzip
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

from hammingbox.errors import FileError
from hammingbox.files import read_bytes, sha256

WORDNET = "wordnet"


@dataclass(frozen=True, eq=False)
class SynonymTable:
    """Which words may stand for which, nearest first; grammar is judged elsewhere.

    Attributes:
        source: "wordnet", or the name of the file.
        sha256: of the file, so that a stored result can be checked against the same table.
        forms: synonyms of (tag, word), all in the form that the tag names.
        neighbours: synonyms of a word whatever its form.
    """

    source: str
    sha256: str
    forms: Mapping[tuple[str, str], tuple[str, ...]]
    neighbours: Mapping[str, tuple[str, ...]]

    def lookup(self, tag: str, word: str) -> tuple[str, ...]:
        """Synonyms of a word that is used as `tag` says."""
        # The present tense and the base form are written alike.
        return self.forms.get(("VB" if tag == "VBP" else tag, word), ()) + self.neighbours.get(word, ())


@lru_cache(maxsize=1)
def wordnet_table() -> SynonymTable:
    """The table that comes with the package; see tools/build_synonyms.py for how it was made."""
    content = files("hammingbox.text").joinpath("files/wordnet.tsv.gz").read_bytes()
    forms = {}
    for line in gzip.decompress(content).decode().splitlines():
        tag, word, synonyms = line.split("\t")
        forms[tag, word] = tuple(synonyms.split(" "))
    return SynonymTable(WORDNET, sha256(content), forms, {})


def read_neighbours(path: Path) -> SynonymTable:
    """A table from a JSON file that maps a word to a list of words, such as counter-fitted neighbours.

    Args:
        path: JSON, gzipped or not.

    Raises:
        FileError: the file is missing, damaged or holds something else.
    """
    content = read_bytes(path)
    try:
        value = json.loads(gzip.decompress(content) if path.suffix == ".gz" else content)
    except (OSError, EOFError, zlib.error) as error:
        raise FileError(f"expected a whole gzip file at {path}, got a damaged one ({error}). Get it again.") from error
    except ValueError as error:
        raise FileError(f"expected JSON in {path}, got damaged or other text ({error}).") from error
    if not isinstance(value, dict) or not all(_is_words(words) for words in value.values()):
        raise FileError(f"expected an object that maps words to lists of words in {path}, got something else.")
    return SynonymTable(path.name, sha256(content), {}, {word: tuple(words) for word, words in value.items()})


def _is_words(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and all(isinstance(word, str) for word in value)
