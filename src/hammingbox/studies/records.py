"""The evidence behind a study, as JSON: every run with the outcome of each row, and how its victims were trained."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hammingbox.evaluation.evaluation import Evaluation
from hammingbox.evaluation.rows import Rows
from hammingbox.files import sha256
from hammingbox.running.store import space_digest
from hammingbox.studies.published import RunName
from hammingbox.studies.run_facts import outcome_letters
from hammingbox.victims.checkpoint import Checkpoint


@dataclass
class Records:
    """Collects the runs that a study requests; a run requested twice counts once."""

    runs: dict[RunName, dict[str, Any]] = field(default_factory=dict)
    victims: dict[str, dict[str, Any]] = field(default_factory=dict)
    row_numbers: dict[str, str] = field(default_factory=dict)

    def add(self, victim: str, checkpoint: Checkpoint, evaluation: Evaluation) -> None:
        """Adds a run.

        Args:
            victim: name of the checkpoint's folder.
            checkpoint: the victim that was attacked.
            evaluation: its result.
        """
        settings, budget, seed = repr(evaluation.attack), evaluation.threat.budget, evaluation.seed
        space = space_digest(evaluation.threat.space)
        self.victims[victim] = checkpoint.training
        self.runs[victim, space, settings, budget, seed] = {
            "data": evaluation.data.name,
            "victim": victim,
            "victim_sha256": evaluation.victim_digest,
            "space_sha256": space,
            "attack": settings,
            "budget": budget,
            "seed": seed,
            "rows": len(evaluation.rows),
            "row_numbers": self._numbers_key(" ".join(map(str, evaluation.rows.numbers.tolist()))),
            "outcomes": outcome_letters(evaluation.rows),
            "correct": evaluation.accuracy.hits,
            "success": evaluation.success_rate.hits,
            "forward": int(evaluation.rows.forward.sum()),
            "backward": int(evaluation.rows.backward.sum()),
            "rows_sha256": _rows_digest(evaluation.rows),
            "seconds": round(evaluation.seconds, 3),
        }

    def add_published(self, name: RunName, record: Mapping[str, Any], training: Mapping[str, Any]) -> None:
        """Adds a run that was published, with the training of its victim."""
        self.victims[name[0]] = dict(training)
        self.runs[name] = dict(record) | {"row_numbers": self._numbers_key(record["row_numbers"])}

    @property
    def sha256(self) -> str:
        """Hash of all runs without their times, to compare the same code and weights on two machines."""
        timeless = [{k: v for k, v in run.items() if k != "seconds"} for _, run in sorted(self.runs.items())]
        return sha256(json.dumps(timeless, sort_keys=True).encode())

    def to_json(self) -> str:
        """Runs and victims, with the hash of the runs."""
        facts = {
            "sha256": self.sha256,
            "row_numbers": self.row_numbers,
            "runs": [run for _, run in sorted(self.runs.items())],
            "victims": self.victims,
        }
        return json.dumps(facts, indent=1, ensure_ascii=False) + "\n"

    def _numbers_key(self, numbers: str) -> str:
        """Keeps the numbers of rows, once for all runs on the same rows, under the beginning of their hash."""
        key = sha256(numbers.encode())[:16]
        self.row_numbers[key] = numbers
        return key


def _rows_digest(rows: Rows) -> str:
    parts = (rows.numbers, rows.labels, rows.clean, rows.adversarial, rows.correct, rows.success)
    return sha256(*(part.contiguous().numpy().tobytes() for part in parts))
