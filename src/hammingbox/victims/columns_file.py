"""What a model file does not say about its columns, in a file next to it: ``fraud.ubj.columns.json``.

::

    {"columns": {"city": {"dtype": "category", "categories": ["Ulm", "Rom"]}, "age": {"dtype": "float64"}},
     "classes": ["ok", "fraud"], "takes": "frame", "returns": "positive"}

Every part is optional. `write_columns` writes one from the frame that a model is trained on.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hammingbox.errors import FileError, unknown_name
from hammingbox.files import exists, read_json, sha256, write_json
from hammingbox.victims.answers import RETURNS, Returns
from hammingbox.victims.frames import CONTAINERS, Container

SUFFIX = ".columns.json"
_PARTS = ("columns", "classes", "takes", "returns")


@dataclass(frozen=True)
class ModelColumns:
    """What the owner of a model says about it, as arguments of `hammingbox.victim`.

    Attributes:
        types: pandas types by column; empty if nothing is said.
        classes: the classes of the table in the order of the model's answers.
        takes: what the model takes.
        returns: what it returns.
        digest: hash of the file; empty if there is none.
    """

    types: dict[str, Any] = field(default_factory=dict)
    classes: tuple[str, ...] | None = None
    takes: Container | None = None
    returns: Returns | None = None
    digest: str = ""


@dataclass(frozen=True)
class _Categories:
    """A categorical type, as pandas writes it."""

    values: tuple[Any, ...]

    @property
    def categories(self) -> "_Categories":
        """Itself, so that it reads like a type of pandas."""
        return self

    def tolist(self) -> list[Any]:
        """The categories in the model's order."""
        return list(self.values)


def read_columns_of(model: Path) -> ModelColumns:
    """What the file next to a model says; nothing if there is none.

    Raises:
        FileError: it is damaged.
        InputError: it names an unknown part or choice.
    """
    path = model.with_name(model.name + SUFFIX)
    if not exists(path):
        return ModelColumns()
    value = read_json(path)
    if not isinstance(value, dict):
        raise FileError(f"expected an object in {path}, got {type(value).__name__}.")
    for part in value:
        if part not in _PARTS:
            raise unknown_name(f"part of {path}", part, _PARTS)
    for part, choices in (("takes", CONTAINERS), ("returns", RETURNS)):
        if value.get(part) is not None and value[part] not in choices:
            raise unknown_name(f"value of {part!r} in {path}", str(value[part]), choices)
    try:
        types = {
            name: _Categories(tuple(column["categories"])) if column["dtype"] == "category" else str(column["dtype"])
            for name, column in value.get("columns", {}).items()
        }
        classes = None if value.get("classes") is None else tuple(str(name) for name in value["classes"])
    except (KeyError, TypeError, AttributeError) as error:
        raise FileError(
            f'expected columns such as {{"age": {{"dtype": "int64"}}}} in {path}, got another form ({error!r}).'
        ) from error
    return ModelColumns(types, classes, value.get("takes"), value.get("returns"), sha256(path.read_bytes()))


def write_columns(model: Path | str, frame: Any, *, classes: Sequence[Any] | None = None) -> Path:
    """Writes what a model file does not say about its columns, from the frame that it was trained on.

    Args:
        model: the model file; the description is written next to it.
        frame: the features as the model was trained on them (pandas).
        classes: the classes of the table in the order of the model's answers.

    Returns:
        Where it was written.
    """
    columns: dict[str, Any] = {}
    for name, dtype in frame.dtypes.items():
        categories = getattr(dtype, "categories", None)
        columns[str(name)] = (
            {"dtype": str(dtype)} if categories is None else {"dtype": "category", "categories": categories.tolist()}
        )
    path = Path(model).with_name(Path(model).name + SUFFIX)
    write_json(path, {"columns": columns} | ({} if classes is None else {"classes": [str(name) for name in classes]}))
    return path
