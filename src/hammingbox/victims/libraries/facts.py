"""What has to be known about a model to ask it: its columns, their types, its classes and its answers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hammingbox.victims.answers import Returns
from hammingbox.victims.frames import Container


@dataclass(frozen=True)
class KnownType:
    """What a model says about the type of one of its columns.

    Attributes:
        dtype: as in `ColumnType`.
        categories: the values of a categorical column in the model's order; None for the order of the schema.
    """

    dtype: str
    categories: tuple[Any, ...] | None = None


@dataclass(frozen=True)
class ModelFacts:
    """A model of any library.

    Attributes:
        ask: takes a table in the model's container and returns its answers.
        library: its name, for records and messages.
        container: what `ask` takes.
        names: the names of its columns, in its order; None if it was trained without names.
        count: how many columns it takes; None if it does not say.
        types: what it knows about columns, by name, or by place if there are no names.
        classes: its classes in the order of its answers; None if it does not say.
        returns: what `ask` returns; None to tell from the answers.
        identity: hash of its content; empty if there is none.
        notes: what a user should know about how it is asked.
        seen_classes: its classes, for a model that names them in its answers only; called after the first answer.
        tree_model: the model whose trees can be read, if it is one, for exact certificates.
        encode: what turns the table into the numbers that these trees see; None if they see the table's own.
    """

    ask: Callable[[Any], Any]
    library: str
    container: Container = "frame"
    names: tuple[str, ...] | None = None
    count: int | None = None
    types: Mapping[str | int, KnownType] = field(default_factory=dict)
    classes: tuple[Any, ...] | None = None
    returns: Returns | None = None
    identity: str = ""
    notes: tuple[str, ...] = ()
    seen_classes: Callable[[], tuple[Any, ...] | None] | None = None
    tree_model: Any = None
    encode: Callable[[Any], Any] | None = None
