"""The built-in data sets by name, each with a suitable threat model and victim."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from hammingbox.data import ag_news, bank_fraud, german, imdb, ips, splice, splice_paper
from hammingbox.data.dataset import Splits
from hammingbox.data.read_columns import EXCEL, PARQUET
from hammingbox.data.reading import Reading
from hammingbox.data.table import LoadedTable, load_table
from hammingbox.data.text_table import load_text_table
from hammingbox.errors import InputError, unknown_name
from hammingbox.files import exists

_FILES = (".csv", ".tsv", ".txt", ".data", ".gz", *PARQUET, *EXCEL)


@dataclass(frozen=True)
class Source:
    """How to load a data set, and what suits it. It can be sent to another process.

    Attributes:
        load: returns the three parts; takes the folder with its files as `data_dir`.
        summary: one line for `data list`.
        forbidden: categories an attacker may not write, by feature ("*" for all).
        kept: clean categories an attacker may not replace, by feature ("*" for all).
        immutable: features an attacker may not change.
        options: the few values an attacker may write, of features where these are not all.
        steps: what an attacker may add to numbers and dates.
        model: the name of a suitable model.
        training: settings for training that model that differ from the defaults.
        synonyms: whether the data is text and its S(x) is a `SynonymSpace`.
    """

    load: Callable[..., Splits]
    summary: str
    forbidden: dict[str, list[str]] = field(default_factory=dict)
    kept: dict[str, list[str]] = field(default_factory=dict)
    immutable: Sequence[str] = ()
    options: dict[str, tuple[str, ...]] = field(default_factory=dict)
    steps: dict[str, tuple[float, ...]] = field(default_factory=dict)
    model: str = "lstm"
    training: dict[str, int | float] = field(default_factory=dict)
    synonyms: bool = False


DATASETS: dict[str, Source] = {
    "splice": Source(
        load=splice.load,
        summary="Splice junctions in primate DNA (UCI): 60 bases, 3 classes; included in the package",
        # N marks a base that could not be read. No mutation writes it, and it is too rare for a model to learn.
        forbidden={"*": ["N"]},
    ),
    "splice_paper": Source(
        load=splice_paper.load,
        summary="Splice as in the paper: its 319 test rows, from a folder; an attacker may write all five letters",
    ),
    "german": Source(
        load=german.load,
        summary="German credit (UCI): 20 columns of 1,000 applicants, good or bad; included in the package",
        immutable=german.IMMUTABLE,
        model="mlp",
    ),
    "ips": Source(
        load=ips.load,
        summary="Intrusion prevention (Symantec): 20 events of 1,104 kinds, 3 classes; only 206 test rows are public",
    ),
    "bank_fraud": Source(
        load=bank_fraud.load,
        summary="Applications for a bank account, half of them fraud: 14 columns; read from a folder",
        model="mlp",
    ),
    "ag_news": Source(
        load=ag_news.load,
        summary="AG's News, first 256 characters: 70 kinds, 4 topics; downloaded once (31 MB) or read from a folder",
        # A blank is a space, an unknown character or padding: replacing it would join or add words.
        kept={"*": [ag_news.BLANK]},
        model="char_cnn",
        training={"epochs": 7, "learning_rate": 4e-3},
    ),
    "ag_news_paper": Source(
        load=partial(ag_news.load, length=ag_news.LENGTH["paper"]),
        summary="AG's News as in the paper: 1,014 characters; its character CNN needs a GPU",
        kept={"*": [ag_news.BLANK]},
        model="char_cnn_paper",
        training={"epochs": 15, "learning_rate": 5e-4},
    ),
    "imdb": Source(
        load=imdb.load,
        summary="IMDB reviews, 256 words: negative or positive; downloaded once (84 MB) or read from a folder",
        # What may replace a word depends on the text, so SynonymSpace decides it, not a list of categories.
        synonyms=True,
        model="word_cnn",
        training=imdb.TRAINING["word_cnn"],
    ),
}


def source_named(
    name: str, *, label: str | None = None, schema: Path | None = None, reading: Reading | None = None
) -> Source:
    """A built-in data set, or a file of the user.

    Args:
        name: a key of `DATASETS`, or the path of a CSV or Parquet file, which is read immediately.
        label: the label column of the file.
        schema: the schema.toml of the file.
        reading: how the file is read and split.

    Raises:
        InputError: `name` is neither a known name nor a file.
        FileError: the file is missing or damaged.
    """
    reading = reading or Reading()
    if name in DATASETS:
        if label is not None or schema is not None or not reading.is_default:
            raise InputError(
                "expected --label, --schema and options of tables only with a file of your own, "
                f"got them with {name!r}. Leave them out."
            )
        return DATASETS[name]
    path = Path(name)
    if not (exists(path) and path.is_file()) and path.suffix.lower() not in _FILES:
        raise unknown_name("data set or the path of a file", name, DATASETS)
    if reading.text is not None:
        return _text_source(path, label, schema, reading)
    table = load_table(
        path, label=label, schema=schema, encoding=reading.encoding,
        validation=reading.validation, test=reading.test, time=reading.rule.time, group=reading.rule.group,
        stratified=reading.rule.stratified,
    )  # fmt: skip
    return table_source(table, path.name)


def table_source(table: LoadedTable, name: str) -> Source:
    """A table that was read, with what its schema says about an attacker."""
    return Source(
        load=partial(_loaded, table.splits),
        summary=f"your table {name}",
        forbidden=table.schema.forbidden,
        immutable=table.schema.immutable,
        options=table.schema.options,
        steps=table.schema.steps,
        model="mlp",
    )


def _text_source(path: Path, label: str | None, schema: Path | None, reading: Reading) -> Source:
    if label is None or schema is not None:
        raise InputError(
            f"expected --label with --text and no --schema, got {'no label' if label is None else 'a schema'}. "
            "A text has no columns to describe."
        )
    splits = load_text_table(path, label=label, reading=reading)
    summary = f"the texts of {path.name}, as {reading.unit}"
    like = DATASETS["imdb" if reading.unit == "words" else "ag_news"]
    return replace(like, load=partial(_loaded, splits), summary=summary)


def _loaded(splits: Splits, *, data_dir: Path | None = None) -> Splits:  # noqa: ARG001
    """A loader of rows that were read before; a named function, because a lambda cannot be pickled."""
    return splits
