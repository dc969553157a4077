"""Damage to files: each function takes a random generator and gives back other bytes, another value or another table.

The generator is Python's own or one of Hypothesis (`st.randoms`), which can then find the smallest damage that fails.
"""

import copy
import json
import re
from collections.abc import Callable
from random import Random
from typing import Any

ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 9, 99, 255, 2**31, 2**63, 2**64, -(2**63), 10**400, 0.5, -0.0, 1e308, float("inf"),
    float("nan"), "", " ", "x", "0", "=1+1", "\x00", "\x1b[2J", "\ud800", "\u202e", "a" * 5000, "../../etc/passwd",
    [], {}, [[]], [None], [0], ["x"], {"kind": "full"}, {"kind": []}, {"": ""}, [1, 2, 3], ["a", "a"],
)  # fmt: skip
"""Values that stand where something else is due."""

ODD_BYTES = (
    b"\x00", b"\xff", b"\xef\xbb\xbf", b"\xff\xfe", b"\r", b"\r\n", b"\n\n", b'"', b"'", b",", b";", b"\t", b"{", b"[",
    b"]", b"}", b"\\", b"\x1f\x8b", b"PAR1", b"1e999", b"-1", b"NaN", b"9" * 400, b"9" * 5000, b"\xed\xa0\x80", b"\x1a",
    "é".encode("latin-1"), "é".encode("utf-16"), b"=cmd|' /C calc'!A0", b"\x1b]0;owned\x07", b"<script>", b"%00",
    b"../",
)  # fmt: skip


def damaged(content: bytes, random: Random) -> bytes:
    """One to three damages of bytes."""
    for _ in range(random.randint(1, 3)):
        content = random.choice(KINDS)(content, random)
    return content


def truncated(content: bytes, random: Random) -> bytes:
    """Without its end."""
    return content[: random.randint(0, len(content))]


def beheaded(content: bytes, random: Random) -> bytes:
    """Without its beginning."""
    return content[random.randint(0, len(content)) :]


def flipped(content: bytes, random: Random) -> bytes:
    """Some bits changed."""
    found = bytearray(content)
    for _ in range(random.randint(1, 8) if found else 0):
        found[random.randrange(len(found))] ^= 1 << random.randrange(8)
    return bytes(found)


def spliced(content: bytes, random: Random) -> bytes:
    """Something odd put in, or in place of something."""
    place = random.randint(0, len(content))
    return content[:place] + random.choice(ODD_BYTES) + content[place + random.randint(0, 8) :]


def doubled(content: bytes, random: Random) -> bytes:
    """A part of it repeated."""
    start = random.randint(0, len(content))
    end = min(len(content), start + random.randint(0, 200))
    return content[:end] + content[start:end] * random.randint(1, 5) + content[end:]


def zeroed(content: bytes, random: Random) -> bytes:
    """A part of it as zeros, as after a crash of the machine."""
    start = random.randint(0, len(content))
    end = min(len(content), start + random.randint(1, 512))
    return content[:start] + bytes(end - start) + content[end:]


def deep(content: bytes, random: Random) -> bytes:
    """Brackets inside brackets."""
    place = random.randint(0, len(content))
    mark = random.choice((b"[", b"{", b"(", b'{"a":', b"[["))
    return content[:place] + mark * random.choice((50, 2000, 100_000)) + content[place:]


def recoded(content: bytes, random: Random) -> bytes:
    """Text in another encoding."""
    return content.decode("utf-8", "replace").encode(random.choice(("utf-16", "latin-1", "utf-32", "cp037")), "replace")


def other_lines(content: bytes, random: Random) -> bytes:
    """Other ends of lines."""
    return content.replace(b"\n", random.choice((b"\r", b"\r\n", b"\n\r", b"\x00\n", b"\n\n\n", b" \n")))


def long_line(content: bytes, random: Random) -> bytes:
    """A very long piece on one line."""
    place = random.randint(0, len(content))
    return content[:place] + random.choice((b"a", b"1", b",", b'"', b"\xc3\xa9")) * 150_000 + content[place:]


def renumbered(content: bytes, random: Random) -> bytes:
    """Another number in place of one."""
    found = list(_NUMBER.finditer(content[:200_000]))
    if not found:
        return content
    place = random.choice(found)
    number = random.choice((b"-1", b"0", b"1", b"7", b"65536", b"2147483648", b"1e308", b"-inf", b"nan", b"0.5", b""))
    return content[: place.start()] + number + content[place.end() :]


def empty(content: bytes, random: Random) -> bytes:
    """Nothing, or almost nothing."""
    return random.choice((b"", b"\n", b" ", b"\x00", b"{}", b"[]", b"null", b"0"))


_NUMBER = re.compile(rb"-?\d+(\.\d+)?")

KINDS: tuple[Callable[[bytes, Random], bytes], ...] = (
    truncated, beheaded, flipped, flipped, spliced, spliced, doubled, zeroed, deep, recoded, other_lines, long_line,
    empty, renumbered, renumbered,
)  # fmt: skip


def damaged_value(value: Any, random: Random) -> Any:
    """JSON with one to three entries replaced, removed, added or wrapped."""
    holder = {"value": copy.deepcopy(value)}
    for _ in range(random.randint(1, 3)):
        owner, key = random.choice(_places(holder))
        way = random.randrange(6)
        if way == 0 and owner is not holder:
            del owner[key]
        elif way == 1:
            owner[key] = [owner[key]] * random.randint(1, 3)
        elif way == 2:
            owner[key] = nested(owner[key], random.choice((5, 200, 900)))
        else:
            owner[key] = copy.deepcopy(random.choice(ODD_VALUES))
    return holder["value"]


def nested(value: Any, depth: int) -> Any:
    """A value inside lists inside lists."""
    for _ in range(depth):
        value = [value]
    return value


def as_json(value: Any) -> bytes:
    """JSON, also of values that JSON cannot hold."""
    try:
        return json.dumps(value).encode()
    except (ValueError, RecursionError):
        return b"{"


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every entry of a value, as its owner and its key."""
    found: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting and len(found) < 2000:
        owner = waiting.pop()
        for key, inner in list(owner.items() if isinstance(owner, dict) else enumerate(owner)):
            found.append((owner, key))
            if isinstance(inner, dict | list):
                waiting.append(inner)
    return found
