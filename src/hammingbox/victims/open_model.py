"""`--model`: opens what a user names: a model file, a folder, ``package.module:object`` or a URL.

No file is unpickled. A Python object is imported, and a service is sent rows, only when the user names it, never
because a record does.
"""

import importlib
import inspect
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hammingbox.data.schema import Schema
from hammingbox.errors import FileError, HammingboxError, InputError
from hammingbox.files import exists, read_bytes, read_json, sha256, shown
from hammingbox.victims.checkpoint import CONFIG, Checkpoint, load_checkpoint
from hammingbox.victims.columns_file import read_columns_of
from hammingbox.victims.frame_model import model_victim
from hammingbox.victims.libraries import (
    catboost_models,
    lightgbm_models,
    onnx_models,
    skops_models,
    transformers_models,
    xgboost_models,
)
from hammingbox.victims.libraries.facts import ModelFacts
from hammingbox.victims.of_model import victim as victim_of
from hammingbox.victims.service import Service, is_url
from hammingbox.victims.shipped import checkpoint_folder, shipped_names

FILES: dict[str, str] = {
    ".json": "XGBoost",
    ".ubj": "XGBoost",
    ".txt": "LightGBM",
    ".cbm": "CatBoost",
    ".onnx": "ONNX",
    ".skops": "skops",
}
"""The library of a model file, by its suffix."""

_READERS: dict[str, Callable[[bytes, Path], ModelFacts]] = {
    "XGBoost": xgboost_models.read,
    "LightGBM": lightgbm_models.read,
    "CatBoost": lambda content, path: catboost_models.read(path, content),
    "ONNX": onnx_models.read,
    "skops": skops_models.read,
}
_CODE = (".pkl", ".pickle", ".joblib", ".sav", ".dill", ".cloudpickle")
_TORCH = (".pt", ".pth", ".bin", ".ckpt", ".safetensors")
_OBJECT = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


def open_model(
    spec: str, schema: Schema, *, name: str = "", named_by_user: bool = True, like: Any = None, hint: Any = None
) -> Checkpoint:
    """Opens a model and asks it about a row of the table.

    Args:
        spec: a model file (XGBoost, LightGBM, CatBoost, ONNX, skops), a checkpoint or transformers folder, the name of
            a shipped victim, ``package.module:object``, or the URL of a service.
        schema: of the table.
        name: identifies the model in a store, in place of its content.
        named_by_user: whether the user named it in this call; otherwise a record did, and nothing is imported or sent.
        like: a frame with the types that a model file was trained on, unless a columns file next to it says them.
        hint: a frame with types of columns about which the model says nothing.

    Raises:
        FileError: it is missing, damaged, of another library, or of a kind that could run code.
        InputError: model and table do not fit.
        VictimError: it cannot answer a row of the table, or a service is down.
    """
    if is_url(spec) or is_object(spec):
        if not named_by_user:
            raise FileError(
                f"expected a model that can be opened without running code or sending rows, got {spec!r}. "
                "Name it with --model if you trust it."
            )
        opened = Service(spec, schema, name=name) if is_url(spec) else _imported(spec, schema, name)
        return Checkpoint(opened.eval(), "service" if is_url(spec) else spec.rpartition(":")[2], {}, schema)
    path = Path(spec)
    folder = checkpoint_folder(path) if spec in shipped_names() else path
    if not exists(folder):
        raise FileError(
            f"expected a model at {shown(path)}, got nothing there. Name a model file ({', '.join(FILES)}), a folder, "
            "package.module:object or a URL."
        )
    if folder.is_dir() or folder.name == CONFIG:
        return _from_folder(folder if folder.is_dir() else folder.parent, path, schema, name)
    return _from_file(path, schema, name, like, hint)


def is_model(place: str) -> bool:
    """Whether a place is one that `--model` takes and `--victim` does not: a model file, a URL or a Python object."""
    if is_url(place) or is_object(place) or Path(place).suffix.lower() in FILES:
        return True
    try:
        return _is_transformers(Path(place))
    except FileError:  # a damaged folder, or a name that cannot be a path
        return False


def _is_transformers(folder: Path) -> bool:
    """Whether a folder holds a model of transformers, not a checkpoint of this package."""
    config = read_json(folder / CONFIG) if exists(folder / CONFIG) else None
    return isinstance(config, dict) and "model_type" in config and "weights_sha256" not in config


def _from_folder(folder: Path, place: Path, schema: Schema, name: str) -> Checkpoint:
    """A checkpoint of this package, or a folder of transformers."""
    if _is_transformers(folder):
        facts = transformers_models.read(folder, schema)
        return Checkpoint(model_victim(facts, schema, name=name).eval(), "transformers", {}, schema)
    return load_checkpoint(place, schema=schema)


def _from_file(path: Path, schema: Schema, name: str, like: Any, hint: Any) -> Checkpoint:
    library, content = _library_of(path), read_bytes(path)
    looks_like = _content_of(content)
    if looks_like == "pickle":
        raise _holds_code(path)
    if looks_like and looks_like != library:
        raise _misnamed(f"{library} in {shown(path)} because of its suffix", looks_like)
    try:
        facts = _READERS[library](content, path)
    except HammingboxError:
        raise
    except Exception as error:  # what a library says about a damaged model, such as a text that is none
        raise FileError(
            f"expected a whole {library} model in {shown(path)}, got a damaged one ({type(error).__name__}). "
            "Save it again."
        ) from error
    said = read_columns_of(path)
    opened = model_victim(
        facts, schema, like=said.types or like, hint=hint, classes=said.classes, takes=said.takes,
        returns=said.returns, name=name,
    )  # fmt: skip
    if said.digest:
        opened.identity = sha256(opened.identity.encode(), said.digest.encode())
    return Checkpoint(opened.eval(), facts.library, {}, schema)


def _library_of(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix in _CODE or (suffix in (".gz", ".z", ".bz2", ".xz") and Path(path.stem).suffix.lower() in _CODE):
        raise _holds_code(path)
    if suffix not in FILES and (looks_like := _content_of(read_bytes(path))) and looks_like != "pickle":
        raise _misnamed(f"a suffix that says the library of {shown(path)}", looks_like)
    if suffix in _TORCH:
        raise FileError(
            f"expected a model that needs no code, got the torch file {shown(path)}, which holds weights at most. "
            "Build the module in a Python file of yours and pass --model package.module:object."
        )
    if suffix not in FILES:
        raise FileError(
            f"expected a model file ({', '.join(f'{s} ({library})' for s, library in FILES.items())}), "
            f"got {shown(path)}. Save the model in one of these forms."
        )
    return FILES[suffix]


def _content_of(content: bytes) -> str:
    """The library whose files begin like this; empty if it is not known."""
    head = content[:64]
    if head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return "pickle"
    if head.startswith(b"CBM1"):
        return "CatBoost"
    if head.startswith((b"tree\n", b"tree\r\n")):
        return "LightGBM"
    if head.startswith(b"PK\x03\x04"):
        return "skops" if b"schema.json" in content[-4096:] or b"schema.json" in content[:4096] else ""
    if b'"learner"' in head or (head.startswith(b"{L") and b"learner" in head):
        return "XGBoost"
    return ""


def _misnamed(expected: str, library: str) -> FileError:
    fitting = " or ".join(suffix for suffix, known in FILES.items() if known == library)
    return FileError(f"expected {expected}, got a model of {library}. Give the file the suffix {fitting}.")


def _holds_code(path: Path) -> FileError:
    return FileError(
        f"expected a model file that holds no code, got the pickle {shown(path)}: reading it could run anything. "
        "Save the model in a safe form: skops.io.dump(model, 'model.skops') for scikit-learn, save_model('model.ubj') "
        "for XGBoost, save_model('model.txt') for LightGBM, save_model('model.cbm') for CatBoost, or ONNX."
    )


def is_object(spec: str) -> bool:
    """Whether this is the name of a Python object, as package.module:object."""
    return _OBJECT.fullmatch(spec) is not None and not Path(spec).exists()


def _imported(spec: str, schema: Schema, name: str) -> Any:
    """The victim of a Python object: a model, a `Victim`, or a function whose only argument is the schema.

    Raises:
        InputError: there is no such module or object, or its code fails.
    """
    module_name, _, attribute = spec.partition(":")
    here = str(Path.cwd())
    sys.path.insert(0, here)  # as `python -m` does
    try:
        module = importlib.import_module(module_name)
        found: Any = module
        for part in attribute.split("."):
            found = getattr(found, part)
        if inspect.isfunction(found) and list(inspect.signature(found).parameters) == ["schema"]:
            found = found(schema)
    except (Exception, SystemExit) as error:  # whatever the user's module raises
        reason = " ".join(str(error).split())[:200]
        raise InputError(
            f"expected an object at --model {spec}, got {type(error).__name__}: {reason}. "
            "Name a module that Python finds from this folder, and an object in it."
        ) from error
    finally:
        sys.path.remove(here)
    opened = victim_of(found, schema)
    if not opened.state_dict():
        source = getattr(module, "__file__", None)
        opened.name = name or opened.name
        if not opened.identity:
            content = read_bytes(Path(source)) if source and Path(source).suffix == ".py" else b""
            opened.identity = sha256(spec.encode(), b"\n", content)
    return opened
