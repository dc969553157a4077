"""Result files: one JSON header and one CSV of rows."""

import csv
import io
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from hammingbox.data.dataset import Dataset
from hammingbox.data.schema import Schema
from hammingbox.errors import FileError, HammingboxError
from hammingbox.evaluation.environment import versions
from hammingbox.evaluation.evaluation import Evaluation
from hammingbox.evaluation.known_attack import attack_from_repr
from hammingbox.evaluation.result_form import checked_header, read_lines
from hammingbox.evaluation.verify import ELSEWHERE, TIE, Claims, Verification, verify_claims
from hammingbox.files import damage_as_file_error, read_bytes, read_json, sha256, write_bytes, write_json
from hammingbox.threat.goal import AnyOther, Goal, Target, goal_from_json
from hammingbox.threat.space import Space
from hammingbox.threat.space_json import space_from_json
from hammingbox.types import Ids
from hammingbox.victims.victim import Victim

FORMAT = 3
"""Format 1 had one target class per row in place of a goal, and no proofs; format 2 had no hash of the header."""

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
    header["header_sha256"] = _header_sha256(header)
    write_json(path.with_suffix(".json"), header)
    return path.with_suffix(".json")


def _header_sha256(header: Mapping[str, Any]) -> str:
    """The hash of everything else in a header, in one canonical text."""
    rest = {name: value for name, value in header.items() if name != "header_sha256"}
    return sha256(json.dumps(rest, ensure_ascii=False, sort_keys=True).encode("utf-8", "surrogatepass"))


def _rows_to_csv(evaluation: Evaluation) -> bytes:
    rows, schema = evaluation.rows, evaluation.data.schema
    names = [feature.name for feature in schema.features]
    text = io.StringIO()
    # Some versions of Python do not quote a carriage return, and a reader would then see the end of a line.
    returns = any("\r" in word for feature in schema.features for word in (feature.name, *feature.categories))
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC if returns else csv.QUOTE_MINIMAL)
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
    """A result file as it was read: nothing in it has been checked but its hashes and its form.

    Attributes:
        header: the whole header.
        schema: what the categories of the rows are.
        goal: what counted as success, as JSON.
        is_sealed: the header has a hash of itself, and it agrees.
    """

    header: dict[str, Any]
    schema: Schema
    goal: dict[str, Any]
    is_sealed: bool
    numbers: torch.Tensor
    labels: torch.Tensor
    correct: torch.Tensor
    success: torch.Tensor
    proven: torch.Tensor
    distance: torch.Tensor
    margin: torch.Tensor
    forward: torch.Tensor
    backward: torch.Tensor
    clean: Ids
    adversarial: Ids

    def claims(self, *, space: Space | None = None, goal: Goal | None = None) -> Claims:
        """What the file claims about its rows.

        Args:
            space: S(x), needed when the file's space held a Python rule.
            goal: needed when the file's goal is the user's own.

        Raises:
            FileError: the header is damaged.
        """
        said, version = self.header["summary"], self.header["versions"]
        try:
            space = space or space_from_json(self.header["space"], self.schema)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            if isinstance(error, HammingboxError):
                raise
            raise FileError(f"expected S(x) in the header, got a damaged document ({error!r}).") from error
        return Claims(
            victim_sha256=str(self.header["victim_sha256"]),
            space=space,
            goal=goal or goal_from_json(self.goal),
            budget=_budget(said),
            numbers=self.numbers,
            labels=self.labels,
            clean=self.clean,
            adversarial=self.adversarial,
            correct=self.correct,
            success=self.success,
            proven=self.proven,
            distance=self.distance,
            margin=self.margin,
            forward=self.forward,
            backward=self.backward,
            attack=attack_from_repr(str(said.get("attack"))),
            exact_passes=version.get("hammingbox") == versions()["hammingbox"],
            said=said,
            data_sha256=str(self.header["data_sha256"]),
            tolerance=TIE if version.get("torch") == versions()["torch"] else ELSEWHERE,
        )


def _budget(summary: Mapping[str, Any]) -> int:
    budget = summary.get("budget")
    if isinstance(budget, bool) or not isinstance(budget, int) or budget < 0:
        raise FileError(f"expected a budget of at least 0 in the header's summary, got {budget!r}.")
    return budget


def _read_header(path: Path) -> dict[str, Any]:
    """Reads a header and checks its form.

    Raises:
        FileError: missing, truncated, edited since it was written, or of another format.
    """
    header = checked_header(read_json(path.with_suffix(".json")), path, formats=(1, 2, FORMAT))
    if header["format"] == FORMAT and header.get("header_sha256") != _header_sha256(header):
        raise FileError(f"expected the header {path} as it was written, got an edited one: its hash does not agree.")
    return header


def read_results(path: Path) -> StoredResults:
    """Reads a header and its rows.

    Raises:
        FileError: missing, truncated, changed since it was written, or of another format.
    """
    header = _read_header(path)
    rows_path = path.parent / header["rows_file"]
    content = read_bytes(rows_path)
    if sha256(content) != header["rows_sha256"]:
        raise FileError(f"expected the rows that {path} was written with, got a changed or truncated {rows_path.name}.")
    with damage_as_file_error(rows_path, "rows of the header's schema"):
        return _parsed(header, content)


def _parsed(header: dict[str, Any], content: bytes) -> StoredResults:
    """The rows of a file.

    Raises:
        ValueError, KeyError, IndexError, TypeError, csv.Error: they do not fit the header.
    """
    schema = Schema.from_json(header.get("schema"))
    columns = _COLUMNS_1 if header["format"] == 1 else _COLUMNS
    names = [feature.name for feature in schema.features]
    lines = read_lines(
        content, [*columns, *(f"clean {name}" for name in names), *(f"adversarial {name}" for name in names)]
    )
    n, first = len(names), len(columns)
    lookup = [{category: i for i, category in enumerate(feature.categories)} for feature in schema.features]

    def column(name: str) -> torch.Tensor:
        return torch.tensor([int(line[columns.index(name)]) for line in lines], dtype=torch.int64, device="cpu")

    def mask(name: str) -> torch.Tensor:
        if name not in columns:
            return torch.zeros(len(lines), dtype=torch.bool, device="cpu")
        return torch.tensor(
            [{"0": False, "1": True}[line[columns.index(name)]] for line in lines], dtype=torch.bool, device="cpu"
        )

    def encode(start: int) -> Ids:
        rows = [[lookup[i][word] for i, word in enumerate(line[start : start + n])] for line in lines]
        return torch.tensor(rows, dtype=torch.int64, device="cpu").reshape(len(rows), n)

    margin = [float(line[columns.index("margin")]) for line in lines]
    if any(math.isnan(value) for value in margin):
        raise ValueError("a margin that is no number")
    labels = schema.as_labels(column("label"), len(lines))
    goal = header["goal"] if header["format"] > 1 else _goal_of_format_1(lines, schema).to_json()
    return StoredResults(
        header=header, schema=schema, goal=goal, is_sealed="header_sha256" in header,
        numbers=column("row"), labels=labels, correct=mask("correct"), success=mask("success"), proven=mask("proven"),
        distance=column("distance"), margin=torch.tensor(margin, dtype=torch.float32, device="cpu"),
        forward=column("forward"), backward=column("backward"), clean=encode(first), adversarial=encode(first + n),
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
    """Recomputes what a result file claims, from disk, see `verify_claims`.

    Args:
        path: the header, or the result's path without suffix.
        victim: the model that was attacked; its weights must have the hash the header names.
        data: clean rows and labels are compared with it. Without it the result is not `ok`: nobody knows whether these
            are rows of the data.
        space: S(x), needed when the file's space held a Python rule.
        goal: needed when the file's goal is the user's own.
    """
    return verify_stored(read_results(Path(path)), victim, data=data, space=space, goal=goal)


def verify_stored(
    stored: StoredResults,
    victim: Victim | None,
    *,
    data: Dataset | None = None,
    space: Space | None = None,
    goal: Goal | None = None,
) -> Verification:
    """Recomputes what a result file claims that was read, see `verify`."""
    found = verify_claims(stored.claims(space=space, goal=goal), victim, data=data)
    if stored.is_sealed:
        return found
    note = f"a header of format {stored.header['format']} has no hash of itself: an edit of it may go unnoticed"
    return replace(found, notes=(*found.notes, note))
