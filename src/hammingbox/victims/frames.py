"""Rows of ids as the table a model was trained on: a pandas frame, an array or codes.

Each column's values exist once, in an array with one entry per id. A batch is one `take` per column, so its cost does
not depend on what the values are.

Unless the model or its owner says otherwise, a column has the type that ``pandas.read_csv`` would give it: whole
numbers are int64, other numbers float64, True and False are bool, the rest is text, and missing values are NaN.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args

import numpy as np

from hammingbox.data.schema import Feature, Schema
from hammingbox.data.values import MISSING, UNKNOWN, number_of
from hammingbox.errors import InputError, missing_library

Container = Literal["frame", "array", "codes"]
"""What a model takes: a pandas frame, an array of values, or an array of the schema's ids."""
CONTAINERS: tuple[str, ...] = get_args(Container)

Array = np.ndarray[Any, np.dtype[Any]]

_DATES = "datetime64[ns]"
_LARGEST_WHOLE = 2**53
"""Whole numbers up to this size are exact as float64."""


@dataclass(frozen=True)
class ColumnType:
    """A column as a model takes it.

    Attributes:
        feature: its index in the schema.
        name: what the model calls it.
        dtype: a NumPy or pandas type; "" to read it off the values; "category" with `categories`; "codes" for the
            index of a value in `categories`, as a number; "text" for text without missing values.
        categories: the values of a categorical column, in the model's order; None for the order of the schema.
    """

    feature: int
    name: str
    dtype: str = ""
    categories: tuple[Any, ...] | None = None


class Frames:
    """Builds what a model takes from rows of ids.

    Args:
        schema: what the ids mean.
        columns: the columns that the model takes, in its order.
        container: what it takes them in.

    Raises:
        InputError: values of a column do not fit the type that the model wants, or pandas is not installed.
    """

    def __init__(self, schema: Schema, columns: Sequence[ColumnType], container: Container = "frame") -> None:
        self.columns, self.container = tuple(columns), container
        self._places = np.array([column.feature for column in columns], dtype=np.int64)
        features = [schema.features[column.feature] for column in columns]
        self._values: list[Any] = []
        if container == "codes":
            return
        typed = [column_values(feature, column) for feature, column in zip(features, columns, strict=True)]
        if container == "frame":
            pandas = _pandas()
            self._values = [_stored(pandas, values, column) for values, column in zip(typed, columns, strict=True)]
            self._index = pandas.Index([column.name for column in columns])
        else:
            self._values = [_coded(values, column) for values, column in zip(typed, columns, strict=True)]
        kinds = {values.dtype for values in self._values if isinstance(values, np.ndarray)}
        self._alike = len(kinds) == 1 and all(isinstance(values, np.ndarray) for values in self._values)
        self._blocks = _blocks_of(self._values) if container == "frame" and _from_blocks() is not None else None

    def build(self, ids: Array) -> Any:
        """The table of a batch of rows. It is new: whatever the model writes into it is nobody's.

        Args:
            ids: (rows, features of the schema).
        """
        by_column = ids.T[self._places]
        if self.container == "codes":
            return np.ascontiguousarray(by_column.T)
        if self.container == "array" or self._alike:
            # One block for all columns; pandas shares it instead of copying column by column.
            kinds = [values.dtype for values in self._values]
            block = np.empty(by_column.shape, dtype=_common(kinds))
            for values, codes, row in zip(self._values, by_column, block, strict=True):
                row[:] = values[codes]
            if self.container == "array":
                return np.ascontiguousarray(block.T)
            return _pandas().DataFrame(block.T, columns=self._index, copy=False)
        if self._blocks is not None:
            return self._of_blocks(self._blocks, by_column)
        taken = {
            place: values[codes] if isinstance(values, np.ndarray) else values.take(codes)
            for place, (values, codes) in enumerate(zip(self._values, by_column, strict=True))
        }
        frame = _pandas().DataFrame(taken, copy=False)
        frame.columns = self._index
        return frame

    def _of_blocks(self, blocks: Sequence[Array], by_column: Array) -> Any:
        """A frame of columns that need no look at their values: in half of the time of pandas' own constructor."""
        made, rows = [], by_column.shape[1]
        for places in blocks:
            first = self._values[places[0]]
            if isinstance(first, np.ndarray):
                block = np.empty((len(places), rows), dtype=first.dtype)
                for place, row in zip(places.tolist(), block, strict=True):
                    row[:] = self._values[place][by_column[place]]
                made.append((block, places))
            else:
                made.append((first.take(by_column[places[0]]), places))
        return _from_blocks()(made, index=_pandas().RangeIndex(rows), columns=self._index)


def column_values(feature: Feature, column: ColumnType) -> Array:
    """The value of each id of a feature, with the type that a model wants. Categorical columns keep plain values.

    Raises:
        InputError: the values do not fit the type.
    """
    absent = np.array([text in (MISSING, UNKNOWN) for text in feature.categories])
    if column.dtype in ("category", "codes"):
        return _in_model_order(feature, column, absent)
    if not column.dtype:
        return _as_read(feature, absent)
    if column.dtype in ("str", "string", "object"):
        return _texts(feature, absent)
    if column.dtype == "text":
        return np.array(["nan" if text == MISSING else text for text in feature.categories], dtype=object)
    if column.dtype.startswith("datetime64"):
        return numbers_of(feature).astype("datetime64[s]").astype(_DATES)
    if column.dtype in ("bool", "boolean"):
        return _booleans(feature)
    try:
        kind = np.dtype(column.dtype.lower())  # pandas writes its own types with a capital: Int64
    except TypeError as error:
        raise InputError(
            f"expected a type of NumPy or pandas for column {column.name!r}, got {column.dtype!r}."
        ) from error
    numbers = numbers_of(feature)
    odd = [text for text, number in zip(feature.categories, numbers, strict=True) if np.isnan(number)]
    if feature.is_ordered or set(odd) <= {MISSING, UNKNOWN}:
        # A column of whole numbers with a missing value is one of floats, in pandas too.
        return numbers if odd and kind.kind != "f" else numbers.astype(kind)
    raise InputError(
        f"expected numbers in column {column.name!r} because the model takes {column.dtype} there, got {odd[0]!r}. "
        "Read the table as the model's training did, or give the model the columns it knows."
    )


def numbers_of(feature: Feature) -> Array:
    """The values of a feature as float64, NaN for what is no number; dates as seconds since 1970."""
    if feature.kind != "category":
        return feature.numbers
    return np.array([_number(text) for text in feature.categories], dtype=np.float64)


def text_of(value: Any) -> str:
    """A value as a table's text: a whole float without its decimal point, so that 1, 1.0 and "1" are one value."""
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    if isinstance(value, np.datetime64):
        return str(value)
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def types_of(like: Any, schema: Schema) -> dict[str, ColumnType]:
    """Column types as an example shows them.

    Args:
        like: a pandas frame (a few rows are enough), or a mapping from names to dtypes.
        schema: its features are looked up by name.

    Raises:
        InputError: neither a frame nor a mapping.
    """
    dtypes = like if isinstance(like, Mapping) else getattr(like, "dtypes", None)
    if dtypes is None or not hasattr(dtypes, "items"):
        raise InputError(
            f"expected a pandas frame, or a mapping from columns to types, for `like`, got {type(like).__name__}."
        )
    places = {feature.name: place for place, feature in enumerate(schema.features)}
    found = {}
    for name, dtype in dtypes.items():
        if name in places:
            categories = getattr(dtype, "categories", None)
            kind = "category" if categories is not None else str(dtype)
            found[name] = ColumnType(
                places[name], name, kind, None if categories is None else tuple(categories.tolist())
            )
    return found


def _in_model_order(feature: Feature, column: ColumnType, absent: Array) -> Array:
    """For each id, the index of its value among the model's categories; -1 if the model does not know it."""
    if column.categories is None:
        order = [place for place, gone in enumerate(absent) if not gone]
        codes = np.full(len(absent), -1, dtype=np.int64)
        codes[order] = np.arange(len(order))
        return codes
    index = {text_of(value): code for code, value in enumerate(column.categories)}
    # A text as it stands comes first: 007 is a category of its own where the model's categories are texts.
    found = (index.get(text, index.get(_normal(text), -1)) for text in feature.categories)
    codes = np.fromiter(found, dtype=np.int64, count=len(absent))
    codes[absent] = -1
    if not (codes >= 0).any() and not absent.all():
        shown = ", ".join(map(repr, feature.categories[:4]))
        known = ", ".join(text_of(value) for value in column.categories[:4])
        raise InputError(
            f"expected categories of column {column.name!r} that the model knows ({known}, ...), got {shown}. "
            "Name the table the model was trained on."
        )
    return codes


def _normal(text: str) -> str:
    number = _number(text)
    return str(int(number)) if number.is_integer() and abs(number) <= _LARGEST_WHOLE else text


def _as_read(feature: Feature, absent: Array) -> Array:
    """The values as ``pandas.read_csv`` would type them."""
    if feature.kind == "date":
        return numbers_of(feature).astype("datetime64[s]").astype(_DATES)
    known = [text for text, gone in zip(feature.categories, absent, strict=True) if not gone]
    if feature.kind == "number":  # codes for "nothing is known" in it, such as "?", are missing numbers
        absent = np.isnan(feature.numbers)
        known = [text for text, gone in zip(feature.categories, absent, strict=True) if not gone]
    numbers = feature.numbers if feature.kind == "number" else np.array([_number(text) for text in feature.categories])
    if known and not np.isnan(numbers[~absent]).any():
        if not absent.any() and all(_is_whole(text) for text in known):
            return numbers.astype(np.int64)
        return numbers
    if known and all(text in ("True", "False") for text in known):
        values = _booleans(feature)
        if not absent.any():
            return values
        found = values.astype(object)  # as pandas reads booleans with empty cells: never the texts "True" and "False"
        found[absent] = np.nan
        return found
    return _texts(feature, absent)


def _texts(feature: Feature, absent: Array) -> Array:
    values = np.array(feature.categories, dtype=object)
    values[absent & (values == MISSING)] = np.nan
    return values


def _booleans(feature: Feature) -> Array:
    yes = {"true", "1", "yes", "y", "t", "1.0"}
    return np.array([text.lower() in yes for text in feature.categories])


def _number(text: str) -> float:
    number = number_of(text, "number")
    return float("nan") if number is None else number


def _is_whole(text: str) -> bool:
    try:
        return abs(int(text)) <= _LARGEST_WHOLE
    except ValueError:
        return False


def _coded(values: Array, column: ColumnType) -> Array:
    """A column of an array; the code of an unknown or missing category is NaN there."""
    if column.dtype not in ("category", "codes"):
        return values
    return np.where(values < 0, np.nan, values.astype(np.float64)) if (values < 0).any() else values


def _stored(pandas: Any, values: Array, column: ColumnType) -> Any:
    """A column's values in the form that a frame takes without looking at them again."""
    if column.dtype == "category":
        categories = column.categories
        if categories is None:
            raise InputError(f"expected the categories of column {column.name!r}, got none.")
        dtype = pandas.CategoricalDtype(list(categories))
        return pandas.Categorical.from_codes(values, dtype=dtype)
    if column.dtype == "codes":
        return _coded(values, column)
    if values.dtype == object:
        return pandas.Series(values).array
    return values


def _common(kinds: Sequence[np.dtype[Any]]) -> np.dtype[Any]:
    """The type of an array that holds columns of several types: numbers, or objects if any column is text."""
    if any(kind.kind in "OUSM" for kind in kinds):
        return np.dtype(kinds[0] if len(set(kinds)) == 1 else object)
    return np.result_type(*kinds)


def _blocks_of(columns: Sequence[Any]) -> list[Array] | None:
    """Columns that one block of a frame holds: numbers of one type, or one categorical. None if there are others."""
    pandas = _pandas()
    blocks: dict[str | int, list[int]] = {}
    for place, values in enumerate(columns):
        plain = isinstance(values, np.ndarray)
        if not (values.dtype.kind in "iufb" if plain else isinstance(values, pandas.Categorical)):
            return None
        blocks.setdefault(str(values.dtype) if plain else place, []).append(place)
    return [np.array(places, dtype=np.int64) for places in blocks.values()]


@cache
def _from_blocks() -> Any:
    """What pandas offers since version 3 to those who know the blocks of a frame; None before."""
    try:
        from pandas.api.internals import create_dataframe_from_blocks
    except ImportError:
        return None
    return create_dataframe_from_blocks


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise missing_library("pandas", "sklearn", "to build the frame that a model takes", error) from error
    return pandas
