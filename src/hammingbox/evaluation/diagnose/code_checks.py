"""Checks whether an attacker may write what looks like a code for a missing value, such as -999 or "unknown"."""

from collections.abc import Mapping
from dataclasses import dataclass

from hammingbox.data.column_notes import missing_codes
from hammingbox.data.dataset import Dataset
from hammingbox.evaluation.diagnose.data_findings import codes_offered
from hammingbox.evaluation.diagnose.finding import Finding
from hammingbox.threat.space import Space

_MOST_ROWS, _AT_ONCE = 512, 64
"""Rows whose options are looked at, and how many of them together."""


@dataclass(frozen=True)
class OfferedCode:
    """A value that looks like a code, and that an attacker may write.

    Attributes:
        column: its index.
        value: the id of the code.
        is_number: whether the column holds numbers. There a code is far from every value that means something.
    """

    column: int
    value: int
    is_number: bool


def offered_codes(rows: Dataset, space: Space) -> list[OfferedCode]:
    """The codes that the space offers to some of the first rows.

    Texts and sequences share one alphabet, in which "unknown" and "?" are words, so they have no codes. A code that
    the schema lists under `sentinels` is not offered, nor is one of a column that is frozen.
    """
    features = rows.schema.features
    if len(features) > 1 and rows.schema.shares_alphabet:
        return []
    codes = [
        OfferedCode(column, feature.categories.index(text), feature.kind == "number")
        for column, feature in enumerate(features)
        if feature.kind in ("number", "category")
        for text in missing_codes(feature.categories)
    ]
    found: set[OfferedCode] = set()
    ids, _ = rows.batch(slice(0, _MOST_ROWS), "cpu")
    for part in ids.long().split(_AT_ONCE) if codes else ():
        candidates = space.candidates(part).columns
        layout = candidates.layout
        able = candidates.valid & (layout.slot_of > 0)
        for code in codes:
            there = layout.feature_of == code.column
            if bool((able[:, there] & (candidates.ids[:, there] == code.value)).any()):
                found.add(code)
    return [code for code in codes if code in found]


def diagnose_codes(rows: Dataset, space: Space, written: Mapping[tuple[int, int], int] | None) -> list[Finding]:
    """One finding for all codes that an attacker may write.

    Args:
        rows: those that are attacked.
        space: what may be written.
        written: by column and id: broken rows in which an attack wrote it. None where that is not known.
    """
    codes = offered_codes(rows, space)
    if not codes:
        return []
    features = rows.schema.features
    named = [
        (
            features[code.column].name,
            features[code.column].categories[code.value],
            None if written is None else written.get((code.column, code.value), 0),
        )
        for code in codes
    ]
    doubtful = any(code.is_number and count for code, (_, _, count) in zip(codes, named, strict=True))
    return [codes_offered(named, "warning" if doubtful else "note")]
