"""The space that a stored document describes."""

from collections.abc import Mapping
from math import isfinite
from typing import Any

from hammingbox.data.schema import Schema
from hammingbox.errors import FileError, InputError
from hammingbox.threat.masked_space import MaskedSpace
from hammingbox.threat.ruled_space import RuledSpace
from hammingbox.threat.rules.function import Keeps
from hammingbox.threat.rules.rules import Rules
from hammingbox.threat.space import FullSpace, Space
from hammingbox.threat.synonym_space import MOST_SYNONYMS, SynonymSpace
from hammingbox.threat.table_space import TableSpace


def space_from_json(value: Mapping[str, Any], schema: Schema, functions: Mapping[str, Keeps] | None = None) -> Space:
    """The space a result file describes.

    Args:
        value: the document.
        schema: what ids mean.
        functions: the code of functions that rules name, if their owner passes it.

    Raises:
        InputError: the space is of an unknown kind or held a rule, which only its owner's code can supply.
        FileError: the document is damaged.
    """
    check_space_document(value)
    kind = value["kind"]
    if kind == "full":
        return FullSpace(schema)
    if kind == "masked" and "rule" not in value:
        return MaskedSpace(schema, immutable=value["immutable"], forbidden=value["forbidden"], kept=value["kept"])
    if kind == "table":
        return TableSpace(
            schema, value["options"], steps=value["steps"], immutable=value["immutable"], forbidden=value["forbidden"]
        )
    if kind == "ruled":
        return RuledSpace(space_from_json(value["base"], schema), Rules.from_json(value["rules"], schema, functions))
    if kind == "synonym":
        return SynonymSpace.from_json(value, schema)
    if kind == "masked":
        raise InputError(
            f"expected a space that can be rebuilt from the file, got one with the Python rule {value['rule']!r}. "
            "Call hammingbox.verify(path, space=...) with that rule."
        )
    raise InputError(f"expected a space of kind full, masked, table, synonym or ruled, got {kind!r}.")


def check_space_document(value: Any) -> None:
    """Checks the form of a stored space: every entry that this package writes has the type it writes.

    Raises:
        FileError: it has not.
    """
    if not isinstance(value, Mapping) or not isinstance(value.get("kind"), str):
        raise FileError("expected a space with its kind, got damaged JSON.")
    if value["kind"] == "ruled":
        if not isinstance(value.get("base"), Mapping) or value["base"].get("kind") == "ruled":
            raise FileError("expected a space under rules with its base, got damaged JSON.")
        if not isinstance(value.get("rules"), Mapping):
            raise FileError("expected a space under rules with its rules, got damaged JSON.")
        check_space_document(value["base"])
        return
    needed = {
        "masked": ("immutable", "forbidden", "kept"),
        "table": ("options", "steps", "immutable", "forbidden"),
        "synonym": ("source", "sha256", "tagger", "protected", "most"),
    }
    kinds: dict[str, Any] = {
        "immutable": _is_list_of_text, "protected": _is_list_of_text, "forbidden": _is_text_by_text,
        "kept": _is_text_by_text, "source": _is_text, "sha256": _is_text, "tagger": _is_text, "rule": _is_text,
        "options": _is_text_by_text, "steps": _is_numbers_by_text,
        "most": lambda most: type(most) is int and 0 < most <= MOST_SYNONYMS,
    }  # fmt: skip
    for name in needed.get(value["kind"], ()):
        if name not in value:
            raise FileError(f"expected a space of kind {value['kind']!r} with {name!r}, got damaged JSON.")
    for name in kinds.keys() & value.keys() if value["kind"] in needed else ():
        if not kinds[name](value[name]):
            raise FileError(f"expected {name!r} of a space in its usual form, got damaged JSON: {value[name]!r:.80}.")


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_list_of_text(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(map(_is_text, value))


def _is_text_by_text(value: Any) -> bool:
    return isinstance(value, Mapping) and all(map(_is_text, value)) and all(map(_is_list_of_text, value.values()))


def _is_numbers_by_text(value: Any) -> bool:
    return isinstance(value, Mapping) and all(map(_is_text, value)) and all(map(_is_list_of_numbers, value.values()))


def _is_list_of_numbers(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(type(part) in (int, float) and isfinite(part) for part in value)
