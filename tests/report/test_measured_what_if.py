"""Attacking again with a column frozen: between what the records bound and what enumeration finds."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from hammingbox import (
    Checkpoint,
    Dataset,
    FullSpace,
    MaskedSpace,
    MemoryStore,
    Space,
    ThreatModel,
    evaluate,
    open_store,
)
from hammingbox.attacks import attack_named
from hammingbox.errors import InputError
from hammingbox.evaluation.drawing import Draw, Sample, population_of
from hammingbox.report.comparison import Comparison, ComparisonJob, compare_attacks
from hammingbox.report.measured_what_if import FOLDER, _frozen_column, _frozen_document, frozen, measure_what_if
from hammingbox.report.page.folder import read_contents
from hammingbox.running.data_reference import DataReference
from hammingbox.running.store import Store
from toys import ToyVictim, toy_rows
from toys.result_folders import LETTERS, TABLE


def compared(
    positive: str | None = None, *, store: Store | None = None, space: Space | None = None
) -> tuple[ComparisonJob, Checkpoint, Comparison]:
    victim = ToyVictim(TABLE.cardinalities, len(TABLE.classes))
    data = Dataset(TABLE, *toy_rows(TABLE, victim, 30))
    source = DataReference("toy", sample=Sample(Draw(per_class=10), population_of(data), positive))
    job = ComparisonJob(
        "toy", data, space or FullSpace(TABLE), attacks=("random", "exhaustive"), budgets=(1, 2), source=source
    )  # fmt: skip
    checkpoint = Checkpoint(victim, "mlp", {}, TABLE)
    return job, checkpoint, compare_attacks(job, checkpoint, Path("toy"), store or MemoryStore())


def test_a_frozen_column_is_attacked_again() -> None:
    job, victim, comparison = compared()
    seen: list[str] = []
    found = measure_what_if(job, victim, "toy", comparison.summary, 2, MemoryStore(), on_column=seen.append)
    assert list(found.lines) == seen
    assert len(seen) == 2
    for name, line in found.lines.items():
        for budget, rate in line.items():
            threat = ThreatModel(MaskedSpace(TABLE, immutable=[name]), budget)
            assert rate == evaluate(victim.victim, job.rows, threat, attack_named(found.attacks[budget])).success_rate
            assert rate.hits <= found.now[budget].hits
    frame = found.to_frame()
    assert len(frame) == 4
    assert frame.loc[frame["budget"] == 1, "broken"].is_monotonic_increasing, "the column that helps most comes first"
    for name, budget, attacked, broken, before in frame.itertuples(index=False):
        assert (broken, attacked) == (found.lines[name][budget].hits, found.lines[name][budget].rows)
        assert before == found.now[budget].hits


def test_rows_of_the_positive_class_alone() -> None:
    job, victim, comparison = compared(TABLE.classes[0])
    found = measure_what_if(job, victim, "toy", comparison.summary, 1, MemoryStore())
    assert found.of == TABLE.classes[0]
    assert found.now[1].rows == int((job.rows.labels == 0).sum())


def test_a_report_reads_what_was_measured_from_its_own_store(tmp_path: Path) -> None:
    """Two comparisons of one victim in one folder: each has its own frozen columns, and a killed one has none."""
    spaces: list[Space] = [FullSpace(TABLE), MaskedSpace(TABLE, immutable=["f4"], forbidden={"f2": ["c1"]})]
    found = []
    for space in spaces:
        with open_store(tmp_path, create=True) as store, open_store(tmp_path / FOLDER, create=True) as own:
            job, victim, comparison = compared(store=store, space=space)
            found.append(measure_what_if(job, victim, "toy", comparison.summary, 2, own))
            weights, again = comparison.weights, len(own.runs())
            measure_what_if(job, victim, "toy", comparison.summary, 2, own)
            assert len(own.runs()) == again, "nothing is attacked twice"
    contents = read_contents(tmp_path)
    assert [measured[weights] for measured in contents.measured] == found
    assert all(found[i].lines for i in range(2))


def test_the_rows_of_a_class_that_the_caller_names(tmp_path: Path) -> None:
    with open_store(tmp_path, create=True) as store, open_store(tmp_path / FOLDER, create=True) as own:
        job, victim, comparison = compared(store=store)
        found = measure_what_if(job, victim, "toy", comparison.summary, 1, own, of=TABLE.classes[1])
    assert found.of == TABLE.classes[1]
    assert found.now[1].rows == int((job.rows.labels == 1).sum())
    assert read_contents(tmp_path).measured[0][comparison.weights] == found


def test_prices_and_relations_stay() -> None:
    """A space with rules is frozen under its rules, and is recognised again."""
    document: dict[str, Any] = {"kind": "ruled", "base": FullSpace(TABLE).to_json(), "rules": {"some": "rules"}}
    written = _frozen_document(document, "f1")
    assert written["rules"] == document["rules"]
    assert written["base"] == MaskedSpace(TABLE, immutable=["f1"]).to_json()
    assert _frozen_column(document, written) == "f1"
    assert _frozen_column(document, written | {"rules": {}}) is None
    assert _frozen_column(document["base"], written) is None


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
        measure_what_if(job, victim, "toy", replace(comparison.summary, results=letters), 1, MemoryStore())
