"""The page says what the store holds: its numbers, its rows, its doubts, and nothing that data smuggles in."""

import base64
import gzip
import hashlib
import json
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hammingbox.data.registry import DATASETS
from hammingbox.data.schema import Dataset, Feature, Schema, Splits
from hammingbox.errors import FileError
from hammingbox.evaluation.diagnose import Finding
from hammingbox.evaluation.evaluate import Rate, Rows
from hammingbox.report.breakdown import by_class
from hammingbox.report.labels import arguments
from hammingbox.report.page.commands import commands, space_options
from hammingbox.report.page.folder import read_contents, write_report
from hammingbox.report.page.packing import pack
from hammingbox.report.page.page import render
from hammingbox.report.ragged_pairs import Ragged, changes, likeliest
from hammingbox.report.recorded_checks import doubts
from hammingbox.report.result_set import row_form
from hammingbox.report.summary import worst_case
from hammingbox.running.store import Run, RunKey, Store
from hammingbox.running.store.store import space_digest
from hammingbox.running.tasks import Task
from toys import toy_schema
from toys.result_folders import HOSTILE, LETTERS, NASTY, TABLE, fill


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("results")
    fill(made, LETTERS, attacks=("ga", "hotflip", "random", "exhaustive"), budgets=(1, 2))
    return made


def stored(folder: Path) -> list[tuple[str, int, Rows]]:
    with Store.open(folder) as store:
        return [(run.name, run.key.budget, store.rows(run.id)) for run in store.runs()]


def unpack(text: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What `rows.js` does, in Python."""
    block = gzip.decompress(base64.b64decode(text))
    length = int.from_bytes(block[:4], "little")
    head = json.loads(block[4 : 4 + length])
    columns = {
        name: np.frombuffer(block, f"<{kind}", count, 4 + length + offset).astype(np.int64)
        for name, (kind, offset, count) in head["columns"].items()
    }
    columns |= {name[:-5]: np.cumsum(values) for name, values in columns.items() if name.endswith("_step")}
    return head, columns


def test_every_rate_of_the_page_is_the_stores(folder: Path) -> None:
    page = write_report(folder).read_text()
    for name, budget, rows in stored(folder):
        fell, right = int(rows.success.sum()), int(rows.correct.sum())
        low, high = rows.success_rate.interval
        cell = f"{name}, budget {budget}: {fell} of {right} rows fall; show them"
        span = f"{100 * low:.0f}\N{EN DASH}{100 * high:.0f}\N{NO-BREAK SPACE}%"
        assert f'aria-label="{cell}">{100 * fell / right:.1f}</a><small>{span}' in page
    assert "right on 27 of 30 rows before any attack" in page


def test_the_worst_case_joins_attacks_and_smaller_budgets(folder: Path) -> None:
    (study,) = read_contents(folder).studies
    for worst in worst_case(study, study.victims[0]):
        runs = [rows for _, budget, rows in stored(folder) if budget <= worst.budget]
        fell = torch.stack([rows.success for rows in runs]).any(0)
        wrong = ~runs[0].correct
        assert (worst.success.hits, worst.success.rows) == (int(fell.sum()), int(runs[0].correct.sum()))
        assert (worst.robust_error.hits, worst.robust_error.rows) == (int((fell | wrong).sum()), 30)
        assert worst.clean_error.hits == 3


def test_a_budget_counts_only_rows_that_were_attacked_with_it(tmp_path: Path) -> None:
    fill(tmp_path, TABLE, attacks=("ga",), budgets=(1, 3), rows=30, victims=("one", "two"))
    fill(tmp_path, TABLE, attacks=("random",), budgets=(2,), rows=12, victims=("one",))
    (study,) = read_contents(tmp_path).studies
    few = {worst.budget: worst for worst in worst_case(study, "one (mlp)")}[2]
    assert (few.success.rows, few.robust_error.rows, few.clean_error) == (9, 12, Rate(3, 12))
    first, both = (rows for name, budget, rows in stored(tmp_path)[:1] + stored(tmp_path)[-1:])
    assert few.success.hits == int((first.success[:12] | both.success).sum())
    lines = by_class(study, "one (mlp)")
    assert sum(line.by_budget[2].rows for line in lines) == 9
    assert sum(line.correct for line in lines) == 27
    assert {budget for line in by_class(study, "two (mlp)") for budget in line.by_budget} == {1, 3}
    second = write_report(tmp_path).read_text().split("<caption>two (mlp)</caption>")[-1]
    assert "fall, budget 3" in second
    assert "fall, budget 2" not in second


@pytest.mark.parametrize("schema", [LETTERS, TABLE], ids=["letters", "table"])
def test_the_packed_rows_are_the_stores_rows(schema: Any, tmp_path: Path) -> None:
    fill(tmp_path, schema, victims=("one", "two"))
    (study,) = read_contents(tmp_path).studies
    packed = pack(study, 10**7)
    assert packed.rows == packed.total == 2 * 3 * 2 * 30
    head, columns = unpack(packed.text)
    place = columns["place"]
    clean = columns["clean"].reshape(-1, len(schema.features))
    change_end, after_end = np.cumsum(columns["change_count"]), np.cumsum(columns["after_count"])
    at = 0
    for run, (name, budget, rows) in enumerate(stored(tmp_path)):
        assert (head["runs"][run]["attack"], head["runs"][run]["budget"]) == (name, budget)
        probabilities = rows.logits.double().softmax(1)
        for i in range(len(rows)):
            assert columns["run"][at] == run
            assert columns["number"][place[at]] == rows.numbers[i]
            assert columns["label"][place[at]] == rows.labels[i]
            written = clean[place[at]].copy()
            assert written.tolist() == rows.clean[i].tolist()
            span = slice(change_end[at] - columns["change_count"][at], change_end[at])
            written[columns["change_key"][span]] = columns["change_value"][span]
            assert written.tolist() == rows.adversarial[i].tolist()
            assert columns["outcome"][at] == (1 if rows.success[i] else 0 if rows.correct[i] else 2)
            assert (columns["forward"][at], columns["backward"][at]) == (rows.forward[i], rows.backward[i])
            span = slice(after_end[at] - columns["after_count"][at], after_end[at])
            for kind, parts in zip(columns["after_key"][span], columns["after_value"][span], strict=True):
                assert abs(parts / 1000 - probabilities[i, kind].item()) <= 0.00051
            at += 1
    assert at == len(place)


def test_rows_beyond_the_limit_are_an_even_sample_and_the_page_says_so(folder: Path, tmp_path: Path) -> None:
    contents = read_contents(folder)
    (study,) = contents.studies
    whole = pack(study, 10**7)
    small = pack(study, len(whole.text) * 2 // 3)
    assert len(small.text) <= len(whole.text) * 2 // 3
    assert 0 < small.rows < small.total == whole.total
    _, columns = unpack(small.text)
    shown = np.unique(columns["place"])
    assert small.rows == len(shown) * len(study.runs), "every shown row has all its runs"
    page = render(contents, rows_limit=len(whole.text) // 2)
    assert re.search(r"Rows shown: \d+ of 240, .* all are in results.sqlite", page, re.S)
    assert "All 240 attacked rows are here" in render(contents)


def test_what_comes_from_data_is_text(tmp_path: Path) -> None:
    fill(tmp_path, HOSTILE, data=f"data {NASTY}", victims=(NASTY.replace("/", ""), "other"))
    page = write_report(tmp_path).read_text()
    assert page.count("<script") == 2, "the packed rows and the one script"
    assert "<img" not in page
    assert 'onmouseover="window' not in page
    assert "<b>bold" not in page
    (allowed,) = re.findall(r"script-src &#39;sha256-(.*?)&#39;|script-src 'sha256-(.*?)'", page)
    script = page[page.rindex("<script>") + 8 : page.rindex("</script>")]
    assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() in allowed


def test_an_unfinished_an_empty_and_a_missing_store(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="expected a store of results"):
        write_report(tmp_path)
    Store.open(tmp_path, create=True).close()
    assert "No rows yet" in write_report(tmp_path).read_text()
    fill(tmp_path, TABLE, attacks=("ga",), budgets=(1,), rows=30)
    fill(tmp_path, TABLE, attacks=("random",), budgets=(1,), rows=12)
    page = write_report(tmp_path).read_text()
    assert "<strong>Fewer rows:</strong> 1 run lacks 18 rows that others have" in page
    assert "1 of 2 runs have fewer than the 30 rows" in page


def test_the_page_of_a_live_run_is_of_one_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path, TABLE, attacks=("ga",), budgets=(1,), rows=12)
    runs = Store.runs

    def meanwhile(store: Store) -> list[Run]:
        found = runs(store)
        monkeypatch.setattr(Store, "runs", runs)
        fill(tmp_path, TABLE, attacks=("ga",), budgets=(1,), rows=30)
        return found

    monkeypatch.setattr(Store, "runs", meanwhile)
    (study,) = read_contents(tmp_path).studies
    assert len(study.runs[0]) == study.runs[0].facts.planned == 12
    assert len(read_contents(tmp_path).studies[0].runs[0]) == 30


def test_refusals_seeds_and_variants_are_told_apart(tmp_path: Path) -> None:
    wide = toy_schema((9,) * 9)
    fill(tmp_path, wide, attacks=("exhaustive", "random"), budgets=(6,), seeds=(0, 1), rows=9, wrong=0)
    (study,) = read_contents(tmp_path).studies
    page = write_report(tmp_path).read_text()
    assert "exhaustive at budget 6 was not run: expected exhaustive search to need at most" in page
    fell = sum(int(run.success.sum()) for run in study.runs)
    assert f"random, budget 6: {fell} of 18 rows fall" in page, "seeds are counted together"
    assert '<select name="seed">' in page
    assert arguments("A(b=(1, 2), c=B(d=3), e='f')") == ["b=(1, 2)", "c=B(d=3)", "e='f'"]


def test_a_random_victim_and_probabilities_as_logits_are_doubted(folder: Path) -> None:
    contents = read_contents(folder)
    (study,) = contents.studies
    assert {finding.check for finding in contents.findings[0]} >= {"few rows"}
    before = study.before[study.victims[0]]
    rows = stored(folder)[0][2]
    before.add(study.runs[0].place, rows.clean_logits.numpy() + 0.5)
    checks = {finding.check: finding for finding in doubts(study, study.victims[0])}
    assert "differ by up to 0.5" in checks["deterministic victim"].seen
    study.before[study.victims[0]] = type(before)()
    study.before[study.victims[0]].add(study.runs[0].place, rows.clean_logits.softmax(1).numpy())
    assert "logits" in {finding.check for finding in doubts(study, study.victims[0])}


def test_what_a_victim_said_itself_goes_before_what_its_rows_say(tmp_path: Path) -> None:
    fill(tmp_path, TABLE, victims=("one", "two"), rows=12, attacks=("ga",), budgets=(1,))
    with Store.open(tmp_path) as store:
        first = store.runs()[0].key.victim_sha256
    heard = {first: [Finding("few rows", "error", "I was asked", "it means", "do")], "another": []}
    (findings,) = read_contents(tmp_path, asked=heard).findings
    assert [(f.severity, f.seen.split(":")[0]) for f in findings if f.check == "few rows"] == [
        ("error", "one (mlp)"),
        ("note", "two (mlp)"),
    ]


def test_a_store_of_refusals_alone(tmp_path: Path) -> None:
    fill(tmp_path, toy_schema((9,) * 9), attacks=("exhaustive",), budgets=(6,), rows=4)
    page = write_report(tmp_path).read_text()
    assert "exhaustive at budget 6 was not run" in page
    assert "No row fell" in page


def test_commands_name_what_the_attacker_may_do() -> None:
    def command(data: str, space: dict[str, Any], attack: str = "GA()") -> str:
        key = RunKey(data, "test", "schema", "space", "weights", "standard", attack, 2, 1)
        run = Run(1, key, "mine", "runs/a b", "lstm", "today", None, 9, 1.0)
        (line,) = commands([run], {"space": space}, ("a", "b"), Path("out"))
        return line

    texts = {"kind": "synonym", "source": "near.txt", "protected": ["film"]}
    assert command("imdb", texts) == (
        "hammingbox attack imdb --victim 'runs/a b' --attack mine --budget 2 --split test --seed 1 "
        "--neighbours near.txt --protect film --rows 9 --out out"
    )
    assert "--neighbours" not in command("imdb", {"kind": "synonym", "source": "wordnet"})
    assert "--full-space" in command("splice", {"kind": "full"})
    assert "--full-space" not in command("ips", {"kind": "full"})
    assert "--schema schema.toml" in command("mine.csv", {"kind": "full"})
    mine = {"kind": "masked", "immutable": ["sex", "age"], "forbidden": {"job": ["none", "a b"]}, "kept": {}}
    limits = "--immutable sex --immutable age --forbid job=none --forbid 'job=a b'"
    assert f"--schema schema.toml --full-space {limits}" in command("mine.csv", mine), "as recorded, in their order"
    own = {"kind": "masked", "immutable": [], "forbidden": {"*": ["N"], "base 3": ["A"]}, "kept": {}}
    assert "--seed 1 --forbid 'base 3=A' --rows" in command("splice", own)
    freed = own | {"forbidden": {"base 3": ["A"]}}
    assert "--seed 1 --full-space --forbid 'base 3=A' --rows" in command("splice", freed)


def test_the_command_of_an_own_file_gives_its_space_again() -> None:
    rows = Dataset(TABLE, torch.zeros(1, 5, dtype=torch.int64), torch.zeros(1, dtype=torch.int64))
    source = replace(DATASETS["splice"], immutable=("f3", "f0"), forbidden={"f2": ["c4", "c1"]})
    opened = Task("mine.csv", source, Splits(rows, rows, rows))
    space = opened.space(immutable=["f1"], forbid=["f4=c3", "f2=c0"])
    key = RunKey("mine.csv", "test", "schema", space_digest(space), "weights", "standard", "GA()", 2, 0)
    run = Run(1, key, "ga", "", "mlp", "today", None, 9, 1.0)
    words = space_options(run, {key.space_sha256: space.to_json()})
    given = {name: [b for a, b in pairwise(words) if a == name] for name in ("--immutable", "--forbid")}
    again = opened.space(immutable=given["--immutable"], forbid=given["--forbid"], full="--full-space" in words)
    assert space_digest(again) == key.space_sha256


def test_lists_of_different_lengths() -> None:
    generator = np.random.default_rng(0)
    clean = generator.integers(0, 3, (40, 6))
    written = np.where(generator.random((40, 6)) < 0.3, generator.integers(0, 3, (40, 6)), clean)
    ragged = changes(clean, written)
    order = generator.permutation(40)[:17]
    taken, again = ragged.take(order), Ragged.join([ragged.take(order[:5]), ragged.take(order[5:])])
    at = 0
    for row in order:
        places = np.flatnonzero(clean[row] != written[row])
        span = slice(at, at + len(places))
        assert taken.keys[span].tolist() == places.tolist()
        assert taken.values[span].tolist() == written[row, places].tolist()
        at += len(places)
    assert at == len(taken.keys)
    for name in ("counts", "keys", "values"):
        assert getattr(taken, name).tolist() == getattr(again, name).tolist()


def test_the_true_class_is_kept_however_unlikely() -> None:
    logits = np.array([[9.0, 0.0, 0.0, 0.0, -30.0, 0.0, 0.0, 0.0]])
    kept = likeliest(logits, np.array([4]))
    assert 4 in kept.keys
    assert kept.values[kept.keys == 4].tolist() == [0]
    assert kept.keys[0] == 0


def test_how_rows_are_written() -> None:
    assert row_form(LETTERS) == "letters"
    assert row_form(TABLE) == "columns"
    assert row_form(Schema.sequence(4, ["10", "11"], ("a", "b"), prefix="event ")) == "events"
    assert row_form(Schema.sequence(4, ["<pad>", "<unknown>", "<name>", "good"], ("a", "b"))) == "words"
    answers = tuple(Feature(name, ("y", "n")) for name in ("vote a", "vote b"))
    assert row_form(Schema(answers, ("a", "b"))) == "columns", "columns with names are no string"
