"""Loads a user's table with a column of text: one row per text, one feature per word or character."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from hammingbox.data import ag_news
from hammingbox.data.column_rules import sorted_texts
from hammingbox.data.columns import Columns
from hammingbox.data.dataset import Dataset, Splits
from hammingbox.data.read_columns import Frame, read_columns, source_name
from hammingbox.data.reading import Reading
from hammingbox.data.schema import Schema
from hammingbox.data.split_rule import PARTS, Places, assigned
from hammingbox.data.texts import Labelled, text_splits
from hammingbox.errors import InputError


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
    splits = text_splits(labelled["train"], labelled["test"], classes, validation=labelled["validation"], name=name)
    # The rows of a part are numbered by their place in it; a result names them by their place in the file.
    own = (
        replace(data, numbers=parts[part].numbers[data.numbers])
        for part, data in zip(PARTS, _three(splits), strict=True)
    )
    return Splits(*own)


def _characters(parts: dict[str, _Texts], classes: Sequence[str], name: str) -> Splits:
    length = ag_news.LENGTH["cpu"]
    schema = Schema.sequence(length, ag_news.ALPHABET, classes, prefix="character ")
    return Splits(
        **{
            part: Dataset(
                schema,
                torch.from_numpy(np.stack([ag_news.encode(text, length) for text in found.texts])),
                torch.tensor(found.labels, device="cpu"),
                name,
                found.numbers,
            )
            for part, found in parts.items()
        }
    )


def _three(splits: Splits) -> tuple[Dataset, Dataset, Dataset]:
    return splits.train, splits.validation, splits.test
