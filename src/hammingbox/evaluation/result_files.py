"""Result files: one JSON header and one CSV of rows, and the check that re-reads both and believes neither."""

import csv
import io
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hammingbox.data.schema import Dataset, Schema
from hammingbox.errors import FileError
from hammingbox.evaluation.evaluate import Evaluation
from hammingbox.files import read_bytes, read_json, sha256, write_bytes, write_json
from hammingbox.problem import Goal, Targeted, Untargeted
from hammingbox.threat.candidates import hamming
from hammingbox.threat.space import Space
from hammingbox.threat.space_json import space_from_json
from hammingbox.types import Ids, RowFloat
from hammingbox.victims.checkpoint import weights_digest
from hammingbox.victims.frozen import frozen_eval
from hammingbox.victims.victim import Victim

FORMAT = 1
_COLUMNS = ("row", "label", "target", "correct", "success", "distance", "margin", "forward", "backward", "stage")
_TIE = 1e-4
"""Logits of one row differ by this much at most between batch sizes; a margin within it of 0 is a tie."""


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
        "victim": victim,
        "victim_sha256": evaluation.victim_digest,
        "rows_file": path.with_suffix(".csv").name,
        "rows_sha256": sha256(rows),
        "versions": versions(),
    }
    write_json(path.with_suffix(".json"), header)
    return path.with_suffix(".json")


def versions() -> dict[str, str]:
    """What a number depends on besides its inputs."""
    return {
        "hammingbox": version("hammingbox"),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
    }


def _rows_to_csv(evaluation: Evaluation) -> bytes:
    rows, schema = evaluation.rows, evaluation.data.schema
    names = [feature.name for feature in schema.features]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*_COLUMNS, *(f"clean {name}" for name in names), *(f"adversarial {name}" for name in names)])
    targets = [""] * len(rows) if evaluation.targets is None else evaluation.targets.tolist()
    columns = (
        rows.numbers.tolist(), rows.labels.tolist(), targets, rows.correct.int().tolist(), rows.success.int().tolist(),
        rows.distance.tolist(), rows.margin.tolist(), rows.forward.tolist(), rows.backward.tolist(),
        rows.stage.tolist(),
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
    numbers: torch.Tensor
    labels: torch.Tensor
    targets: torch.Tensor | None
    success: torch.Tensor
    distance: torch.Tensor
    clean: Ids
    adversarial: Ids


def read_results(path: Path) -> StoredResults:
    """Reads a header and its rows.

    Raises:
        FileError: missing, truncated, changed since it was written, or of another format.
    """
    header = read_json(path.with_suffix(".json"))
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        found = header.get("format") if isinstance(header, dict) else type(header).__name__
        raise FileError(
            f"expected a result header of format {FORMAT} in {path}, got {found!r}. Use the version that wrote it."
        )
    rows_path = path.parent / Path(header["rows_file"]).name
    content = read_bytes(rows_path)
    if sha256(content) != header["rows_sha256"]:
        raise FileError(f"expected the rows that {path} was written with, got a changed or truncated {rows_path.name}.")
    schema = Schema.from_json(header["schema"])
    reader = csv.reader(io.StringIO(content.decode()))
    next(reader)
    lines = list(reader)
    n, first = len(schema.features), len(_COLUMNS)
    lookup = [{category: i for i, category in enumerate(feature.categories)} for feature in schema.features]

    def column(name: str) -> torch.Tensor:
        return torch.tensor([int(line[_COLUMNS.index(name)]) for line in lines])

    def encode(start: int) -> Ids:
        return torch.tensor([[lookup[i][word] for i, word in enumerate(line[start : start + n])] for line in lines])

    try:
        targeted = bool(lines) and lines[0][_COLUMNS.index("target")] != ""
        return StoredResults(
            header, schema, column("row"), column("label"), column("target") if targeted else None,
            column("success"), column("distance"), encode(first), encode(first + n),
        )  # fmt: skip
    except (KeyError, ValueError, IndexError) as error:
        raise FileError(
            f"expected rows of the header's schema in {rows_path}, got something else ({error})."
        ) from error


@dataclass(frozen=True)
class Verification:
    """What `verify` found.

    Attributes:
        rows: rows in the file.
        claimed: rows the file says were broken.
        confirmed: of those, rows that are inside S(x), within the budget, right before and misclassified after.
        ties: of those, rows whose margin is 0 up to floating-point noise between batch sizes.
        problems: one sentence for everything that did not hold.
    """

    rows: int
    claimed: int
    confirmed: int
    ties: int
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Nothing was rejected."""
        return not self.problems


def verify(
    path: Path | str, victim: Victim, *, data: Dataset | None = None, space: Space | None = None
) -> Verification:
    """Re-checks every adversarial row of a result file from disk.

    Each row claimed as broken must lie in S(x) of its clean row, differ from it in no more features than the budget
    and the file's own count say, be classified correctly without them and misclassified (or reach its target)
    with them, now. Nothing of the run that wrote the
    file is trusted.

    Args:
        path: the header, or the result's path without suffix.
        victim: the model that was attacked; its weights must have the hash the header names.
        data: when given, the clean rows and labels are compared with it.
        space: S(x), needed when the file's space held a Python rule.
    """
    return verify_stored(read_results(Path(path)), victim, data=data, space=space)


def verify_stored(
    stored: StoredResults, victim: Victim, *, data: Dataset | None = None, space: Space | None = None
) -> Verification:
    """Re-checks rows that were read from a file or a store, see `verify`."""
    header = stored.header
    problems: list[str] = []
    if weights_digest(victim) != header["victim_sha256"]:
        problems.append("expected the weights that were attacked, got a victim with another hash")
    if data is not None:
        problems += _compare_with_data(stored, data)
    threat_space = space if space is not None else space_from_json(header["space"], stored.schema)
    budget = int(header["summary"]["budget"])
    claimed = stored.success.bool()
    inside = torch.cat([threat_space.candidates(a).contains(b) for a, b in _pairs(stored)])
    distance = hamming(stored.clean, stored.adversarial)
    goal = Untargeted(stored.labels) if stored.targets is None else Targeted(stored.targets)
    margin = _margins(victim, goal, stored.adversarial)
    wrong_before = _margins(victim, Untargeted(stored.labels), stored.clean) > _TIE
    fooled = margin > -_TIE
    for sentence, wrong in (
        ("outside S(x)", ~inside),
        (f"more than {budget} changes", distance > budget),
        ("another distance than recorded", distance != stored.distance),
        ("claimed as broken but classified correctly", claimed & ~fooled),
        ("claimed as broken but wrong without an attack", claimed & wrong_before),
    ):
        problems += [f"row {number}: {sentence}" for number in stored.numbers[wrong].tolist()]
    good = claimed & inside & (distance <= budget) & fooled & ~wrong_before
    ties = int((claimed & (margin.abs() <= _TIE)).sum())
    said = header["summary"].get("success", int(claimed.sum()))  # a store has no summary beside its rows
    if int(claimed.sum()) != said:
        problems.append(f"expected {said} broken rows as in the summary, got {int(claimed.sum())}")
    return Verification(len(claimed), int(claimed.sum()), int(good.sum()), ties, tuple(problems))


def _pairs(stored: StoredResults, size: int = 512) -> Sequence[tuple[Ids, Ids]]:
    return list(zip(stored.clean.split(size), stored.adversarial.split(size), strict=True))


def _margins(victim: Victim, goal: Goal, ids: Ids, size: int = 512) -> RowFloat:
    with frozen_eval(victim), torch.no_grad():
        return torch.cat([goal.take(rows).margin(victim(ids[rows])) for rows in torch.arange(len(ids)).split(size)])


def _compare_with_data(stored: StoredResults, data: Dataset) -> list[str]:
    if data.schema.digest != stored.schema.digest:
        return ["expected data of the file's schema, got another schema"]
    place = {number: i for i, number in enumerate(data.numbers.tolist())}
    known = torch.tensor([place.get(number, -1) for number in stored.numbers.tolist()])
    x, y = data.batch(known.clamp(min=0))
    wrong = (known < 0) | (x != stored.clean).any(1) | (y != stored.labels)
    return [f"row {number}: not the row the data has under this number" for number in stored.numbers[wrong].tolist()]
