"""Edits of stores and of what they name: each is noticed, by checksums or, if those are forged too, by recomputing."""

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from hammingbox import ATTACKS, Checkpoint, MaskedSpace, Target, ThreatModel, load_checkpoint, open_store
from hammingbox.running.record import evaluate_into
from hammingbox.running.store import FILE, document_digest
from hammingbox.running.store.seals import seal_everything
from hammingbox.running.store.store import document_text
from hammingbox.running.tasks import Task
from hammingbox.running.verify_store import VerifiedStore, verify_store
from hammingbox.victims.zoo.registry import build

FULL = document_text({"kind": "full"})
GA, EXACT, AIMED = 1, 2, 3
"""The runs: greedy at budget 1, enumeration at budget 1, and greedy at budget 2 with a target."""


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a user's table, a checkpoint, and a store of three runs."""
    folder = tmp_path_factory.mktemp("original")
    generator = torch.Generator().manual_seed(0)
    values = torch.randint(4, (400, 5), generator=generator).tolist()
    lines = [",".join([*map(str, row), "yes" if row[0] + row[1] > 3 else "no"]) for row in values]
    (folder / "mine.csv").write_text("a,b,c,d,e,label\n" + "\n".join(lines) + "\n")
    task = Task.of(str(folder / "mine.csv"), label="label")
    schema, data = task.splits.schema, task.part("test", 24)
    victim = build("mlp", schema, seed=4).eval()
    victim_path = folder / "victim"
    Checkpoint(victim, "mlp", {}, schema).save(victim_path)
    checkpoint = load_checkpoint(victim_path)
    narrow = MaskedSpace(schema, immutable=["a", "b", "c"])
    with open_store(folder, create=True) as store:
        for name, space, budget, goal in (
            ("ga", narrow, 1, None), ("exhaustive", narrow, 1, None),
            ("ga", MaskedSpace(schema, forbidden={"e": ["3"]}), 2, Target(schema.classes[0])),
        ):  # fmt: skip
            evaluate_into(
                store, checkpoint, data, ThreatModel(space, budget), ATTACKS[name](), goal=goal, name=name,
                place=str(victim_path), source=task.reference,
            )  # fmt: skip
        rows = store.rows(GA)
        assert 0 < int(rows.success.sum()) < int(rows.attacked.sum()) < len(rows), "all kinds of rows"
        assert store.rows(EXACT).proven.any()
    return folder


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> Path:
    shutil.copytree(original, tmp_path / "copy")
    return tmp_path / "copy"


def check(folder: Path) -> VerifiedStore:
    """What `verify` says about the copy, with the copy's own table and checkpoint."""
    return verify_store(folder, victim=folder / "victim", data=str(folder / "mine.csv"))


def edit(folder: Path, *statements: str, forged: bool = False) -> None:
    with sqlite3.connect(folder / FILE) as connection:
        changed = 0
        for statement in statements:
            changed += connection.execute(statement).rowcount
        assert changed, "the edit found nothing to change"
        if forged:
            connection.execute("DELETE FROM seals")
            seal_everything(connection)
            connection.execute("UPDATE seals SET origin = 'recorded'")
    connection.close()


def said(folder: Path) -> str:
    found = check(folder)
    assert not found.ok
    return "\n".join(found.problems)


def test_the_original_is_verified(folder: Path) -> None:
    found = check(folder)
    assert found.ok, found.problems
    assert [part.found.verdict for part in found.runs] == ["verified"] * 3
    assert found.confirmed == found.claimed > 0
    assert not any(part.found.notes for part in found.runs)


# Edits by hand -------------------------------------------------------------------------------------------------

BROKEN = "run = 1 AND number = (SELECT min(number) FROM rows WHERE run = 1 AND success = 1)"
STANDING = "run = 1 AND number = (SELECT min(number) FROM rows WHERE run = 1 AND success = 0 AND attacked = 1)"
WRONG = "run = 1 AND number = (SELECT min(number) FROM rows WHERE run = 1 AND correct = 0)"
EDITED = "edited since it was recorded"
SEALED = "deleted or added"
COLUMNS = (
    "label, correct, success, distance, margin, forward, backward, stage, clean, adversarial, clean_logits, logits, "
    "attacked, proven, checksum"
)
FROM_BROKEN = f"({COLUMNS}) = (SELECT {COLUMNS} FROM rows WHERE {BROKEN})"

BY_HAND: dict[str, tuple[tuple[str, ...], str]] = {
    "row: number": ((f"UPDATE rows SET number = 99999 WHERE {BROKEN}",), EDITED),
    "row: label": ((f"UPDATE rows SET label = 1 - label WHERE {STANDING}",), EDITED),
    "row: correct": ((f"UPDATE rows SET correct = 0 WHERE {STANDING}",), EDITED),
    "row: wrong made right": ((f"UPDATE rows SET correct = 1 WHERE {WRONG}",), EDITED),
    "row: attacked": ((f"UPDATE rows SET attacked = 0 WHERE {STANDING}",), EDITED),
    "row: success cleared": ((f"UPDATE rows SET success = 0 WHERE {BROKEN}",), EDITED),
    "row: success invented": ((f"UPDATE rows SET success = 1 WHERE {STANDING}",), EDITED),
    "row: distance": ((f"UPDATE rows SET distance = distance + 1 WHERE {BROKEN}",), EDITED),
    "row: margin": ((f"UPDATE rows SET margin = margin + 0.5 WHERE {BROKEN}",), EDITED),
    "row: margin in its last digit": ((f"UPDATE rows SET margin = margin * 1.0000001 WHERE {BROKEN}",), EDITED),
    "row: forward": ((f"UPDATE rows SET forward = forward - 1 WHERE {BROKEN}",), EDITED),
    "row: backward": ((f"UPDATE rows SET backward = 7 WHERE {BROKEN}",), EDITED),
    "row: stage": ((f"UPDATE rows SET stage = 3 WHERE {BROKEN}",), EDITED),
    "row: proven": ((f"UPDATE rows SET proven = 1 WHERE {STANDING}",), EDITED),
    "row: proof cleared": (("UPDATE rows SET proven = 0 WHERE run = 2 AND proven = 1",), EDITED),
    "row: clean": ((f"UPDATE rows SET clean = adversarial WHERE {BROKEN}",), EDITED),
    "row: adversarial": ((f"UPDATE rows SET adversarial = clean WHERE {BROKEN}",), EDITED),
    "row: clean logits": ((f"UPDATE rows SET clean_logits = logits WHERE {BROKEN}",), EDITED),
    "row: logits": ((f"UPDATE rows SET logits = zeroblob(length(logits)) WHERE {BROKEN}",), EDITED),
    "row: checksum": ((f"UPDATE rows SET checksum = 'abc' WHERE {BROKEN}",), EDITED),
    "row: deleted": ((f"DELETE FROM rows WHERE {BROKEN}",), SEALED),
    "rows: unbroken ones deleted": (("DELETE FROM rows WHERE run = 1 AND success = 0",), SEALED),
    "rows: all deleted": (("DELETE FROM rows WHERE run = 1",), SEALED),
    "row: copied": ((f"INSERT INTO rows SELECT run, 9999, {COLUMNS} FROM rows WHERE {BROKEN}",), EDITED),
    "row: copied from another run": ((f"INSERT INTO rows SELECT 3, 9999, {COLUMNS} FROM rows WHERE {BROKEN}",), EDITED),
    "row: moved to another run": (
        (
            f"DELETE FROM rows WHERE run = 3 AND number = (SELECT number FROM rows WHERE {BROKEN})",
            f"UPDATE rows SET run = 3 WHERE {BROKEN}",
        ),
        EDITED,
    ),
    "row: overwritten by a broken one": ((f"UPDATE rows SET {FROM_BROKEN} WHERE {STANDING}",), EDITED),
    "rows: unbroken ones overwritten": ((f"UPDATE rows SET {FROM_BROKEN} WHERE run = 1 AND success = 0",), EDITED),
    "rows: every success cleared": (("UPDATE rows SET success = 0",), EDITED),
    "rows: no passes": (("UPDATE rows SET forward = 0, backward = 0",), EDITED),
    "rows: unbroken ones wrong before": (("UPDATE rows SET correct = 0, attacked = 0 WHERE success = 0",), EDITED),
    "row: text for a number": ((f"UPDATE rows SET forward = 'many' WHERE {BROKEN}",), "as the forward of a row"),
    "row: label 99": ((f"UPDATE rows SET label = 99 WHERE {BROKEN}",), "got 99 in row"),
    "row: id 255": ((f"UPDATE rows SET adversarial = x'ffffffffff' WHERE {BROKEN}",), "The store is damaged"),
    "row: short blob": ((f"UPDATE rows SET clean = x'00' WHERE {BROKEN}",), "different sizes"),
    "row: no blob": ((f"UPDATE rows SET logits = 5 WHERE {BROKEN}",), "got"),
    "row: logits that are no numbers": (
        (f"UPDATE rows SET logits = x'0000c07f0000c07f' WHERE {BROKEN}",),
        "not finite",
    ),
    "row: count below 0": ((f"UPDATE rows SET distance = -1 WHERE {BROKEN}",), "distance of rows out of range"),
    "row: success 7": ((f"UPDATE rows SET success = 7 WHERE {BROKEN}",), "yes or no"),
    "run: data": (("UPDATE runs SET data = 'splice' WHERE id = 1",), EDITED),
    "run: split": (("UPDATE runs SET split = 'train' WHERE id = 1",), EDITED),
    "run: schema": (("UPDATE runs SET schema_sha256 = goal_sha256 WHERE id = 1",), EDITED),
    "run: space": (
        ("UPDATE runs SET space_sha256 = (SELECT space_sha256 FROM runs WHERE id = 3) WHERE id = 1",),
        EDITED,
    ),
    "run: goal": (("UPDATE runs SET goal_sha256 = (SELECT goal_sha256 FROM runs WHERE id = 1) WHERE id = 3",), EDITED),
    "run: victim hash": (("UPDATE runs SET victim_sha256 = 'abc' WHERE id = 1",), EDITED),
    "run: defence": (("UPDATE runs SET defence = 'PAdvT()' WHERE id = 1",), EDITED),
    "run: attack": (("UPDATE runs SET attack = replace(attack, 'greedy', 'brute') WHERE id = 1",), EDITED),
    "run: budget": (("UPDATE runs SET budget = 5 WHERE id = 1",), EDITED),
    "run: budget as text": (("UPDATE runs SET budget = 'one' WHERE id = 1",), "another type"),
    "run: budget below 0": (("UPDATE runs SET budget = -1 WHERE id = 1",), "a number out of range"),
    "run: bytes for its attack": (("UPDATE runs SET attack = x'ff' WHERE id = 1",), "another type"),
    "run: no text for its data": (("UPDATE runs SET data = CAST(x'ff' AS TEXT) WHERE id = 1",), "run 1"),
    "run: seed": (("UPDATE runs SET seed = 7 WHERE id = 1",), EDITED),
    "run: name": (("UPDATE runs SET name = 'pcaa' WHERE id = 1",), EDITED),
    "run: place of the victim": (("UPDATE runs SET victim = 'elsewhere' WHERE id = 1",), EDITED),
    "run: model": (("UPDATE runs SET model = 'lstm' WHERE id = 1",), EDITED),
    "run: created": (("UPDATE runs SET created = '2020-01-01' WHERE id = 1",), EDITED),
    "run: refused": (("UPDATE runs SET refused = 'no' WHERE id = 1",), EDITED),
    "run: hash of the data": (("UPDATE runs SET data_sha256 = 'abc' WHERE id = 1",), EDITED),
    "run: place of the data": (("UPDATE runs SET source = '{}' WHERE id = 1",), EDITED),
    "run: number": (
        (
            "UPDATE runs SET id = 9 WHERE id = 1",
            "UPDATE rows SET run = 9 WHERE run = 1",
            "UPDATE sessions SET run = 9 WHERE run = 1",
        ),
        EDITED,
    ),
    "runs: exchanged": (
        (
            "UPDATE rows SET run = 9 WHERE run = 1",
            "UPDATE rows SET run = 1 WHERE run = 2",
            "UPDATE rows SET run = 2 WHERE run = 9",
        ),
        EDITED,
    ),
    "run: deleted": (
        (
            "DELETE FROM rows WHERE run = 1",
            "DELETE FROM sessions WHERE run = 1",
            "DELETE FROM runs WHERE id = 1",
            "DELETE FROM seals WHERE name = 'rows of run 1'",
        ),
        SEALED,
    ),
    "run: deleted, its rows left": (("DELETE FROM runs WHERE id = 1",), "no such run"),
    "run: checksum": (("UPDATE runs SET checksum = '' WHERE id = 1",), EDITED),
    "session: rows": (("UPDATE sessions SET rows = rows - 1 WHERE run = 1",), "as the sessions of the run say"),
    "session: seconds": (("UPDATE sessions SET seconds = 0.001 WHERE run = 1",), EDITED),
    "session: times": (("UPDATE sessions SET started = '2020-01-01' WHERE run = 1",), EDITED),
    "session: environment": (
        ("UPDATE sessions SET environment = (SELECT goal_sha256 FROM runs WHERE id = 1) WHERE run = 1",),
        EDITED,
    ),
    "session: deleted": (("DELETE FROM sessions WHERE run = 1",), SEALED),
    "session: added": (
        (
            "INSERT INTO sessions SELECT 99, run, started, updated, 0, 0, environment, checksum FROM sessions "
            "WHERE run = 1",
        ),
        EDITED,
    ),
    "document: space": (
        (f"UPDATE documents SET json = '{FULL}' WHERE digest = (SELECT space_sha256 FROM runs WHERE id = 1)",),
        "expected the space whose digest",
    ),
    "document: goal": (
        (
            'UPDATE documents SET json = \'{"kind": "any_other"}\' WHERE digest = '
            "(SELECT goal_sha256 FROM runs WHERE id = 3)",
        ),
        "expected the goal whose digest",
    ),
    "document: schema": (
        (
            "UPDATE documents SET json = replace(json, '\"yes\"', '\"maybe\"') WHERE digest = "
            "(SELECT schema_sha256 FROM runs WHERE id = 1)",
        ),
        "documents",
    ),
    "document: no JSON": (
        ("UPDATE documents SET json = '{' WHERE digest = (SELECT space_sha256 FROM runs WHERE id = 1)",),
        "expected JSON",
    ),
    "document: another kind of JSON": (
        ("UPDATE documents SET json = '[]' WHERE digest = (SELECT space_sha256 FROM runs WHERE id = 1)",),
        "a space with its kind",
    ),
    "document: a damaged space": (
        (
            'UPDATE documents SET json = \'{"kind": "masked"}\' WHERE digest = '
            "(SELECT space_sha256 FROM runs WHERE id = 1)",
        ),
        "got damaged JSON",
    ),
    "document: deleted": (
        ("DELETE FROM documents WHERE digest = (SELECT goal_sha256 FROM runs WHERE id = 1)",),
        "got none",
    ),
    "document: added": (("INSERT INTO documents VALUES ('abc', '{}')",), "documents: expected"),
    "totals: edited": (
        ("UPDATE totals SET counts = zeroblob(length(counts)) WHERE run = 1",),
        "totals of run 1: edited",
    ),
    "seal: count": (("UPDATE seals SET records = records - 1 WHERE name = 'rows of run 1'",), SEALED),
    "seal: digest": (("UPDATE seals SET digest = 'abc' WHERE name = 'rows of run 1'",), "that were sealed"),
    "seal: no digest": (("UPDATE seals SET digest = 'no' WHERE name = 'runs'",), "that were sealed"),
    "seal: deleted": (("DELETE FROM seals",), "expected a seal"),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_an_edit_by_hand_is_noticed(name: str, folder: Path) -> None:
    statements, word = BY_HAND[name]
    edit(folder, *statements)
    assert word in said(folder)


@pytest.mark.parametrize(
    "damage",
    [
        f"UPDATE rows SET label = 99 WHERE {BROKEN}",
        "UPDATE runs SET budget = 'one' WHERE id = 1",
        "UPDATE runs SET victim = x'ff' WHERE id = 1",
        "UPDATE runs SET data = CAST(x'ff' AS TEXT) WHERE id = 1",
        "UPDATE sessions SET seconds = 'long' WHERE run = 1",
    ],
)
def test_the_other_runs_are_verified_all_the_same(damage: str, folder: Path) -> None:
    edit(folder, damage)
    verdicts = {part.run: part.found.verdict for part in check(folder).runs}
    assert verdicts.pop(0, "rejected") == "rejected", "what all runs share"
    assert verdicts == {GA: "rejected", EXACT: "verified", AIMED: "verified"}
    alone = verify_store(folder, run=GA, victim=folder / "victim", data=str(folder / "mine.csv"))
    assert [part.found.verdict for part in alone.runs if part.run == GA] == ["rejected"]


# Edits by a forger who recomputes all checksums ----------------------------------------------------------------

FORGED: dict[str, tuple[tuple[str, ...], str]] = {
    "success invented": ((f"UPDATE rows SET success = 1 WHERE {STANDING}",), "does not meet the goal"),
    "success cleared": ((f"UPDATE rows SET success = 0 WHERE {BROKEN}",), "not broken but meets the goal"),
    "every success cleared": (("UPDATE rows SET success = 0",), "not broken but meets the goal"),
    "broken rows cleaned": (
        (f"UPDATE rows SET adversarial = clean, logits = clean_logits, distance = 0 WHERE {BROKEN}",),
        "does not meet the goal",
    ),
    "unbroken rows wrong before": (
        (
            "UPDATE rows SET correct = 0, attacked = 0, proven = 0, forward = 0, backward = 0, "
            "adversarial = clean, logits = clean_logits, distance = 0 WHERE success = 0",
        ),
        "recorded as right but wrong, or the other way round",
    ),
    "wrong row attacked": (
        (f"UPDATE rows SET correct = 1, attacked = 1 WHERE {WRONG}",),
        "recorded as right but wrong",
    ),
    "unbroken rows overwritten": (
        (f"UPDATE rows SET {FROM_BROKEN} WHERE run = 1 AND success = 0",),
        "not the row the data",
    ),
    "label": ((f"UPDATE rows SET label = 1 - label WHERE {STANDING}",), "not the row the data has"),
    "clean row": ((f"UPDATE rows SET clean = adversarial, distance = 0 WHERE {BROKEN}",), "not the row the data has"),
    "a number that the data does not have": (
        (f"UPDATE rows SET number = 99999 WHERE {BROKEN}",),
        "not the row the data has",
    ),
    "distance": ((f"UPDATE rows SET distance = 0 WHERE {BROKEN}",), "another distance"),
    "margin": ((f"UPDATE rows SET margin = margin + 0.01 WHERE {BROKEN}",), "another margin"),
    "clean logits": (
        (f"UPDATE rows SET clean_logits = zeroblob(length(clean_logits)) WHERE {WRONG}",),
        "other answers before",
    ),
    "logits": (("UPDATE rows SET logits = zeroblob(length(logits))",), "other answers after"),
    "passes": ((f"UPDATE rows SET forward = 0 WHERE {BROKEN}",), "other passes than its attack makes"),
    "backward passes": ((f"UPDATE rows SET backward = 1 WHERE {BROKEN}",), "other passes than its attack makes"),
    "passes of a row that was not attacked": ((f"UPDATE rows SET forward = 3 WHERE {WRONG}",), "has passes but"),
    "attacked": ((f"UPDATE rows SET attacked = 0 WHERE {STANDING}",), "recorded as attacked but was not"),
    "proven by a search": ((f"UPDATE rows SET proven = 1 WHERE {STANDING}",), "an attack that proves nothing"),
    "proven with few passes": (
        ("UPDATE rows SET forward = 1 WHERE run = 2 AND proven = 1",),
        "fewer passes than points",
    ),
    "broken and proven": (("UPDATE rows SET proven = 1 WHERE run = 2 AND success = 1",), "proven but is broken"),
    "absurd budget": (("UPDATE runs SET budget = 25769803787",), "a budget of at most 5 changed features"),
    "smaller budget": (("UPDATE runs SET budget = 1 WHERE id = 3",), "more than 1 changes"),
    "victim hash": (("UPDATE runs SET victim_sha256 = 'abc'",), "another hash"),
    "other data": (("UPDATE runs SET data_sha256 = 'abc'",), "another content"),
    "outside S(x)": (
        (
            f"UPDATE rows SET adversarial = (SELECT adversarial FROM rows WHERE run = 3 AND success = 1 LIMIT 1), "
            f"clean = (SELECT clean FROM rows WHERE run = 3 AND success = 1 LIMIT 1) WHERE {BROKEN}",
        ),
        "S(x)",
    ),
    "a session with more rows": (("UPDATE sessions SET rows = 99 WHERE run = 1",), "as the sessions of the run say"),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forger_who_recomputes_checksums_is_noticed_too(name: str, folder: Path) -> None:
    statements, word = FORGED[name]
    edit(folder, *statements, forged=True)
    assert word in said(folder)


def logits_off_by(folder: Path, error: float) -> None:
    with sqlite3.connect(folder / FILE) as connection:
        number, blob = connection.execute(f"SELECT number, logits FROM rows WHERE {BROKEN}").fetchone()
        changed = (np.frombuffer(blob, "<f4") + np.float32(error)).astype("<f4").tobytes()
        connection.execute("UPDATE rows SET logits = ? WHERE run = 1 AND number = ?", (changed, number))
        connection.execute("DELETE FROM seals")
        seal_everything(connection)
    connection.close()


@pytest.mark.parametrize(("error", "noticed"), [(0.01, True), (0.001, True), (1e-6, False)])
def test_answers_are_compared_closely(error: float, noticed: bool, folder: Path) -> None:
    logits_off_by(folder, error)
    assert check(folder).ok != noticed


def test_what_was_laundered_by_a_later_run_is_still_noticed(folder: Path) -> None:
    """A run that is continued does not give an edited record a new checksum."""
    edit(folder, "UPDATE runs SET created = '2020-01-01' WHERE id = 1")
    task = Task.of(str(folder / "mine.csv"), label="label")
    checkpoint = load_checkpoint(folder / "victim")
    space = MaskedSpace(task.splits.schema, immutable=["a", "b", "c"])
    with open_store(folder) as store:
        evaluate_into(
            store, checkpoint, task.part("test", 26), ThreatModel(space, 1), ATTACKS["ga"](), name="ga",
            place=str(folder / "victim"), source=task.reference,
        )  # fmt: skip
        assert store.run(1).rows == 26
    assert EDITED in said(folder)


# What the runs name --------------------------------------------------------------------------------------------


def other_value(folder: Path) -> None:
    text = (folder / "mine.csv").read_text()
    (folder / "mine.csv").write_text(text.replace("0,", "1,", 1))


def other_weights(folder: Path) -> None:
    checkpoint = load_checkpoint(folder / "victim")
    with torch.no_grad():
        next(checkpoint.victim.parameters()).mul_(1.01)
    Checkpoint(checkpoint.victim, "mlp", {}, checkpoint.schema).save(folder / "victim")


@pytest.mark.parametrize(
    ("change", "word", "verdict"),
    [
        (other_value, "another content", "could not compare"),
        (lambda folder: (folder / "mine.csv").unlink(), "no such file", "could not compare"),
        (lambda folder: shutil.rmtree(folder / "victim"), "got nothing there", "could not compare"),
        (other_weights, "another hash", "rejected"),
        (lambda folder: (folder / "victim" / "config.json").write_text("{"), "the victim: ", "could not compare"),
    ],
    ids=["a value of the table", "no table", "no checkpoint", "other weights", "a damaged checkpoint"],
)
def test_what_changed_beside_the_store(change: Callable[[Path], object], word: str, verdict: str, folder: Path) -> None:
    change(folder)
    found = check(folder)
    assert word in "\n".join(found.problems)
    assert {part.found.verdict for part in found.runs} == {verdict}
    assert (found.confirmed == 0) == ("victim" in word or "nothing there" in word), "no row holds without the victim"


def test_a_space_with_its_digest_is_another_run(folder: Path) -> None:
    """Stated in the module: a larger S(x) that all rows fit cannot be told from the run's own, if all is forged."""
    digest = document_digest({"kind": "full"})
    edit(
        folder,
        f"INSERT INTO documents VALUES ('{digest}', '{FULL}')",
        f"UPDATE runs SET space_sha256 = '{digest}' WHERE id = 1",
        forged=True,
    )
    found = {part.run: part.found for part in check(folder).runs}
    assert any("other passes" in problem for problem in found[GA].problems), "but greedy search would have tried more"
