"""A data set that was found and read, with the threat model that is its own."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hammingbox.data.registry import Source, source_named
from hammingbox.data.schema import Dataset, Splits
from hammingbox.errors import InputError, unknown_name
from hammingbox.text.synonyms import read_neighbours
from hammingbox.threat.masked_space import MaskedSpace
from hammingbox.threat.space import FullSpace, Space
from hammingbox.threat.synonym_space import SynonymSpace


@dataclass(frozen=True)
class Task:
    """A data set that was found and read."""

    name: str
    source: Source
    splits: Splits

    @staticmethod
    def of(name: str, label: str | None = None, schema: Path | None = None, data_dir: Path | None = None) -> "Task":
        """Finds and reads a data set by name, or a user's own file.

        Raises:
            InputError: neither a known name nor a file.
            FileError: a file is missing or damaged.
        """
        source = source_named(name, label=label, schema=schema)
        return Task(name, source, source.load(data_dir=data_dir))

    def part(self, split: str, rows: int) -> Dataset:
        """The first rows of a part (parts are shuffled once and for all, so these are a fair sample).

        Raises:
            InputError: no such part, or fewer rows.
        """
        parts = {"train": self.splits.train, "validation": self.splits.validation, "test": self.splits.test}
        if split not in parts:
            raise unknown_name("split", split, parts)
        if rows > len(parts[split]):
            raise InputError(f"expected at most {len(parts[split])} rows, got --rows {rows}. This split has no more.")
        return parts[split].take(slice(0, rows))

    def space(
        self,
        *,
        immutable: Sequence[str] | None = None,
        forbid: Sequence[str] | None = None,
        full: bool = False,
        protect: Sequence[str] | None = None,
        neighbours: Path | None = None,
    ) -> Space:
        """The data set's own threat model, with what the command line adds to it.

        Raises:
            InputError: a malformed or unknown feature or category, or an option that does not fit the data.
        """
        own, schema = self.source, self.splits.schema
        if own.synonyms and not full:
            if immutable or forbid:
                raise InputError(
                    "expected --protect WORD for texts, got --immutable or --forbid. Words have no columns."
                )
            table = None if neighbours is None else read_neighbours(neighbours)
            return SynonymSpace(schema, table=table, protected=protect or ())
        if protect or neighbours:
            raise InputError("expected --protect and --neighbours with texts only, got them with a table.")
        forbidden = {} if full else {name: list(words) for name, words in own.forbidden.items()}
        for item in forbid or ():
            feature, separator, category = item.partition("=")
            if not separator or not feature:
                raise InputError(f"expected --forbid FEATURE=CATEGORY, got {item!r}.")
            forbidden.setdefault(feature, []).append(category)
        fixed = [*(() if full else own.immutable), *(immutable or ())]
        kept = {} if full else own.kept
        if not forbidden and not kept and not fixed:
            return FullSpace(schema)
        return MaskedSpace(schema, immutable=fixed, forbidden=forbidden, kept=kept)
