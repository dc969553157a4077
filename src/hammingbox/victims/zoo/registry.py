"""The models that come with the package, by name."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from hammingbox.data.schema import Schema
from hammingbox.errors import InputError, unknown_name
from hammingbox.seeding import borrowed_generators
from hammingbox.victims.victim import Victim
from hammingbox.victims.zoo.bilstm import BiLSTM
from hammingbox.victims.zoo.char_cnn import PAPER, CharCNN
from hammingbox.victims.zoo.cnn import ConvNet
from hammingbox.victims.zoo.linear import Linear
from hammingbox.victims.zoo.lstm import AttentionLSTM
from hammingbox.victims.zoo.mlp import TableMLP
from hammingbox.victims.zoo.shallow import Shallow
from hammingbox.victims.zoo.smooth_windows import SmoothWindows
from hammingbox.victims.zoo.windows import Windows
from hammingbox.victims.zoo.word_cnn import WordCNN

VICTIMS: dict[str, Callable[..., Victim]] = {
    "lstm": AttentionLSTM,
    "cnn": ConvNet,
    "mlp": TableMLP,
    "linear": Linear,
    "windows": Windows,
    "smooth_windows": SmoothWindows,
    "shallow": Shallow,
    "word_cnn": WordCNN,
    "bilstm": BiLSTM,
    "char_cnn": CharCNN,
    "char_cnn_paper": partial(CharCNN, **PAPER),
}

OF_TEXT = ("word_cnn", "bilstm")
WITH_NUMBERS = ("lstm", "cnn", "mlp")
"""Models that read numbers and dates as such."""


def build(name: str, schema: Schema, *, seed: int = 0, **settings: Any) -> Victim:
    """A new victim for a schema, on the CPU, with weights drawn from a seed.

    Raises:
        InputError: the name or a setting is unknown.
    """
    if name not in VICTIMS:
        raise unknown_name("model", name, VICTIMS)
    # Layers draw their initial weights from the global generator: it is borrowed, seeded, and given back.
    with borrowed_generators(torch.device("cpu")):
        torch.default_generator.manual_seed(seed)
        try:
            victim = VICTIMS[name]
            if name in OF_TEXT and len(schema.features) == 1:
                raise InputError(
                    f"expected rows of several words for the model {name!r}, got one column. "
                    "Name a column of text with --text, or use the model mlp."
                )
            if not schema.has_numbers:
                return victim(schema.cardinalities, len(schema.classes), **settings)
            if name not in WITH_NUMBERS:
                raise InputError(
                    f"expected a schema of categories for the model {name!r}, got one with numbers or dates. "
                    f"Use one of the models {', '.join(WITH_NUMBERS)}."
                )
            values = tuple(feature.numbers if feature.is_ordered else None for feature in schema.features)
            return victim(schema.cardinalities, len(schema.classes), values=values, **settings)
        except TypeError as error:
            raise InputError(f"expected settings of the model {name!r}, got {settings} ({error}).") from error
