"""The structure of XGBoost's ``.ubj`` files (UBJSON): XGBoost itself may loop or die at a truncated one."""

_SIZES = {b"i": 1, b"U": 1, b"I": 2, b"l": 4, b"d": 4, b"L": 8, b"D": 8, b"C": 1, b"T": 0, b"F": 0, b"Z": 0, b"N": 0}
"""Bytes after the mark of a plain value."""


def is_whole(content: bytes) -> bool:
    """Whether a file is one complete value with nothing after it."""
    try:
        return _end_of_value(content, 0) == len(content)
    except (IndexError, ValueError, RecursionError):
        return False


def _end_of_value(content: bytes, place: int) -> int:
    mark = _mark(content, place)
    if mark in _SIZES:
        return _inside(content, place + 1 + _SIZES[mark])
    if mark == b"S":
        return _end_of_text(content, place + 1)
    if mark == b"[":
        return _end_of_list(content, place + 1)
    if mark != b"{":
        raise ValueError(f"unknown mark {mark!r}")
    place += 1
    while _mark(content, place) != b"}":
        place = _end_of_value(content, _end_of_text(content, place))
    return place + 1


def _end_of_list(content: bytes, place: int) -> int:
    kind = None
    if _mark(content, place) == b"$":
        kind, place = _mark(content, place + 1), place + 2
    if _mark(content, place) == b"#":
        count, place = _length(content, place + 1)
        if kind is not None:
            return _inside(content, place + count * _SIZES[kind] if kind in _SIZES else -1)
        for _ in range(count):
            place = _end_of_value(content, place)
        return place
    while _mark(content, place) != b"]":
        place = _end_of_value(content, place)
    return place + 1


def _end_of_text(content: bytes, place: int) -> int:
    length, place = _length(content, place)
    return _inside(content, place + length)


def _length(content: bytes, place: int) -> tuple[int, int]:
    size = _SIZES.get(_mark(content, place), 0)
    end = _inside(content, place + 1 + size)
    length = int.from_bytes(content[place + 1 : end], "big")
    if not size or length > len(content):
        raise ValueError("a length beyond the end")
    return length, end


def _mark(content: bytes, place: int) -> bytes:
    return content[_inside(content, place) : _inside(content, place + 1)]


def _inside(content: bytes, place: int) -> int:
    if not 0 <= place <= len(content):
        raise IndexError("beyond the end")
    return place
