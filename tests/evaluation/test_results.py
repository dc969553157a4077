"""Files: verified from disk, written whole or not at all."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from hammingbox import (
    ATTACKS,
    Dataset,
    Feature,
    FileError,
    FullSpace,
    InputError,
    MaskedSpace,
    Schema,
    ThreatModel,
    evaluate,
    verify,
    write_results,
)
from hammingbox.evaluation import result_files
from hammingbox.evaluation.result_files import read_results
from hammingbox.files import sha256
from toys import ToyVictim, toy_rows

Written = tuple[Path, ToyVictim, Dataset]
Lines = list[list[str]]


@pytest.fixture
def written(tmp_path: Path, schema: Schema, victim: ToyVictim) -> Written:
    x, y = toy_rows(schema, victim, rows=20)
    data = Dataset(schema, x, y, "toy", torch.arange(100, 120))
    threat = ThreatModel(MaskedSpace(schema, forbidden={"f2": ["c4"]}), 2)
    result = evaluate(victim, data, threat, ATTACKS["ga"]())
    assert result.success_rate.hits > 3
    return write_results(result, tmp_path / "ga"), victim, data


def rewrite(path: Path, change: Callable[[Lines], None]) -> None:
    """Changes the rows and makes the header's hash agree: only a real re-check can notice."""
    csv = path.with_suffix(".csv")
    lines = [line.split(",") for line in csv.read_text().splitlines()]
    change(lines)
    csv.write_text("\n".join(",".join(line) for line in lines) + "\n")
    rewrite_header(path, lambda header: header.update(rows_sha256=sha256(csv.read_bytes())))


def rewrite_header(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Changes the header and makes its own hash agree."""
    header = json.loads(path.read_text())
    change(header)
    header["header_sha256"] = result_files._header_sha256(header)
    path.write_text(json.dumps(header))


def broken_row(lines: Lines) -> list[str]:
    return next(line for line in lines[1:] if line[3] == "1")


def test_a_written_result_is_verified(written: Written) -> None:
    path, victim, data = written
    found = verify(path, victim, data=data)
    assert found.ok, found.problems
    assert found.confirmed == found.claimed == json.loads(path.read_text())["summary"]["success"]
    header = json.loads(path.read_text())
    assert {"attack", "seed", "budget"} <= header["summary"].keys()
    assert header["data_sha256"] == data.digest
    assert "torch" in header["versions"]
    stored = read_results(path.with_suffix(".csv"))
    assert torch.equal(stored.clean, data.ids)


def test_verify_sees_a_row_outside_the_space(written: Written) -> None:
    path, victim, _ = written

    def forbid(lines: Lines) -> None:
        row = next(line for line in lines[1:] if line[3] == "1" and line[10 + 2] != "c4")
        row[10 + 5 + 2] = "c4"

    rewrite(path, forbid)
    assert any("outside S(x)" in p for p in verify(path, victim).problems)


def test_verify_sees_too_many_changes_and_a_wrong_count(written: Written) -> None:
    path, victim, _ = written

    def change_all(lines: Lines) -> None:
        row = broken_row(lines)
        clean = row[10:15]
        row[15:20] = ["c1" if word == "c0" else "c0" for word in clean]

    rewrite(path, change_all)
    assert any("more than 2 changes" in p for p in verify(path, victim).problems)


def test_verify_sees_a_claim_that_is_not_true(written: Written) -> None:
    path, victim, _ = written

    def claim_clean(lines: Lines) -> None:
        row = broken_row(lines)
        row[15:20], row[5] = row[10:15], "0"

    rewrite(path, claim_clean)
    assert any("does not meet the goal" in p for p in verify(path, victim).problems)


def test_verify_sees_a_success_on_a_row_that_was_wrong_before(written: Written, schema: Schema) -> None:
    path, victim, _ = written

    def relabel(lines: Lines) -> None:
        row = broken_row(lines)
        lookup = [{word: i for i, word in enumerate(feature.categories)} for feature in schema.features]
        after = torch.tensor([[lookup[i][word] for i, word in enumerate(row[15:20])]])
        answers = {int(victim.eval()(after).argmax()), int(row[1])}
        row[1] = str(({0, 1, 2} - answers).pop())  # a label that neither the clean nor the adversarial row gets

    rewrite(path, relabel)
    assert any("wrong without an attack" in p for p in verify(path, victim).problems)


def test_verify_sees_other_weights_other_data_and_other_totals(written: Written, schema: Schema) -> None:
    path, victim, data = written
    assert any("another hash" in p for p in verify(path, ToyVictim(schema.cardinalities, seed=9)).problems)
    moved = Dataset(schema, data.ids.roll(1, 0), data.labels, "toy", data.numbers)
    assert any("not the row the data has" in p for p in verify(path, victim, data=moved).problems)
    rewrite_header(path, lambda header: header["summary"].update(success=header["summary"]["success"] + 1))
    assert any("as in the summary" in p for p in verify(path, victim).problems)


def test_damaged_files_are_named(written: Written) -> None:
    path, victim, _ = written
    csv = path.with_suffix(".csv")
    content, header = csv.read_bytes(), path.read_text()
    csv.write_bytes(content[:-10])
    with pytest.raises(FileError, match="changed or truncated"):
        verify(path, victim)
    csv.unlink()
    with pytest.raises(FileError, match="readable file"):
        verify(path, victim)
    path.write_text(header[:50])
    with pytest.raises(FileError, match="damaged or truncated"):
        verify(path, victim)
    path.write_text(json.dumps({"format": 99}))
    with pytest.raises(FileError, match=r"format 1 or 2 or 3 .*got 99"):
        verify(path, victim)


def test_a_rule_must_be_given_again(tmp_path: Path, schema: Schema, victim: ToyVictim) -> None:
    x, y = toy_rows(schema, victim)

    def anything(ids: torch.Tensor) -> torch.Tensor:
        return torch.ones(*ids.shape, 5, dtype=torch.bool)

    space = MaskedSpace(schema, rule=anything)
    data = Dataset(schema, x, y)
    path = write_results(evaluate(victim, data, ThreatModel(space, 2), ATTACKS["ga"]()), tmp_path / "r")
    with pytest.raises(InputError, match=r"Python rule .*anything"):
        verify(path, victim)
    assert verify(path, victim, data=data, space=space).ok


def test_categories_may_hold_line_ends(tmp_path: Path, schema: Schema, victim: ToyVictim) -> None:
    """On some versions of Python a carriage return is not quoted unless the writer is told to."""
    x, y = toy_rows(schema, victim, rows=4)
    ends = ("\r", "\n", "\r\n", "")
    odd = Schema(
        tuple(
            Feature(f.name, tuple(w + ends[i % 4] + "x" for i, w in enumerate(f.categories))) for f in schema.features
        ),
        schema.classes,
    )
    found = evaluate(victim, Dataset(odd, x, y, "toy"), ThreatModel(FullSpace(odd), 1), ATTACKS["ga"]())
    read = read_results(write_results(found, tmp_path / "ga"))
    assert torch.equal(read.clean, x)
    assert torch.equal(read.adversarial, found.rows.adversarial)
