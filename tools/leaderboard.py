"""Evaluates the shipped victims and writes the leaderboard from the records.

    python tools/leaderboard.py evaluate     # attacks, verifies, writes results/leaderboard/records.json; it can resume
    python tools/leaderboard.py page         # writes the table of docs/leaderboard.md from the records alone

Every shipped victim is attacked by `auto` at budgets 1, 2 and 3 on all test rows of its data set, with the data set's
own S(x) and seed 0. The records hold what happened to each row and a hash of the weights, so that the page can be
checked against the shipped files.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from leaderboard_page import page

import hammingbox
from hammingbox.attacks import ATTACKS
from hammingbox.errors import FileError, HammingboxError
from hammingbox.evaluation.rows import Rows
from hammingbox.files import read_json, sha256, write_bytes
from hammingbox.report.labels import space_in_words
from hammingbox.running.record import evaluate_into
from hammingbox.running.store import open_store, space_digest
from hammingbox.running.tasks import Task
from hammingbox.running.verify_store import verify_store
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.victims import shipped
from hammingbox.victims.checkpoint import load_checkpoint, weights_digest

ROOT = Path(__file__).parents[1]
RECORDS = ROOT / "results" / "leaderboard" / "records.json"
PAGE = ROOT / "docs" / "leaderboard.md"
RUNS = ROOT / "runs" / "leaderboard"
ATTACK, BUDGETS, SEED = "auto", (1, 2, 3), 0


def outcomes_of(rows: Rows) -> str:
    """One letter per row: w wrong before, x broken, p proven, o neither."""
    letters = []
    for correct, success, proven in zip(rows.correct, rows.success, rows.proven, strict=True):
        letters.append("w" if not correct else "x" if success else "p" if proven else "o")
    return "".join(letters)


def evaluate(folder: Path, *, rows: int | None = None, budgets: Sequence[int] = BUDGETS) -> dict[str, Any]:
    """Attacks every shipped victim and verifies the results from disk.

    Args:
        folder: for the store; an evaluation that was stopped continues.
        rows: test rows of each data set, the first ones; all by default.
        budgets: changes allowed.

    Raises:
        FileError: a claimed row does not hold.
    """
    attack = ATTACKS[ATTACK]()
    data: dict[str, Any] = {}
    victims: list[dict[str, Any]] = []
    with open_store(folder, create=True) as store:
        for name in shipped.shipped_names():
            source = name.partition("/")[0]
            task, checkpoint = Task.of(source), load_checkpoint(shipped.FILES / name)
            part = task.part("test", rows or len(task.splits.test))
            space = task.space()
            data[source] = {
                "rows": len(part),
                "of": len(task.splits.test),
                "numbers": " ".join(map(str, part.numbers.tolist())),
                "rows_sha256": part.digest,
                "classes": list(part.schema.classes),
                "labels": " ".join(map(str, part.labels.tolist())),
                "space": space_in_words(space.to_json()),
                "space_sha256": space_digest(space),
            }
            runs = []
            for budget in budgets:
                print(f"{name}, budget {budget}", file=sys.stderr, flush=True)
                found = evaluate_into(
                    store, checkpoint, part, ThreatModel(space, budget), attack, name=ATTACK, place=name,
                    source=source, seed=SEED,
                )  # fmt: skip
                runs.append({
                    "budget": budget,
                    "outcomes": outcomes_of(found.rows),
                    "adversarial_sha256": sha256(found.rows.adversarial.contiguous().numpy().tobytes()),
                    "passes": int((found.rows.forward + found.rows.backward).sum()),
                })  # fmt: skip
            victims.append({
                "name": name,
                "model": checkpoint.model,
                "settings": checkpoint.settings,
                "parameters": sum(part.numel() for part in checkpoint.victim.parameters()),
                "victim_sha256": weights_digest(checkpoint.victim),
                "training": {k: v for k, v in checkpoint.training.items() if k != "history"},
                "runs": runs,
            })  # fmt: skip
    checked = verify_store(folder) if victims else None
    if checked is not None and not checked.ok:
        raise FileError(f"expected every broken row to hold, got: {checked.problems[0]}.")
    return {
        "command": "python tools/leaderboard.py evaluate" + (f" --rows {rows}" if rows else ""),
        "hammingbox": hammingbox.__version__,
        "torch": torch.__version__,
        "attack": ATTACK,
        "settings": repr(attack),
        "seed": SEED,
        "budgets": list(budgets),
        "verified": 0 if checked is None else checked.confirmed,
        "data": data,
        "victims": victims,
    }


def main() -> None:
    """Evaluates, or writes the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("evaluate", "page"))
    parser.add_argument("--rows", type=int, help="test rows of each data set; all by default")
    parser.add_argument("--out", type=Path, default=RUNS, help="folder of the store")
    given = parser.parse_args()
    try:
        if given.step == "evaluate":
            torch.set_num_threads(1)
            records = evaluate(given.out, rows=given.rows)
            write_bytes(RECORDS, (json.dumps(records, indent=1, ensure_ascii=False) + "\n").encode())
        else:
            write_bytes(PAGE, page(PAGE.read_text(), read_json(RECORDS)).encode())
    except HammingboxError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
