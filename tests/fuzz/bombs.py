"""Files of at most 10 MB that ask for far more time or memory than they are worth, each with what reads it."""

import gzip
import json
import re
import shutil
import sqlite3
import zipfile
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest

from fuzz.models import TEXTS, model_seed, opened_and_asked, quick_trials, seed_schema
from fuzz.seeds import LABEL
from fuzz.targets import clear, run_main
from hammingbox.data.schema import Schema
from hammingbox.data.schema_file import read_schema
from hammingbox.data.table import load_table
from hammingbox.errors import FileError
from hammingbox.files import read_json
from hammingbox.running.store import FILE
from hammingbox.text.synonyms import read_neighbours
from hammingbox.threat.space import FullSpace
from hammingbox.victims.checkpoint import CONFIG, WEIGHTS, load_checkpoint
from hammingbox.victims.service import Service

MB = 10**6
Bomb = Callable[[Path, Path], None]
"""Takes the folder of seeds and an empty folder."""


def one_line_gzip(seeds: Path, folder: Path) -> None:
    _gzip_table(folder, b"colour,bought\n", b"a" * MB, 600)


def many_rows_gzip(seeds: Path, folder: Path) -> None:
    _gzip_table(folder, b"colour,bought\n", b"a,b\n" * (MB // 4), 400)


def many_cells_gzip(seeds: Path, folder: Path) -> None:
    line = b",".join([b"a"] * 400) + b"\n"
    names = b",".join(b"c%d" % i for i in range(400)) + b"\n"
    _gzip_table(folder, names, line * (MB // len(line)), 400)


def deep_gzip_json(seeds: Path, folder: Path) -> None:
    path = folder / "neighbours.json.gz"
    path.write_bytes(gzip.compress(b"[" * MB) * 500)
    clear(lambda: read_neighbours(path))


def tiny_rows(seeds: Path, folder: Path) -> None:
    _table(folder, b"a\n" * (5 * MB))


def many_columns(seeds: Path, folder: Path) -> None:
    _table(folder, b"," * (4 * MB) + b"\n")


def distinct_values(seeds: Path, folder: Path) -> None:
    _table(folder, b"id,bought\n" + b"".join(b"%d,%d\n" % (i, i % 2) for i in range(MB)))


def open_quote(seeds: Path, folder: Path) -> None:
    _table(folder, b'colour,bought\n"' + b"a,b\n" * (2 * MB))


def deep_json(seeds: Path, folder: Path) -> None:
    for number, mark in enumerate((b"[", b'{"a":', b'[{"a":')):
        path = folder / f"{number}.json"
        path.write_bytes(mark * (10 * MB // len(mark)))
        clear(lambda path=path: read_json(path))  # type: ignore[misc]


def wide_json(seeds: Path, folder: Path) -> None:
    path = folder / "result.json"
    path.write_bytes(b'{"format": 2, "summary": [' + b"{}," * (3 * MB) + b"0]}")
    run_main("verify", path)


def long_number(seeds: Path, folder: Path) -> None:
    path = folder / "result.json"
    path.write_bytes(b'{"format": ' + b"9" * 10 * MB + b"}")
    run_main("verify", path)


def dotted_toml(seeds: Path, folder: Path) -> None:
    for text in ("a." * 200_000 + "a = 1", "x = { " + "a." * 100_000 + "a = 1 }", "[" + '"a".' * 100_000 + "a]"):
        _schema(folder, text.encode())


def deep_toml(seeds: Path, folder: Path) -> None:
    _schema(folder, b"x = " + b"[" * MB)
    _schema(folder, b"x = " + b"{a=" * MB)


def large_toml(seeds: Path, folder: Path) -> None:
    _schema(folder, b"".join(b"a%d=1\n" % i for i in range(900_000)))


def long_bin_edge(seeds: Path, folder: Path) -> None:
    for edge in ("9" * 400, "9" * 5000, "1e999", "nan"):
        _schema(folder, f'label = "b"\n[[columns]]\nname = "a"\nbins = [{edge}]\n'.encode())


def long_parquet(seeds: Path, folder: Path) -> None:
    """A thousand million equal rows take a few kilobytes."""
    import pyarrow
    from pyarrow import parquet

    path = folder / "table.parquet"
    rows = 2_000_000
    part = pyarrow.table({"colour": pyarrow.repeat("a", rows), "bought": pyarrow.repeat("b", rows)})
    with parquet.ParquetWriter(path, part.schema, compression="zstd") as writer:
        for _ in range(10):
            writer.write_table(part)
    clear(lambda: load_table(path, label=LABEL))


def large_text_parquet(seeds: Path, folder: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    path = folder / "table.parquet"
    table = pyarrow.table({"colour": ["a" * 80 * MB, "b"], "bought": ["x", "y"]})
    parquet.write_table(table, path, compression="zstd", use_dictionary=False, write_statistics=False)
    clear(lambda: load_table(path, label=LABEL))


def large_model(seeds: Path, folder: Path) -> None:
    config = json.loads((seeds / "victim" / CONFIG).read_bytes())
    (folder / WEIGHTS).write_bytes((seeds / "victim" / WEIGHTS).read_bytes())
    for settings in ({"dim": 500_000, "hidden": 900_000}, {"dim": 10**12}, {"hidden": -1}, {"hidden": [1] * 10**5}):
        (folder / CONFIG).write_text(json.dumps(config | {"settings": settings}))
        clear(lambda: load_checkpoint(folder))


def large_schema(seeds: Path, folder: Path) -> None:
    words = [str(i) for i in range(100_000)]
    schema = {"vocabularies": [words], "features": [[f"f{i}", 0] for i in range(100_000)], "classes": ["a", "b"]}
    clear(lambda: FullSpace(Schema.from_json(schema)).candidates([[0] * 100_000]))  # type: ignore[arg-type]


def endless_view(seeds: Path, folder: Path) -> None:
    _store(seeds, folder, """
        DROP TABLE rows; CREATE VIEW rows AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
        SELECT 1 AS run, i AS number FROM n
    """)  # fmt: skip


def computed_column(seeds: Path, folder: Path) -> None:
    _store(seeds, folder, "ALTER TABLE sessions ADD COLUMN x BLOB GENERATED ALWAYS AS (zeroblob(1000000000)) VIRTUAL")


def nested_goal(seeds: Path, folder: Path) -> None:
    goal = '{"kind": "any_other"}'
    for _ in range(400):
        goal = f'{{"kind": "either", "goals": [{goal}, {{"kind": "any_other"}}]}}'
    _store(seeds, folder, f"UPDATE documents SET json = '{goal}' WHERE json LIKE '%any_other%'")


def inflating_model(seeds: Path, folder: Path) -> None:
    """A skops file of a megabyte with arrays of a gigabyte."""
    path = folder / "s.skops"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("schema.json", "{}")
        for number in range(4):
            with archive.open(f"{number}.npy", "w", force_zip64=True) as part:
                for _ in range(250):
                    part.write(bytes(MB))
    with quick_trials(folder):
        clear(lambda: opened_and_asked(str(path), seed_schema()))


def deep_model(seeds: Path, folder: Path) -> None:
    for name, content in (
        ("x.json", b'{"learner":' + b"[" * 9 * MB), ("x.ubj", b"{L" + b"[" * 9 * MB),
        ("l.txt", b"tree\n" + b"9 " * 5 * MB),
        ("c.cbm", b"CBM1" + bytes(10 * MB)), ("o.onnx", b"\x08\x0a" * 5 * MB),
        ("l.txt", b"tree\ntree_sizes=" + b"1 " * 4 * MB + b"\n\n"),
    ):  # fmt: skip
        (folder / name).write_bytes(content)
        with quick_trials(folder):
            clear(lambda name=name: opened_and_asked(str(folder / name), seed_schema()))  # type: ignore[misc]


def endless_trees(seeds: Path, folder: Path) -> None:
    """Trees whose nodes are their own children: a walk through them does not end."""
    value = json.loads(model_seed(seeds, "x.json").read_bytes())
    tree = value["learner"]["gradient_booster"]["model"]["trees"][0]
    tree["left_children"] = [0 if child > 0 else child for child in tree["left_children"]]
    tree["right_children"] = [0 if child > 0 else child for child in tree["right_children"]]
    (folder / "x.json").write_text(json.dumps(value))
    text = model_seed(seeds, "l.txt").read_text()
    (folder / "l.txt").write_text(re.sub(r"_child=[-\d ]+", lambda found: re.sub(r"-?\d+", "0", found[0]), text))
    with quick_trials(folder):
        for name in ("x.json", "l.txt"):
            with pytest.raises(FileError, match="damaged"):
                opened_and_asked(str(folder / name), seed_schema())


def many_layers(seeds: Path, folder: Path) -> None:
    source = model_seed(seeds, "bert")
    for number, change in enumerate((
        {"num_hidden_layers": 10**6}, {"hidden_size": 10**9}, {"vocab_size": 10**12}, {"num_hidden_layers": 3},
        {"intermediate_size": 4096}, {"max_position_embeddings": 2**31},
    )):  # fmt: skip
        place = folder / str(number)
        shutil.copytree(source, place)
        (place / "config.json").write_text(json.dumps(json.loads((place / "config.json").read_bytes()) | change))
        with pytest.raises(FileError, match="expected"):
            opened_and_asked(str(place), TEXTS)


def empty_excel_rows(seeds: Path, folder: Path) -> None:
    """Millions of rows without a value, and a cell at the far end of a sheet."""
    far = b'<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'
    for rows in (b"<row/>" * (3 * MB), far):
        path, new = seeds / "table.xlsx", folder / "table.xlsx"
        with zipfile.ZipFile(path) as old, zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in old.namelist():
                part = old.read(name)
                if name == "xl/worksheets/sheet1.xml":
                    part = re.sub(rb"<sheetData>.*</sheetData>", b"<sheetData>" + rows + b"</sheetData>", part)
                    part = re.sub(rb"<dimension[^>]*/>", b"", part)
                archive.writestr(name, part)
        clear(lambda new=new: load_table(new, label=LABEL))  # type: ignore[misc]


def large_reply(seeds: Path, folder: Path) -> None:
    for reply in (b"[" * 10 * MB, b'{"probabilities": ' + b"[[0,0]," * MB + b"0]}", b"9" * 10 * MB):
        with mock.patch.object(Service, "_once", lambda _self, _body, reply=reply: reply):
            clear(lambda: Service("http://127.0.0.1:9/", seed_schema(), cache=folder / "a.sqlite"))


def machine_sized_options(seeds: Path, folder: Path) -> None:
    table, victim = ("attack", seeds / "table.csv", "--label", LABEL), ("--victim", seeds / "victim")
    for words in (
        ("--threads", "100000", "data", "list"), ("--threads", "1000000000000", "data", "list"),
        ("compare", seeds / "table.csv", seeds / "victim", "--label", LABEL, "--budgets", "1-99999999"),
        (*table, *victim, "--set", "steps=1000000000000"), (*table, *victim, "--seed", "9" * 30),
        (*table, *victim, "--attack", "pcaa", "--set", "samples=1000000000"), (*table, *victim, "--rows", "9" * 30),
        (*table, *victim, "--attack", "genetic", "--set", "population=100000000"),
        (*table, *victim, "--attack", "random", "--set", "draws=1000000000000"),
        (*table, *victim, "--batch-size", "1000000000000"), (*table, *victim, "--memory", "9" * 30),
        ("results", "show", seeds / "store", "9" * 30),
        ("results", "show", seeds / "store", "1", "--examples", "9" * 30),
    ):  # fmt: skip
        assert run_main(*words) == 2, words


BOMBS: dict[str, Bomb] = {
    function.__name__: function
    for function in (
        one_line_gzip, many_rows_gzip, many_cells_gzip, deep_gzip_json, tiny_rows, many_columns, distinct_values,
        open_quote, deep_json, wide_json, long_number, dotted_toml, deep_toml, large_toml, long_bin_edge, long_parquet,
        large_text_parquet, large_model, large_schema, endless_view, computed_column, nested_goal,
        machine_sized_options, inflating_model, deep_model, endless_trees, many_layers, empty_excel_rows, large_reply,
    )
}  # fmt: skip
QUICK = ("long_bin_edge", "dotted_toml", "large_model", "endless_view", "computed_column", "nested_goal",
         "machine_sized_options", "endless_trees", "many_layers")  # fmt: skip
"""Those that take little time even to make."""


def _gzip_table(folder: Path, head: bytes, block: bytes, blocks: int) -> None:
    """Gzip data may be several streams one after another, which makes a large file from one small block."""
    path = folder / "table.csv.gz"
    path.write_bytes(gzip.compress(head) + gzip.compress(block) * blocks)
    assert path.stat().st_size <= 10 * MB
    clear(lambda: load_table(path, label=LABEL))


def _table(folder: Path, content: bytes) -> None:
    path = folder / "table.csv"
    path.write_bytes(content)
    clear(lambda: load_table(path, label=LABEL))


def _schema(folder: Path, content: bytes) -> None:
    path = folder / "schema.toml"
    path.write_bytes(content)
    clear(lambda: read_schema(path))


def _store(seeds: Path, folder: Path, script: str) -> None:
    (folder / FILE).write_bytes((seeds / "store" / FILE).read_bytes())
    connection = sqlite3.connect(folder / FILE)
    connection.executescript(script)
    connection.close()
    for command in (("results", "list"), ("verify",), ("report",)):
        assert run_main(*command, folder) in (1, 2)
