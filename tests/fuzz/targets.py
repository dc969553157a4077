"""What is fuzzed: every reader of a file, the store, the command line and the arguments of the API.

A target damages a copy of a seed and reads it. A clear error is as good as a value; any other exception is a defect.
"""

import contextlib
import gzip
import hashlib
import io
import json
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import numpy as np
import torch
from jaxtyping import TypeCheckError

from fuzz.api import call_the_api
from fuzz.damage import ODD_VALUES, as_json, damaged, damaged_value
from fuzz.models import FILES as MODEL_FILES
from fuzz.models import (
    TEXTS,
    damaged_archive,
    damaged_model,
    model_seed,
    opened_and_asked,
    python_module,
    quick_trials,
    raw_replies,
    seed_schema,
    service_replies,
)
from fuzz.seeds import IDENTITY, LABEL
from hammingbox.cli import main
from hammingbox.data import ag_news, imdb, ips, splice_paper
from hammingbox.data.cache import cached_arrays
from hammingbox.data.inspection import inspect_table
from hammingbox.data.schema import Schema
from hammingbox.data.table import load_table
from hammingbox.errors import HammingboxError
from hammingbox.running.store import FILE
from hammingbox.text.synonyms import read_neighbours
from hammingbox.training.state import STATE, read_state
from hammingbox.victims.checkpoint import CONFIG, WEIGHTS, foreign_tensors, load_checkpoint
from hammingbox.victims.word_vectors import use_vectors
from hammingbox.victims.zoo.registry import build

Target = Callable[[Path, Path, Random], None]
"""Reads something damaged: the folder of seeds, an empty folder to write to, and the random generator."""


def run_main(*arguments: object) -> int:
    """Runs the program in this process; its exit code."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with (
        contextlib.redirect_stdout(stream),
        contextlib.redirect_stderr(stream),
        mock.patch.object(sys, "argv", ["hammingbox", *map(str, arguments)]),
    ):
        try:
            main()
        except SystemExit as done:
            code = done.code if isinstance(done.code, int) else 1
            if code not in (0, 1, 2):
                raise AssertionError(f"exit code {code}") from done
            return code
    return 0


def clear(read: Callable[[], object]) -> None:
    """Reads; an error of the package is a good end, and so is one of the type checks that tests switch on."""
    with contextlib.suppress(HammingboxError, TypeCheckError):
        read()


def _copy(seeds: Path, name: str, folder: Path, random: Random, new: str | None = None) -> Path:
    path = folder / (new or name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(damaged((seeds / name).read_bytes(), random))
    return path


def csv_table(seeds: Path, folder: Path, random: Random) -> None:
    path = _copy(seeds, "table.csv", folder, random)
    clear(lambda: inspect_table(path, LABEL))
    clear(lambda: load_table(path, schema=seeds / "schema.toml"))


def gzip_table(seeds: Path, folder: Path, random: Random) -> None:
    path = folder / "table.csv.gz"
    content = (seeds / path.name).read_bytes()
    inside = random.random() < 0.3
    path.write_bytes(gzip.compress(damaged(gzip.decompress(content), random)) if inside else damaged(content, random))
    clear(lambda: load_table(path, label=LABEL))


def parquet_table(seeds: Path, folder: Path, random: Random) -> None:
    path = _copy(seeds, "table.parquet", folder, random)
    clear(lambda: load_table(path, label=LABEL))


def schema_toml(seeds: Path, folder: Path, random: Random) -> None:
    path = _copy(seeds, "schema.toml", folder, random)
    clear(lambda: load_table(seeds / "table.csv", schema=path))


def _json_file(seed: Path, random: Random) -> bytes:
    content = seed.read_bytes()
    return as_json(damaged_value(json.loads(content), random)) if random.random() < 0.7 else damaged(content, random)


def result_header(seeds: Path, folder: Path, random: Random) -> None:
    shutil.copy(seeds / "result.csv", folder)
    (folder / "result.json").write_bytes(_json_file(seeds / "result.json", random))
    run_main("verify", folder / "result.json")


def result_rows(seeds: Path, folder: Path, random: Random) -> None:
    rows = _copy(seeds, "result.csv", folder, random)
    header = json.loads((seeds / "result.json").read_bytes())
    header["rows_sha256"] = hashlib.sha256(rows.read_bytes()).hexdigest()
    (folder / "result.json").write_text(json.dumps(header))
    run_main("verify", folder / "result.json")


def checkpoint_config(seeds: Path, folder: Path, random: Random) -> None:
    shutil.copy(seeds / "victim" / WEIGHTS, folder)
    (folder / CONFIG).write_bytes(_json_file(seeds / "victim" / CONFIG, random))
    clear(lambda: load_checkpoint(folder))


def checkpoint_weights(seeds: Path, folder: Path, random: Random) -> None:
    weights = _copy(seeds, f"victim/{WEIGHTS}", folder, random, WEIGHTS)
    config = json.loads((seeds / "victim" / CONFIG).read_bytes())
    config["weights_sha256"] = hashlib.sha256(weights.read_bytes()).hexdigest()
    (folder / CONFIG).write_text(json.dumps(config))
    clear(lambda: load_checkpoint(folder))


def _use_store(folder: Path, random: Random) -> None:
    """What a user does with a results folder of a stranger."""
    commands: list[list[object]] = [
        ["results", "list", folder],
        ["results", "list", folder, "--json"],
        ["results", "show", folder, random.randint(1, 5)],
        ["results", "export", folder, "--what", "rows"],
        ["results", "export", folder, "--format", random.choice(["csv", "markdown", "latex", "parquet"])],
        ["verify", folder],
        ["report", folder],
    ]
    for command in random.sample(commands, 2):
        run_main(*command)


def store_file(seeds: Path, folder: Path, random: Random) -> None:
    _copy(seeds, f"store/{FILE}", folder, random, FILE)
    _use_store(folder, random)


_COLUMNS = {
    "runs": ("data", "split", "schema_sha256", "space_sha256", "goal_sha256", "victim_sha256", "defence", "attack",
             "budget", "seed", "name", "victim", "model", "created", "refused"),
    "sessions": ("run", "started", "updated", "rows", "seconds", "environment"),
    "rows": ("run", "number", "label", "correct", "attacked", "success", "distance", "margin", "forward", "backward",
             "stage", "proven", "clean", "adversarial", "clean_logits", "logits"),
    "documents": ("digest", "json"),
}  # fmt: skip


def edit_store(folder: Path, statement: str, values: tuple[Any, ...] = ()) -> None:
    """Changes a store behind the package's back; an edit that SQLite refuses changes nothing."""
    connection = sqlite3.connect(folder / FILE)
    try:
        with contextlib.suppress(sqlite3.Error, OverflowError, UnicodeEncodeError):
            connection.execute(statement, values)
            connection.commit()
    finally:
        connection.close()


def store_values(seeds: Path, folder: Path, random: Random) -> None:
    shutil.copy(seeds / "store" / FILE, folder)
    table = random.choice(list(_COLUMNS))
    column = random.choice(_COLUMNS[table])
    value = random.choice([*ODD_VALUES, b"", b"\x00", b"\xff" * 4, b"\x00" * 12, random.randbytes(3)])
    value = value if isinstance(value, str | bytes | int | float | None) else json.dumps(value)
    edit_store(folder, f"UPDATE {table} SET {column} = ? WHERE random() % 2 = 0", (value,))
    _use_store(folder, random)


def store_documents(seeds: Path, folder: Path, random: Random) -> None:
    shutil.copy(seeds / "store" / FILE, folder)
    connection = sqlite3.connect(folder / FILE)
    documents = connection.execute("SELECT digest, json FROM documents ORDER BY digest").fetchall()
    connection.close()
    digest, text = random.choice(documents)
    edit_store(folder, "UPDATE documents SET json = ? WHERE digest = ?", (
        as_json(damaged_value(json.loads(text), random)).decode(), digest,
    ))  # fmt: skip
    _use_store(folder, random)


def neighbours(seeds: Path, folder: Path, random: Random) -> None:
    path = _copy(seeds, random.choice(["neighbours.json", "neighbours.json.gz"]), folder, random)
    clear(lambda: read_neighbours(path))


def word_vectors(seeds: Path, folder: Path, random: Random) -> None:
    path = _copy(seeds, "vectors.txt", folder, random)
    schema = Schema.sequence(4, ("<pad>", "<unknown>", "<name>", "good", "film"), ("a", "b"))
    clear(lambda: use_vectors(build("bilstm", schema, dim=3, hidden=2), schema, path))


def tensors(seeds: Path, folder: Path, random: Random) -> None:
    if random.random() < 0.5:
        path = _copy(seeds, "state.pt", folder, random)
    else:
        path = _copy(seeds, f"victim/{WEIGHTS}", folder, random, "state.safetensors")
    clear(lambda: foreign_tensors(path))


def news(seeds: Path, folder: Path, random: Random) -> None:
    shutil.copy(seeds / "news.csv", folder / "test.csv")
    _copy(seeds, "news.csv", folder, random, "train.csv")
    clear(lambda: ag_news.load(data_dir=folder, length=16))


def reviews(seeds: Path, folder: Path, random: Random) -> None:
    shutil.copy(seeds / "reviews.jsonl.gz", folder / "test.jsonl.gz")
    path = folder / "train.jsonl.gz"
    content = (seeds / "reviews.jsonl.gz").read_bytes()
    inside = random.random() < 0.5
    path.write_bytes(gzip.compress(damaged(gzip.decompress(content), random)) if inside else damaged(content, random))
    clear(lambda: imdb.read(path))


def event_rows(seeds: Path, folder: Path, random: Random) -> None:
    _copy(seeds, "ips_test.csv", folder, random)
    clear(lambda: ips.load(data_dir=folder))


def event_pickles(seeds: Path, folder: Path, random: Random) -> None:
    for name in ("mal_test_funccall.pickle", "mal_test_label.pickle"):
        shutil.copy(seeds / name, folder)
    _copy(seeds, random.choice(["mal_test_funccall.pickle", "mal_test_label.pickle"]), folder, random)
    clear(lambda: ips.load(data_dir=folder))


def base_rows(seeds: Path, folder: Path, random: Random) -> None:
    _copy(seeds, "splice_test.csv", folder, random)
    clear(lambda: splice_paper.load(data_dir=folder))


def training_state(seeds: Path, folder: Path, random: Random) -> None:
    _copy(seeds, f"training/{STATE}", folder, random, STATE)
    clear(lambda: read_state(folder, IDENTITY))


def array_cache(seeds: Path, folder: Path, random: Random) -> None:
    """A damaged cache is no error at all: its arrays are built again."""
    with mock.patch.dict("os.environ", {"HAMMINGBOX_CACHE": str(folder)}):
        source = seeds / "table.csv"
        made = cached_arrays("toy", [source], "1", lambda: {"ids": np.arange(9)})
        (file,) = (folder / "built").iterdir()
        file.write_bytes(damaged(file.read_bytes(), random))
        again = cached_arrays("toy", [source], "1", lambda: {"ids": np.arange(9)})
    assert made["ids"].tolist() == list(range(9))
    assert isinstance(again, dict)


_WORDS = (
    "", "-", "--", "0", "-1", "1.5", "1e9", "x", "nan", "1-99999999", "9" * 30, "9" * 5000, "1,", ",", "1-", "5-1", "=",
    "a=b", "steps=1000000000000", "steps=9**9", "samples=" + "(" * 300, "zetas={[]:1}", "objective=[]", "queries=-1",
    "\x1b[2J", "\u202e", "a" * 5000, "/" + "d" * 300 + "/x.csv", "/dev/null", "/proc/self/mem/x", ".", "..", "~",
    "cuda:999999999999", "meta", "cpu:5", "[bold]", "é", "*", "*=x", "colour=red", "weight", "1000000000000",
)  # fmt: skip
_COMMANDS: tuple[tuple[str, ...], ...] = (
    ("data", "show", "{table}", "--label", "{label}"), ("data", "inspect", "{table}", "--label", "{label}"),
    ("attack", "{table}", "--schema", "{schema}", "--victim", "{victim}", "--attack", "ga", "--rows", "2"),
    ("compare", "{table}", "{victim}", "--schema", "{schema}", "--attacks", "ga", "--rows", "2", "--budgets", "1"),
    ("diagnose", "{table}", "--schema", "{schema}", "--victim", "{victim}", "--budgets", "1", "--rows", "2"),
    ("verify", "{result}"), ("results", "list", "{store}"), ("results", "show", "{store}", "1"),
    ("results", "export", "{store}", "--format", "csv"), ("report", "{out}"), ("synonyms", "good"),
    ("train", "{table}", "--label", "{label}", "--out", "{out}", "--epochs", "1"),
    ("defend", "{table}", "--label", "{label}", "--out", "{out}", "--epochs", "1"),
    ("certify", "{table}", "--schema", "{schema}", "--victim", "{victim}", "--rows", "2", "--budgets", "1"),
    ("audit", "{table}", "--schema", "{schema}", "--victim", "{victim}", "--rows-per-class", "2", "--budgets", "1",
     "--attacks", "ga", "--out", "{out}"),
)  # fmt: skip
_OPTIONS = (
    "--threads", "--budgets", "--budget", "--rows", "--seed", "--batch-size", "--memory", "--device", "--attack",
    "--attacks", "--set", "--from", "--to", "--split", "--label", "--schema", "--data-dir", "--immutable", "--forbid",
    "--protect", "--neighbours", "--out", "--victim", "--examples", "--format", "--what", "--run", "--epochs",
    "--learning-rate", "--patience", "--model", "--json", "--method", "--positive", "--rows-per-class", "--draw",
    "--rows-seed", "--encoding", "--test", "--what-if", "--model-name",
)  # fmt: skip


def command_line(seeds: Path, folder: Path, random: Random) -> None:
    names = {
        "table": seeds / "table.csv", "schema": seeds / "schema.toml", "victim": seeds / "victim", "label": LABEL,
        "result": seeds / "result.json", "store": seeds / "store", "out": folder / "out",
    }  # fmt: skip
    words = [word.format(**names) for word in random.choice(_COMMANDS)]
    for _ in range(random.randint(1, 3)):
        way, place = random.randrange(4), random.randint(1, len(words))
        if way == 0 and len(words) > 1:
            words[random.randrange(1, len(words))] = random.choice(_WORDS)
        elif way == 1:
            del words[place - 1]
        elif way == 2:
            words[place:place] = [random.choice(_OPTIONS), random.choice(_WORDS)]
        else:
            words = ["--threads", random.choice(_WORDS), *words]
        words = words or [random.choice(_WORDS)]
    # A training that would really start is none of this test's business.
    if words[0] in ("train", "defend") and "--label" in words and random.random() < 0.8:
        words[words.index("--label")] = "--labell"
    with contextlib.chdir(folder):
        run_main(*words)
    torch.set_num_threads(1)


def _model_target(name: str) -> Target:
    def target(seeds: Path, folder: Path, random: Random) -> None:
        path = damaged_model(seeds, name, folder, random)
        with quick_trials(folder):
            clear(lambda: opened_and_asked(str(path), seed_schema()))

    target.__name__ = f"model_{Path(name).suffix[1:]}"
    return target


def model_columns(seeds: Path, folder: Path, random: Random) -> None:
    """What a user says about the columns of a model, in a file next to it."""
    shutil.copy(model_seed(seeds, "x.ubj"), folder / "x.ubj")
    said = {
        "columns": {"city": {"dtype": "category", "categories": ["a", "b", "c"]}, "n": {"dtype": "int64"}},
        "classes": ["fraud", "ok"], "takes": "array", "returns": "positive",
    }  # fmt: skip
    content = as_json(damaged_value(said, random)) if random.random() < 0.7 else damaged(as_json(said), random)
    (folder / "x.ubj.columns.json").write_bytes(content)
    with quick_trials(folder):
        clear(lambda: opened_and_asked(str(folder / "x.ubj"), seed_schema()))


def model_folder(seeds: Path, folder: Path, random: Random) -> None:
    """A folder of transformers, one file of which is damaged."""
    source = model_seed(seeds, "bert")
    shutil.copytree(source, folder / "bert")
    path = folder / "bert" / random.choice(sorted(file.name for file in source.iterdir()))
    is_json = path.suffix == ".json" and random.random() < 0.7
    path.write_bytes(_json_file(path, random) if is_json else damaged(path.read_bytes(), random))
    with contextlib.redirect_stderr(io.StringIO()):
        clear(lambda: opened_and_asked(str(folder / "bert"), TEXTS))


def model_object(seeds: Path, folder: Path, random: Random) -> None:
    spec = python_module(folder, random.randrange(10**9), random)
    with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()), _interruptible():
        clear(lambda: opened_and_asked(spec, seed_schema()))


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """A model that interrupts the program, as a user's Ctrl-C does, may do so."""
    with contextlib.suppress(KeyboardInterrupt):
        yield


def model_service(seeds: Path, folder: Path, random: Random) -> None:
    clear(lambda: (raw_replies if random.random() < 0.2 else service_replies)(folder, random))


def excel_table(seeds: Path, folder: Path, random: Random) -> None:
    path = folder / "table.xlsx"
    content = (seeds / path.name).read_bytes()
    path.write_bytes(damaged_archive(content, random) if random.random() < 0.7 else damaged(content, random))
    clear(lambda: load_table(path, label=LABEL))


def api_arguments(seeds: Path, folder: Path, random: Random) -> None:
    for _ in range(4):
        clear(lambda: call_the_api(random))


TARGETS: dict[str, Target] = {
    function.__name__: function
    for function in (
        csv_table, gzip_table, parquet_table, schema_toml, result_header, result_rows, checkpoint_config,
        checkpoint_weights, store_file, store_values, store_documents, neighbours, word_vectors, tensors, news, reviews,
        event_rows, event_pickles, base_rows, training_state, array_cache, command_line, api_arguments,
        *map(_model_target, MODEL_FILES), model_columns, model_folder, model_object, model_service, excel_table,
    )
}  # fmt: skip
