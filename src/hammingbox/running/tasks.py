"""A data set that was found and read, with the threat model that is its own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from hammingbox.data.dataset import Dataset, Splits
from hammingbox.data.reading import Reading
from hammingbox.data.registry import DATASETS, Source, source_named
from hammingbox.errors import InputError, unknown_name
from hammingbox.evaluation.drawing import Draw, Sample, draw_rows, population_of
from hammingbox.running.data_reference import DataReference
from hammingbox.text.synonyms import read_neighbours
from hammingbox.threat.masked_space import MaskedSpace
from hammingbox.threat.ruled_space import RuledSpace
from hammingbox.threat.rules.function import functions_named
from hammingbox.threat.rules.rules import Rules
from hammingbox.threat.rules.seen_together import SeenTogether
from hammingbox.threat.space import FullSpace, Space
from hammingbox.threat.synonym_space import SynonymSpace
from hammingbox.threat.table_space import TableSpace
from hammingbox.threat.threat_file import read_threat

PLAUSIBLE = "--plausible"
"""The name of the relation that forbids what the data never shows."""


@dataclass(frozen=True)
class SpaceChanges:
    """What a user adds to, or takes from, the limits that a data set has by itself.

    Attributes:
        immutable: features that never change.
        forbidden: categories that may not be written, by feature ("*" for every feature).
        full: drop the limits of the data set; texts may then take any word.
        protected: words of a text that never change.
        neighbours: a file of words and their neighbours, in place of WordNet's synonyms.
        threat: a threat.toml: what changes cost, and what must hold between columns.
        functions: Python functions that the threat.toml may use, as package.module:name.
        plausible: forbid what the data never shows: two values, one of them written, that no row has together.
    """

    immutable: Sequence[str] = ()
    forbidden: Mapping[str, Sequence[str]] | None = None
    full: bool = False
    protected: Sequence[str] = ()
    neighbours: Path | None = None
    threat: Path | None = None
    functions: Sequence[str] = ()
    plausible: bool = False


@dataclass(frozen=True)
class Task:
    """A data set to attack or train on.

    Attributes:
        name: the name in the table of data sets, or the path of an own file.
        source: where it comes from, with the limits and the model that suit it.
        splits: its rows.
        label: the label column of an own file.
        schema: the schema.toml of an own file.
        reading: how an own file is read and split.
    """

    name: str
    source: Source
    splits: Splits
    label: str | None = None
    schema: Path | None = None
    reading: Reading | None = None

    @staticmethod
    def of(
        name: str,
        label: str | None = None,
        schema: Path | None = None,
        data_dir: Path | None = None,
        *,
        reading: Reading | None = None,
    ) -> "Task":
        """Finds and reads a data set by name, or a user's own file.

        Raises:
            InputError: neither a known name nor a file.
            FileError: a file is missing or damaged.
        """
        source = source_named(name, label=label, schema=schema, reading=reading)
        return Task(name, source, source.load(data_dir=data_dir), label, schema, reading)

    @cached_property
    def reference(self) -> DataReference:
        """How a run finds this data again."""
        return DataReference.of(self.name, label=self.label, schema=self.schema, reading=self.reading)

    @property
    def is_own(self) -> bool:
        """Whether this is a file of the user, not a built-in data set."""
        return self.name not in DATASETS

    def whole(self, split: str) -> Dataset:
        """All rows of a part; "all" is the whole data set.

        Raises:
            InputError: no such part.
        """
        parts = {"train": self.splits.train, "validation": self.splits.validation, "test": self.splits.test}
        if split == "all":
            return self.splits.whole()
        if split not in parts:
            raise unknown_name("split", split, [*parts, "all"])
        return parts[split]

    def part(self, split: str, rows: int) -> Dataset:
        """The first rows of a part. Parts are shuffled once and for all, so these are a fair sample.

        Raises:
            InputError: no such part, or fewer rows.
        """
        return draw_rows(self.whole(split), Draw(rows, how="first"))

    def sample(self, split: str, draw: Draw, *, positive: str | None = None) -> tuple[Dataset, DataReference]:
        """Drawn rows of a part, and how a run finds them again.

        The first rows of a built-in data set are noted as they always were: without a sample.

        Raises:
            InputError: no such part or class, or fewer rows.
        """
        # All rows are taken in the order of the file: stores and large tables are written and read from end to end.
        # A draw from all rows begins there, too. The parts hold them in a random order, and where this order and the
        # draw had the same seed, the draw undid it and took equal beginnings: rows sorted by their first columns.
        in_order = split == "all" and draw.how != "first"
        whole = self.splits.by_number() if in_order else self.whole(split)
        if positive is not None and positive not in whole.schema.classes:
            raise unknown_name("class", positive, whole.schema.classes)
        rows = draw_rows(whole, draw)
        if draw.how == "first" and not self.is_own and positive is None:
            return rows, self.reference
        return rows, replace(self.reference, sample=Sample(draw, population_of(whole), positive))

    def space(self, changes: SpaceChanges | None = None) -> Space:
        """The data set's own S(x), with what a user changes about it.

        Raises:
            InputError: an unknown feature or category, or a change that does not fit the data.
            FileError: a threat.toml that cannot be read, or says something impossible.
        """
        changes = changes or SpaceChanges()
        base = self._columns(changes)
        rules = Rules(self.splits.schema)
        budgets: tuple[int, ...] = ()
        if changes.threat is not None:
            known = self.splits.train if len(self.splits.train) else self.splits.test
            found = read_threat(changes.threat, self.splits.schema, known, functions=functions_named(changes.functions))
            rules, budgets = found.rules, found.budgets
        elif not changes.plausible:
            return base
        return RuledSpace(base, self._plausible(rules) if changes.plausible else rules, budgets)

    def _plausible(self, rules: Rules) -> Rules:
        """Rules that also forbid what no row of the whole data set shows.

        Raises:
            InputError: texts, or columns of too many values.
        """
        schema = self.splits.schema
        names = [feature.name for feature in schema.features]
        try:
            seen = SeenTogether.of_rows(schema, names, self.whole("all").ids.long(), PLAUSIBLE, ranges=True)
        except InputError as error:
            raise InputError(
                f"expected a table of few categories for --plausible, got another ({str(error).rstrip('.')}). Write "
                'kind = "seen_together" with some of its columns into a threat.toml.'
            ) from error
        return replace(rules, relations=(*rules.relations, seen))

    def _columns(self, changes: SpaceChanges) -> Space:
        """What may be written, column by column."""
        own, schema = self.source, self.splits.schema
        if own.synonyms and not changes.full:
            if changes.immutable or changes.forbidden:
                raise InputError(
                    "expected --protect WORD for texts, got --immutable or --forbid. Words have no columns."
                )
            table = None if changes.neighbours is None else read_neighbours(changes.neighbours)
            return SynonymSpace(schema, table=table, protected=changes.protected)
        if changes.protected or changes.neighbours:
            raise InputError("expected --protect and --neighbours with texts only, got them with a table.")
        forbidden = {} if changes.full else {name: list(words) for name, words in own.forbidden.items()}
        for feature, words in (changes.forbidden or {}).items():
            forbidden.setdefault(feature, []).extend(words)
        fixed = [*(() if changes.full else own.immutable), *changes.immutable]
        kept = {} if changes.full else own.kept
        # Without repeats, so that naming a limit again gives the same space.
        fixed, forbidden = [*dict.fromkeys(fixed)], {f: [*dict.fromkeys(words)] for f, words in forbidden.items()}
        if (own.options or own.steps) and not changes.full:
            return TableSpace(schema, own.options, steps=own.steps, immutable=fixed, forbidden=forbidden)
        if not forbidden and not kept and not fixed:
            return FullSpace(schema)
        return MaskedSpace(schema, immutable=fixed, forbidden=forbidden, kept=kept)
