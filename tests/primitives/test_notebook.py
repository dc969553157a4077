"""What notebooks show: escaped HTML, and a missing library named with its extra."""

import sys

import pytest

from hammingbox.errors import InputError, did_you_mean, unknown_name
from hammingbox.notebook import axes_or_new, data_frame, html_table


def test_names_of_users_are_shown_as_they_are() -> None:
    page = html_table("<b>$x$", ["<i>"], [["<script>", 3]], ["a & b"])
    assert "<script>" not in page
    assert "&lt;b&gt;&#36;x&#36;" in page
    assert "a &amp; b" in page


def test_a_missing_library_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match=r"pip install 'hammingbox\[notebook\]'"):
        data_frame({"a": [1]})
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r"pip install 'hammingbox\[notebook\]'"):
        axes_or_new(None)


@pytest.mark.parametrize(
    ("name", "known", "guess"),
    [
        ("Age", ["age", "job"], " Did you mean 'age'?"),
        ("INCOME", ["Income"], " Did you mean 'Income'?"),
        ("incme", ["Income"], " Did you mean 'Income'?"),
        ("zzz", ["age", "job"], ""),
        ("anything", [], ""),
    ],
)
def test_the_closest_name_is_suggested_whatever_its_case(name: str, known: list[str], guess: str) -> None:
    assert did_you_mean(name, known) == guess
    assert str(unknown_name("column", name, known)).endswith(f"got {name!r}.{guess}")
