"""Result files: one JSON header and one CSV of rows."""

import csv
import io
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from hammingbox.data.dataset import Dataset
from hammingbox.data.schema import Schema
from hammingbox.errors import FileError
from hammingbox.evaluation.environment import versions
from hammingbox.evaluation.evaluation import Evaluation
from hammingbox.evaluation.result_form import checked_header, read_lines
from hammingbox.evaluation.verify import Claims, Verification, verify_claims
from hammingbox.files import damage_as_file_error, read_bytes, read_json, sha256, write_bytes, write_json
from hammingbox.threat.goal import AnyOther, Goal, Target, goal_from_json
from hammingbox.threat.space import Space
from hammingbox.threat.space_json import space_from_json
from hammingbox.types import Ids
from hammingbox.victims.victim import Victim

FORMAT = 2
"""Format 1 had one target class per row in place of a goal, and no proofs."""

_COLUMNS = ("row", "label", "correct", "success", "proven", "distance", "margin", "forward", "backward", "stage")
_COLUMNS_1 = ("row", "label", "target", "correct", "success", "distance", "margin", "forward", "backward", "stage")


def write_results(evaluation: Evaluation, path: Path, *, victim: str = "", data: str = "") -> Path:
    """Writes PATH.csv, then PATH.json, which names the hash of the rows.

    Args:
        evaluation: what to write.
        path: without suffix.
        victim: where the victim's checkpoint lies, for `verify`.
        data: the data set's name, for `verify`.

    Returns:
        The header's path.
    """
    rows = _rows_to_csv(evaluation)
    write_bytes(path.with_suffix(".csv"), rows)
    header = {
        "format": FORMAT,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "summary": evaluation.summary(),
        "data": data or evaluation.data.name,
        "data_sha256": evaluation.data.digest,
        "schema": evaluation.data.schema.to_json(),
        "space": evaluation.threat.space.to_json(),
        "goal": evaluation.goal.to_json(),
        "victim": victim,
        "victim_sha256": evaluation.victim_digest,
        "rows_file": path.with_suffix(".csv").name,
        "rows_sha256": sha256(rows),
        "versions": versions(),
    }
    write_json(path.with_suffix(".json"), header)
    return path.with_suffix(".json")


def _rows_to_csv(evaluation: Evaluation) -> bytes:
    rows, schema = evaluation.rows, evaluation.data.schema
    names = [feature.name for feature in schema.features]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*_COLUMNS, *(f"clean {name}" for name in names), *(f"adversarial {name}" for name in names)])
    columns = (
        rows.numbers.tolist(), rows.labels.tolist(), rows.correct.int().tolist(), rows.success.int().tolist(),
        rows.proven.int().tolist(), rows.distance.tolist(), rows.margin.tolist(), rows.forward.tolist(),
        rows.backward.tolist(), rows.stage.tolist(),
    )  # fmt: skip
    clean, adversarial = rows.clean.tolist(), rows.adversarial.tolist()
    for *values, before, after in zip(*columns, clean, adversarial, strict=True):
        writer.writerow([*values, *schema.decode(before), *schema.decode(after)])
    return text.getvalue().encode()


@dataclass(frozen=True, eq=False)
class StoredResults:
    """A result file as it was read: nothing in it has been checked but its hash and its form."""

    header: dict[str, Any]
    schema: Schema
    goal: dict[str, Any]
    numbers: torch.Tensor
    labels: torch.Tensor
    success: torch.Tensor
    distance: torch.Tensor
    clean: Ids
    adversarial: Ids

    def claims(self, *, space: Space | None = None, goal: Goal | None = None) -> Claims:
        """What the file claims about its rows.

        Args:
            space: S(x), needed when the file's space held a Python rule.
            goal: needed when the file's goal is the user's own.
        """
        return Claims(
            victim_sha256=self.header["victim_sha256"],
            space=space or space_from_json(self.header["space"], self.schema),
            goal=goal or goal_from_json(self.goal),
            budget=int(self.header["summary"]["budget"]),
            numbers=self.numbers,
            labels=self.labels,
            clean=self.clean,
            adversarial=self.adversarial,
            success=self.success.bool(),
            distance=self.distance,
            said=self.header["summary"].get("success"),
        )


def read_results(path: Path) -> StoredResults:
    """Reads a header and its rows.

    Raises:
        FileError: missing, truncated, changed since it was written, or of another format.
    """
    header = checked_header(read_json(path.with_suffix(".json")), path, formats=(1, FORMAT))
    rows_path = path.parent / header["rows_file"]
    content = read_bytes(rows_path)
    if sha256(content) != header["rows_sha256"]:
        raise FileError(f"expected the rows that {path} was written with, got a changed or truncated {rows_path.name}.")
    schema = Schema.from_json(header.get("schema"))
    columns = _COLUMNS_1 if header["format"] == 1 else _COLUMNS
    names = [feature.name for feature in schema.features]
    n, first = len(names), len(columns)
    with damage_as_file_error(rows_path, "rows of the header's schema"):
        lines = read_lines(
            content, [*columns, *(f"clean {name}" for name in names), *(f"adversarial {name}" for name in names)]
        )
        lookup = [{category: i for i, category in enumerate(feature.categories)} for feature in schema.features]

        def column(name: str) -> torch.Tensor:
            return torch.tensor([int(line[columns.index(name)]) for line in lines], dtype=torch.int64, device="cpu")

        def encode(start: int) -> Ids:
            rows = [[lookup[i][word] for i, word in enumerate(line[start : start + n])] for line in lines]
            return torch.tensor(rows, dtype=torch.int64, device="cpu").reshape(len(rows), n)

        goal = header["goal"] if header["format"] == FORMAT else _goal_of_format_1(lines, schema).to_json()
        labels = schema.as_labels(column("label"), len(lines))
        return StoredResults(
            header, schema, goal, column("row"), labels, column("success"), column("distance"),
            encode(first), encode(first + n),
        )  # fmt: skip


def _goal_of_format_1(lines: list[list[str]], schema: Schema) -> Goal:
    """The goal of a file that names one target per row.

    Raises:
        FileError: rows have different targets, which a goal cannot express.
    """
    targets = {line[_COLUMNS_1.index("target")] for line in lines}
    if targets <= {""}:
        return AnyOther()
    if len(targets) > 1:
        raise FileError(f"expected one target for all rows of a file of format 1, got {len(targets)}.")
    return Target(schema.classes[int(targets.pop())])


def verify(
    path: Path | str,
    victim: Victim,
    *,
    data: Dataset | None = None,
    space: Space | None = None,
    goal: Goal | None = None,
) -> Verification:
    """Re-checks every adversarial row of a result file from disk, see `verify_claims`.

    Args:
        path: the header, or the result's path without suffix.
        victim: the model that was attacked; its weights must have the hash the header names.
        data: when given, the clean rows and labels are compared with it.
        space: S(x), needed when the file's space held a Python rule.
        goal: needed when the file's goal is the user's own.
    """
    return verify_claims(read_results(Path(path)).claims(space=space, goal=goal), victim, data=data)
