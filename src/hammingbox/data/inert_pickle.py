"""Reads lists of integers from a pickle file without unpickling it.

A pickle is a program, and running it may do anything. This reader parses the opcodes with ``pickletools``, which runs
nothing, and interprets only those that build numbers, strings, lists and tuples. A function call in the file becomes a
record of that call and is never made. The few calls that NumPy writes for an array are then decoded from their bytes.
"""

import pickletools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hammingbox.errors import FileError
from hammingbox.files import read_bytes


@dataclass
class _Call:
    """A call that the file asks for: the function and its arguments. It is never made."""

    name: str
    arguments: Any
    state: Any = None


class _Mark:
    """Marks the start of a list or tuple on the stack."""


_INTEGERS = ("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4")
_BYTES = ("STRING", "BINSTRING", "SHORT_BINSTRING", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8")
_TEXTS = ("UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8")
_LITERALS = frozenset((*_INTEGERS, *_BYTES, *_TEXTS))
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_MOST = 10_000_000
"""The most numbers a file may expand to: a short file can refer to one long list many times."""
_MODULES = ("numpy.core.multiarray", "numpy._core.multiarray", "numpy._core.numeric", "numpy.core.numeric")


def read_integers(path: Path) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The integers of a pickled list, list of lists or integer array.

    Raises:
        FileError: the file is missing, is damaged, or contains anything else.
    """
    content = read_bytes(path)
    try:
        numbers = np.array(_decoded(_Reader().read(content), depth=2))
        if numbers.dtype.kind not in "iu":
            raise ValueError(f"values of type {numbers.dtype}")
        return numbers.astype(np.int64)
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, UnicodeError) as error:
        raise FileError(
            f"expected a pickle of plain lists of integers in {path}, got another or a damaged file ({error}). "
            "It was not unpickled; convert it to CSV if you trust it."
        ) from error


class _Reader:
    """The part of the pickle machine that builds values; it runs no code of the file."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def read(self, content: bytes) -> Any:
        for opcode, argument, _ in pickletools.genops(content):
            name = opcode.name
            if name == "STOP":
                return self.stack.pop()
            if name in _LITERALS:
                self.stack.append(argument)
            elif name in _CONSTANTS:
                self.stack.append(_CONSTANTS[name])
            elif name in _TUPLES:
                self.stack.append(tuple(self._pop(_TUPLES[name])))
            elif name in _STEPS:
                _STEPS[name](self, argument)
            elif name not in ("PROTO", "FRAME"):
                raise ValueError(f"the instruction {name}")
        raise ValueError("no STOP instruction")

    def _pop(self, count: int) -> list[Any]:
        taken = self.stack[-count:]
        del self.stack[-count:]
        return taken

    def _since_mark(self) -> list[Any]:
        start = max(place for place, value in enumerate(self.stack) if isinstance(value, _Mark))
        taken = self.stack[start + 1 :]
        del self.stack[start:]
        return taken

    def _extend(self, values: list[Any]) -> None:
        if not isinstance(self.stack[-1], list):
            raise TypeError("an item appended to something other than a list")
        self.stack[-1].extend(values)

    def _named(self, name: str) -> None:
        self.stack.append(_Call(name, None))

    def _reduce(self) -> None:
        function, arguments = self._pop(2)
        self.stack.append(_Call(function.name, arguments))

    def _build(self) -> None:
        (state,) = self._pop(1)
        self.stack[-1].state = state


_STEPS: dict[str, Callable[[_Reader, Any], None]] = {
    "MARK": lambda r, _: r.stack.append(_Mark()),
    "EMPTY_LIST": lambda r, _: r.stack.append([]),
    "LIST": lambda r, _: r.stack.append(r._since_mark()),
    "TUPLE": lambda r, _: r.stack.append(tuple(r._since_mark())),
    "APPEND": lambda r, _: r._extend(r._pop(1)),
    "APPENDS": lambda r, _: r._extend(r._since_mark()),
    "GLOBAL": lambda r, argument: r._named(argument.replace(" ", ".")),
    "STACK_GLOBAL": lambda r, _: r._named(".".join(r._pop(2))),
    "REDUCE": lambda r, _: r._reduce(),
    "BUILD": lambda r, _: r._build(),
    "MEMOIZE": lambda r, _: r.memo.__setitem__(len(r.memo), r.stack[-1]),
    **{name: lambda r, place: r.memo.__setitem__(int(place), r.stack[-1]) for name in ("PUT", "BINPUT", "LONG_BINPUT")},
    **{name: lambda r, place: r.stack.append(r.memo[int(place)]) for name in ("GET", "BINGET", "LONG_BINGET")},
}


def _decoded(value: Any, *, depth: int) -> Any:
    """Lists and tuples as lists, and recorded NumPy calls as numbers; any other call is refused."""
    if isinstance(value, list | tuple):
        if depth == 0 or sum(len(part) if isinstance(part, list | tuple) else 1 for part in value) > _MOST:
            raise ValueError("lists that are too deep or too long")
        return [_decoded(part, depth=depth - 1) for part in value]
    return _array(value).tolist() if isinstance(value, _Call) else value


def _array(call: _Call) -> np.ndarray[Any, np.dtype[Any]]:
    """The numbers of a NumPy scalar or array, from the recorded call that would build it."""
    module, _, function = call.name.rpartition(".")
    if module not in _MODULES or function not in ("scalar", "_reconstruct", "_frombuffer"):
        raise ValueError(f"a call to {call.name}")
    shape: Any = ()
    fortran: Any = False
    if function == "scalar":
        kind, content = call.arguments
    elif function == "_reconstruct":
        _, shape, kind, fortran, content = call.state
    else:
        content, kind, shape, order = call.arguments
        fortran = order == "F"
    numbers = np.frombuffer(_bytes(content), dtype=_integer_type(kind))
    return numbers.reshape(shape, order="F" if fortran else "C")


def _bytes(content: Any) -> bytes:
    """The bytes of an array; old protocols write them as a call that encodes a string."""
    if isinstance(content, _Call) and content.name == "_codecs.encode":
        return content.arguments[0].encode("latin-1")
    if not isinstance(content, bytes | bytearray):
        raise TypeError("an array without bytes")
    return bytes(content)


def _integer_type(kind: _Call) -> np.dtype[Any]:
    """The integer type of a recorded call of ``numpy.dtype("i8", ...)``, with the byte order of its state."""
    code = kind.arguments[0]
    if kind.name != "numpy.dtype" or code[0] not in "iu":
        raise ValueError(f"values of type {code!r}")
    return np.dtype(("<" if kind.state[1] == "|" else kind.state[1]) + code)
