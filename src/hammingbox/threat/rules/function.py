"""A relation of the user's own: a Python function with a name. It is called only when its owner passes it by name."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
import torch

from hammingbox.data.schema import Schema
from hammingbox.errors import InputError
from hammingbox.threat.rules.relation import PointIds, PointMask, Relation, indices_of, names_of

Values = Mapping[str, "np.ndarray[Any, np.dtype[Any]]"]
"""Columns by name: float arrays of numbers, dates (seconds since 1970) and booleans, text arrays of categories."""
Keeps = Callable[[Values, Values], Any]
"""Says of many points, from their values and those of the clean rows, which keep the rule: a bool per point."""


class Function(Relation):
    """A rule of the user's own.

    Args:
        schema: what the ids mean.
        function: "package.module:name"; identifies the rule in records.
        columns: names of the columns it reads.
        call: the function itself. It must depend on nothing but its arguments.
        name: what reports call it.

    Raises:
        InputError: an unknown column.
    """

    kind = "function"

    def __init__(self, schema: Schema, function: str, columns: Sequence[str], call: Keeps, name: str = "") -> None:
        self._schema, self.function, self._call = schema, check_function_name(function), call
        self.columns = indices_of(schema, columns)
        self.name = name or function
        self._tables = {
            schema.features[c].name: np.array(schema.features[c].categories, dtype=object)
            if schema.features[c].kind == "category"
            else schema.features[c].numbers
            for c in self.columns
        }

    @property
    def code(self) -> Keeps:
        """The function itself."""
        return self._call

    def holds(self, written: PointIds, clean: PointIds) -> PointMask:
        """What the function says.

        Raises:
            InputError: it raises, or returns something other than one truth per point.
        """
        written, clean = torch.broadcast_tensors(written, clean)
        points = (
            written.reshape(-1, len(self.columns)).cpu().numpy(),
            clean.reshape(-1, len(self.columns)).cpu().numpy(),
        )
        texts = [{name: table[ids[:, k]] for k, (name, table) in enumerate(self._tables.items())} for ids in points]
        try:
            answer = np.asarray(self._call(texts[0], texts[1]))
        except Exception as error:
            raise InputError(
                f"expected the function {self.function!r} to say which points keep the rule, "
                f"got {type(error).__name__}: {str(error)[:200]}."
            ) from error
        if answer.dtype != np.bool_ or answer.shape != (len(points[0]),):
            raise InputError(
                f"expected one bool per point from the function {self.function!r} ({len(points[0])} points), "
                f"got {answer.dtype} of shape {answer.shape}."
            )
        return torch.from_numpy(np.array(answer)).to(written.device).reshape(written.shape[:-1])

    def to_json(self) -> dict[str, Any]:
        """The name of the function, never its code."""
        return {
            "kind": self.kind,
            "name": self.name,
            "function": self.function,
            "columns": names_of(self._schema, self.columns),
        }


def check_function_name(name: Any) -> str:
    """A name such as package.module:name.

    Raises:
        InputError: it has another form.
    """
    module, _, attribute = name.partition(":") if isinstance(name, str) else ("", "", "")
    if not attribute.isidentifier() or not all(part.isidentifier() for part in module.split(".")):
        raise InputError(f"expected a function as package.module:name, got {name!r:.80}.")
    return str(name)


def import_function(name: str) -> Keeps:
    """The function that a name stands for; its module is imported, so call this only with names that its owner passes.

    Raises:
        InputError: there is no such module or function.
    """
    module, _, attribute = check_function_name(name).partition(":")
    try:
        found = getattr(import_module(module), attribute)
    except Exception as error:
        raise InputError(
            f"expected the function {name!r} to be importable, got {type(error).__name__}: {str(error)[:200]}. "
            "Put its folder on PYTHONPATH."
        ) from error
    if not callable(found):
        raise InputError(f"expected a function at {name!r}, got {type(found).__name__}.")
    return found


def function_not_passed(name: str) -> InputError:
    """The error for a rule whose code its owner did not pass."""
    return InputError(
        f"expected rules that can be built from the file, got the Python function {name!r}. "
        f"Pass it by name: functions={{{name!r}: ...}} in Python (hammingbox.verify takes the whole space), or "
        f"--function {name} of `hammingbox threat check`; no file runs code."
    )


def function_from_json(value: Mapping[str, Any], schema: Schema, functions: Mapping[str, Keeps]) -> Function:
    """A stored rule with the code that its owner passed.

    Raises:
        InputError: the function was not passed.
    """
    name = check_function_name(value["function"])
    if name not in functions:
        raise function_not_passed(name)
    return Function(schema, name, value["columns"], functions[name], value["name"])


def functions_named(names: Sequence[str]) -> dict[str, Keeps]:
    """The functions that a user passes by name.

    Raises:
        InputError: a name that cannot be imported, or is no function.
    """
    return {name: import_function(name) for name in names}
