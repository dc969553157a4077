"""Victims of experiments: how each is made, so that it is trained when it is not there yet."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hammingbox.files import sha256


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a victim comes about.

    Attributes:
        label: what a table calls it.
        data: name of the data set.
        model: name of the model; the data set's own by default.
        model_settings: of the model.
        released: take the weights that the paper's authors released instead of training.
        training: settings of `TrainConfig`, on top of those that suit the data set's own model.
        train_rows: train on the first so many rows only.
        defence: name of the defence.
        defence_settings: of the defence.
        budget: changes the defence trains against.
        start: the victim the defence begins with.
        neighbours: the attacker takes counter-fitted neighbours for synonyms, not WordNet's.
    """

    label: str
    data: str
    model: str = ""
    model_settings: Mapping[str, Any] = field(default_factory=dict)
    released: bool = False
    training: Mapping[str, Any] = field(default_factory=dict)
    train_rows: int | None = None
    defence: str = "standard"
    defence_settings: Mapping[str, Any] = field(default_factory=dict)
    budget: int = 0
    start: "Recipe | None" = None
    neighbours: bool = False

    @property
    def folder(self) -> str:
        """Name of its checkpoint's folder: readable, and another one when anything about the victim differs."""
        parts = (
            self.data, self.model, sorted(self.model_settings.items()), self.released, sorted(self.training.items()),
            self.train_rows, self.defence, sorted(self.defence_settings.items()), self.budget,
            None if self.start is None else self.start.folder,
            # A victim that was trained against nobody is the same whoever attacks it.
            *(("neighbours",) if self.neighbours and self.start is not None else ()),
        )  # fmt: skip
        kind = "released" if self.released else self.defence
        return f"{self.data}-{self.model or 'own'}-{kind}-{sha256(repr(parts).encode())[:8]}"


def defended(
    label: str,
    start: Recipe,
    defence: str,
    *,
    budget: int,
    settings: Mapping[str, Any] | None = None,
    train_rows: int | None = None,
    **training: Any,
) -> Recipe:
    """A defence that begins with a standard victim and chooses its epoch by clean and attacked validation rows.

    Args:
        label: what a table calls it.
        start: the standard victim.
        defence: name of the defence.
        budget: changes it trains against.
        settings: of the defence.
        train_rows: rows it is trained on, of those of its start; all of them by default.
        training: settings of `TrainConfig`.
    """
    return Recipe(
        label=label,
        data=start.data,
        model=start.model,
        model_settings=start.model_settings,
        training={"epochs": 4, "learning_rate": 1e-3, "criterion": "mean", "robust_rows": 200, "patience": 8}
        | training,
        train_rows=train_rows or start.train_rows,
        defence=defence,
        defence_settings=settings or {},
        budget=budget,
        start=start,
        neighbours=start.neighbours,
    )
