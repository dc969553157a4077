"""Texts of numbers, dates and booleans."""

from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hammingbox.data.schema import Feature, Schema
from hammingbox.data.values import is_exact_number, number_of, ordered_texts, stepped, text_of
from hammingbox.errors import FileError, InputError


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_survives_its_text(number: float) -> None:
    assert number_of(text_of(number, "number"), "number") == number


@given(st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)))
def test_a_moment_survives_its_text(moment: datetime) -> None:
    seconds = number_of(str(moment), "date")
    assert seconds is not None
    again = number_of(text_of(seconds, "date"), "date")
    assert again == pytest.approx(seconds, abs=1e-4), "float64 holds microseconds only near 1970"


def test_what_is_a_date() -> None:
    noon = datetime(2013, 1, 25, 12, tzinfo=UTC).timestamp()
    for text in ("2013-01-25 12:00", "2013-01-25T12:00:00Z", "2013-01-25T13:00:00+01:00", "2013-01-25 12:00:00.000"):
        assert number_of(text, "date") == noon, text
    for text in ("20130125", "2013-W04-5", "25.01.2013", "2013-13-01", "2013-1-5", "", "12:00"):
        assert number_of(text, "date") is None, text


def test_values_are_distinct_and_in_order() -> None:
    assert ordered_texts(["10", "9", "1.50", "1.5", "x", "", "-0", "0"], "number") == ("0", "1.5", "9", "10")
    assert ordered_texts(["TRUE", "False", "True", "1"], "boolean") == ("False", "1")
    assert stepped(0.1, 0.2, "number") == 0.3
    assert text_of(stepped(number_of("2020-02-28", "date") or 0, 2, "date"), "date") == "2020-03-01"
    assert not is_exact_number("12345678901234567890")
    assert is_exact_number("1e300")
    assert not any(map(is_exact_number, ("00510", "+007.5", "2011_01", "\u0661\u0662")))
    assert number_of("1_000", "number") is None


def test_a_feature_of_numbers() -> None:
    feature = Feature("x", ("-1", "2.5", "30", "?", "<missing>"), "number")
    assert feature.numbers[:3].tolist() == [-1.0, 2.5, 30.0]
    assert bool(np.isnan(feature.numbers[3:]).all())
    assert [feature.id_of(value) for value in ("30.0", 30, "3e1", "?", "31")] == [2, 2, 2, 3, None]
    for wrong in (("2", "1"), ("1", "1.0"), ("<missing>", "1")):
        with pytest.raises(InputError, match="values of feature 'x' in increasing order"):
            Feature("x", wrong, "number")
    with pytest.raises(InputError, match="known kind of feature 'x'"):
        Feature("x", ("1",), "numeric")


def test_schemas_of_categories_keep_their_digest_and_form() -> None:
    """The digest of a schema as it was before columns had kinds: checkpoints and stores hold it."""
    plain = Schema((Feature("a", ("u", "v")), Feature("b", ("1", "2"))), ("no", "yes"))
    assert plain.digest == "dd20f0b05e39c1764075730a617a87b9c8c024ceb7a53a8e7498b18cc54e2f6c"
    assert set(plain.to_json()) == {"vocabularies", "features", "classes"}
    with_boolean = Schema((Feature("a", ("u", "v"), "boolean"), Feature("b", ("1", "2"))), ("no", "yes"))
    assert with_boolean.digest == plain.digest, "a boolean is two categories"
    numbers = Schema((Feature("a", ("u", "v")), Feature("b", ("1", "2"), "number")), ("no", "yes"))
    assert numbers.digest != plain.digest
    assert Schema.from_json(numbers.to_json()) == numbers
    more = Schema((Feature("a", ("u", "v")), Feature("b", ("1", "2", "3"), "number")), ("no", "yes"))
    assert (more.digest == numbers.digest, more.form_digest == numbers.form_digest) == (False, True)
    for kinds in (["category"], ["category", "numbers"], 3, [None, None]):
        with pytest.raises(FileError):
            Schema.from_json(numbers.to_json() | {"kinds": kinds})
