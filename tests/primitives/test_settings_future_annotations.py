"""Settings are checked the same way in a module that postpones annotations, where field types are strings."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, ClassVar, Literal

import pytest

from hammingbox.errors import InputError
from hammingbox.settings import check_settings

if TYPE_CHECKING:
    from fractions import Fraction


@dataclass(kw_only=True)
class Toy:
    may_be_zero: ClassVar[tuple[str, ...]] = ("penalty",)

    ascent: Literal["mirror", "adam"] = "mirror"
    steps: int = 3
    penalty: float = 1.0
    start: float | None = None
    zetas: tuple[float, ...] = (1.0, 2)

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(kw_only=True)
class ImportedForTypesOnly:
    share: Fraction | None = None

    def __post_init__(self) -> None:
        check_settings(self)


def test_types_are_strings_in_this_module() -> None:
    assert all(isinstance(field.type, str) for field in fields(Toy))


def test_valid_settings_are_accepted() -> None:
    toy = Toy(ascent="adam", steps=1, penalty=0, start=2, zetas=(0.5,))
    assert (toy.penalty, toy.start) == (0, 2)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"ascent": "mirorr"}, r"known ascent \(adam, mirror\), got 'mirorr'\. Did you mean 'mirror'\?"),
        ({"start": "now"}, r"expected start as float \| None, got 'now'"),
        ({"steps": 2.5}, r"expected steps as int, got 2\.5"),
        ({"steps": 0}, "expected steps above 0, got 0"),
        ({"penalty": -1}, "expected penalty of at least 0, got -1"),
        ({"zetas": 1.5}, r"expected zetas as tuple\[float, \.\.\.\], got 1\.5"),
    ],
)
def test_an_invalid_setting_is_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Toy(**settings)  # type: ignore[arg-type]


def test_a_type_that_does_not_exist_at_run_time_is_named() -> None:
    with pytest.raises(InputError, match=r"ImportedForTypesOnly .* got: name 'Fraction' is not defined\. Import"):
        ImportedForTypesOnly()
