"""The evidence behind a study, as JSON: every run with the outcome of each row, and how its victims were trained."""

import json
from dataclasses import dataclass, field
from typing import Any

from hammingbox.evaluation.evaluation import Evaluation
from hammingbox.evaluation.rows import Rows
from hammingbox.files import sha256
from hammingbox.running.store import space_digest
from hammingbox.victims.checkpoint import Checkpoint


@dataclass
class Records:
    """Collects the runs that a study requests; a run requested twice counts once."""

    runs: dict[tuple[str, str, str, int, int], dict[str, Any]] = field(default_factory=dict)
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
            "row_numbers": self._numbers_key(evaluation.rows),
            "outcomes": outcomes(evaluation.rows),
            "correct": evaluation.accuracy.hits,
            "success": evaluation.success_rate.hits,
            "forward": int(evaluation.rows.forward.sum()),
            "backward": int(evaluation.rows.backward.sum()),
            "rows_sha256": _rows_digest(evaluation.rows),
            "seconds": round(evaluation.seconds, 3),
        }

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

    def _numbers_key(self, rows: Rows) -> str:
        """Keeps the numbers of rows, once for all runs on the same rows, under the beginning of their hash."""
        numbers = " ".join(map(str, rows.numbers.tolist()))
        key = sha256(numbers.encode())[:16]
        self.row_numbers[key] = numbers
        return key


WRONG, BROKEN, UNBROKEN, PROVEN = "wxop"
"""What happened to a row: wrong before, broken, right and not broken, proven."""


def outcomes(rows: Rows) -> str:
    """One letter per row."""
    return "".join(
        WRONG if not correct else BROKEN if broken else PROVEN if proven else UNBROKEN
        for correct, broken, proven in zip(
            rows.correct.tolist(), rows.success.tolist(), rows.proven.tolist(), strict=True
        )
    )


def _rows_digest(rows: Rows) -> str:
    parts = (rows.numbers, rows.labels, rows.clean, rows.adversarial, rows.correct, rows.success)
    return sha256(*(part.contiguous().numpy().tobytes() for part in parts))
