"""Folders of Hugging Face transformers: a text classifier, asked with the text that a row stands for."""

from pathlib import Path
from typing import Any

import numpy as np

from hammingbox.data.schema import Schema
from hammingbox.errors import FileError, InputError, missing_library
from hammingbox.files import damage_as_file_error, read_bytes, read_json, sha256
from hammingbox.text.vocabulary import SPECIAL
from hammingbox.victims.frames import Array
from hammingbox.victims.libraries.facts import ModelFacts

CONFIG, WEIGHTS = "config.json", "model.safetensors"


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
    if not schema.shares_alphabet:
        raise InputError(
            "expected a data set of texts for a transformers folder, got a table whose columns differ. "
            "Pass a function that makes text of a frame with --model package.module:object."
        )
    try:
        import transformers
    except ImportError as error:
        raise missing_library("transformers", "transformers", f"to read {folder}", error) from error
    with damage_as_file_error(folder, "a whole transformers folder"):
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
    unnamed = classes == tuple(f"LABEL_{place}" for place in range(len(classes)))
    files = sorted(path for path in folder.iterdir() if path.suffix in (".json", ".safetensors", ".txt", ".model"))
    return ModelFacts(
        ask=TextModel(model.eval(), tokeniser, schema),
        library="transformers",
        container="codes",
        classes=tuple(range(len(classes))) if unnamed else classes,
        returns="logits",
        identity=sha256(*(path.name.encode() + b"\n" + read_bytes(path) for path in files)),
    )


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


class TextModel:
    """Makes text of rows and asks a text classifier about it."""

    def __init__(self, model: Any, tokeniser: Any, schema: Schema) -> None:
        self._model, self._tokeniser = model, tokeniser
        words = schema.features[0].categories
        self._words = np.array(["" if word == SPECIAL[0] else word for word in words], dtype=object)
        self._joint = "" if all(len(word) <= 1 for word in words if word not in SPECIAL) else " "

    def __call__(self, rows: Array) -> Any:
        """Logits of rows of ids."""
        import torch

        texts = [self._joint.join(word for word in row if word) for row in self._words[rows]]
        longest = getattr(self._model.config, "max_position_embeddings", None)
        given = self._tokeniser(texts, return_tensors="pt", padding=True, truncation=True, max_length=longest)
        with torch.no_grad():
            return self._model(**given).logits
