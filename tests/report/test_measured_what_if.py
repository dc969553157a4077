"""Attacking again with a column frozen: between what the records bound and what enumeration finds."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from hammingbox import Checkpoint, Dataset, FullSpace, MaskedSpace, MemoryStore, ThreatModel, evaluate
from hammingbox.attacks import attack_named
from hammingbox.errors import FileError, InputError
from hammingbox.evaluation.drawing import Draw, Sample, population_of
from hammingbox.report.comparison import Comparison, ComparisonJob, compare_attacks
from hammingbox.report.measured_what_if import FILE, frozen, measure_what_if, read_measured, write_measured
from hammingbox.running.data_reference import DataReference
from toys import ToyVictim, toy_rows
from toys.result_folders import LETTERS, TABLE


def compared(positive: str | None = None) -> tuple[ComparisonJob, ToyVictim, Comparison]:
    victim = ToyVictim(TABLE.cardinalities, len(TABLE.classes))
    data = Dataset(TABLE, *toy_rows(TABLE, victim, 30))
    source = DataReference("toy", sample=Sample(Draw(per_class=10), population_of(data), positive))
    job = ComparisonJob(
        "toy", data, FullSpace(TABLE), attacks=("random", "exhaustive"), budgets=(1, 2), source=source
    )  # fmt: skip
    return job, victim, compare_attacks(job, Checkpoint(victim, "mlp", {}, TABLE), Path("toy"), MemoryStore())


def test_a_frozen_column_is_attacked_again() -> None:
    job, victim, comparison = compared()
    seen: list[str] = []
    found = measure_what_if(job, victim, comparison.summary, 2, seen.append)
    assert list(found.lines) == seen
    assert len(seen) == 2
    for name, line in found.lines.items():
        for budget, rate in line.items():
            threat = ThreatModel(MaskedSpace(TABLE, immutable=[name]), budget)
            assert rate == evaluate(victim, job.rows, threat, attack_named(found.attacks[budget])).success_rate
            assert rate.hits <= found.now[budget].hits


def test_rows_of_the_positive_class_alone() -> None:
    job, victim, comparison = compared(TABLE.classes[0])
    found = measure_what_if(job, victim, comparison.summary, 1)
    assert found.of == TABLE.classes[0]
    assert found.now[1].rows == int((job.rows.labels == 0).sum())


def test_what_was_measured_is_kept_beside_the_store(tmp_path: Path) -> None:
    job, victim, comparison = compared()
    found = measure_what_if(job, victim, comparison.summary, 1)
    assert read_measured(tmp_path) == {}
    write_measured(tmp_path, {"one": found})
    write_measured(tmp_path, {"two": replace(found, of="class 1")})
    again = read_measured(tmp_path)
    assert again == {"one": found, "two": replace(found, of="class 1")}
    whole = json.loads((tmp_path / FILE).read_text())
    for damage in ("[]", "{", '{"one": {}}', json.dumps(whole | {"one": whole["one"] | {"now": {"1": [3, 2]}}})):
        (tmp_path / FILE).write_text(damage)
        with pytest.raises(FileError, match="damaged"):
            read_measured(tmp_path)


def test_limits_that_were_there_stay() -> None:
    space = MaskedSpace(TABLE, immutable=["f0"], forbidden={"f2": ["c1"]})
    both = frozen(space, "f1")
    row = torch.zeros(1, 5, dtype=torch.int64)
    counts = both.slots_of(row).counts[0].tolist()
    assert counts[:2] == [1, 1]
    assert counts[2:] == space.slots_of(row).counts[0].tolist()[2:]


def test_sequences_have_no_columns() -> None:
    job, victim, comparison = compared()
    letters = replace(comparison.summary.results, schema=LETTERS, runs=[])
    with pytest.raises(InputError, match="expected a table for --what-if"):
        measure_what_if(job, victim, replace(comparison.summary, results=letters), 1)
