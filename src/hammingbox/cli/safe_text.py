"""Text of strangers on a terminal: control characters are shown, never obeyed.

A category, a class or the name of a file may hold escape sequences that move the cursor, hide lines or rename the
window, and marks that reverse the order in which text is read.
"""

import re

_CONTROL = re.compile("[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]")
"""C0 and C1 control characters except tab and line feed, line separators, and marks that change the direction."""


def shown_text(text: str) -> str:
    """Text with a visible sign in place of each control character: ESC becomes U+241B."""
    return _CONTROL.sub(_sign, text)


def one_line(text: str) -> str:
    """The same, with line feeds and tabs as signs too: a name cannot begin a line of its own."""
    return shown_text(text).replace("\n", "\u240a").replace("\t", "\u2409")


def escaped_json(text: str) -> str:
    """JSON in which control characters are written as escapes; its value does not change."""
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _sign(found: re.Match[str]) -> str:
    code = ord(found[0])
    return chr(0x2400 + code) if code < 0x20 else "\u2421" if code == 0x7F else "\ufffd"
