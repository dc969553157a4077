"""Every input that once ended in a traceback, as a file `KIND-what.ext` that `make test` and `make fuzz` read again."""

import hashlib
import json
import shutil
import sqlite3
from pathlib import Path

from fuzz.models import TEXTS, model_seed, opened_and_asked
from fuzz.seeds import LABEL
from fuzz.targets import clear, run_main
from hammingbox.data.schema_file import read_schema
from hammingbox.data.table import load_table
from hammingbox.files import read_json
from hammingbox.running.store import FILE
from hammingbox.victims.checkpoint import CONFIG, WEIGHTS, load_checkpoint

FILES: dict[str, Path] = {
    path.name: path for path in sorted(Path(__file__).parent.iterdir()) if "-" in path.name and path.is_file()
}


def read_again(name: str, seeds: Path, folder: Path, *, quick: bool = False) -> None:
    """Reads a file of the corpus as its first word says; quick leaves out the report of a store."""
    path, kind = FILES[name], name.partition("-")[0]
    if kind == "table":
        clear(lambda: load_table(path, label=LABEL))
    elif kind == "schema":
        clear(lambda: read_schema(path))
    elif kind == "json":
        clear(lambda: read_json(path))
    elif kind == "header":
        header = json.loads((seeds / "result.json").read_bytes()) | json.loads(path.read_bytes())
        (folder / "result.json").write_text(json.dumps({k: v for k, v in header.items() if v != "<missing>"}))
        shutil.copy(seeds / "result.csv", folder)
        assert run_main("verify", folder / "result.json") == 2
    elif kind == "rows":
        header = json.loads((seeds / "result.json").read_bytes())
        shutil.copy(path, folder / "result.csv")
        header["rows_sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
        (folder / "result.json").write_text(json.dumps(header))
        assert run_main("verify", folder / "result.json") == 2
    elif kind == "config":
        shutil.copy(seeds / "victim" / WEIGHTS, folder)
        config = json.loads((seeds / "victim" / CONFIG).read_bytes()) | json.loads(path.read_bytes())
        (folder / CONFIG).write_text(json.dumps({k: v for k, v in config.items() if v != "<missing>"}))
        clear(lambda: load_checkpoint(folder))
    elif kind == "tokeniser":
        shutil.copytree(model_seed(seeds, "bert"), folder / "bert")
        (folder / "bert" / "tokenizer_config.json").write_bytes(path.read_bytes())
        clear(lambda: opened_and_asked(str(folder / "bert"), TEXTS))
    elif kind == "bytes":  # of a store: a text of its file in Latin-1, and what stands in its place
        old, new = (text.encode("latin-1") for text in json.loads(path.read_bytes()))
        content = (seeds / "store" / FILE).read_bytes()
        assert old in content
        (folder / FILE).write_bytes(content.replace(old, new))
        for command in (["verify"], ["results", "list"]):
            assert run_main(*command, folder) == 2
    elif kind == "store":
        shutil.copy(seeds / "store" / FILE, folder)
        connection = sqlite3.connect(folder / FILE)
        connection.executescript(path.read_text())
        connection.close()
        more = () if quick else (["results", "list"], ["results", "export", "--what", "rows"], ["report"])
        for command in (["verify"], *more):
            run_main(*command, folder)
        run_main("results", "show", folder, 1)
    else:
        raise ValueError(f"a file of the corpus of an unknown kind: {name}")
