"""Whole files of every kind that the package reads, made by the package itself: the fuzzers damage copies of them."""

import csv
import gzip
import io
import json
import pickle
from pathlib import Path

import numpy as np
import torch

from hammingbox.attacks import ATTACKS
from hammingbox.data.dataset import Dataset
from hammingbox.data.inspection import inspect_table
from hammingbox.data.schema_file import write_schema
from hammingbox.data.table import load_table
from hammingbox.evaluation.result_files import write_results
from hammingbox.running.certify import certify_into
from hammingbox.running.evaluate import evaluate
from hammingbox.running.record import evaluate_into
from hammingbox.running.store import open_store
from hammingbox.threat.goal import Direction, Target
from hammingbox.threat.masked_space import MaskedSpace
from hammingbox.threat.space import FullSpace
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.training.state import TrainingState, write_state
from hammingbox.victims.checkpoint import Checkpoint
from hammingbox.victims.zoo.registry import build

LABEL = "bought"
IDENTITY = {"data": "fruit", "seed": 0}


def write_seeds(folder: Path) -> Path:
    """Fills a folder with one file or folder of each kind."""
    folder.mkdir(parents=True, exist_ok=True)
    table = _table(folder / "table.csv")
    content = table.read_bytes()
    (folder / "table.csv.gz").write_bytes(gzip.compress(content, mtime=0))
    _parquet(content, folder / "table.parquet")
    _excel(content, folder / "table.xlsx")
    write_schema(inspect_table(table, LABEL).schema, folder / "schema.toml")
    _victim_and_results(table, folder)
    neighbours = json.dumps({"good": ["fine", "great"], "film": ["movie"]}).encode()
    (folder / "neighbours.json").write_bytes(neighbours)
    (folder / "neighbours.json.gz").write_bytes(gzip.compress(neighbours, mtime=0))
    (folder / "vectors.txt").write_text("2 3\ngood 0.1 0.2 0.3\nfilm 0.4 0.5 0.6\n")
    news = "".join(f'"{i % 4 + 1}","Title {i}","Text of the story {i}"\n' for i in range(24))
    (folder / "news.csv").write_text(news)
    reviews = "".join(json.dumps({"label": i % 2, "text": f"review {i} good film"}) + "\n" for i in range(24))
    (folder / "reviews.jsonl.gz").write_bytes(gzip.compress(reviews.encode(), mtime=0))
    _event_rows(folder)
    torch.save({"weight": torch.arange(6.0).reshape(2, 3), "bias": torch.zeros(2)}, folder / "state.pt")
    write_state(folder / "training", TrainingState(IDENTITY, {"model": {"w": torch.ones(2)}}, {"epoch": 1}))
    return folder


def _event_rows(folder: Path) -> None:
    """Rows in the formats of the authors' files: CSV, and pickles of a list and of an array of objects."""
    events = [[(row * 31 + place * 7) % 1104 for place in range(20)] for row in range(12)]
    labels = [row % 3 for row in range(12)]
    head = ["row", "label", *(f"f{place}" for place in range(20))]
    lines: list[list[object]] = [list(head)]
    lines += [[row, labels[row], *events[row]] for row in range(12)]
    (folder / "ips_test.csv").write_text("".join(",".join(map(str, line)) + "\n" for line in lines))
    (folder / "mal_test_funccall.pickle").write_bytes(pickle.dumps(events))
    (folder / "mal_test_label.pickle").write_bytes(pickle.dumps(np.array(labels, dtype=object)))
    bases = "".join(f"{row},{row % 3},{'AGTCN' * 12}\n" for row in range(12))
    (folder / "splice_test.csv").write_text(f"row,label,sequence\n{bases}")


def _table(path: Path) -> Path:
    colours, sizes = ("red", "green", "blue"), ("1", "2", "10", "")
    rows = [
        [colours[i % 3], sizes[i * 7 % 4], f"{40 + i * 37 % 29}.5", ("no", "yes")[i * 5 % 7 % 2]] for i in range(84)
    ]
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["colour", "size", "weight", LABEL], *rows])
    return path


def _parquet(content: bytes, path: Path) -> None:
    import pyarrow
    from pyarrow import csv as arrow_csv
    from pyarrow import parquet

    table = arrow_csv.read_csv(io.BytesIO(content))
    coded = table.set_column(0, "colour", table["colour"].dictionary_encode())
    parquet.write_table(pyarrow.table(coded), path)


def _excel(content: bytes, path: Path) -> None:
    from openpyxl import Workbook

    book = Workbook()
    for line in csv.reader(io.StringIO(content.decode())):
        book.active.append([float(cell) if cell[:1].isdigit() else cell or None for cell in line])
    book.save(path)


def _victim_and_results(table: Path, folder: Path) -> None:
    loaded = load_table(table, label=LABEL)
    schema, test = loaded.splits.schema, loaded.splits.test
    victim = build("mlp", schema, dim=2, hidden=4)
    checkpoint = Checkpoint(victim.eval(), "mlp", {"dim": 2, "hidden": 4}, schema, {"defence": "standard"})
    checkpoint.save(folder / "victim")
    labels = victim(test.ids.long()).argmax(1)
    data = Dataset(schema, test.ids[:12], labels[:12], "fruit", test.numbers[:12])
    full, masked = FullSpace(schema), MaskedSpace(schema, immutable=["size"], forbidden={"colour": ["red"]})
    place = str(folder / "victim")
    found = evaluate(victim, data, ThreatModel(full, 1), ATTACKS["ga"]())
    write_results(found, folder / "result", victim=place, data=str(table))
    with open_store(folder / "store", create=True) as store:
        for attack, space, goal in (("ga", full, None), ("exhaustive", full, None), ("ga", masked, Target("yes"))):
            evaluate_into(
                store, checkpoint, data, ThreatModel(space, 1), ATTACKS[attack](), goal=goal, name=attack, place=place,
                source=str(table),
            )  # fmt: skip
        evaluate_into(
            store, checkpoint, data, ThreatModel(full, 2), ATTACKS["ga"](), goal=Direction("no") | Target("yes"),
            name="ga", place=place, source=str(table),
        )  # fmt: skip
        certify_into(store, checkpoint, data, ThreatModel(full, 1), "exact", place=place, source=str(table))
