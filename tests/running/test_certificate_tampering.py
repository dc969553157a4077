"""Edits of recorded certificates: an invented, moved or stretched proof is noticed, with checksums forged or not."""

import shutil
import sqlite3
from pathlib import Path

import pytest
import torch

import hammingbox as hb
from hammingbox.running.certify import certify_into
from hammingbox.running.store import FILE
from hammingbox.running.store.seals import seal_everything
from hammingbox.running.tasks import Task
from hammingbox.running.verify_store import VerifiedStore, verify_store

ONE, TWO = 1, 2
"""The runs: an exact certificate at budget 1 and at budget 2."""


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a user's table, a checkpoint, and a store of certificates."""
    folder = tmp_path_factory.mktemp("original")
    generator = torch.Generator().manual_seed(0)
    values = torch.randint(3, (300, 4), generator=generator).tolist()
    lines = [",".join([*map(str, row), "yes" if row[0] + row[1] > 2 else "no"]) for row in values]
    (folder / "mine.csv").write_text("a,b,c,d,label\n" + "\n".join(lines) + "\n")
    task = Task.of(str(folder / "mine.csv"), label="label")
    schema, data = task.splits.schema, task.part("test", 24)
    victim = hb.build("mlp", schema, seed=4).eval()
    checkpoint = hb.Checkpoint(victim, "mlp", {}, schema)
    checkpoint.save(folder / "victim")
    threat = hb.ThreatModel(hb.MaskedSpace(schema, immutable=["a", "b"]), 2)
    with hb.open_store(folder, create=True) as store:
        certify_into(
            store, hb.load_checkpoint(folder / "victim"), data, threat, "exact", place=str(folder / "victim"),
            source=task.reference,
        )  # fmt: skip
        one, two = store.rows(ONE), store.rows(TWO)
        assert one.proven.any()
        assert (one.proven & two.success).any(), "a row that only the larger budget breaks"
        assert (~one.correct).any()
    return folder


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> Path:
    shutil.copytree(original, tmp_path / "copy")
    return tmp_path / "copy"


def check(folder: Path) -> VerifiedStore:
    return verify_store(folder, victim=folder / "victim", data=str(folder / "mine.csv"))


def edit(folder: Path, statement: str, *, forged: bool) -> None:
    with sqlite3.connect(folder / FILE) as connection:
        assert connection.execute(statement).rowcount, "the edit found nothing to change"
        if forged:
            connection.execute("DELETE FROM seals")
            seal_everything(connection)
            connection.execute("UPDATE seals SET origin = 'recorded'")
    connection.close()


def test_the_original_is_verified(folder: Path) -> None:
    found = check(folder)
    assert found.ok, found.problems
    assert [part.found.verdict for part in found.runs] == ["verified"] * 2


BROKEN = "run = 2 AND number = (SELECT min(number) FROM rows WHERE run = 2 AND success = 1)"
WRONG = "run = 1 AND number = (SELECT min(number) FROM rows WHERE run = 1 AND correct = 0)"
PROVEN = "run = 1 AND number = (SELECT min(number) FROM rows WHERE run = 1 AND proven = 1)"
CLEANED = "success = 0, adversarial = clean, logits = clean_logits, distance = 0"
FROM_ONE = (
    "(success, adversarial, logits, distance, margin, proven, forward) = "
    "(SELECT success, adversarial, logits, distance, margin, proven, forward FROM rows AS other "
    "WHERE other.run = 1 AND other.number = rows.number)"
)
KINDS: dict[str, tuple[str, str]] = {
    "broken and proven": (f"UPDATE rows SET proven = 1 WHERE {BROKEN}", "proven but is broken"),
    "a witness thrown away": (f"UPDATE rows SET {CLEANED} WHERE {BROKEN}", "another margin than recorded"),
    "a broken row made proven": (
        f"UPDATE rows SET proven = 1, {CLEANED} WHERE {BROKEN}",
        "the certificate does not prove it",
    ),
    "proofs of a smaller budget": (f"UPDATE rows SET {FROM_ONE} WHERE run = 2", "the certificate does not prove it"),
    "a wrong row made proven": (
        f"UPDATE rows SET proven = 1 WHERE {WRONG}",
        "proven but is broken or was not attacked",
    ),
    "a wrong row made right and proven": (
        f"UPDATE rows SET proven = 1, correct = 1, attacked = 1 WHERE {WRONG}",
        "recorded as right but wrong",
    ),
    "a larger budget": ("UPDATE runs SET budget = 3 WHERE id = 1", "the certificate does not prove it"),
    "a smaller budget": ("UPDATE runs SET budget = 0 WHERE id = 2", "more than 0 changes"),
    "another method": (
        "UPDATE runs SET attack = 'Additive()' WHERE id = 1",
        "the certificate cannot be applied",
    ),
    "a method that there is not": (
        "UPDATE runs SET attack = 'Oracle()' WHERE id = 1",
        "claimed as proven by an attack that proves nothing",
    ),
    "the clean row": (
        f"UPDATE rows SET clean = (SELECT clean FROM rows WHERE {BROKEN}) WHERE {PROVEN}",
        "not the row the data has",
    ),
    "the label": (f"UPDATE rows SET label = 1 - label WHERE {PROVEN}", "not the row the data has"),
    "the margin": (f"UPDATE rows SET margin = margin - 1 WHERE {PROVEN}", "another margin than recorded"),
    "other weights": ("UPDATE runs SET victim_sha256 = 'abc'", "another hash"),
    "another goal": ("UPDATE runs SET goal_sha256 = schema_sha256 WHERE id = 1", "goal"),
}
BY_CHECKSUM_ONLY: dict[str, str] = {
    "a proof withdrawn": f"UPDATE rows SET proven = 0 WHERE {PROVEN}",
    "passes": f"UPDATE rows SET forward = forward + 1 WHERE {PROVEN}",
    "a proven row deleted": f"DELETE FROM rows WHERE {PROVEN}",
    "a broken row deleted": f"DELETE FROM rows WHERE {BROKEN}",
    "the seed": "UPDATE runs SET seed = 9 WHERE id = 1",
    "the name": "UPDATE runs SET name = 'certify additive' WHERE id = 1",
}
"""What weakens a claim, or leaves it true: whoever recomputes all checksums can do that."""


@pytest.mark.parametrize("name", [*KINDS, *BY_CHECKSUM_ONLY])
def test_an_edit_by_hand_is_noticed(name: str, folder: Path) -> None:
    edit(folder, KINDS[name][0] if name in KINDS else BY_CHECKSUM_ONLY[name], forged=False)
    found = check(folder)
    assert not found.ok
    assert "rejected" in {part.found.verdict for part in found.runs}


@pytest.mark.parametrize("name", KINDS)
def test_a_forger_who_recomputes_checksums_is_noticed_too(name: str, folder: Path) -> None:
    statement, word = KINDS[name]
    edit(folder, statement, forged=True)
    found = check(folder)
    assert not found.ok
    assert word in "\n".join(found.problems)
