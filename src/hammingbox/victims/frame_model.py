"""Models of any library as victims: they get tables and give back numbers; they have no gradient."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

import torch

from hammingbox.data.schema import Schema
from hammingbox.data.values import MISSING, UNKNOWN
from hammingbox.errors import HammingboxError, InputError, MissingColumnsError, VictimError, VictimRaisedError
from hammingbox.types import Embedded, Ids, Logits
from hammingbox.victims.answers import NAMES_ONLY, Answers, Returns, class_order, classes_not_named
from hammingbox.victims.frames import ColumnType, Container, Frames, text_of, types_of
from hammingbox.victims.libraries.facts import ModelFacts
from hammingbox.victims.trees.library_trees import library_trees
from hammingbox.victims.trees.tree_victim import TreeVictim
from hammingbox.victims.victim import Victim
from hammingbox.victims.written_texts import WrittenTexts, asked_with, first_row, is_text

_SHOWN = 8
_LONGEST_REASON = 300


class FrameModel(Victim):
    """A model that is asked with tables: frames, arrays or codes. It pickles if the model does.

    Args:
        ask: takes a table and returns answers.
        frames: builds the table, or the texts, from ids.
        answers: reads what `ask` returns.
        name: identifies the model in a store, in place of its content.
        identity: hash of the model's content.
        notes: what a user should know about how it is asked.
        tree_model: the model itself, if it is made of trees that can be read.
        encode: what the model does to a table before its trees see it.
    """

    has_gradient = False

    def __init__(
        self,
        ask: Callable[[Any], Any],
        frames: Frames | WrittenTexts,
        answers: Answers,
        *,
        name: str = "",
        identity: str = "",
        notes: Sequence[str] = (),
        tree_model: Any = None,
        encode: Callable[[Any], Any] | None = None,
    ) -> None:
        super().__init__()
        self._ask, self.frames, self.answers = ask, frames, answers
        self.name, self.identity, self.notes = name, identity, tuple(notes)
        self.reads_text = isinstance(frames, WrittenTexts) or bool(getattr(ask, "reads_text", False))
        self._tree_model, self._encode = tree_model, encode
        self._read: list[TreeVictim] = []  # in a list: a module of a module would be among its weights

    def as_trees(self) -> TreeVictim | None:
        """The trees of the model, read once and compared with its answers.

        Raises:
            InputError: it is made of trees, but they cannot be read as it is asked.
        """
        if self._tree_model is None:
            return None
        if not self._read:
            self._read.append(library_trees(self, self._tree_model, self._encode))
        return self._read[0]

    def embed(self, ids: Ids) -> Embedded:  # noqa: ARG002
        """Raises VictimError: a black box has no embedding."""
        raise VictimError("expected a victim with gradients, got a black box. Use an attack that needs no gradient.")

    def head(self, embedded: Embedded, ids: Ids) -> Logits:  # noqa: ARG002
        """Raises VictimError: a black box has no head."""
        raise VictimError("expected a victim with gradients, got a black box. Use an attack that needs no gradient.")

    def forward(self, ids: Ids) -> Logits:
        """Log-probabilities in float64, in the order of the schema's classes.

        Raises:
            VictimError: the model fails, or answers with something else.
        """
        returned = self.asked(ids)
        return torch.from_numpy(self.answers.read(returned, len(ids))).to(ids.device)

    def asked(self, ids: Ids) -> Any:
        """What the model itself returns for rows.

        Raises:
            VictimError: it fails.
        """
        table = self.frames.build(ids.cpu().numpy())
        try:
            return self._ask(table)
        except HammingboxError:
            raise
        except (Exception, SystemExit) as error:  # whatever a model of somebody else raises
            reason = " ".join(str(error).split())[:_LONGEST_REASON].rstrip(".")
            raise VictimRaisedError(
                f"expected the model to answer {_rows(len(ids))}, got {type(error).__name__}: {reason}. "
                f"It was given {_outline(table)} Give it the types of its training: `like`, or a columns file."
            ) from error


def _rows(count: int) -> str:
    return f"{count} row{'s' * (count != 1)}"


def model_victim(
    facts: ModelFacts,
    schema: Schema,
    *,
    like: Any = None,
    hint: Any = None,
    classes: Sequence[Any] | None = None,
    takes: Container | None = None,
    returns: Returns | None = None,
    name: str = "",
) -> FrameModel:
    """A victim of a model that a library described. The model is asked about one row, to see that both fit.

    Args:
        facts: what the library says about the model.
        schema: of the table.
        like: a frame as the model was trained on, or a mapping from columns to types; it overrules the facts.
        hint: the same for columns about which neither the facts nor `like` says anything.
        classes: the classes of the table in the order of the model's answers, if the model does not know them.
        takes: what the model takes; by default what it was trained on.
        returns: what the model returns; by default what its answers look like.
        name: identifies the model in a store, in place of its content.

    Raises:
        InputError: model and table do not fit: a missing column, other types, other classes.
        VictimError: the model cannot answer a row of the table.
    """
    frames: Frames | WrittenTexts
    if is_text(schema) and (takes or facts.container) != "codes":
        frames = WrittenTexts(schema)
    else:
        columns = _typed(_matched(facts, schema), facts, schema, like, hint)
        frames = Frames(schema, columns, takes or facts.container)
    order = class_order(facts.classes, schema, classes)
    labels = None if facts.classes is None else tuple(text_of(value) for value in facts.classes)
    if classes is not None:
        labels = tuple(text_of(value) for value in classes)
    kind = returns or facts.returns
    # A column of one probability that a model calls its classes' probabilities is that of the positive class.
    answers = Answers(schema, order, None if kind == "probabilities" and returns is None else kind, labels)
    victim = FrameModel(
        facts.ask, frames, answers, name=name, identity=facts.identity, tree_model=facts.tree_model, encode=facts.encode
    )
    found = victim.asked(torch.from_numpy(first_row(schema)))
    own = None if facts.seen_classes is None else facts.seen_classes()
    if own is not None:
        order = class_order(own, schema, classes)
        victim.answers = answers = replace(answers, order=order)
    answers.read(found, 1)
    victim.notes = (*facts.notes, *_notes(victim, schema, found, order))
    return victim


def _matched(facts: ModelFacts, schema: Schema) -> list[ColumnType]:
    """The columns of the schema that a model takes, in its order.

    Raises:
        InputError: the schema lacks one, or has another number of them.
    """
    own = [feature.name for feature in schema.features]
    if facts.names is None:
        if facts.count is not None and facts.count != len(own):
            raise InputError(
                f"expected a table of {facts.count} features because the model takes so many, got {len(own)} "
                f"({', '.join(own[:_SHOWN])}{', ...' if len(own) > _SHOWN else ''}). Drop or add columns in the schema."
            )
        return [ColumnType(place, name) for place, name in enumerate(own)]
    places = {name: place for place, name in enumerate(own)}
    # LightGBM writes an underscore for a blank, others refuse some brackets.
    loose = {"".join(c if c.isalnum() else "_" for c in name): place for name, place in places.items()}
    found, missing = [], []
    for name in facts.names:
        place = places.get(name, loose.get("".join(c if c.isalnum() else "_" for c in name)))
        if place is None:
            missing.append(name)
        else:
            found.append(ColumnType(place, name))
    if missing:
        close = get_close_matches(missing[0], own, n=1)
        guess = f" Did you mean {close[0]!r}?" if close else ""
        raise MissingColumnsError(
            f"expected the columns that the model takes, got a table without {', '.join(missing[:_SHOWN])}.{guess} "
            "Name the table the model was trained on.",
            missing,
        )
    return found


def _typed(columns: list[ColumnType], facts: ModelFacts, schema: Schema, like: Any, hint: Any) -> list[ColumnType]:
    """Columns with the types that the owner gives, or the model knows, or the values suggest."""
    given = {} if like is None else types_of(like, schema)
    hinted = {} if hint is None else types_of(hint, schema)
    typed = []
    for place, column in enumerate(columns):
        feature = schema.features[column.feature]
        known = facts.types.get(column.name if facts.names is not None else place)
        own = given.get(feature.name) or (hinted.get(feature.name) if known is None else None)
        if own is not None:
            dtype = "codes" if own.dtype == "category" and facts.container == "array" else own.dtype
            if facts.container == "array" and known is not None and dtype not in ("codes", "category"):
                dtype = known.dtype
            column = replace(column, dtype=dtype, categories=own.categories)
        elif known is not None:
            column = replace(column, dtype=known.dtype, categories=known.categories)
        if column.dtype == "category" and column.categories is None:
            plain = tuple(text for text in feature.categories if text not in (MISSING, UNKNOWN))
            column = replace(column, categories=plain)
        typed.append(column)
    return typed


def _notes(victim: FrameModel, schema: Schema, found: Any, order: tuple[int, ...] | None) -> list[str]:
    """What is not obvious about how this model is asked."""
    notes = []
    kind = victim.answers.kind_of(found, 1)
    if kind == "labels" and victim.answers.returns is None:  # a function; of an estimator its library says so
        notes.append(NAMES_ONLY)
    if kind != "labels" and order is None and victim.answers.labels != schema.classes:
        notes.append(classes_not_named(schema))
    if kind == "positive" or (kind != "labels" and _one_column(found)):
        positive = schema.classes[-1 if order is None else order.index(len(order) - 1)]
        notes.append(f"answers with one number per row: the probability of {positive!r}")
    empty = [
        c.name for c in victim.frames.columns if c.dtype == "text" and MISSING in schema.features[c.feature].categories
    ]
    if empty:
        notes.append(
            f"empty cells of {', '.join(empty[:_SHOWN])} reach the model as 'nan', as `astype(str)` writes them"
        )
    if isinstance(victim.frames, WrittenTexts):
        return [*notes, asked_with(schema)]
    used = {column.feature for column in victim.frames.columns}
    ignored = [feature.name for place, feature in enumerate(schema.features) if place not in used]
    if ignored:
        more = ", ..." if len(ignored) > _SHOWN else ""
        notes.append(f"the model does not take {', '.join(ignored[:_SHOWN])}{more}: changes there mean nothing to it")
    return notes


def _one_column(found: Any) -> bool:
    shape: tuple[int, ...] = getattr(found, "shape", ())
    return len(shape) == 2 and shape[1] == 1


def _outline(table: Any) -> str:
    dtypes = getattr(table, "dtypes", None)
    if dtypes is None and table.dtype == object and table.ndim == 1:
        return f"texts such as {table[0]!r:.60}."
    if dtypes is None:
        return f"an array of {table.dtype} with shape {table.shape}."
    shown = ", ".join(f"{name} ({dtype})" for name, dtype in list(dtypes.items())[:_SHOWN])
    return f"a frame of {len(dtypes)} columns: {shown}{', ...' if len(dtypes) > _SHOWN else ''}."
