"""The kinds of relations, by the names that files give them."""

from collections.abc import Callable, Mapping
from typing import Any

from hammingbox.data.schema import Schema
from hammingbox.errors import unknown_name
from hammingbox.threat.rules.combinations import Combinations
from hammingbox.threat.rules.determines import Determines
from hammingbox.threat.rules.formula import Formula, IfWritten, Implies
from hammingbox.threat.rules.function import Function, Keeps, function_from_json
from hammingbox.threat.rules.one_hot import OneHot
from hammingbox.threat.rules.relation import Relation
from hammingbox.threat.rules.seen_together import SeenTogether

RELATIONS: dict[str, Callable[[Mapping[str, Any], Schema], Relation]] = {
    kind.kind: kind.from_json for kind in (Determines, Combinations, Formula, Implies, OneHot, IfWritten, SeenTogether)
}
"""Kinds that a file alone can build; a `Function` needs its owner's code."""
KINDS = (*RELATIONS, Function.kind)


def relation_from_json(value: Mapping[str, Any], schema: Schema, functions: Mapping[str, Keeps]) -> Relation:
    """The relation that a stored document describes.

    Raises:
        InputError: an unknown kind, or a function that was not passed.
    """
    kind = value["kind"]
    if kind == Function.kind:
        return function_from_json(value, schema, functions)
    if kind not in RELATIONS:
        raise unknown_name("kind of relation", str(kind), KINDS)
    return RELATIONS[kind](value, schema)
