"""[[relations]] of a threat.toml."""

from collections.abc import Mapping
from typing import Any

from hammingbox.data.dataset import Dataset
from hammingbox.data.schema import Schema
from hammingbox.errors import InputError, unknown_name
from hammingbox.threat.rules.combinations import Combinations
from hammingbox.threat.rules.determines import Determines
from hammingbox.threat.rules.formula import Formula, IfWritten, Implies
from hammingbox.threat.rules.function import Function, Keeps, check_function_name, function_not_passed
from hammingbox.threat.rules.one_hot import OneHot
from hammingbox.threat.rules.relation import Relation, ids_of_texts, indices_of
from hammingbox.threat.rules.seen_together import SeenTogether
from hammingbox.threat.threat_entries import (
    OPTIONAL,
    RELATION,
    check_keys,
    names_in,
    text_in,
    text_in_column,
    texts_in_columns,
    whole_in,
)

_OF_DATA, _EVERY = "data", "*"


def relation_of(entry: Any, schema: Schema, data: Dataset | None, functions: Mapping[str, Keeps]) -> Relation:
    """The relation that an entry describes.

    Raises:
        InputError: an unknown kind, a missing or unknown key, or something that the table does not have.
    """
    if not isinstance(entry, Mapping):
        raise InputError(f"expected a relation as a table, got {entry!r:.80}.")
    kind = entry.get("kind")
    if not isinstance(kind, str) or kind not in RELATION:
        raise unknown_name("kind of relation", str(kind), RELATION)
    check_keys(entry, ("kind", "name", "agree", *RELATION[kind]), f"a relation of kind {kind}")
    for key in RELATION[kind]:
        if key not in entry and key not in OPTIONAL:
            raise InputError(f"expected the entry {key!r} in a relation of kind {kind!r}, got none. Add it.")
    name = text_in(entry.get("name", ""), "name")
    if kind == "determines":
        by, column = names_in(entry["by"], "by"), text_in(entry["column"], "column")
        return table_of(schema, by, column, entry.get("table", _OF_DATA), data, name)
    if kind == "combinations":
        return _combinations(entry, schema, data, name)
    if kind == "formula":
        return Formula(schema, text_in(entry["formula"], "formula"), name)
    if kind == "implies":
        return Implies(schema, text_in(entry["if"], "if"), text_in(entry["then"], "then"), name)
    if kind == "if_written":
        values = texts_in_columns(entry["values"], "values") if "values" in entry else None
        return IfWritten(schema, text_in(entry["column"], "column"), text_in(entry["then"], "then"), values, name)
    if kind == "one_hot":
        on = text_in_column(entry["on"]) if "on" in entry else None
        least, most = (whole_in(entry.get(key, 1), key, 0) for key in ("least", "most"))
        return OneHot(schema, names_in(entry["columns"], "columns"), on, least, most, name)
    if kind == "seen_together":
        columns = (
            [f.name for f in schema.features] if entry["columns"] == _EVERY else names_in(entry["columns"], "columns")
        )
        ranges = entry.get("ranges", False)
        if not isinstance(ranges, bool):
            raise InputError(f"expected ranges = true or false, got {ranges!r:.80}.")
        return SeenTogether.of_rows(schema, columns, _rows(data).ids.long(), name, ranges=ranges)
    function = check_function_name(entry["function"])
    if function not in functions:
        raise function_not_passed(function)
    return Function(schema, function, names_in(entry["columns"], "columns"), functions[function], name)


def table_of(schema: Schema, by: list[str], column: str, table: Any, data: Dataset | None, name: str) -> Determines:
    """A dependency from a list of rows, or from the data.

    Raises:
        InputError: neither, or a list that does not fit the table.
    """
    indices_of(schema, [*by, column], least=2)
    if table == _OF_DATA:
        return Determines.of_rows(schema, by, column, _rows(data).ids, name)
    return Determines(schema, by, column, _listed(table, "table"), name)


def _combinations(entry: Mapping[str, Any], schema: Schema, data: Dataset | None, name: str) -> Combinations:
    columns = names_in(entry["columns"], "columns")
    allowed = entry.get("allowed", _OF_DATA)
    indices = list(indices_of(schema, columns, least=2))
    if allowed == _OF_DATA:
        return Combinations(schema, columns, _rows(data).ids[:, indices], name)
    return Combinations(schema, columns, ids_of_texts(schema, indices, _listed(allowed, "allowed")), name)


def _listed(value: Any, what: str) -> list[list[str]]:
    if not isinstance(value, list):
        raise InputError(f'expected {what} as "data" or as a list of rows, got {value!r:.80}.')
    return [texts_in_columns(row, "a row") for row in value]


def _rows(data: Dataset | None) -> Dataset:
    if data is None or not len(data):
        raise InputError('expected rows to take "data" from, got none. Pass the training rows, or write the list.')
    return data
