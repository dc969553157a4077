"""How long the report of 100,000 results takes and how large its page is.

The results are synthetic, but as large and as hard to compress as real ones: random rows, changes and probabilities.
They are written through the store's interface, and the page is built by the command line.
"""

import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import torch

from hammingbox.data.schema import Schema
from hammingbox.evaluation.environment import environment
from hammingbox.evaluation.rows import Rows
from hammingbox.report.page.folder import PAGE
from hammingbox.running.store import RunKey, goal_digest, open_store, space_digest
from hammingbox.threat.goal import AnyOther
from hammingbox.threat.space import FullSpace

PROGRAM = Path(sys.executable).with_name("hammingbox")
DNA = Schema.sequence(60, "AGTCN", ("IE", "N", "EI"), prefix="base ")
TEXT = Schema.sequence(
    256,
    ("<pad>", "<unknown>", "<name>", *(f"word{i}" for i in range(20_000))),
    ("negative", "positive"),
    prefix="word ",
)


def synthetic_rows(schema: Schema, rows: int, budget: int, seed: int) -> Rows:
    """Rows like real results: most are classified correctly, most of those are broken by up to `budget` changes."""
    data = torch.Generator().manual_seed(0)  # the clean rows of every run
    attack = torch.Generator().manual_seed(seed)
    n, classes, d = len(schema.features), len(schema.classes), min(schema.cardinalities)
    clean = torch.randint(d, (rows, n), generator=data)
    labels = torch.randint(classes, (rows,), generator=data)
    clean_logits = 3 * torch.randn(rows, classes, generator=data)
    clean_logits[torch.arange(rows), labels] += 6.0
    correct = clean_logits.argmax(1) == labels
    logits = 3 * torch.randn(rows, classes, generator=attack)
    success = correct & (logits.argmax(1) != labels)
    count = torch.randint(1, budget + 1, (rows,), generator=attack) * correct
    order = torch.rand(rows, n, generator=attack).argsort(1)
    shift = torch.randint(1, d, (rows, n), generator=attack)
    written = torch.where(order < count[:, None], (clean + shift) % d, clean)
    passes = torch.randint(1, 2000, (2, rows), generator=attack) * correct
    return Rows(
        numbers=torch.arange(rows),
        labels=labels,
        clean=clean,
        adversarial=written,
        clean_logits=clean_logits,
        logits=torch.where(correct[:, None], logits, clean_logits),
        correct=correct,
        attacked=correct,
        success=success,
        distance=(clean != written).sum(1),
        margin=torch.zeros(rows),
        forward=passes[0],
        backward=passes[1],
        stage=torch.zeros(rows, dtype=torch.int64),
        proven=torch.zeros_like(correct),
    )


def fill(folder: Path, schema: Schema, rows: int, runs: int) -> None:
    """Fills a store with `runs` runs of `rows` rows, five budgets for each synthetic attack."""
    space, goal = FullSpace(schema), AnyOther()
    with open_store(folder, create=True) as store:
        for number in range(runs):
            budget, name = number % 5 + 1, f"attack{number // 5}"
            key = RunKey(
                data="synthetic", split="test", schema_sha256=schema.digest, space_sha256=space_digest(space),
                goal_sha256=goal_digest(goal), victim_sha256="0" * 64, defence="standard", attack=f"{name}()",
                budget=budget, seed=0,
            )  # fmt: skip
            documents = {
                key.schema_sha256: schema.to_json(),
                key.space_sha256: space.to_json(),
                key.goal_sha256: goal.to_json(),
            }
            run = store.begin(key, documents=documents, name=name, victim="runs/lstm", model="lstm")
            session = store.begin_session(run, environment())
            store.add(run, session, synthetic_rows(schema, rows, budget, number + 1), schema, 0.01 * rows)


def main() -> None:
    cases = (
        ("DNA of 60 bases, 2,000 rows in 50 runs", DNA, 2_000, 50),
        ("DNA of 60 bases, 100,000 rows in 1 run", DNA, 100_000, 1),
        ("texts of 256 words, 2,000 rows in 50 runs", TEXT, 2_000, 50),
    )
    for title, schema, rows, runs in cases:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            fill(folder, schema, rows, runs)
            begin, busy = perf_counter(), _busy()
            subprocess.run([PROGRAM, "report", folder], check=True, capture_output=True)
            seconds, busy = perf_counter() - begin, _busy() - busy
            page = (folder / PAGE).read_bytes()
            shown = "all rows" if b"attacked rows are here" in page else "a sample of the rows"
            print(
                f"{title}: {seconds:.1f} s ({busy:.1f} s CPU), {len(page) / 1e6:.2f} MB, {shown}",
                flush=True,
            )


def _busy() -> float:
    """Processor time of finished child processes; unlike wall time it does not grow on a busy machine."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
