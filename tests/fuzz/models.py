"""Models as users keep them: files of every library, folders, Python objects and services, whole and damaged.

A file is tried in another process before it is opened, which takes seconds. Here that process is a fork of this one,
which has imported the library already, so that thousands of files can be tried; what runs in it is the same.
"""

import contextlib
import json
import os
import signal
import socket
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import numpy as np
import torch

from fuzz.damage import ODD_VALUES, as_json, damaged, damaged_value
from hammingbox.data.schema import Schema
from hammingbox.data.table import load_table
from hammingbox.victims.libraries import trial
from hammingbox.victims.open_model import open_model
from hammingbox.victims.probe_rows import probe_rows
from hammingbox.victims.service import Patience, Service

TEXTS = Schema.sequence(4, ("<pad>", "<unknown>", "<name>", "good", "film"), ("a", "b"))
FILES = ("x.json", "x.ubj", "l.txt", "c.cbm", "o.onnx", "s.skops")


def seed_table() -> dict[str, list[Any]]:
    """A table of a text and a number, whose label depends on both."""
    draw = np.random.default_rng(1)
    city, n = draw.choice(["b", "a", "c"], 200).tolist(), draw.integers(0, 60, 200).tolist()
    labels = ["fraud" if (c == "a") ^ (k > 30) else "ok" for c, k in zip(city, n, strict=True)]
    return {"city": city, "n": n, "class": labels}


@cache
def seed_schema() -> Schema:
    return load_table(seed_table(), label="class").splits.schema


def model_seed(seeds: Path, name: str) -> Path:
    """A model file or folder, made when it is needed for the first time."""
    path = seeds / "models" / name
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        _MAKERS[name](path)
    return path


def _frame() -> Any:
    import pandas as pd

    return pd.DataFrame(seed_table())


def _xgboost(path: Path) -> None:
    import xgboost

    frame = _frame()
    features = frame[["city", "n"]].astype({"city": "category"})
    model = xgboost.XGBClassifier(n_estimators=3, max_depth=3, enable_categorical=True, n_jobs=1)
    model.fit(features, (frame["class"] == "ok").astype(int)).save_model(path)


def _lightgbm(path: Path) -> None:
    import lightgbm

    frame = _frame()
    features = frame[["city", "n"]].astype({"city": "category"})
    model = lightgbm.LGBMClassifier(n_estimators=3, verbose=-1, n_jobs=1).fit(features, frame["class"])
    model.booster_.save_model(path)


def _catboost(path: Path) -> None:
    import catboost

    frame = _frame()
    model = catboost.CatBoostClassifier(
        iterations=3, verbose=0, cat_features=["city"], allow_writing_files=False, thread_count=1
    )
    model.fit(frame[["city", "n"]], frame["class"]).save_model(str(path))


def _forest() -> Any:
    from sklearn.ensemble import RandomForestClassifier

    frame = _frame()
    return RandomForestClassifier(n_estimators=3, random_state=0).fit(frame[["n"]], frame["class"])


def _skops(path: Path) -> None:
    import skops.io

    skops.io.dump(_forest(), path)


def _onnx(path: Path) -> None:
    import skl2onnx
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    frame = _frame()
    features = frame[["city", "n"]]
    encode = make_column_transformer((OneHotEncoder(), ["city"]), remainder="passthrough")
    model = make_pipeline(encode, RandomForestClassifier(n_estimators=3, random_state=0)).fit(features, frame["class"])
    path.write_bytes(skl2onnx.to_onnx(model, features[:1]).SerializeToString())


def _transformers(path: Path) -> None:
    import transformers

    path.mkdir()
    settings: dict[str, Any] = {
        "vocab_size": 8, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8,
        "max_position_embeddings": 16, "id2label": {0: "a", 1: "b"}, "label2id": {"a": 0, "b": 1},
    }  # fmt: skip
    config = transformers.BertConfig(**settings)
    transformers.BertForSequenceClassification(config).save_pretrained(path)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "good", "film", "the"]
    (path / "vocab.txt").write_text("\n".join(words) + "\n")
    tokeniser = {"tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": 16}
    (path / "tokenizer_config.json").write_text(json.dumps(tokeniser))


_MAKERS: dict[str, Callable[[Path], None]] = {
    "x.json": _xgboost, "x.ubj": _xgboost, "l.txt": _lightgbm, "c.cbm": _catboost, "o.onnx": _onnx, "s.skops": _skops,
    "bert": _transformers,
}  # fmt: skip


@contextlib.contextmanager
def quick_trials(folder: Path) -> Iterator[None]:
    """Trials in forks of this process, and a cache of their own."""
    with (
        mock.patch.object(trial, "tried", forked_trial),
        mock.patch.dict("os.environ", {"HAMMINGBOX_CACHE": str(folder / "cache")}),
    ):
        yield


def forked_trial(library: str, content: bytes) -> str:
    """As `trial.tried`: why a library cannot open a file; empty if it can."""
    seconds, size = trial.limits_of(content)
    readable, writable = os.pipe()
    sys.stdout.flush()
    process = os.fork()
    if process == 0:
        _try_in_fork(trial.LIMITS + trial.SCRIPTS[library], content, seconds, size, writable)
    os.close(writable)
    end, status = time.monotonic() + 300, 0
    while True:
        done, status = os.waitpid(process, os.WNOHANG)
        if done:
            break
        if time.monotonic() > end:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            os.close(readable)
            return "it was not read in time"
        time.sleep(0.002)
    with os.fdopen(readable, "rb") as file:
        said = file.read().decode(errors="replace")
    code = os.waitstatus_to_exitcode(status)
    return "" if code == 0 else trial.reason_of_signal(-code) if code < 0 else said or f"failed with {code}"


def _try_in_fork(script: str, content: bytes, seconds: int, size: int, writable: int) -> None:
    code = 1
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        exec(script, {"content": content, "seconds": seconds, "size": size})
        code = 0
    except BaseException as error:
        with contextlib.suppress(BaseException):
            os.write(writable, f"{type(error).__name__}: {error}".encode()[:200])
    finally:
        os._exit(code)


def opened_and_asked(spec: str, schema: Schema) -> None:
    """Opens a model and asks it about rows, which is where a damaged one may die."""
    victim = open_model(spec, schema).victim
    with torch.no_grad():
        victim(probe_rows(schema))


def damaged_model(seeds: Path, name: str, folder: Path, random: Random) -> Path:
    """A damaged copy of a model file: its bytes, or the values or parts inside it."""
    content, path = model_seed(seeds, name).read_bytes(), folder / name
    inside = random.random() < 0.6
    if name.endswith(".json") and inside:
        path.write_bytes(as_json(damaged_value(json.loads(content), random)))
    elif name.endswith(".skops") and inside:
        path.write_bytes(damaged_archive(content, random))
    else:
        path.write_bytes(damaged(content, random))
    return path


def damaged_archive(content: bytes, random: Random) -> bytes:
    """A zip archive in which one part is damaged, with checksums that agree."""
    new = BytesIO()
    with zipfile.ZipFile(BytesIO(content)) as old, zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED) as archive:
        names = old.namelist()
        chosen = random.choice(names)
        for name in names:
            part = old.read(name)
            if name == chosen:
                if random.random() < 0.1:
                    continue
                if name.endswith(".json") and random.random() < 0.7:
                    part = as_json(damaged_value(json.loads(part), random))
                else:
                    part = damaged(part, random)
            archive.writestr(name, part)
    return new.getvalue()


# Services --------------------------------------------------------------------------------------------------------

_QUICK = Patience(rows=16, timeout=5.0, attempts=2, pause=0.001)


def service_replies(folder: Path, random: Random) -> None:
    """A service whose replies are damaged, from the first or from the third on."""
    good = random.choice((0, 0, 2))
    asked = 0

    def once(_self: Service, body: bytes) -> bytes:
        nonlocal asked
        asked += 1
        rows = json.loads(body)["rows"]
        reply = {"probabilities": [[0.25, 0.75] for _ in rows], "classes": ["fraud", "ok"], "model": "1"}
        if asked <= good:
            return json.dumps(reply).encode()
        if random.random() < 0.7:
            return as_json(damaged_value(reply, random))
        return damaged(json.dumps(reply).encode(), random)

    with mock.patch.object(Service, "_once", once):
        victim = Service("http://127.0.0.1:9/predict", seed_schema(), patience=_QUICK, cache=folder / "a.sqlite")
        victim(probe_rows(seed_schema()))


def raw_replies(folder: Path, random: Random) -> None:
    """A server that answers with damaged HTTP, or hangs up."""
    body = json.dumps({"probabilities": [[0.25, 0.75]]}).encode()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    reply = random.choice((damaged(head + body, random), damaged(head, random) + body, b"", head))
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(5.0)
        thread = threading.Thread(target=_serve, args=(server, reply), daemon=True)
        thread.start()
        try:
            url = f"http://127.0.0.1:{server.getsockname()[1]}/predict"
            victim = Service(url, seed_schema(), patience=_QUICK, cache=folder / "a.sqlite")
            victim(probe_rows(seed_schema())[:4])
        finally:
            server.close()
            thread.join()


def _serve(server: socket.socket, reply: bytes) -> None:
    with contextlib.suppress(OSError):
        while True:
            connection, _ = server.accept()
            with connection:
                connection.settimeout(5.0)
                connection.recv(2**16)
                connection.sendall(reply)


# Python objects --------------------------------------------------------------------------------------------------

_BODIES = (
    "return None", "return 1 / 0", "return 'yes'", "return [[0.5]]", "return [[float('nan')] * 2] * len(rows)",
    "return rows", "raise SystemExit(3)", "raise KeyboardInterrupt", "return [[0.5, 0.5]] * (len(rows) + 1)",
    "yield 1", "return {'a': 1}", "return [[0.3, 0.7]] * len(rows)", "return [['a', 'b']] * len(rows)",
    "return [[2.0, -1.0]] * len(rows)", "raise RecursionError", "raise MemoryError", "return object()",
)  # fmt: skip
_HEADS = ("", "import nothing_of_this_name", "raise SystemExit(1)", "1 / 0", "raise ValueError('x' * 9000)", "x = (")


def python_module(folder: Path, number: int, random: Random) -> str:
    """Writes a module with an object that is hardly a model; what `--model` names."""
    name = f"own_model_{os.getpid()}_{number}"
    odd = repr(random.choice([value for value in ODD_VALUES if value == value and value not in (float("inf"),)]))
    model = random.choice(
        (
            f"def model(rows):\n    {random.choice(_BODIES)}\n",
            f"def model(schema):\n    return {odd}\n",
            "def model(schema):\n    raise ValueError('no')\n",
            f"model = {odd}\n",
            f"class model:\n    def predict_proba(self, rows):\n        {random.choice(_BODIES)}\n",
            f"class Own:\n    classes_ = {odd}\n    def predict_proba(self, rows):\n        {random.choice(_BODIES)}\n"
            "model = Own()\n",
        )
    )
    text = f"{random.choice(_HEADS) if random.random() < 0.2 else ''}\n{model}"
    content = text.encode("utf-8", "surrogatepass")
    (folder / f"{name}.py").write_bytes(damaged(content, random) if random.random() < 0.2 else content)
    return f"{name}:{random.choice(('model', 'model', 'model', 'nothing', 'model.x'))}"
