"""The data sets that come with the package, by name, each with the threat that makes sense for it."""

from collections.abc import Callable
from dataclasses import dataclass

from hammingbox.data import splice
from hammingbox.data.schema import Splits
from hammingbox.errors import unknown_name


@dataclass(frozen=True)
class Source:
    """A data set by name.

    Attributes:
        load: gives the three parts.
        summary: one line for `data list`.
        forbidden: categories an attacker may not write, by feature ("*" for all).
        kept: clean categories an attacker may not replace.
    """

    load: Callable[[], Splits]
    summary: str
    forbidden: dict[str, list[str]]
    kept: dict[str, list[str]]


DATASETS: dict[str, Source] = {
    "splice": Source(
        load=splice.load,
        summary="Splice junctions in primate DNA (UCI): 60 bases, 3 classes; shipped with the package",
        # N says that a base could not be read: no mutation writes it, and no model has learned what it means.
        forbidden={"*": ["N"]},
        kept={},
    ),
}


def source_named(name: str) -> Source:
    """A data set of the table.

    Raises:
        InputError: the table has no such name.
    """
    if name not in DATASETS:
        raise unknown_name("data set", name, DATASETS)
    return DATASETS[name]
