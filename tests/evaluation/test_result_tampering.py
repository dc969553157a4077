"""Edits of result files: a header or rows that changed are noticed, with their hashes forged or not."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from hammingbox import (
    ATTACKS,
    AnyOther,
    Dataset,
    FileError,
    InputError,
    MaskedSpace,
    Schema,
    Target,
    ThreatModel,
    evaluate,
)
from hammingbox.errors import HammingboxError
from hammingbox.evaluation import result_files
from hammingbox.evaluation.result_files import verify, write_results
from hammingbox.files import sha256
from toys import ToyVictim, toy_rows

Written = tuple[Path, ToyVictim, Dataset]


@pytest.fixture
def written(tmp_path: Path, schema: Schema, victim: ToyVictim) -> Written:
    x, y = toy_rows(schema, victim, rows=20)
    y[:3] = (y[:3] + 1) % 3
    data = Dataset(schema, x, y, "toy", torch.arange(100, 120))
    threat = ThreatModel(MaskedSpace(schema, forbidden={"f2": ["c4"]}, immutable=["f4"]), 1)
    result = evaluate(victim, data, threat, ATTACKS["ga"]())
    assert 0 < result.success_rate.hits < result.success_rate.rows < 20
    return write_results(result, tmp_path / "ga"), victim, data


def said(written: Written) -> str:
    path, victim, data = written
    try:
        found = verify(path, victim, data=data)
    except HammingboxError as error:
        return str(error)
    assert not found.ok
    return "\n".join((*found.problems, *found.missing))


def seal(path: Path) -> None:
    header = json.loads(path.read_text())
    header["rows_sha256"] = sha256(path.with_suffix(".csv").read_bytes())
    header["header_sha256"] = result_files._header_sha256(header)
    path.write_text(json.dumps(header))


def test_the_original_is_verified(written: Written) -> None:
    path, victim, data = written
    assert verify(path, victim, data=data).verdict == "verified"
    alone = verify(path, victim)
    assert (alone.verdict, alone.problems) == ("could not compare", ())
    seal(path)
    assert verify(path, victim, data=data).ok, "sealing again changes nothing"


def test_the_order_of_keys_in_a_header_says_nothing(written: Written) -> None:
    path, victim, data = written
    header = json.loads(path.read_text())
    path.write_text(json.dumps(dict(reversed(header.items()))))
    assert verify(path, victim, data=data).ok


SUMMARY = (
    "rows", "correct", "attacked", "success", "proven", "success_rate", "robust_error", "mean_distance", "forward",
    "backward",
)  # fmt: skip


@pytest.mark.parametrize("name", [*SUMMARY, "success_interval", "robust_error_interval"])
@pytest.mark.parametrize("forged", [False, True])
def test_a_summary_that_lies_is_noticed(name: str, forged: bool, written: Written) -> None:
    path = written[0]
    header = json.loads(path.read_text())
    value = header["summary"][name]
    header["summary"][name] = [0.0, 0.5] if isinstance(value, list) else value + 1
    path.write_text(json.dumps(header))
    if forged:
        seal(path)
    assert (f"expected {name} " if forged else "an edited one") in said(written)


HEADER: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "budget": (lambda h: h["summary"].update(budget=0), "more than 0 changes"),
    "budget as text": (lambda h: h["summary"].update(budget="1"), "'summary'"),
    "no budget": (lambda h: h["summary"].pop("budget"), "'summary'"),
    "hash of the data": (lambda h: h.update(data_sha256="abc"), "whose hash is recorded"),
    "hash of the victim": (lambda h: h.update(victim_sha256="abc"), "another hash"),
    "classes": (lambda h: h["schema"].update(classes=["a", "b", "c"]), "another schema"),
    "no schema": (lambda h: h.pop("schema"), "schema"),
    "a schema that is none": (lambda h: h.update(schema=[1]), "schema"),
    "a space that is none": (lambda h: h.update(space={"kind": "masked"}), "'immutable'"),
    "a space of another kind": (lambda h: h.update(space={"kind": "moon"}), "got 'moon'"),
    "a smaller space": (lambda h: h.update(space={"kind": "masked", "immutable": ["f0", "f1", "f2", "f3"],
                                                  "forbidden": {}, "kept": {}}), "outside S(x)"),
    "a goal that is none": (lambda h: h.update(goal=3), "expected a goal"),
    "another goal": (lambda h: h.update(goal={"kind": "target", "label": "class 0"}), "class 0|not|attacked"),
    "no summary": (lambda h: h.pop("summary"), "'summary'"),
    "no hash of rows": (lambda h: h.pop("rows_sha256"), "'rows_sha256'"),
    "no file of rows": (lambda h: h.update(rows_file=None), "'rows_file'"),
    "another file of rows": (lambda h: h.update(rows_file="other.csv"), "readable file"),
    "no versions": (lambda h: h.update(versions=[]), "'versions'"),
    "format": (lambda h: h.update(format=99), "got 99"),
    "no format": (lambda h: h.pop("format"), "got None"),
}  # fmt: skip


@pytest.mark.parametrize("name", HEADER)
def test_an_edited_header_is_noticed(name: str, written: Written) -> None:
    change, words = HEADER[name]
    path = written[0]
    header = json.loads(path.read_text())
    change(header)
    path.write_text(json.dumps(header))
    assert said(written), "its hash, or its form"
    if "rows_sha256" in header:
        header["header_sha256"] = result_files._header_sha256(header)
        path.write_text(json.dumps(header))
    message = said(written)
    assert any(word in message for word in words.split("|")), message


def lines_of(path: Path) -> list[list[str]]:
    return [line.split(",") for line in path.with_suffix(".csv").read_text().splitlines()]


def broken(lines: list[list[str]]) -> list[str]:
    return next(line for line in lines[1:] if line[3] == "1")


def standing(lines: list[list[str]]) -> list[str]:
    return next(line for line in lines[1:] if line[2] == "1" and line[3] == "0")


def wrong(lines: list[list[str]]) -> list[str]:
    return next(line for line in lines[1:] if line[2] == "0")


ROWS: dict[str, tuple[Callable[[list[list[str]]], object], str]] = {
    "deleted": (lambda rows: rows.remove(standing(rows)), "as in the summary"),
    "doubled": (lambda rows: rows.append(broken(rows)), "more than once"),
    "renumbered": (lambda rows: broken(rows).__setitem__(0, "7"), "not the row the data has"),
    "label": (lambda rows: standing(rows).__setitem__(1, "9"), "got a damaged one"),
    "correct": (lambda rows: standing(rows).__setitem__(2, "0"), "recorded as right but wrong"),
    "wrong made right": (lambda rows: wrong(rows).__setitem__(2, "1"), "recorded as right but wrong"),
    "success cleared": (lambda rows: broken(rows).__setitem__(3, "0"), "not broken but meets the goal"),
    "success invented": (lambda rows: standing(rows).__setitem__(3, "1"), "does not meet the goal"),
    "proven": (lambda rows: standing(rows).__setitem__(4, "1"), "an attack that proves nothing"),
    "distance": (lambda rows: broken(rows).__setitem__(5, "0"), "another distance"),
    "margin": (lambda rows: broken(rows).__setitem__(6, "9.5"), "another margin"),
    "no margin": (lambda rows: broken(rows).__setitem__(6, "nan"), "got a damaged one"),
    "passes": (lambda rows: broken(rows).__setitem__(7, "1"), "expected forward"),
    "passes of a wrong row": (lambda rows: wrong(rows).__setitem__(7, "1"), "has passes but"),
    "text for a number": (lambda rows: broken(rows).__setitem__(7, "x"), "got a damaged one"),
    "unknown category": (lambda rows: broken(rows).__setitem__(12, "c99"), "got a damaged one"),
    "clean row": (lambda rows: broken(rows).__setitem__(10, "c0" if broken(rows)[10] != "c0" else "c1"), "not the row"),
    "short line": (lambda rows: broken(rows).pop(), "got a damaged one"),
    "other columns": (lambda rows: rows[0].reverse(), "got a damaged one"),
    "no columns": (lambda rows: rows.clear(), "got a damaged one"),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_edited_rows_are_noticed(name: str, written: Written) -> None:
    change, word = ROWS[name]
    path = written[0]
    lines = lines_of(path)
    change(lines)
    path.with_suffix(".csv").write_text("\n".join(",".join(line) for line in lines) + "\n")
    assert "changed or truncated" in said(written)
    seal(path)
    assert word in said(written)


@pytest.mark.parametrize(("version", "noticed"), [("", True), ("0.0.1", False)])
def test_passes_are_compared_with_the_formula_of_this_version(version: str, noticed: bool, written: Written) -> None:
    """With the sums of the header forged as well. Another version may have needed other passes."""
    path, victim, data = written
    threat = ThreatModel(MaskedSpace(data.schema, immutable=["f4"]), 1)
    write_results(evaluate(victim, data, threat, ATTACKS["exhaustive"]()), path.with_suffix(""))
    lines, header = lines_of(path), json.loads(path.read_text())
    row = standing(lines)
    row[7] = str(int(row[7]) + 1)
    header["summary"]["forward"] += 1
    if version:
        header["versions"]["hammingbox"] = version
    path.write_text(json.dumps(header))
    path.with_suffix(".csv").write_text("\n".join(",".join(line) for line in lines) + "\n")
    seal(path)
    found = verify(path, victim, data=data)
    assert [problem.partition(": ")[2] for problem in found.problems] == [
        "other passes than its attack makes"
    ] * noticed


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"a\rb", b'"', b"\x00" * 50])
def test_rows_that_are_no_table_are_one_sentence(content: bytes, written: Written) -> None:
    path, victim, _ = written
    path.with_suffix(".csv").write_bytes(content)
    seal(path)
    with pytest.raises(FileError, match="got a damaged one"):
        verify(path, victim)


def test_a_header_of_format_2_is_read_and_noted(written: Written) -> None:
    path, victim, data = written
    header = json.loads(path.read_text())
    del header["header_sha256"]
    path.write_text(json.dumps(header | {"format": 2}))
    found = verify(path, victim, data=data)
    assert found.ok
    assert "has no hash of itself" in found.notes[0]
    path.write_text(json.dumps(header | {"format": 2, "goal": {"kind": "own"}}))
    with pytest.raises(InputError, match="goal of the package"):
        verify(path, victim, data=data)


def test_answers_of_another_torch_may_differ_more(written: Written) -> None:
    path, victim, data = written
    lines = lines_of(path)
    names, row = lines[0], standing(lines)
    row[names.index("margin")] = str(float(row[names.index("margin")]) + 4e-3)
    path.with_suffix(".csv").write_text("".join(",".join(line) + "\n" for line in lines))
    seal(path)
    assert "another margin than recorded" in said(written)
    header = json.loads(path.read_text())
    header["versions"]["torch"] = "0.1"
    path.write_text(json.dumps(header))
    seal(path)
    assert verify(path, victim, data=data).ok


def test_the_goal_of_the_first_format_is_one_target(schema: Schema) -> None:
    place = result_files._COLUMNS_1.index("target")

    def lines(*targets: str) -> list[list[str]]:
        return [["0"] * place + [target] for target in targets]

    assert result_files._goal_of_format_1(lines("2", "2"), schema) == Target(schema.classes[2])
    assert result_files._goal_of_format_1(lines("", ""), schema) == AnyOther()
    assert result_files._goal_of_format_1(lines("0"), schema) == Target(schema.classes[0])
    for targets in (("1", "2"), ("", "1")):
        with pytest.raises(FileError, match="got 2"):
            result_files._goal_of_format_1(lines(*targets), schema)
