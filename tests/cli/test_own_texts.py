"""A CSV with a column of text, from the command line: attacked, verified and reported, with models of three kinds."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import skops.io
import torch
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import Lowercase
from tokenizers.pre_tokenizers import Whitespace
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

import hammingbox as hb
from hammingbox.victims.written_texts import WrittenTexts
from toys.program import call_program

GOOD = ("great", "wonderful", "superb", "fine", "lovely")
BAD = ("awful", "terrible", "dreadful", "poor", "horrible")
OPENINGS = ("The film was", "Honestly, this movie isn't", "We found the plot", 'Its "ending" is', "Anna's acting was")


def texts() -> list[tuple[str, str]]:
    """Short reviews whose adjectives say their class; every third one uses its adjective once more."""
    found = []
    for label, words in (("good", GOOD), ("bad", BAD)):
        for number in range(40):
            first, second = words[number % 5], words[(number // 5) % 5]
            more = f" A {second} story!" if number % 3 else f" It looks {second}, and {first}."
            found.append((f"{OPENINGS[number % 5]} {first} (part {number}).{more}", label))
    return found


@pytest.fixture(scope="module")
def reviews(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("texts") / "reviews.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("stars", "review", "mood"), *((3, text, label) for text, label in texts())])
    return path


@pytest.fixture(scope="module")
def folder(reviews: Path) -> Path:
    """A tiny BERT as `save_pretrained` leaves it, trained on the texts as they are written."""
    vocabulary = {word: place for place, word in enumerate(["[PAD]", "[UNK]", *GOOD, *BAD, "film", "the", "."])}
    tokeniser = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    tokeniser.normalizer, tokeniser.pre_tokenizer = Lowercase(), Whitespace()
    fast = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokeniser, unk_token="[UNK]", pad_token="[PAD]", model_max_length=64
    )
    config = BertConfig(
        vocab_size=len(vocabulary), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=64, id2label={0: "good", 1: "bad"}, label2id={"good": 0, "bad": 1},
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = BertForSequenceClassification(config)
    rows = fast([text for text, _ in texts()], return_tensors="pt", padding=True)
    labels = torch.tensor([int(label == "bad") for _, label in texts()])
    steps = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(25):
        loss = model(**rows, labels=labels).loss
        steps.zero_grad()
        loss.backward()
        steps.step()
    path = reviews.with_name("bert")
    model.save_pretrained(path)
    fast.save_pretrained(path)
    return path


@pytest.fixture(scope="module")
def pipeline(reviews: Path) -> Path:
    """A pipeline that is asked with texts, as its owner trained it."""
    model = make_pipeline(TfidfVectorizer(), LogisticRegression(C=100.0))
    model.fit([text for text, _ in texts()], [label for _, label in texts()])
    path = reviews.with_name("model.skops")
    skops.io.dump(model, path)
    return path


def audited(reviews: Path, out: Path, *model: object) -> dict[str, Any]:
    arguments = [reviews, "--label", "mood", "--text", "review", "--positive", "bad", *model]
    options = ["--rows-per-class", 6, "--budgets", "1-2", "--out", out]
    found: dict[str, Any] = json.loads(call_program("audit", *arguments, *options, "--json"))
    assert "verified" in call_program("verify", out)
    return found


@pytest.mark.parametrize("kind", ["folder", "pipeline"])
def test_a_model_of_texts_is_audited_and_verified(
    kind: str, reviews: Path, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    model = request.getfixturevalue(kind)
    found = audited(reviews, tmp_path / "out", "--model", model)
    bad = found["budgets"]["2"]["classes"][0]
    assert (bad["class"], bad["rows"], bad["recall"]) == ("bad", 6, 1.0), "it reads the texts of its training"
    assert any("is asked with texts of at most" in finding for finding in found["findings"])
    with hb.open_store(tmp_path / "out", readonly=True) as store:
        run = max(store.runs(), key=lambda run: run.key.budget)
        rows, schema = store.rows(run.id), store.schema(run)
    assert set(rows.distance[rows.success].tolist()) <= {1, 2}
    assert "report" in call_program("report", tmp_path / "out")
    assert f"--model {model} " in (tmp_path / "out" / "report.html").read_text()
    clean = set(WrittenTexts(schema).build(rows.clean.numpy()).tolist())
    assert clean <= {text.replace("  ", " ") for text, _ in texts()}, "as a person wrote them"


def test_a_model_of_ours_is_trained_and_audited(reviews: Path, tmp_path: Path) -> None:
    text = ["--label", "mood", "--text", "review"]
    call_program("train", reviews, *text, "--model", "word_cnn", "--epochs", 3, "--out", tmp_path / "cnn")
    found = audited(reviews, tmp_path / "out", "--victim", tmp_path / "cnn")
    assert found["budgets"]["1"]["classes"][0]["rows"] == 6


def test_characters_reach_a_model_as_they_are_written(reviews: Path, pipeline: Path, tmp_path: Path) -> None:
    found = audited(reviews, tmp_path / "out", "--text-unit", "characters", "--model", pipeline)
    bad = found["budgets"]["1"]["classes"][0]
    assert bad["recall"] == 1.0
    with hb.open_store(tmp_path / "out", readonly=True) as store:
        run = store.runs()[0]
        rows, schema = store.rows(run.id), store.schema(run)
    assert set(WrittenTexts(schema).build(rows.clean.numpy()).tolist()) <= {text for text, _ in texts()}


def test_a_table_is_no_text(folder: Path, tmp_path: Path) -> None:
    arguments: Sequence[object] = ("--label", "mood", "--model", folder, "--out", tmp_path / "out")
    table = tmp_path / "table.csv"
    table.write_text("a,b,mood\n" + "".join(f"{i % 9},{i % 7},{'good' if i % 2 else 'bad'}\n" for i in range(60)))
    with pytest.raises(hb.InputError, match="Name the column of text with --text"):
        call_program("audit", table, *arguments)


def test_texts_of_rows_are_objects() -> None:
    schema = hb.Schema.sequence(3, ["<pad>", "<unknown>", "<name>", "so", "."], ("a", "b"), prefix="word ")
    found = WrittenTexts(schema, unknown="[UNK]").build(np.array([[3, 1, 4], [2, 4, 3]]))
    assert found.tolist() == ["So [UNK].", "[UNK]. So"]
    assert WrittenTexts(schema).build(np.zeros((0, 3), dtype=np.int64)).shape == (0,)
