"""Rows of words or characters as the texts they stand for: what a model of texts is asked with."""

import numpy as np
from jaxtyping import Int64

from hammingbox.data.schema import Schema
from hammingbox.text.render import written
from hammingbox.text.vocabulary import NAME, PAD, SPECIAL, UNKNOWN
from hammingbox.victims.frames import Array, ColumnType

_CHARACTERS = "character "
"""How the positions of a text of characters are called; those of DNA or of event logs have other names."""


def is_text(schema: Schema) -> bool:
    """Whether rows of a schema are texts of words or characters."""
    return has_words(schema) or (schema.shares_alphabet and schema.features[0].name.startswith(_CHARACTERS))


def has_words(schema: Schema) -> bool:
    """Whether rows of a schema are texts of words."""
    return schema.shares_alphabet and schema.features[0].categories[: len(SPECIAL)] == SPECIAL


def first_row(schema: Schema) -> Int64[np.ndarray, "1 features"]:
    """A row to ask any model with: the first category of each column, or the commonest word of a text."""
    row = np.zeros((1, len(schema.features)), dtype=np.int64)
    if is_text(schema):
        row[0, 0] = min(len(SPECIAL) if has_words(schema) else 1, len(schema.features[0].categories) - 1)
    return row


def asked_with(schema: Schema) -> str:
    """What a user should know about how a model of texts is asked."""
    return f"the model is asked with texts of at most {len(schema.features)} {schema.features[0].name.split()[0]}s"


class WrittenTexts:
    """Builds texts from rows of ids. Words have the spaces and capitals that a person would give them.

    Args:
        schema: of texts.
        unknown: stands for a word outside of the vocabulary.
    """

    columns: tuple[ColumnType, ...] = ()

    def __init__(self, schema: Schema, *, unknown: str = "") -> None:
        self._words = np.array(schema.features[0].categories, dtype=object)
        self._has_words = has_words(schema)
        if self._has_words:
            self._words[[PAD, UNKNOWN, NAME]] = ["", unknown, unknown]

    def build(self, ids: Array) -> Array:
        """One text per row of ids."""
        rows = self._words[ids]
        if self._has_words:
            texts = [written([word for word in row if word]) for row in rows.tolist()]
        else:
            texts = ["".join(row).rstrip() for row in rows.tolist()]
        return np.array([*texts, ""], dtype=object)[:-1]  # of objects, also where there is one text or none
