"""Reads lists of integers from a pickle file without unpickling it.

A pickle is a program, and running it may do anything. This reader parses the opcodes with ``pickletools``, which runs
nothing, and interprets only those that build numbers, strings, lists and tuples. A function call in the file becomes a
record of that call and is never made. The few calls that NumPy writes for an array are then decoded from their bytes,
or from their list of objects.

Time and memory are linear in the file and in the numbers it stands for, and both are limited: a short file can refer to
one long list many times.
"""

import pickletools
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from hammingbox.errors import FileError
from hammingbox.files import read_bytes, unreadable

MOST_BYTES = 16 * 2**20
"""The longest file that is read."""
MOST_INSTRUCTIONS = 1_000_000
"""The most instructions that are interpreted; one of a single byte can take a hundred bytes of memory."""
MOST_NUMBERS = 1_000_000
"""The most numbers a file may stand for, counted again at every reference to them."""
_LONGEST_NAME = 200

_Numbers = np.ndarray[Any, np.dtype[np.int64]]


class _LimitError(Exception):
    """A file that is above one of the limits; says which."""


@dataclass
class _Call:
    """A call that the file asks for: the function and its arguments. It is never made."""

    name: str
    arguments: Any
    state: Any = None


_INTEGERS = ("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4")
_BYTES = ("STRING", "BINSTRING", "SHORT_BINSTRING", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8")
_TEXTS = ("UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8")
_LITERALS = frozenset((*_INTEGERS, *_BYTES, *_TEXTS))
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_MODULES = ("numpy.core.multiarray", "numpy._core.multiarray", "numpy._core.numeric", "numpy.core.numeric")


def read_integers(path: Path) -> _Numbers:
    """The integers of a pickled list, list of lists, or array of integers or of objects that are integers.

    Raises:
        FileError: the file is missing, is damaged, is above a limit, or contains anything else.
    """
    try:
        _limit(path.stat().st_size, MOST_BYTES, "bytes")
        return _Decoder().table(_Reader().read(read_bytes(path)))
    except OSError as error:
        raise unreadable(path, error) from error
    except _LimitError as error:
        raise FileError(
            f"expected a pickle of at most {error} in {path}, got more. It was not unpickled; convert it to CSV if you "
            "trust it."
        ) from error
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise FileError(
            f"expected a pickle of plain lists of integers in {path}, got another or a damaged file ({error}). "
            "It was not unpickled; convert it to CSV if you trust it."
        ) from error


def _limit(count: int, most: int, what: str) -> None:
    if count > most:
        raise _LimitError(f"{most:,} {what}")


class _Reader:
    """The part of the pickle machine that builds values; it runs no code of the file."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.below: list[list[Any]] = []
        """For each open mark, the stack below it: what follows a mark is found without a search."""
        self.memo: dict[int, Any] = {}

    def read(self, content: bytes) -> Any:
        for count, (opcode, argument, _) in enumerate(pickletools.genops(content), 1):
            if count > MOST_INSTRUCTIONS:
                raise _LimitError(f"{MOST_INSTRUCTIONS:,} instructions")
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
        if len(self.stack) < count:
            raise IndexError("a value taken from an empty stack")
        taken = self.stack[-count:]
        del self.stack[-count:]
        return taken

    def _mark(self) -> None:
        self.below.append(self.stack)
        self.stack = []

    def _since_mark(self) -> list[Any]:
        taken, self.stack = self.stack, self.below.pop()
        return taken

    def _collect(self, kind: Callable[[list[Any]], Any]) -> None:
        values = kind(self._since_mark())
        self.stack.append(values)

    def _extend(self, values: list[Any]) -> None:
        if not isinstance(self.stack[-1], list):
            raise TypeError("an item appended to something other than a list")
        self.stack[-1].extend(values)

    def _named(self, *parts: str) -> None:
        if sum(map(len, parts)) > _LONGEST_NAME:
            raise ValueError("a long name of a function")
        self.stack.append(_Call(".".join(parts), None))

    def _reduce(self) -> None:
        function, arguments = self._pop(2)
        self.stack.append(_Call(function.name, arguments))

    def _build(self) -> None:
        (state,) = self._pop(1)
        self.stack[-1].state = state


_STEPS: dict[str, Callable[[_Reader, Any], None]] = {
    "MARK": lambda r, _: r._mark(),
    "EMPTY_LIST": lambda r, _: r.stack.append([]),
    "LIST": lambda r, _: r._collect(list),
    "TUPLE": lambda r, _: r._collect(tuple),
    "APPEND": lambda r, _: r._extend(r._pop(1)),
    "APPENDS": lambda r, _: r._extend(r._since_mark()),
    "GLOBAL": lambda r, argument: r._named(*argument.split(" ", 1)),
    "STACK_GLOBAL": lambda r, _: r._named(*r._pop(2)),
    "REDUCE": lambda r, _: r._reduce(),
    "BUILD": lambda r, _: r._build(),
    "MEMOIZE": lambda r, _: r.memo.__setitem__(len(r.memo), r.stack[-1]),
    **{name: lambda r, place: r.memo.__setitem__(int(place), r.stack[-1]) for name in ("PUT", "BINPUT", "LONG_BINPUT")},
    **{name: lambda r, place: r.stack.append(r.memo[int(place)]) for name in ("GET", "BINGET", "LONG_BINGET")},
}


class _Decoder:
    """Turns what the reader built into an array; counts every number before it takes memory."""

    def __init__(self) -> None:
        self.numbers = 0

    def table(self, value: Any) -> _Numbers:
        """The rows of a list of lists, or the numbers of a list; arrays count as lists."""
        found = self._resolved(value, dimensions=2)
        if isinstance(found, np.ndarray):
            return found
        if not isinstance(found, list | tuple):
            raise TypeError(f"a value of type {type(found).__name__}")
        if not (found and _is_row(found[0])):
            return self._row(found)
        rows = [self._row(part) for part in found]
        if len({len(row) for row in rows}) != 1:
            raise ValueError("rows of different lengths")
        return np.stack(rows)

    def _row(self, value: Any) -> _Numbers:
        """One dimension of integers."""
        found = self._resolved(value, dimensions=1)
        if isinstance(found, np.ndarray) and found.ndim == 1:
            return found
        if not isinstance(found, list | tuple):
            raise TypeError(f"a value of type {type(found).__name__} among rows")
        self._count(len(found))
        plain = all(type(number) is int for number in found)
        return np.array(found if plain else [self._integer(number) for number in found], dtype=np.int64)

    def _integer(self, value: Any) -> int:
        found = self._resolved(value, dimensions=0)
        if not isinstance(found, np.ndarray) and type(found) is not int:
            raise TypeError(f"a value of type {type(found).__name__} among integers")
        return int(found)

    def _resolved(self, value: Any, *, dimensions: int) -> Any:
        """A recorded NumPy call as an array of integers or a list of its objects; anything else as it is.

        Args:
            value: what the reader built.
            dimensions: the most that an array may have in this place.
        """
        if not isinstance(value, _Call):
            return value
        module, _, function = value.name.rpartition(".")
        if module not in _MODULES or function not in ("scalar", "_reconstruct", "_frombuffer"):
            raise ValueError(f"a call to {value.name}")
        shape: Any = ()
        fortran: Any = False
        if function == "scalar":
            kind, content = value.arguments
        elif function == "_reconstruct":
            _, shape, kind, fortran, content = value.state
        else:
            content, kind, shape, order = value.arguments
            fortran = order == "F"
        if not isinstance(shape, tuple) or len(shape) > dimensions or not all(type(n) is int and n >= 0 for n in shape):
            raise ValueError("an array of another shape than a list or a table in its place")
        if isinstance(content, list):
            return self._objects(content, shape, kind)
        if shape:
            self._count(prod(shape))
        numbers = np.frombuffer(_bytes(content), dtype=_integer_type(kind))
        if numbers.dtype.kind == "u" and (numbers > np.iinfo(np.int64).max).any():
            raise OverflowError("integers of more than 63 bits")
        return numbers.reshape(shape, order="F" if fortran else "C").astype(np.int64)

    def _objects(self, content: list[Any], shape: tuple[int, ...], kind: _Call) -> list[Any]:
        """The objects of an array, which NumPy lists row by row whatever the order in memory."""
        if kind.name != "numpy.dtype" or kind.arguments[0] not in ("O", "O4", "O8") or len(content) != prod(shape):
            raise ValueError("a damaged array of objects")
        if len(shape) != 2:
            return content
        return [content[start : start + shape[1]] for start in range(0, len(content), max(1, shape[1]))]

    def _count(self, numbers: int) -> None:
        self.numbers += numbers
        _limit(self.numbers, MOST_NUMBERS, "numbers")


def _is_row(value: Any) -> bool:
    """Whether an item of a list is a row and not a number."""
    return isinstance(value, list | tuple) or (isinstance(value, _Call) and not value.name.endswith(".scalar"))


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
