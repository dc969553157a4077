"""The data sets that come with the package, by name, each with the threat and the model that make sense for it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from hammingbox.data import ag_news, imdb, ips, splice
from hammingbox.data.columns import PARQUET
from hammingbox.data.schema import Splits
from hammingbox.data.table import load_table
from hammingbox.errors import InputError, unknown_name

_FILES = (".csv", ".tsv", ".txt", ".data", ".gz", *PARQUET)


@dataclass(frozen=True)
class Source:
    """A data set by name.

    Attributes:
        load: gives the three parts; takes a folder that holds its files as `data_dir`.
        summary: one line for `data list`.
        forbidden: categories an attacker may not write, by feature ("*" for all).
        kept: clean categories an attacker may not replace.
        immutable: features an attacker may not change.
        model: the name of the model that suits it.
        training: settings of training that suit that model, where the defaults do not.
        synonyms: the data is text, and its S(x) is a `SynonymSpace`.
    """

    load: Callable[..., Splits]
    summary: str
    forbidden: dict[str, list[str]] = field(default_factory=dict)
    kept: dict[str, list[str]] = field(default_factory=dict)
    immutable: Sequence[str] = ()
    model: str = "lstm"
    training: dict[str, int | float] = field(default_factory=dict)
    synonyms: bool = False


DATASETS: dict[str, Source] = {
    "splice": Source(
        load=lambda data_dir=None: splice.load(),  # noqa: ARG005 - shipped, so there is no folder to look in
        summary="Splice junctions in primate DNA (UCI): 60 bases, 3 classes; shipped with the package",
        # N says that a base could not be read: no mutation writes it, and no model has learned what it means.
        forbidden={"*": ["N"]},
    ),
    "ips": Source(
        load=ips.load,
        summary="Intrusion prevention (Symantec): 20 events of 1,104 kinds, 3 classes; only 206 test rows are public",
    ),
    "ag_news": Source(
        load=ag_news.load,
        summary="AG's News, first 256 characters: 70 signs, 4 topics; downloaded once (31 MB) or read from a folder",
        # A blank is a space, an unknown sign or the end of the text: filling it would add words.
        kept={"*": [ag_news.BLANK]},
        model="char_cnn",
        training={"epochs": 7, "learning_rate": 4e-3},
    ),
    "ag_news_paper": Source(
        load=partial(ag_news.load, length=ag_news.LENGTH["paper"]),
        summary="AG's News as in the paper: 1,014 characters; its character CNN wants a GPU",
        kept={"*": [ag_news.BLANK]},
        model="char_cnn_paper",
        training={"epochs": 15, "learning_rate": 5e-4},
    ),
    "imdb": Source(
        load=imdb.load,
        summary="IMDB reviews, 256 words: negative or positive; downloaded once (84 MB) or read from a folder",
        # What may replace a word depends on the text: SynonymSpace decides it, not a list of categories.
        synonyms=True,
        model="word_cnn",
        training=imdb.TRAINING["word_cnn"],
    ),
}


def source_named(name: str, *, label: str | None = None, schema: Path | None = None) -> Source:
    """A data set of the table, or a user's own file.

    Args:
        name: a name of the table, or the path of a CSV or Parquet file, which is read at once.
        label: the label column of an own file.
        schema: the schema.toml of an own file.

    Raises:
        InputError: neither a known name nor a file.
        FileError: the file is missing or damaged.
    """
    if name in DATASETS:
        if label is not None or schema is not None:
            raise InputError(f"expected --label or --schema with an own file only, got them with {name!r}. Drop them.")
        return DATASETS[name]
    path = Path(name)
    if not path.is_file() and path.suffix.lower() not in _FILES:
        raise unknown_name("data set or the path of a file", name, DATASETS)
    table = load_table(path, label=label, schema=schema)
    return Source(
        load=lambda data_dir=None: table.splits,  # noqa: ARG005
        summary=f"your own table, {path.name}",
        forbidden=table.schema.forbidden,
        immutable=table.schema.immutable,
        model="mlp",
    )
