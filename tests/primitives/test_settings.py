"""Invalid settings are refused when an attack or a defence is created, and the message says what was expected."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Optional

import pytest

from hammingbox.attacks import ATTACKS
from hammingbox.errors import InputError
from hammingbox.settings import check_settings


@dataclass(kw_only=True)
class Toy:
    """One setting of each kind. Type checks of the test run do not apply to it."""

    may_be_zero: ClassVar[tuple[str, ...]] = ("penalty",)

    ascent: Literal["mirror", "adam"] = "mirror"
    steps: int = 3
    penalty: float = 1.0
    start: float | None = None
    zetas: tuple[float, ...] = (1.0, 2)
    leave: bool = False

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(kw_only=True)
class ToyChild(Toy):
    """Adds a setting that may be 0."""

    may_be_zero: ClassVar[tuple[str, ...]] = ("warm",)

    warm: int = 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"ascent": "mirorr"}, r"known ascent \(adam, mirror\), got 'mirorr'\. Did you mean 'mirror'\?"),
        ({"ascent": 3}, r"known ascent \(adam, mirror\), got '3'"),
        ({"start": "now"}, r"expected start as float \| None, got 'now'"),
        ({"start": 0.0}, r"expected start above 0, got 0\.0"),
        ({"steps": None}, "expected steps as int, got None"),
        ({"steps": True}, "expected steps as int, got True"),
        ({"steps": 2.5}, r"expected steps as int, got 2\.5"),
        ({"steps": 0}, "expected steps above 0, got 0"),
        ({"penalty": -1}, "expected penalty of at least 0, got -1"),
        ({"penalty": float("nan")}, "expected penalty of at least 0, got nan"),
        ({"zetas": ()}, "expected at least one value for zetas, got none"),
        ({"zetas": (1.0, -0.5)}, r"expected zetas above 0, got -0\.5"),
        ({"zetas": 1.5}, r"expected zetas as tuple\[float, \.\.\.\], got 1\.5"),
        ({"leave": 1}, "expected leave as bool, got 1"),
    ],
)
def test_an_invalid_setting_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ToyChild(**settings)


def test_the_smallest_values_are_accepted() -> None:
    ToyChild(penalty=0, warm=0, start=1, steps=1)
    ATTACKS["pcaa"](penalty=0.0, zetas=(0.5,), start=None)
    ATTACKS["evolution"](generations=0, keep=0.0, follow=0.0)
    ATTACKS["local"](steps=0)
    ATTACKS["random"](queries=1)


@pytest.mark.parametrize(("name", "settings"), [("pcaa", {"tau": 0.0}), ("swap", {"tries": 0}), ("ga", {"queries": 0})])
def test_attacks_check_their_settings(name: str, settings: dict[str, object]) -> None:
    with pytest.raises(InputError, match="above 0, got 0"):
        ATTACKS[name](**settings)


@dataclass(kw_only=True)
class Unusual:
    """Types that no attack of the package uses, but an attack of a user may."""

    old_style: Optional[float] = None  # noqa: UP045
    names: list[str] = field(default_factory=list)
    rule: Callable[[int], int] = abs
    anything: Any = None

    def __post_init__(self) -> None:
        check_settings(self)


def test_types_of_any_form_are_checked() -> None:
    Unusual(old_style=1, names=["a"], anything="b")
    for settings, message in (
        ({"old_style": "x"}, "expected old_style as .*float.*, got 'x'"),
        ({"old_style": True}, "expected old_style as .*float.*, got True"),
        ({"names": "a"}, r"expected names as list\[str\], got 'a'"),
        ({"rule": 3}, "expected rule as .*Callable.*, got 3"),
    ):
        with pytest.raises(InputError, match=message):
            Unusual(**settings)
