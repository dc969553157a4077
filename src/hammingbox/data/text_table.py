"""Loads a user's table with a column of text: one row per text, one feature per word or character."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Int64

from hammingbox.data.ag_news import BLANK
from hammingbox.data.column_rules import sorted_texts
from hammingbox.data.columns import Columns
from hammingbox.data.dataset import Dataset, Splits
from hammingbox.data.read_columns import Frame, read_columns, source_name
from hammingbox.data.reading import Reading
from hammingbox.data.schema import Schema
from hammingbox.data.split_rule import PARTS, Places, assigned
from hammingbox.data.texts import Labelled, text_splits
from hammingbox.errors import InputError

_LONGEST = 1014
"""Characters of a text that are features, as for AG's News in the paper."""
_MOST_CHARACTERS = 255
"""Characters besides the blank; rarer ones are blanks."""


@dataclass(frozen=True)
class _Texts:
    """Texts with their class ids, and the number of each in its source."""

    texts: Sequence[str]
    labels: Sequence[int]
    numbers: Places

    def take(self, rows: Places) -> "_Texts":
        chosen = rows.tolist()
        return _Texts([self.texts[i] for i in chosen], [self.labels[i] for i in chosen], self.numbers[rows])


def load_text_table(source: Path | str | Frame, *, label: str, reading: Reading) -> Splits:
    """Reads texts and their classes, and splits them. Equal texts go into the same part.

    Args:
        source: a file or a frame with a column of text and one of labels; other columns are ignored.
        label: the column of labels.
        reading: the column of text, its unit, and what decides the parts.

    Raises:
        FileError: a file is missing, empty or damaged.
        InputError: there is no such column, or there are too few texts or classes.
    """
    table = read_columns(source, encoding=reading.encoding)
    own = {part: read_columns(path, encoding=reading.encoding) for part, path in reading.files.items()}
    classes = sorted_texts(table.column(label, kind="label column").values)
    if len(classes) < 2:
        raise InputError(f"expected at least two classes in the label column {label!r}, got {list(classes)}.")
    name = source_name(source)
    texts, rows = _texts(table, label, classes, reading, 0), table.rows
    parts: dict[str, _Texts] = {}
    for part, columns in own.items():
        parts[part], rows = _texts(columns, label, classes, reading, rows), rows + columns.rows
    needed = tuple(part for part in PARTS if part not in own)
    if needed == ("train",):
        parts["train"] = texts
    else:
        codes = torch.from_numpy(table.column(reading.text or "", kind="column of text").codes.astype(np.int64))
        position = reading.rule.positions(table, codes, torch.tensor(texts.labels, device="cpu"))
        parts |= {part: texts.take(chosen) for part, chosen in assigned(position, needed, name).items()}
    return _words(parts, classes, name) if reading.unit == "words" else _characters(parts, classes, name)


def _texts(table: Columns, label: str, classes: Sequence[str], reading: Reading, first: int) -> _Texts:
    text, labels = table.column(reading.text or "", kind="column of text"), table.column(label, kind="label column")
    if odd := [value for value in labels.values if value not in classes]:
        raise InputError(
            f"expected one of the classes {', '.join(classes[:12])} in the label column {label!r} of {table.source}, "
            f"got {odd[0]!r:.80} in row {labels.first_row(odd[0])}. Fill or drop such rows."
        )
    of_value = np.array([classes.index(value) for value in labels.values], dtype=np.int64)
    numbers = torch.arange(first, first + table.rows, device="cpu")
    return _Texts([text.values[code] for code in text.codes.tolist()], of_value[labels.codes].tolist(), numbers)


def _words(parts: dict[str, _Texts], classes: Sequence[str], name: str) -> Splits:
    labelled = {
        part: [Labelled(text, label) for text, label in zip(found.texts, found.labels, strict=True)]
        for part, found in parts.items()
    }
    splits = text_splits(
        labelled["train"], labelled["test"], classes, validation=labelled["validation"], name=name, words_of_all=True
    )
    # The rows of a part are numbered by their place in it; a result names them by their place in the file.
    own = (
        replace(data, numbers=parts[part].numbers[data.numbers])
        for part, data in zip(PARTS, _three(splits), strict=True)
    )
    return Splits(*own)


def _characters(parts: dict[str, _Texts], classes: Sequence[str], name: str) -> Splits:
    """One feature per character, as it is written. A blank stands for rare characters, and for the end of a text."""
    counts = Counter(chain.from_iterable(text for found in parts.values() for text in found.texts))
    del counts[BLANK]
    alphabet = BLANK + "".join(sorted(character for character, _ in counts.most_common(_MOST_CHARACTERS)))
    length = min(max((len(text) for found in parts.values() for text in found.texts), default=1), _LONGEST)
    schema = Schema.sequence(max(1, length), alphabet, classes, prefix="character ")
    index = {character: place for place, character in enumerate(alphabet)}

    def encoded(texts: Sequence[str]) -> Int64[np.ndarray, "texts features"]:
        ids = np.zeros((len(texts), len(schema.features)), dtype=np.int64)
        for row, text in zip(ids, texts, strict=True):
            row[: min(len(text), length)] = [index.get(character, 0) for character in text[:length]]
        return ids

    return Splits(
        **{
            part: Dataset(
                schema, torch.from_numpy(encoded(found.texts)), torch.tensor(found.labels, device="cpu"), name,
                found.numbers,
            )
            for part, found in parts.items()
        }
    )  # fmt: skip


def _three(splits: Splits) -> tuple[Dataset, Dataset, Dataset]:
    return splits.train, splits.validation, splits.test
