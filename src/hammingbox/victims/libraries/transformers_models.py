"""Folders of Hugging Face transformers: a text classifier, asked with the text that a row stands for."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hammingbox.data.schema import Schema
from hammingbox.errors import FileError, InputError, missing_library
from hammingbox.files import damage_as_file_error, read_bytes, read_json, sha256
from hammingbox.victims.frames import Array
from hammingbox.victims.libraries.facts import ModelFacts
from hammingbox.victims.written_texts import WrittenTexts, asked_with, is_text

CONFIG, WEIGHTS = "config.json", "model.safetensors"
_LONGEST = 512
"""Tokens of a model that does not say how many it takes."""


def read(folder: Path, schema: Schema) -> ModelFacts:
    """A model folder. Nothing is downloaded, and code that a folder may hold is not run.

    Raises:
        FileError: it is damaged, or its weights are no safetensors.
        InputError: transformers is not installed, or the table is no text.
    """
    if not (folder / WEIGHTS).is_file():
        raise FileError(
            f"expected {WEIGHTS} in {folder}, got none. Save the model with `save_pretrained` (safetensors)."
        )
    if not is_text(schema):
        raise InputError(
            "expected a data set of texts for a transformers folder, got a table whose columns differ. Name the column "
            "of text with --text, or pass a function that makes text of a frame with --model package.module:object."
        )
    try:
        import transformers
    except ImportError as error:
        raise missing_library("transformers", "transformers", f"to read {folder}", error) from error
    with (
        damage_as_file_error(folder, "a whole transformers folder", "Save it again."),
        _silent(transformers.utils.logging),
    ):
        _check_config(folder)
        local: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
        model, loaded = transformers.AutoModelForSequenceClassification.from_pretrained(
            folder, use_safetensors=True, output_loading_info=True, **local
        )
        absent = sorted({*map(str, loaded["missing_keys"]), *map(str, loaded["mismatched_keys"])})
        if absent:  # the library would go on with random numbers in their place
            raise FileError(
                f"expected all weights in {folder / WEIGHTS}, got none that fit for {', '.join(absent[:6])}."
            )
        tokeniser = transformers.AutoTokenizer.from_pretrained(folder, **local)
        names = model.config.id2label
        classes = tuple(names[place] for place in range(len(names)))
        ask = TextModel(model.eval(), tokeniser, schema)
    unnamed = classes == tuple(f"LABEL_{place}" for place in range(len(classes)))
    files = sorted(path for path in folder.iterdir() if path.suffix in (".json", ".safetensors", ".txt", ".model"))
    return ModelFacts(
        ask=ask,
        library="transformers",
        container="codes",
        classes=tuple(range(len(classes))) if unnamed else classes,
        returns="logits",
        notes=(f"{asked_with(schema)}, of which it reads {ask.longest:,} tokens at most",),
        identity=sha256(*(path.name.encode() + b"\n" + read_bytes(path) for path in files)),
    )


@contextmanager
def _silent(logging: Any) -> Iterator[None]:
    """The library says nothing on the terminal inside the block: what matters comes as an exception."""
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity(logging.CRITICAL)
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def _check_config(folder: Path) -> None:
    """Checks the sizes in a configuration against the weights, before a model of these sizes is built.

    Raises:
        FileError: the weights are damaged, or the configuration is that of a larger model.
    """
    from safetensors import safe_open

    with safe_open(folder / WEIGHTS, framework="np") as file:
        tensors = len(list(file.keys()))
    most = (folder / WEIGHTS).stat().st_size
    config = read_json(folder / CONFIG)
    for name, value in config.items() if isinstance(config, dict) else ():
        limit = tensors if "layer" in name else most
        if isinstance(value, int) and value > limit:
            raise FileError(
                f"expected the configuration of a model with {tensors} tensors in {folder / CONFIG}, got {name} = "
                f"{str(value)[:20]}."
            )


def _length(name: str, value: Any) -> int:
    """A number of tokens; some tokenisers write a very large one as 1e30.

    Raises:
        FileError: it is none.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1 <= value < float("inf"):
        raise FileError(f"expected {name} as a number of tokens, got {value!r:.60}.")
    return int(value)


class TextModel:
    """Makes text of rows and asks a text classifier about it. What its tokeniser does not know is its unknown token."""

    reads_text = True

    def __init__(self, model: Any, tokeniser: Any, schema: Schema) -> None:
        self._model, self._tokeniser = model, tokeniser
        self._unknown = tokeniser.unk_token or ""
        self._texts = WrittenTexts(schema, unknown=self._unknown)
        # Positions that a model counts from 1 or 2 leave fewer for tokens than its table has; the tokeniser knows.
        table = getattr(model.config, "max_position_embeddings", None) or _LONGEST
        lengths = {"max_position_embeddings": table, "model_max_length": tokeniser.model_max_length}
        self.longest = min(_length(name, value) for name, value in lengths.items())

    def __call__(self, rows: Array) -> Any:
        """Logits of rows of ids."""
        import torch

        # Some models cannot be asked with no token at all, and some tokenisers add none to an empty text.
        texts = [text or self._unknown for text in self._texts.build(rows).tolist()]
        given = self._tokeniser(texts, return_tensors="pt", padding=True, truncation=True, max_length=self.longest)
        known = {name: given[name] for name in self._tokeniser.model_input_names if name in given}
        with torch.no_grad():
            return self._model(**known).logits
