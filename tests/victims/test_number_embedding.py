"""Numbers in the package's models: read as values, on the scale of the training rows, for values never seen."""

from pathlib import Path

import numpy as np
import pytest
import torch

from hammingbox.data.schema import Feature, Schema
from hammingbox.data.table import load_table
from hammingbox.errors import FileError, InputError
from hammingbox.evaluation.accuracy import accuracy
from hammingbox.training.config import TrainConfig
from hammingbox.training.loop import fit
from hammingbox.victims.checkpoint import Checkpoint, load_checkpoint
from hammingbox.victims.zoo.mlp import TableMLP
from hammingbox.victims.zoo.registry import build


def measured(rows: int = 600, seed: int = 0) -> dict[str, list[object]]:
    """The label depends on an amount; 600 distinct amounts, of which a model learns the rule, not the values."""
    random = np.random.default_rng(seed)
    amount = random.normal(5000, 900, rows)
    return {
        "amount": [None if i % 40 == 0 else round(float(x), 3) for i, x in enumerate(amount)],
        "day": [f"2020-01-{i % 28 + 1:02d}" for i in range(rows)],
        "kind": [["a", "b"][i % 2] for i in range(rows)],
        "y": [["low", "high"][int(x > 5000)] for x in amount],
    }


@pytest.fixture(scope="module")
def trained() -> Checkpoint:
    table = load_table(measured(), label="y")
    victim = build("mlp", table.splits.schema)
    fit(victim, table.splits, TrainConfig(epochs=12, learning_rate=5e-3))
    assert accuracy(victim, table.splits.test) > 0.9, "600 embeddings of 600 values would learn nothing"
    return Checkpoint(victim, "mlp", {}, table.splits.schema)


def test_the_scale_is_that_of_the_training_rows(trained: Checkpoint) -> None:
    victim = trained.victim
    assert isinstance(victim, TableMLP)
    table = load_table(measured(), label="y")
    numbers = table.splits.schema.features[0].numbers[table.splits.train.ids[:, 0]]
    embedding = victim.embedding.numbers
    assert embedding is not None
    assert float(embedding.mean[0]) == pytest.approx(np.nanmean(numbers))
    assert float(embedding.deviation[0]) == pytest.approx(np.nanstd(numbers))
    assert victim.embedding.table.num_embeddings == 2, "only the categories are looked up"
    before = embedding.mean.clone()
    fit(victim, table.splits, TrainConfig(epochs=1, learning_rate=1e-6))
    assert torch.equal(embedding.mean, before), "a second training keeps the scale its weights are for"


def test_a_checkpoint_reads_numbers_that_it_has_never_seen(trained: Checkpoint, tmp_path: Path) -> None:
    trained.save(tmp_path)
    new = load_table(measured(seed=7), label="y")
    assert new.splits.schema.digest != trained.schema.digest
    again = load_checkpoint(tmp_path, schema=new.splits.schema)
    assert again.schema == new.splits.schema
    assert accuracy(again.victim, new.splits.test) > 0.9
    same = load_checkpoint(tmp_path)
    x = load_table(measured(), label="y").splits.test.batch(slice(None))[0]
    assert torch.equal(same.victim(x), trained.victim.eval()(x))
    other = load_table({name: column for name, column in measured().items() if name != "day"}, label="y")
    with pytest.raises(FileError, match="expected a checkpoint for this data's schema"):
        load_checkpoint(tmp_path, schema=other.splits.schema)


def test_missing_values_have_a_vector_of_their_own() -> None:
    schema = Schema((Feature("x", ("1", "2", "<missing>"), "number"), Feature("k", ("a", "b"))), ("n", "y"))
    victim = build("mlp", schema)
    vectors = victim.embed(torch.tensor([[0, 0], [1, 0], [2, 0]]))[:, 0]
    assert isinstance(victim, TableMLP)
    numbers = victim.embedding.numbers
    assert numbers is not None
    assert torch.equal(vectors[2], numbers.missing[0])
    assert torch.allclose(vectors[1] - vectors[0], numbers.direction[0], atol=1e-6)
    with pytest.raises(InputError, match="schema of categories for the model 'word_cnn', got one with numbers"):
        build("word_cnn", schema)
    with pytest.raises(InputError, match="rows of several words for the model 'word_cnn', got one column"):
        build("word_cnn", Schema((Feature("review", ("a b c", "d e f")),), ("n", "y")))
