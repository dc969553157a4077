"""Data is found again: built-in sets by name, own files by their content; whatever is wrong is one sentence."""

from dataclasses import replace
from pathlib import Path

import pytest

from hammingbox import FileError, InputError
from hammingbox.data.reading import Reading
from hammingbox.files import file_sha256
from hammingbox.running.data_reference import DataReference
from hammingbox.running.store.records import Run, RunKey
from hammingbox.running.verify_store import _reference


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "own.csv"
    rows = (f"{i % 3},{i % 5},{i % 7},{'yes' if i % 2 else 'no'}\n" for i in range(200))
    path.write_text("a,b,c,label\n" + "".join(rows))
    return path


@pytest.mark.parametrize("name", ["splice", "nothing of this name", "x" * 5000, "a\0b", ""])
def test_a_name_that_is_no_file_is_only_a_name(name: str) -> None:
    found = DataReference.of(name)
    assert found == DataReference(name)
    assert found.to_text() == ""
    assert DataReference.from_text(name, "") == found


def test_a_built_in_name_is_no_file_even_if_there_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "splice").write_text("a,b\n")
    monkeypatch.chdir(tmp_path)
    assert DataReference.of("splice").path == ""
    assert len(DataReference.of("splice").load().test) == 633


def test_an_own_file_is_found_by_its_place_and_content(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(table.parent)
    found = DataReference.of("own.csv", label="label")
    assert found == DataReference("own.csv", str(table.resolve()), file_sha256(table), "label", None)
    assert DataReference.from_text("own.csv", found.to_text()) == found
    splits = found.load()
    assert splits.schema.classes == ("no", "yes")
    table.write_text(table.read_text() + "0,0,0,no\n")
    with pytest.raises(FileError, match="got another content"):
        found.load()
    assert replace(found, sha256="").load().schema == splits.schema, "nobody noted the content"
    table.unlink()
    with pytest.raises(FileError, match=r"got no such file\. Name it with --data"):
        found.load()


def test_the_label_column_is_found_by_the_schema(table: Path) -> None:
    known = DataReference.of(str(table), label="c")
    forgotten = replace(known, label=None)
    digest = known.load().schema.digest
    assert forgotten.load(schema_digest=digest).schema.digest == digest
    with pytest.raises(InputError, match=r"got none that leads to the run's schema\. Pass --label"):
        forgotten.load(schema_digest="another")


def test_a_schema_file_is_noted_with_its_whole_path(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(table.parent)
    found = DataReference.of("own.csv", schema=Path("schema.toml"))
    assert found.schema == str(table.parent.resolve() / "schema.toml")
    with pytest.raises(FileError):
        found.load()


@pytest.mark.parametrize("text", ["{", "[]", "5", "{}", '{"path": "x"}', "[" * 100_000])
def test_a_damaged_note_is_one_sentence(text: str) -> None:
    with pytest.raises(FileError, match="expected where the data of a run was, got a damaged note"):
        DataReference.from_text("x", text)


def test_files_of_parts_are_found_where_they_were_or_beside_the_moved_table(table: Path, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    test = tmp_path / "there" / "test.csv"
    test.write_text("a,b,c,label\n" + "1,2,3,yes\n0,1,2,no\n" * 4)
    noted = DataReference.of(str(table), label="label", reading=Reading(test=test))
    again = DataReference.from_text(str(table), noted.to_text())
    assert again == noted
    assert len(noted.load().test) == 8
    (tmp_path / "elsewhere").mkdir()
    moved = table.rename(tmp_path / "elsewhere" / "own.csv")
    beside = test.rename(moved.with_name("test.csv"))
    away = replace(noted, path=str(moved))
    assert len(away.load().test) == 8, "both have moved to one folder"
    test.write_text("a,b,c,label\n0,0,0,no\n")
    assert len(away.load().test) == 8, "another file took its place: its content decides"
    beside.write_text(beside.read_text() + "0,0,0,no\n")
    with pytest.raises(FileError, match="as it was when it was attacked, got another content"):
        away.load()
    assert len(replace(away, parts=()).load().test) == 1, "nobody noted the content: the place decides"
    test.unlink()
    beside.unlink()
    with pytest.raises(FileError, match=r"expected the test rows at .*test\.csv, got no such file\. Put it beside"):
        away.load()


def test_what_the_user_says_counts_more_than_what_was_noted(table: Path) -> None:
    noted = replace(DataReference.of(str(table), label="label"), schema="schema.toml")
    key = RunKey(str(table), "test", "", "", "", "", "", "", budget=1, seed=0)
    run = Run(1, key, "ga", "", "", "", None, 1, 1.0, noted.sha256, noted.to_text())
    same = _reference(run, None, None, None)
    assert (same.path, same.label, same.schema, same.sha256) == (noted.path, "label", "schema.toml", noted.sha256)
    other = _reference(run, "moved.csv", "c", Path("new.toml"))
    assert (other.path, other.label, other.schema, other.sha256) == ("moved.csv", "c", "new.toml", noted.sha256)
    assert _reference(replace(run, source=""), None, None, None).path == noted.path
    built_in = _reference(replace(run, key=replace(key, data="splice"), source=""), "moved.csv", "c", None)
    assert built_in == DataReference("splice")


def test_what_the_rows_of_a_split_are_called(table: Path) -> None:
    test, validation = table.with_name("held_out.csv"), table.with_name("tuned.csv")
    for file in (test, validation):
        file.write_text("a,b,c,label\n1,2,3,yes\n")
    built_in, alone = DataReference("splice"), DataReference.of(str(table))
    one = DataReference.of(str(table), reading=Reading(test=test))
    both = DataReference.of(str(table), reading=Reading(test=test, validation=validation))
    found = {
        split: [each.rows_of(split) for each in (built_in, alone, one, both)] for split in ("train", "test", "all")
    }
    assert found == {
        "train": ["splice (train rows)", "own.csv (train rows)", "own.csv (train rows)", "own.csv"],
        "test": ["splice", "own.csv (test rows)", "held_out.csv", "held_out.csv"],
        "all": ["splice (all rows)", "own.csv", "own.csv and held_out.csv", both.rows_of("all")],
    }
    assert sorted(both.rows_of("all").split(" and ")) == ["held_out.csv", "own.csv", "tuned.csv"]
