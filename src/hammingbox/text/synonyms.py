"""Synonym tables: the one of the package, made from WordNet, and neighbours from a local file."""

import gzip
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from hammingbox.errors import FileError, InputError
from hammingbox.files import gunzip, parse_json, read_bytes, sha256

WORDNET = "wordnet"


@dataclass(frozen=True, eq=False)
class SynonymTable:
    """The synonyms of words, nearest first. `Substitution` checks the grammar.

    Attributes:
        source: "wordnet", or the name of the file.
        sha256: of the file, so that a stored result can be checked against the same table.
        forms: synonyms of (tag, word), all in the grammatical form of the tag.
        neighbours: synonyms of a word in any form.
    """

    source: str
    sha256: str
    forms: Mapping[tuple[str, str], tuple[str, ...]]
    neighbours: Mapping[str, tuple[str, ...]]

    def __reduce__(self) -> tuple[Any, ...]:
        """What is sent to another process: the table of the package by its digest, any other table as a whole."""
        if self.source == WORDNET and self is wordnet_table():
            return _wordnet_table_with, (self.sha256,)
        return SynonymTable, (self.source, self.sha256, self.forms, self.neighbours)

    def lookup(self, tag: str, word: str) -> tuple[str, ...]:
        """The synonyms of a word that has this tag."""
        # The present tense and the base form are spelled the same; the table has only the base form.
        return self.forms.get(("VB" if tag == "VBP" else tag, word), ()) + self.neighbours.get(word, ())


@lru_cache(maxsize=1)
def wordnet_table() -> SynonymTable:
    """The table of the package, loaded once; tools/build_synonyms.py makes it."""
    content = files("hammingbox.text").joinpath("files/wordnet.tsv.gz").read_bytes()
    forms = {}
    for line in gzip.decompress(content).decode().splitlines():
        tag, word, synonyms = line.split("\t")
        forms[tag, word] = tuple(synonyms.split(" "))
    return SynonymTable(WORDNET, sha256(content), forms, {})


def _wordnet_table_with(digest: str) -> SynonymTable:
    """The table of the package, if it is the one that another process used.

    Raises:
        InputError: this installation has another table.
    """
    table = wordnet_table()
    if table.sha256 != digest:
        raise InputError(
            f"expected the synonym table with SHA-256 {digest[:12]}..., got {table.sha256[:12]}.... "
            "Install the same version of hammingbox on every machine."
        )
    return table


def read_neighbours(path: Path) -> SynonymTable:
    """A table from a JSON file that maps each word to a list of words, such as counter-fitted neighbours.

    Args:
        path: JSON, or gzipped JSON if it ends in `.gz`.

    Raises:
        FileError: the file is missing, damaged, or has other content.
    """
    content = read_bytes(path)
    value = parse_json(gunzip(content, path) if path.suffix == ".gz" else content, path)
    if not isinstance(value, dict) or not all(_is_list_of_words(words) for words in value.values()):
        raise FileError(f"expected an object that maps words to lists of words in {path}, got other JSON.")
    return SynonymTable(path.name, sha256(content), {}, {word: tuple(words) for word, words in value.items()})


def _is_list_of_words(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and all(isinstance(word, str) for word in value)
