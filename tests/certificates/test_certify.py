"""`certify` over a data set: radii, rates by class, the store, `verify` and the report."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

import hammingbox as hb
from hammingbox.report.band import band
from hammingbox.report.result_set import ResultSet
from hammingbox.report.run_rows import RunFacts
from hammingbox.running.verify_store import verify_run
from toys import ToyVictim, toy_rows, toy_schema

SCHEMA = toy_schema((3, 2, 4, 3, 4, 2))


def _model(seed: int = 0) -> hb.Victim:
    victim = hb.build("shallow", SCHEMA, seed=seed, hidden=6)
    with torch.no_grad():
        for parameter in victim.parameters():
            parameter.mul_(2.0)
    return victim.eval()


def _data(victim: hb.Victim, rows: int = 30) -> hb.Dataset:
    x, y = toy_rows(SCHEMA, victim, rows)
    y[:4] = (y[:4] + 1) % 3  # four rows are wrong before
    return hb.Dataset(SCHEMA, x, y, "toy", torch.arange(rows))


@pytest.fixture
def threat() -> hb.ThreatModel:
    return hb.ThreatModel(hb.FullSpace(SCHEMA), 3)


def test_certified_is_attacked_accuracy_for_an_exact_method(threat: hb.ThreatModel) -> None:
    victim = _model()
    data = _data(victim)
    found = hb.certify(victim, data, threat, batch_size=7)
    assert found.radius[:4].tolist() == [-1] * 4
    assert found.status[:4] == ("wrong before",) * 4
    for budget in (1, 2, 3):
        oracle = hb.evaluate(victim, data, hb.ThreatModel(threat.space, budget), hb.Exhaustive(max_passes=10**6))
        standing = int((oracle.rows.correct & ~oracle.rows.success).sum())
        assert found.certified(budget).hits == found.attacked(budget).hits == standing
    lines = found.summary()["by_budget"]
    assert lines[0]["certified"] == pytest.approx(26 / 30)
    assert sum(of["rows"] for of in lines[2]["classes"].values()) == 30
    mean = sum(of["certified"] for of in lines[2]["classes"].values()) / len(lines[2]["classes"])
    assert lines[2]["class_mean"] == pytest.approx(mean)
    with pytest.raises(hb.InputError, match="expected a budget of 0 to 3, got 4"):
        found.certified(4)


def test_runs_of_certificates_are_recorded_resumed_and_proven_again(tmp_path: Path, threat: hb.ThreatModel) -> None:
    victim = _model()
    data = _data(victim)
    direct = hb.certify(victim, data, threat)
    with hb.open_store(tmp_path, create=True) as store:
        hb.certify_into(store, victim, data.take(slice(0, 10)), threat, batch_size=5)
        calls: list[int] = []
        found = hb.certify_into(store, victim, data, threat, batch_size=5, on_rows=lambda b, n, _: calls.append(b * n))
        assert len(store.runs()) == 3
        for budget, result in found.items():
            assert torch.equal(result.rows.proven, direct.correct & (direct.radius >= budget))
            verified = verify_run(store, store.runs()[budget - 1].id, victim, data=data)
            assert verified.ok, verified.problems
        other = _model(1)
        changed = verify_run(store, store.runs()[0].id, other, data=data)
        assert any("another hash" in problem for problem in changed.problems)


def test_a_proof_that_does_not_hold_is_rejected(threat: hb.ThreatModel) -> None:
    victim = _model()
    data = _data(victim)
    store = hb.MemoryStore()
    hb.certify_into(store, victim, data, threat, budgets=[2])
    run = store.runs()[0].id
    rows = store.rows(run)
    broken = int(rows.success.nonzero()[0, 0])
    at = torch.tensor([broken])
    goals = hb.AnyOther().of(rows.labels, SCHEMA)
    margin = goals.margin(rows.clean_logits)
    forged = replace(
        rows,
        success=rows.success.index_fill(0, at, False),
        proven=rows.proven.index_fill(0, at, True),
        adversarial=rows.adversarial.index_copy(0, at, rows.clean[at]),
        logits=rows.logits.index_copy(0, at, rows.clean_logits[at]),
        margin=rows.margin.index_copy(0, at, margin[at]),
        distance=rows.distance.index_fill(0, at, 0),
    )
    store._rows[run] = [forged]
    found = verify_run(store, run, victim, data=data)
    number = int(rows.numbers[broken])
    assert found.problems == (f"row {number}: claimed as proven but the certificate does not prove it",)


def test_the_band_joins_attacks_and_certificates(threat: hb.ThreatModel) -> None:
    victim = _model()
    data = _data(victim)
    results = ResultSet("toy", SCHEMA)
    certified = hb.certify_into(hb.MemoryStore(), victim, data, threat)
    for budget, result in certified.items():
        facts = RunFacts(
            victim="toy", attack="certify auto", name="certify auto", settings="Cascade()", budget=budget, seed=0
        )
        results.add(facts, result.rows)
    lines = band(results, "toy")
    direct = hb.certify(victim, data, threat)
    assert [line.certified.hits for line in lines] == [direct.certified(b).hits for b in (1, 2, 3)]
    assert [line.attacked.hits for line in lines] == [direct.attacked(b).hits for b in (1, 2, 3)]
    assert lines[1].class_mean == pytest.approx(direct.class_mean(2))


def test_bad_input_is_refused(threat: hb.ThreatModel) -> None:
    victim = _model()
    data = _data(victim)
    with pytest.raises(hb.InputError, match="Did you mean 'additive'"):
        hb.certify(victim, data, threat, "aditive")
    with pytest.raises(hb.InputError, match="Use relaxation for dense layers"):
        hb.certify(victim, data, threat, "additive")
    with pytest.raises(hb.InputError, match="raw ToyVictim"):
        hb.certify(ToyVictim(SCHEMA.cardinalities).eval(), data, threat, "ablation")
    with pytest.raises(hb.InputError, match="empty data set"):
        hb.certify(victim, data.take(slice(0, 0)), threat)
