"""What a report is about: runs on the same data, each row held as its changes to a clean row that is held once."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from jaxtyping import Float32, Int64

from hammingbox.data.schema import Schema
from hammingbox.evaluation.rows import Rows
from hammingbox.report.ragged_pairs import Ragged, changes, likeliest
from hammingbox.report.run import Facts, Run
from hammingbox.text.vocabulary import SPECIAL

Form = Literal["letters", "words", "events", "columns"]
"""How rows are written: a string, a text, a list of events, or only the columns that changed."""


@dataclass
class Before:
    """A victim's answers to clean rows, each place once, and how far repeated answers lay apart."""

    places: list[int] = field(default_factory=list)
    spread: float = 0.0
    _logits: list[Float32[np.ndarray, "some classes"]] = field(default_factory=list, repr=False)
    _known: dict[int, int] = field(default_factory=dict, repr=False)

    def add(self, place: Int64[np.ndarray, "rows"], logits: Float32[np.ndarray, "rows classes"]) -> None:
        """Remembers the rows that are new and compares the others: one row may come in the runs of many attacks."""
        index = np.array([self._known.get(p, -1) for p in place.tolist()], dtype=np.int64)
        again = index >= 0
        if again.any():
            self.spread = max(self.spread, float(np.abs(self.logits()[index[again]] - logits[again]).max()))
        new = place[~again].tolist()
        self._known.update(zip(new, range(len(self.places), len(self.places) + len(new)), strict=True))
        self.places += new
        self._logits = [*self._logits, logits[~again]]

    def logits(self) -> Float32[np.ndarray, "places classes"]:
        """The answers for `places`."""
        if len(self._logits) > 1:
            self._logits = [np.concatenate(self._logits)]
        return self._logits[0]


@dataclass
class Study:
    """Runs on rows of one data set with one set of allowed changes."""

    data: str
    schema: Schema
    space: str = ""
    runs: list[Run] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    labels: list[int] = field(default_factory=list)
    clean: list[bytes] = field(default_factory=list, repr=False)
    """Each clean row once, as bytes of its ids."""
    before: dict[str, "Before"] = field(default_factory=dict, repr=False)
    """For every victim, what it answers to the clean rows it was asked about."""
    _places: dict[tuple[int, int, bytes], int] = field(default_factory=dict, repr=False)

    @property
    def victims(self) -> list[str]:
        """In the order they came."""
        return list(dict.fromkeys(run.facts.victim for run in self.runs))

    @property
    def attacks(self) -> list[str]:
        """In the order they came."""
        return list(dict.fromkeys(run.facts.attack for run in self.runs))

    @property
    def budgets(self) -> list[int]:
        """In rising order."""
        return sorted({run.facts.budget for run in self.runs})

    @property
    def form(self) -> Form:
        """How its rows are written."""
        return row_form(self.schema)

    def select(
        self, *, victim: str | None = None, attack: str | None = None, budget: int | None = None
    ) -> Iterator[Run]:
        """Runs with these facts; None takes any."""
        for run in self.runs:
            facts = run.facts
            if victim in (None, facts.victim) and attack in (None, facts.attack) and budget in (None, facts.budget):
                yield run

    def clean_ids(self) -> Int64[np.ndarray, "places features"]:
        """All clean rows."""
        joined = np.frombuffer(b"".join(self.clean), dtype=_ID)
        return joined.reshape(len(self.clean), len(self.schema.features)).astype(np.int64)

    def add(self, facts: Facts, rows: Rows | None) -> None:
        """Adds a run; one that was refused has no rows."""
        if rows is None:
            nothing, none = np.empty(0, np.int64), np.empty(0, np.bool_)
            empty = Ragged(nothing, nothing, nothing)
            refused = Run(facts, nothing, none, none, none, nothing, nothing, nothing, nothing, nothing, empty, empty)
            self.runs.append(refused)
            return
        clean, written, labels = rows.clean.numpy(), rows.adversarial.numpy(), rows.labels.numpy()
        place = self._place(rows.numbers.tolist(), labels.tolist(), clean)
        known = self.before.setdefault(facts.victim, Before())
        known.add(place, rows.clean_logits.float().numpy())
        logits = rows.logits.double().numpy()
        self.runs.append(
            Run(
                facts=facts,
                place=place,
                correct=rows.correct.numpy(),
                attacked=rows.attacked.numpy(),
                success=rows.success.numpy(),
                predicted=logits.argmax(1),
                distance=rows.distance.numpy(),
                forward=rows.forward.numpy(),
                backward=rows.backward.numpy(),
                stage=rows.stage.numpy(),
                changes=changes(clean, written),
                after=likeliest(logits, labels),
            )
        )

    def _place(
        self, numbers: list[int], labels: list[int], clean: Int64[np.ndarray, "rows features"]
    ) -> Int64[np.ndarray, "rows"]:
        """Where each clean row is held; the number alone does not say that two rows are the same."""
        places = np.empty(len(numbers), np.int64)
        for i, (number, label, row) in enumerate(zip(numbers, labels, clean.astype(_ID), strict=True)):
            key = (number, label, row.tobytes())
            known = self._places.get(key)
            if known is None:
                known = self._places[key] = len(self.clean)
                self.numbers.append(number)
                self.labels.append(label)
                self.clean.append(key[2])
            places[i] = known
        return places


_ID = np.dtype("<u4")


def row_form(schema: Schema) -> Form:
    """How rows of a schema are written: those of one alphabet in numbered places are strings, texts or events."""
    names = [feature.name for feature in schema.features]
    prefix = re.sub(r"\d+$", "", names[0])
    if not schema.shares_alphabet or names != [f"{prefix}{i + 1}" for i in range(len(names))]:
        return "columns"
    alphabet = schema.features[0].categories
    if alphabet[: len(SPECIAL)] == SPECIAL:
        return "words"
    return "letters" if all(len(category) == 1 for category in alphabet) else "events"
