"""Records of earlier runs: a study continues from them as it continues from its own results folder.

The trainings of some tables take longer than anybody lets a machine run at once. What was finished is published as
`records.json`, with the outcome of every row and the record of every training, which is all that a table needs. A run
that stands there is not run again, on whatever machine, and its victim is not trained again.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int64
from numpy import ndarray

from hammingbox.errors import FileError
from hammingbox.files import damage_as_file_error, read_json, shown
from hammingbox.studies.run_facts import RunFacts

RECORDS = "records.json"

RunName = tuple[str, str, str, int, int]
"""Folder of the victim, digest of S(x), settings of the attack, budget, seed."""


@dataclass(frozen=True)
class Published:
    """Runs and trainings by name.

    Attributes:
        runs: the record of each run, with the numbers of its rows written out.
        victims: the record of each victim's training, by the name of its folder.
    """

    runs: dict[RunName, dict[str, Any]] = field(default_factory=dict)
    victims: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> "Published":
        """All records below a folder such as `results/cpu`, which has a folder for each study.

        Raises:
            FileError: the folder holds none, or a damaged one.
        """
        found = cls()
        paths = sorted(folder.glob(f"*/{RECORDS}")) if folder.is_dir() else []
        if not paths:
            raise FileError(f"expected records (STUDY/{RECORDS}) in {shown(folder)}, got none. Name another folder.")
        for path in paths:
            facts = read_json(path)
            with damage_as_file_error(path, "the records of a study"):
                found.add(facts)
        return found

    def add(self, facts: Any) -> None:
        """Adds what a file of records holds. Runs without an outcome for every row, of old versions, are left out."""
        numbers = facts.get("row_numbers", {})
        for run in facts["runs"]:
            if "outcomes" not in run:
                continue
            rows = numbers[run["row_numbers"]]
            if len(run["outcomes"]) != len(rows.split()) or not re.fullmatch("[wxop]+", run["outcomes"]):
                raise ValueError("a run without one outcome per row")
            if run["victim"] not in facts["victims"]:
                raise ValueError("a run without the training of its victim")
            name = run["victim"], run["space_sha256"], run["attack"], int(run["budget"]), int(run["seed"])
            self.runs[name] = dict(run) | {"row_numbers": rows}
        self.victims.update({name: dict(training) for name, training in facts["victims"].items()})

    def find(self, name: RunName, numbers: Int64[ndarray, "rows"]) -> RunFacts | None:
        """A run on exactly these rows; None if it is not there."""
        record = self.runs.get(name)
        if record is None or record["row_numbers"] != " ".join(map(str, numbers.tolist())):
            return None
        return RunFacts.of_record(record, np.asarray(numbers))
