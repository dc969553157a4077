"""Where the entries of a TOML file stand."""

import tomllib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hammingbox.threat.toml_lines import TomlLines

TEXT = '''\
# a comment with = and [brackets]
unit = "0.1"   # and = here
budgets = [
  1,  # [[relations]]
  2,
]

[columns."a = b"]
price = 1
text = """
[columns.not_a_table]
price = 2
"""
"up" = 3
  [columns.x.deep]  # indented
  write = { "1" = 10, "]" = 2 }
a.b = 5

[[relations]]
kind = "x"
[[relations]]
kind = "y"
literal = '[[relations]]'
[[ relations ]]
name = "third"
[relations.inner]
key = 1
'''


def test_each_entry_has_its_line() -> None:
    tomllib.loads(TEXT)
    lines = TomlLines(TEXT)
    for path, line in {
        ("unit",): 2, ("budgets",): 3, ("columns", "a = b"): 8, ("columns", "a = b", "price"): 9,
        ("columns", "a = b", "text"): 10, ("columns", "a = b", "up"): 14, ("columns", "x", "deep"): 15,
        ("columns", "x", "deep", "write"): 16, ("columns", "x", "deep", "a", "b"): 17, ("relations", 0): 19,
        ("relations", 1, "literal"): 23, ("relations", 2, "name"): 25, ("relations", 2, "inner", "key"): 27,
    }.items():  # fmt: skip
        assert lines.of(*path) == line, path
    assert lines.of("columns", "x", "deep", "write", "1") == 16, "inside a value: the line of its key"
    assert lines.of("nothing") == 1


_KEYS = st.text(st.sampled_from("ab =[]#.\"'\\é"), min_size=1, max_size=4)


def _quoted(key: str) -> str:
    return '"' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'


@given(
    st.lists(st.tuples(_KEYS, st.sampled_from(["1", '"[x]"', "[\n1, # ]\n2]", "'''\n[a]\n'''", '"a\\"]"', "{a = 1}"])))
)
def test_any_keys_and_values(pairs: list[tuple[str, Any]]) -> None:
    entries = dict(pairs)
    text, wanted, number = "", {}, 1
    for key, value in entries.items():
        line = f"{_quoted(key)} = {value}\n"
        wanted[key] = number
        number += line.count("\n")
        text += line
    assert tomllib.loads(text).keys() == entries.keys()
    lines = TomlLines(text)
    for key, number in wanted.items():
        assert lines.of(key) == number


@given(st.text(st.sampled_from("ab=[]{}#\"'\n\\. 1"), max_size=60))
def test_any_text_is_scanned(text: str) -> None:
    TomlLines(text)
