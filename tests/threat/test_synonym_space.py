"""SynonymSpace keeps the contract of every space, and attacks on text keep theirs."""

import gzip
import json
import pickle
from pathlib import Path

import pytest
import torch

from hammingbox.attacks import ATTACKS, Attack, Exhaustive
from hammingbox.errors import FileError, InputError
from hammingbox.evaluation.accuracy import accuracy
from hammingbox.evaluation.result_files import verify, write_results
from hammingbox.running.evaluate import evaluate
from hammingbox.text.audit import audit
from hammingbox.text.render import changed_text
from hammingbox.text.synonyms import SynonymTable
from hammingbox.text.tagger import default_tagger
from hammingbox.threat.candidates import hamming
from hammingbox.threat.space import Space
from hammingbox.threat.space_json import space_from_json
from hammingbox.threat.synonym_space import SynonymSpace, counterfitted
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.training.config import TrainConfig
from hammingbox.training.loop import fit
from hammingbox.victims.victim import Victim
from hammingbox.victims.zoo.registry import build
from toys import toy_schema
from toys.texts import data_folder, small_reviews, small_splits

# One attack of each kind: the contract on per-row candidates runs over all of them in test_attack_contract.
ATTACK_LIST = [pytest.param(ATTACKS[name](), id=name) for name in ("pcaa", "ga", "gsa", "hotflip", "genetic", "random")]


@pytest.fixture(scope="module")
def space() -> SynonymSpace:
    return SynonymSpace(small_splits().schema)


@pytest.fixture(scope="module", params=["word_cnn", "bilstm"])
def victim(request: pytest.FixtureRequest) -> Victim:
    settings = {"word_cnn": {"dim": 8, "channels": 8}, "bilstm": {"dim": 8, "hidden": 8}}[request.param]
    model = build(request.param, small_splits().schema, **settings)
    fit(model, small_splits(), TrainConfig(epochs=4, batch_size=16, learning_rate=3e-2))
    return model


def test_a_space_can_be_sent_to_another_process(space: SynonymSpace) -> None:
    x, _ = small_splits().test.batch(slice(None))
    again = pickle.loads(pickle.dumps(space))
    assert again.to_json() == space.to_json()
    assert torch.equal(again.candidates(x).ids, space.candidates(x).ids)
    assert torch.equal(again.candidates(x).valid, space.candidates(x).valid)


def test_slots_are_synonyms_and_slot_0_is_the_word(space: SynonymSpace) -> None:
    x, _ = small_splits().test.batch(slice(None))
    candidates = space.candidates(x)
    assert torch.equal(candidates.clean, x)
    assert bool(candidates.contains(x).all())
    assert bool(candidates.valid.gather(1, candidates.layout.starts.expand_as(x)).all())
    words = space.vocabulary.words
    changes: dict[str, set[str]] = {}
    for row, option in candidates.moves.nonzero().tolist():
        old = words[x[row, candidates.layout.feature_of[option]]]
        changes.setdefault(old, set()).add(words[candidates.ids[row, option]])
    assert "movie" in changes["film"]
    assert "terrible" in changes["awful"]
    assert not {"not", "nobody", "Grace", "Paul", "the", "is", "<pad>", "."} & {old.lower() for old in changes}
    assert not {"Grace", "Paul"} & set(changes)
    padded = x == 0
    assert bool(padded.any())
    assert bool((candidates.counts[padded] == 1).all())


def test_a_row_does_not_depend_on_its_batch(space: SynonymSpace) -> None:
    x, _ = small_splits().test.batch(slice(0, 6))
    together = space.candidates(x)
    alone = [SynonymSpace(space.schema).candidates(x[i : i + 1]) for i in range(6)]
    assert torch.equal(together.ids, torch.cat([c.ids for c in alone]))
    assert torch.equal(together.valid, torch.cat([c.valid for c in alone]))
    assert all(c.layout is together.layout for c in alone), "a constant of the space"


@pytest.mark.parametrize("attack", ATTACK_LIST)
@pytest.mark.parametrize("budget", [0, 2])
def test_attacks_keep_their_contract_on_text(attack: Attack, budget: int, space: SynonymSpace, victim: Victim) -> None:
    data = small_splits().test
    x, y = data.batch(slice(0, 4))
    threat = ThreatModel(space, budget)
    result = attack(victim, x, y, threat, seed=1)
    candidates = space.candidates(x)
    assert bool(candidates.contains(result.ids).all())
    assert torch.equal(result.distance, hamming(x, result.ids))
    assert int(result.distance.max()) <= budget
    assert torch.equal(result.ids, attack(victim, x, y, threat, seed=1).ids)
    oracle = Exhaustive()(victim, x, y, threat)
    assert bool((result.margin <= oracle.margin + 1e-5).all()), "no attack beats enumeration"
    reviews = small_reviews()[180:]
    for number, clean, changed in zip(data.numbers.tolist(), x.tolist(), result.ids.tolist(), strict=False):
        text = reviews[number].text
        adversarial = changed_text(space.vocabulary, text, clean, changed)
        assert audit(text, adversarial.text, default_tagger()) == []


def test_an_attack_on_text_succeeds(space: SynonymSpace, victim: Victim) -> None:
    assert accuracy(victim, small_splits().test) > 0.9
    x, y = small_splits().test.batch(slice(0, 30))
    oracle = Exhaustive()(victim, x, y, ThreatModel(space, 2))
    clean = Exhaustive()(victim, x, y, ThreatModel(space, 0))
    assert bool((oracle.margin > clean.margin).any())
    assert bool((oracle.distance > 0).any())


def test_protected_words_stay(space: SynonymSpace) -> None:
    x, _ = small_splits().test.batch(slice(None))
    film = x == space.vocabulary.index["film"]
    assert bool((space.candidates(x).counts[film] > 1).any())
    protected = SynonymSpace(space.schema, protected=["FILM"])
    assert bool((protected.candidates(x).counts[film] == 1).all())


def test_the_record_builds_the_space_again(space: SynonymSpace) -> None:
    x, _ = small_splits().test.batch(slice(None))
    first = SynonymSpace(space.schema, protected=["film"], most=3)
    record = json.loads(json.dumps(first.to_json()))
    again: Space = space_from_json(record, space.schema)
    assert torch.equal(first.candidates(x).ids, again.candidates(x).ids)
    assert torch.equal(first.candidates(x).valid, again.candidates(x).valid)
    for name, value in (("sha256", "0" * 64), ("tagger", "textblob 0.1")):
        with pytest.raises(InputError, match=f"the synonyms the result was made with \\({name}"):
            space_from_json(record | {name: value}, space.schema)


def test_counter_fitted_neighbours(tmp_path: Path, space: SynonymSpace, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "counterfitted"
    folder.mkdir()
    table = {"film": ["movie", "films", "the"], "awful": ["bad"]}
    (folder / "counterfitted_neighbors.json.gz").write_bytes(gzip.compress(json.dumps(table).encode()))
    own = SynonymSpace(space.schema, table=counterfitted(data_dir=tmp_path))
    assert own.substitution.synonyms("NN", "film") == ("movie",)
    monkeypatch.setenv("HAMMINGBOX_DATA", str(tmp_path))
    assert space_from_json(own.to_json(), space.schema).to_json() == own.to_json()
    monkeypatch.setenv("HAMMINGBOX_DATA", str(folder / "elsewhere"))
    with pytest.raises(FileError, match="counterfitted_neighbors"):
        space_from_json(own.to_json(), space.schema)


def test_real_counter_fitted_neighbours() -> None:
    table = counterfitted(data_dir=data_folder("counterfitted"))
    assert isinstance(table, SynonymTable)
    assert "film" in table.lookup("NN", "movie")
    assert len(table.neighbours) == 49_975


def test_a_schema_of_columns_is_refused() -> None:
    with pytest.raises(InputError, match="schema of text"):
        SynonymSpace(toy_schema((3, 2)))
    with pytest.raises(InputError, match="begins with <pad>"):
        SynonymSpace(toy_schema((5, 5)))


def test_a_stored_result_is_verified_from_disk(space: SynonymSpace, victim: Victim, tmp_path: Path) -> None:
    data = small_splits().test.take(slice(0, 20))
    evaluation = evaluate(victim, data, ThreatModel(space, 2), ATTACKS["ga"]())
    path = write_results(evaluation, tmp_path / "result")
    assert verify(path, victim, data=data).ok
    # The same rows in a space that protects what was changed are no longer in S(x).
    changed = (evaluation.rows.clean != evaluation.rows.adversarial).nonzero()
    words = {space.vocabulary.words[int(evaluation.rows.clean[row, place])] for row, place in changed.tolist()}
    assert words
    assert not verify(path, victim, data=data, space=SynonymSpace(space.schema, protected=sorted(words))).ok
