"""Jobs: one training from start to checkpoint, and what may not be overwritten."""

import csv
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from hammingbox.data import splice_paper
from hammingbox.data.dataset import Splits
from hammingbox.data.registry import DATASETS
from hammingbox.defences import SwapTraining
from hammingbox.errors import FileError, InputError
from hammingbox.evaluation.accuracy import accuracy
from hammingbox.threat.goal import Target
from hammingbox.training.config import TrainConfig
from hammingbox.training.defence_job import train_defended
from hammingbox.training.history import HISTORY, Epoch, best_epoch
from hammingbox.training.job import RECORD, keep_finished, train_victim
from hammingbox.training.released_job import take_released
from hammingbox.training.standard_job import suitable_settings, train_standard, untrained
from hammingbox.training.state import STATE
from hammingbox.victims.checkpoint import load_checkpoint, weights_digest
from toys.released import write_splice_paper
from toys.texts import small_splits
from toys.training import splice_threat


def test_a_training_ends_as_a_checkpoint_with_its_facts(small: Splits, tmp_path: Path) -> None:
    config = TrainConfig(epochs=2, robust_rows=10, criterion="mean")
    start = untrained("cnn", small.schema, seed=0)
    shown: list[Epoch] = []
    facts = train_victim(
        small, start, config, tmp_path,
        data="splice", defence=SwapTraining(tries=3), threat=splice_threat(small), goal=Target("N"),
        on_epoch=shown.append,
    )  # fmt: skip
    again = load_checkpoint(tmp_path, schema=small.schema)
    assert weights_digest(again.victim) == weights_digest(start.victim)
    assert again.training == facts | {"history": [asdict(epoch) for epoch in shown]}
    assert facts["defence"] == "SwapTraining(clean_share=0.5, extra=0, tries=3)"
    assert facts["goal"] == {"kind": "target", "label": "N"}
    assert facts["best_epoch"] == best_epoch(shown).epoch
    assert facts["test_accuracy"] == accuracy(again.victim, small.test)
    assert not (tmp_path / STATE).exists(), "the checkpoint replaces the state"
    with (tmp_path / HISTORY).open() as file:
        lines = list(csv.DictReader(file))
    assert [line["epoch"] for line in lines] == ["1", "2"]
    assert {"loss", "validation_accuracy", "robust_accuracy", "adversarial_accuracy"} <= lines[0].keys()


def test_standard_training_has_no_goal_and_no_cost(small: Splits, tmp_path: Path) -> None:
    start = untrained("cnn", small.schema, seed=0)
    facts = train_victim(small, start, TrainConfig(epochs=1), tmp_path, data="splice")
    assert not {"goal", "cost_of_an_epoch"} & facts.keys()
    assert (facts["defence"], facts["budget"]) == ("Standard()", 0)


def test_a_finished_model_is_kept_and_a_killed_training_is_not_refused(tmp_path: Path) -> None:
    keep_finished(tmp_path, overwrite=False)
    (tmp_path / "config.json").touch()
    with pytest.raises(FileError, match=r"with a finished one\. Use it as it is, .* or train anew with --overwrite"):
        keep_finished(tmp_path, overwrite=False)
    keep_finished(tmp_path, overwrite=True)
    (tmp_path / STATE).touch()
    keep_finished(tmp_path, overwrite=False)


def test_a_model_is_trained_with_what_suits_it_and_what_was_given(small: Splits, tmp_path: Path) -> None:
    source = replace(DATASETS["splice"], model="cnn", training={"batch_size": 40, "learning_rate": 1e-2})
    assert suitable_settings(source, "lstm") == {}
    facts = train_standard(small, source, tmp_path, data="splice", settings={"epochs": 1, "batch_size": 50}, seed=7)
    assert facts["config"] == TrainConfig(epochs=1, batch_size=50, learning_rate=1e-2, seed=7).record()
    assert facts["model"] == "cnn"
    with pytest.raises(FileError, match="with a finished one"):
        train_standard(small, source, tmp_path, data="splice")


def test_released_weights_exist_for_some_data_sets(small: Splits, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"expected the data set ips or splice_paper for released .* got 'splice'\."):
        take_released(small, tmp_path, data="splice")
    assert not list(tmp_path.iterdir())


def test_a_model_of_text_starts_from_word_vectors_of_their_size(tmp_path: Path) -> None:
    splits, path = small_splits(), tmp_path / "vectors.txt"
    path.write_text("film 1 2 3\nactors 4 5 6\n")
    start = untrained("word_cnn", splits.schema, seed=0, vectors=path)
    table = start.victim.get_parameter("embedding.table.weight")
    assert table[splits.schema.features[0].categories.index("film")].tolist() == [1, 2, 3]
    facts = train_standard(
        splits, DATASETS["imdb"], tmp_path / "out", data="imdb", settings={"epochs": 1}, vectors=path
    )  # fmt: skip
    assert (facts["vectors"], facts["words_with_vectors"]) == ("vectors.txt", 2)
    again = load_checkpoint(tmp_path / "out", schema=splits.schema)
    assert again.settings == {"dim": 3}
    path.write_text("")
    with pytest.raises(FileError, match="got an empty file"):
        untrained("word_cnn", splits.schema, seed=0, vectors=path)


def test_the_record_of_every_victim_is_whole(small: Splits, tmp_path: Path) -> None:
    """Released, standard and defended victims say the same things under the same names."""
    data_dir = write_splice_paper(tmp_path / "data")
    source, config = DATASETS["splice"], {"epochs": 1}
    threat = splice_threat(small)
    take_released(splice_paper.load(data_dir=data_dir), tmp_path / "released", data="splice_paper", data_dir=data_dir)
    train_standard(small, source, tmp_path / "standard", data="splice", model="mlp", settings=config)
    train_defended(
        small, source, tmp_path / "defended", SwapTraining(tries=2), threat,
        data="splice", start=tmp_path / "standard", settings=config,
    )  # fmt: skip
    records = {kind: load_checkpoint(tmp_path / kind).training for kind in ("released", "standard", "defended")}
    for kind, record in records.items():
        assert record.keys() >= {*RECORD, "test_sha256", "defence", "budget"}, kind
    assert records["released"]["data"] == "splice_paper"
    assert records["released"]["data_sha256"] is None, "what it was trained on is not known"
    assert records["released"]["test_sha256"] == splice_paper.load(data_dir=data_dir).test.digest
    assert records["standard"]["data_sha256"] == records["defended"]["data_sha256"] == small.train.digest
    assert records["standard"]["test_sha256"] == records["defended"]["test_sha256"] == small.test.digest
    with pytest.raises(FileError, match="with a finished one"):
        take_released(small, tmp_path / "released", data="splice_paper", data_dir=data_dir)
