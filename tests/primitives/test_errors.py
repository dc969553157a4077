"""Messages say what was expected, what was found, and how to fix it."""

from hammingbox.errors import HammingboxError, InputError, missing_library, unknown_name


def test_an_unknown_name_lists_the_known_ones_and_suggests_the_closest() -> None:
    error = unknown_name("attack", "pcca", ["pcaa", "auto"])
    assert str(error) == "expected the name of a known attack (auto, pcaa), got 'pcca'. Did you mean 'pcaa'?"
    assert str(unknown_name("attack", "zzz", ["pcaa"])) == "expected the name of a known attack (pcaa), got 'zzz'."


def test_a_missing_library_is_named_with_its_extra() -> None:
    error = missing_library("pyarrow", "parquet", "to read a.parquet", ImportError("No module named 'pyarrow'"))
    assert isinstance(error, InputError)
    assert isinstance(error, HammingboxError)
    assert str(error) == (
        "expected pyarrow to read a.parquet, got: No module named 'pyarrow'. Run: pip install 'hammingbox[parquet]'."
    )
