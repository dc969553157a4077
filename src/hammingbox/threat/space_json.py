"""The space that a stored document describes."""

from collections.abc import Mapping
from typing import Any

from hammingbox.data.schema import Schema
from hammingbox.errors import InputError
from hammingbox.threat.masked_space import MaskedSpace
from hammingbox.threat.space import FullSpace, Space
from hammingbox.threat.synonym_space import SynonymSpace


def space_from_json(value: Mapping[str, Any], schema: Schema) -> Space:
    """The space a result file describes.

    Raises:
        InputError: the space is of an unknown kind or held a rule, which only its owner's code can supply.
    """
    kind = value.get("kind")
    if kind == "full":
        return FullSpace(schema)
    if kind == "masked" and "rule" not in value:
        return MaskedSpace(schema, immutable=value["immutable"], forbidden=value["forbidden"], kept=value["kept"])
    if kind == "synonym":
        return SynonymSpace.from_json(value, schema)
    if kind == "masked":
        raise InputError(
            f"expected a space that can be rebuilt from the file, got one with the Python rule {value['rule']!r}. "
            "Call hammingbox.verify(path, space=...) with that rule."
        )
    raise InputError(f"expected a space of kind full, masked or synonym, got {kind!r}.")
