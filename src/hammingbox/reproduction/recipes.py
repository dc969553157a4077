"""Recipes of the victims that several studies share."""

from dataclasses import replace

from hammingbox.data import imdb
from hammingbox.studies.recipe import Recipe
from hammingbox.victims.vector_files import NPM_PACKAGE

SPLICE = Recipe(label="LSTM", data="splice", model="lstm")
SPLICE_QUICK = Recipe(
    label="small CNN", data="splice", model="cnn", model_settings={"channels": 16, "dim": 8},
    training={"epochs": 4, "batch_size": 64, "learning_rate": 1e-2},
)  # fmt: skip
IPS = Recipe(label="the authors' LSTM", data="ips", released=True)
SPLICE_PAPER = Recipe(label="the authors' LSTM", data="splice_paper", released=True)
AG = Recipe(label="character CNN", data="ag_news")
AG_WIDE = Recipe(
    label="character CNN, wide", data="ag_news", model_settings={"channels": 384, "blanked": 0.0}
)  # fmt: skip
"""Twice the channels, and trained on whole texts, because blanking characters in training is itself a defence."""
AG_PAPER = Recipe(label="character CNN", data="ag_news_paper")
IMDB_CNN = Recipe(label="word CNN", data="imdb", model="word_cnn")
IMDB_LSTM = Recipe(label="BiLSTM", data="imdb", model="bilstm", training=imdb.TRAINING["bilstm"])
IMDB_CNN_WITH_VECTORS, IMDB_LSTM_WITH_VECTORS = (
    replace(victim, model_settings={"dim": 100}, vectors=NPM_PACKAGE, neighbours=True)
    for victim in (IMDB_CNN, IMDB_LSTM)
)
"""They start from GloVe vectors, as ASCC's authors do, and face counter-fitted neighbours, as in the paper."""
IMDB_LSTM_SHORT = replace(IMDB_LSTM_WITH_VECTORS, training=dict(IMDB_LSTM.training) | {"epochs": 2})
"""Two epochs, so that the standard victim is the `early` one, from which its defences start."""


def early(victim: Recipe) -> Recipe:
    """A standard victim after two epochs, from which all defences start. After five it has memorised many rows."""
    return replace(victim, label=f"{victim.label}, standard, 2 epochs", training=dict(victim.training) | {"epochs": 2})
