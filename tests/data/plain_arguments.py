"""Arguments as users pass them, in a process without the type checks of the test run; prints what each came to."""

import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from hammingbox.data.dataset import Dataset
from hammingbox.data.schema import Feature, Schema
from hammingbox.data.whole_numbers import whole_numbers
from hammingbox.seeding import RowRandom, torch_generator
from hammingbox.threat.masked_space import MaskedSpace
from hammingbox.threat.space import FullSpace
from hammingbox.threat.threat_model import ThreatModel

COLUMNS: Any = Feature("a", ("x", "y", "z")), Feature("b", ("t", "u", "v", "w"))
SCHEMA = Schema(COLUMNS, ("no", "maybe", "yes"))
ROWS = [[0, 1], [2, 3]]
DATA = Dataset(SCHEMA, torch.tensor(ROWS), torch.tensor([1, 2]), numbers=torch.tensor([7, 9]))
anything: Any = None


def _rows(value: Any) -> Callable[[], object]:
    return lambda: SCHEMA.as_ids(value)


def _labels(value: Any) -> Callable[[], object]:
    return lambda: Dataset(SCHEMA, torch.tensor(ROWS), value)


def _take(value: Any) -> Callable[[], object]:
    return lambda: DATA.take(value)


def _budget(value: Any) -> Callable[[], object]:
    return lambda: ThreatModel(FullSpace(SCHEMA), value)


def _seed(value: Any) -> Callable[[], object]:
    return lambda: (RowRandom.for_rows(value, torch.tensor(ROWS)), torch_generator(value))


def _features(*values: Any, classes: Any = ("no", "yes")) -> Callable[[], object]:
    return lambda: Schema(tuple(Feature("x", value) for value in values), classes)


REFUSED: dict[str, Callable[[], object]] = {
    "rows of floats": _rows(torch.tensor([[0.0, 1.0]])), "rows of bools": _rows(torch.tensor([[True, False]])),
    "a list of floats": _rows([[0.0, 1.0]]), "a list of bools": _rows([[True, False]]),
    "names": _rows([["x", "t"]]), "objects": _rows(np.array([[None, 1]], dtype=object)),
    "ragged rows": _rows([[0, 1], [2]]), "a string": _rows("ab"), "None": _rows(None), "one row": _rows([0, 1]),
    "three axes": _rows([[[0, 1]]]), "an id too large": _rows([[0, 4]]), "an id below 0": _rows([[-1, 0]]),
    "uint64 above int64": _rows(np.array([[0, 2**64 - 1]], dtype=np.uint64)), "a huge int": _rows([[0, 10**30]]),
    "too few labels": _labels([0]), "a label too large": _labels([0, 3]), "a label below 0": _labels([0, -1]),
    "float labels": _labels([0.0, 1.0]), "bool labels": _labels([True, False]), "2-D labels": _labels([[0], [1]]),
    "text labels": _labels("ab"), "no labels": _labels(None), "one number as labels": _labels(5),
    "indices out of range": _take([2]), "indices below the first": _take([-3]), "a short mask": _take([True]),
    "float indices": _take([0.5]), "2-D indices": _take([[0]]), "ragged indices": _take([[0], [0, 1]]),
    "a string as categories": _features("ab"), "a number as categories": _features(5),
    "numbers as categories": _features((1, 2)), "repeated classes": _features(("a", "b"), classes=("yes", "yes")),
    "a string as classes": _features(("a", "b"), classes="ab"), "half a surrogate": _features(("a", "\ud800")),
    "bare names as features": lambda: Schema(("x", "y"), ("no", "yes")),  # type: ignore[arg-type]
    "a string as forbidden": lambda: MaskedSpace(SCHEMA, forbidden={"a": "xy"}),
    "a string as immutable": lambda: MaskedSpace(SCHEMA, immutable="a"),
    **{f"budget {value!r}": _budget(value) for value in (True, 1.0, -1, 3, "1", None, [1])},
    **{f"seed {value!r}": _seed(value) for value in (True, 1.0, -1, "1", None, 2**63)},
    "no space": lambda: ThreatModel(anything, 1), "no schema": lambda: Dataset(anything, torch.tensor(ROWS), anything),
}  # fmt: skip


def _array(kind: str) -> Callable[[], bool]:
    array = np.array(ROWS, dtype=kind)
    array.flags.writeable = False
    same: tuple[Any, ...] = (array, array[::-1][::-1], np.asfortranarray(array))
    labels: Any = np.array([1, 2], dtype=kind)
    return lambda: all(Dataset(SCHEMA, one, labels).digest == DATA.digest for one in same)


def _copied() -> bool:
    array = np.array(ROWS)
    tensor = whole_numbers(array, "rows")
    array[0, 0] = 2
    return tensor.tolist() == ROWS


def _listed() -> bool:
    ids: Any = ROWS
    labels: Any = [1, 2]
    numbers: Any = [7, 9]
    data = Dataset(SCHEMA, ids, labels, numbers=numbers)
    return data.digest == DATA.digest and data.numbers.tolist() == [7, 9]


def _lists_of_names() -> bool:
    categories: Any = ["x", "y", "z"]
    columns: Any = [Feature("a", categories), COLUMNS[1]]
    classes: Any = ["no", "maybe", "yes"]
    return Schema(columns, classes) == SCHEMA


TAKEN: dict[str, Callable[[], bool]] = {
    **{f"arrays of {kind}": _array(kind) for kind in ("u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", ">i4", ">u2")},
    "lists as rows": _listed,
    "lists as names": _lists_of_names,
    "arrays are copied": _copied,
    "a list of indices": lambda: DATA.take([1]).numbers.tolist() == [9],
    "a list as a mask": lambda: DATA.take([False, True]).numbers.tolist() == [9],
    "an array of indices": lambda: DATA.take(np.array([1, 0])).numbers.tolist() == [9, 7],
    "candidates of a list": lambda: FullSpace(SCHEMA).candidates(ROWS).clean.tolist() == ROWS,  # type: ignore[arg-type]
    "a budget of NumPy": lambda: type(ThreatModel(FullSpace(SCHEMA), np.int64(2)).budget) is int,  # type: ignore[arg-type]
    "a seed of NumPy": lambda: torch_generator(np.int64(2)).initial_seed() == 2,  # type: ignore[arg-type]
}


def _outcome(call: Callable[[], object]) -> str:
    try:
        return "as expected" if call() is True else "taken"
    except Exception as error:
        return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    json.dump({name: _outcome(call) for name, call in {**REFUSED, **TAKEN}.items()}, sys.stdout)
