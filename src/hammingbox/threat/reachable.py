"""Values of derived columns that changes can lead to, though no row has them: the schema learns them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isfinite, prod

import torch
from jaxtyping import Int64
from torch import Tensor

from hammingbox.data.dataset import Dataset
from hammingbox.data.schema import Feature, Schema
from hammingbox.data.values import number_of, text_of
from hammingbox.errors import InputError
from hammingbox.threat.rules.derived import NO_ID, Derived
from hammingbox.threat.rules.function import Keeps
from hammingbox.threat.rules.rules import Rules
from hammingbox.threat.space import Space
from hammingbox.threat.space_json import space_from_json
from hammingbox.types import Ids

MOST_COMBINATIONS = 20_000
"""Combinations of inputs that are computed for a row; with more, only single changes are."""
MOST_VALUES = 1_000_000
"""New values of one column."""


@dataclass(frozen=True)
class Reachable:
    """A table whose schema knows what changes lead to. All parts share the new schema.

    Attributes:
        data: the same rows with their new ids.
        space: the same S(x), without rules.
        rules: the same rules.
        added: how many values each derived column got.
        is_whole: False if some row has too many combinations of inputs, so that only single changes were looked at.
    """

    data: Dataset
    space: Space
    rules: Rules
    added: dict[str, int]
    is_whole: bool


def with_reachable(
    data: Dataset,
    space: Space,
    rules: Rules,
    *,
    functions: Mapping[str, Keeps] | None = None,
    most: int = MOST_VALUES,
) -> Reachable:
    """Extends the schema by the numbers and dates that derived columns can take.

    A row whose derived value has no id cannot be written, which would take attacks away: a total of 17.40 that no row
    has is a total nevertheless. Models that read numbers as numbers fit the new schema (`Schema.form_digest` is the
    same). A derived column of categories is not extended: its model does not know other categories.

    Args:
        data: the rows that will be attacked.
        space: what may be written, column by column.
        rules: with derived columns.
        functions: the code of functions of one's own among the rules.
        most: the largest number of new values of one column.

    Raises:
        InputError: a column would get more than `most` values, or a space or a function that cannot be built
            again for another schema.
    """
    added: dict[str, int] = {}
    is_whole = True
    for place in range(len(rules.derived)):
        feature = rules.schema.features[rules.derived[place].column]
        if not feature.is_ordered:
            continue
        numbers: set[float] = set()
        for row in range(len(data)):
            found, whole = _numbers_of(data.batch([row])[0], space, rules, place)
            numbers |= found
            is_whole = is_whole and whole
            if len(numbers) > most:
                raise InputError(
                    f"expected at most {most:,} new values of the derived column {feature.name!r}, got more. "
                    "Attack fewer rows, or offer fewer values of its inputs."
                )
        new = _extended(feature, numbers)
        added[feature.name] = len(new.categories) - len(feature.categories)
        if added[feature.name]:
            data, schema = _moved(data, rules.derived[place].column, new)
            rules = Rules.from_json(rules.to_json(), schema, functions)
            space = space_from_json(space.to_json(), schema)
    return Reachable(data, space, rules, added, is_whole)


def _numbers_of(x: Ids, space: Space, rules: Rules, place: int) -> tuple[set[float], bool]:
    """The numbers without an id that a derived column takes for what may be written into a row."""
    each = rules.derived[place]
    earlier = rules.derived[:place]
    sources = _sources(each, earlier)
    candidates = space.candidates(x)
    _, allowed = rules.priced(x, candidates)
    options = []
    for column in sources:
        start, width = int(candidates.layout.starts[column]), int(candidates.layout.widths[column])
        options.append(candidates.ids[0, start : start + width][allowed[0, start : start + width]])
    whole = prod(map(len, options)) <= MOST_COMBINATIONS
    rows = _combined(x, sources, options) if whole else _single(x, sources, options)
    for other in earlier:
        value = other.compute(rows[:, list(other.inputs)])
        rows[:, other.column] = value
        rows = rows[value != NO_ID]
    inputs = rows[:, list(each.inputs)]
    numbers = each.numbers(inputs)
    return {number for number in numbers[each.compute(inputs) == NO_ID].tolist() if isfinite(number)}, whole


def _sources(each: Derived, earlier: tuple[Derived, ...]) -> list[int]:
    """The written columns that a derived column follows from, through other derived ones."""
    inputs = {other.column: other.inputs for other in earlier}
    found, waiting = set[int](), list(each.inputs)
    while waiting:
        column = waiting.pop()
        if column in inputs:
            waiting += inputs[column]
        else:
            found.add(column)
    return sorted(found)


def _combined(x: Ids, columns: list[int], options: list[Int64[Tensor, "_"]]) -> Int64[Tensor, "points features"]:
    points = torch.cartesian_prod(*options).reshape(-1, len(columns))
    rows = x.repeat(len(points), 1)
    rows[:, columns] = points
    return rows


def _single(x: Ids, columns: list[int], options: list[Int64[Tensor, "_"]]) -> Int64[Tensor, "points features"]:
    parts = []
    for column, own in zip(columns, options, strict=True):
        rows = x.repeat(len(own), 1)
        rows[:, column] = own
        parts.append(rows)
    return torch.cat(parts)


def _extended(feature: Feature, numbers: set[float]) -> Feature:
    """The column with more values, in increasing order; what is no value stays last."""
    values = {n: text for n, text in zip(feature.numbers.tolist(), feature.categories, strict=True) if n == n}
    codes = [text for n, text in zip(feature.numbers.tolist(), feature.categories, strict=True) if n != n]
    for number in numbers:
        text = text_of(float(f"{number:.15g}"), feature.kind)
        exact = number_of(text, feature.kind)
        if exact is not None:
            values.setdefault(exact, text)
    return replace(feature, categories=(*(values[number] for number in sorted(values)), *codes))


def _moved(data: Dataset, column: int, feature: Feature) -> tuple[Dataset, Schema]:
    """The same rows under a schema in which one column has more values."""
    features = tuple(feature if i == column else own for i, own in enumerate(data.schema.features))
    schema = Schema(features, data.schema.classes)
    return data.in_schema(schema), schema
