"""Synonym tables: WordNet's table of the package, and neighbours from a file."""

import gzip
import json
import pickle
from dataclasses import replace
from pathlib import Path

import pytest

from hammingbox.errors import FileError, InputError
from hammingbox.text import synonyms
from hammingbox.text.grammar import FORMS
from hammingbox.text.synonyms import SynonymTable, read_neighbours, wordnet_table


def test_no_synonym_is_repeated_and_no_word_is_its_own_synonym() -> None:
    for (tag, word), found in wordnet_table().forms.items():
        assert tag in FORMS
        assert word not in found
        assert len(set(found)) == len(found)


def test_the_present_tense_has_the_synonyms_of_the_base_form() -> None:
    assert wordnet_table().lookup("VBP", "look") == wordnet_table().lookup("VB", "look") != ()


def test_the_table_of_the_package_is_sent_by_its_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = pickle.dumps(wordnet_table())
    assert pickle.loads(sent) is wordnet_table()
    assert len(sent) < 1000
    other = replace(wordnet_table(), sha256="0" * 64)
    monkeypatch.setattr(synonyms, "wordnet_table", lambda: other)
    with pytest.raises(InputError, match=r"SHA-256 .*got 000000000000.*same version of hammingbox"):
        pickle.loads(sent)


def test_any_other_table_is_sent_as_a_whole() -> None:
    for table in (
        SynonymTable("own.json", "1", {("NN", "film"): ("movie",)}, {"bad": ("awful",)}),
        SynonymTable("wordnet", "1", {}, {"bad": ("awful",)}),  # not the table of the package
    ):
        again = pickle.loads(pickle.dumps(table))
        assert vars(again) == vars(table)


def test_neighbours_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "neighbours.json.gz"
    path.write_bytes(gzip.compress(json.dumps({"film": ["movie", "films"]}).encode()))
    table = read_neighbours(path)
    assert table.lookup("NN", "film") == ("movie", "films")
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(FileError, match="complete gzip data"):
        read_neighbours(path)
    for content, message in (("{", "expected JSON"), ('{"film": "movie"}', "lists of words"), ("[]", "lists of words")):
        plain = tmp_path / "plain.json"
        plain.write_text(content)
        with pytest.raises(FileError, match=message):
            read_neighbours(plain)
    with pytest.raises(FileError, match="readable file"):
        read_neighbours(tmp_path / "missing.json")
