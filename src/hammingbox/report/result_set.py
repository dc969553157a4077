"""Results that can be compared: runs on the same data. Clean rows are held once, attacked rows as changes to them."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from jaxtyping import Float32, Float64, Int64

from hammingbox.data.schema import Schema
from hammingbox.evaluation.drawing import Sample
from hammingbox.evaluation.rates import Rate
from hammingbox.evaluation.rows import Rows
from hammingbox.evaluation.run_totals import RunTotals
from hammingbox.report.ragged_pairs import changes, likeliest
from hammingbox.report.run_rows import RunFacts, RunRows
from hammingbox.text.vocabulary import SPECIAL
from hammingbox.threat.goal import Goal
from hammingbox.threat.rules.rules import Rules
from hammingbox.threat.rules.unit import Unit

Form = Literal["letters", "words", "events", "columns"]
"""How rows are written: a string, a text, a list of events, or only the columns that changed."""

_ID = np.dtype("<u4")


@dataclass
class CleanAnswers:
    """A victim's answers to clean rows.

    Attributes:
        places: the clean rows it answered, each once.
        spread: the largest difference between two answers to the same row.
    """

    places: list[int] = field(default_factory=list)
    spread: float = 0.0
    _logits: list[Float32[np.ndarray, "some classes"]] = field(default_factory=list, repr=False)
    _known: dict[int, int] = field(default_factory=dict, repr=False)

    def add(self, place: Int64[np.ndarray, "rows"], logits: Float32[np.ndarray, "rows classes"]) -> None:
        """Keeps the answers to new rows and compares the others: the same row occurs in the runs of many attacks."""
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
class ResultSet:
    """Runs on rows of one data set, with one set of allowed changes and one goal.

    Attributes:
        data: the name shown for the data.
        schema: what ids mean.
        space: the allowed changes in words.
        goal: what counts as success, in words; "" for any wrong class.
        sample: how its rows were drawn and what they stand for, if that was noted.
        aim: the goal itself; None for any wrong class, or for a goal of a user's own.
        rules: what changes cost and what must hold between columns; None where only the number of changes counts.
        rare: how many of the data's own rows hold a pair of values that no other row holds; None where nobody noted how
            plausible broken rows are.
        runs: in the order they were added.
        numbers: of the clean rows in their source.
        labels: true classes of the clean rows.
        clean: each clean row once, as bytes of its ids.
        before: each victim's answers to clean rows.
        whole: what all rows add up to, by victim, where only some are held here; see `hammingbox.report.large_results`.
        distinct: clean rows, where only some are held here.
    """

    data: str
    schema: Schema
    space: str = ""
    goal: str = ""
    sample: Sample | None = None
    aim: Goal | None = None
    rules: Rules | None = None
    rare: Rate | None = None
    runs: list[RunRows] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    labels: list[int] = field(default_factory=list)
    clean: list[bytes] = field(default_factory=list, repr=False)
    before: dict[str, CleanAnswers] = field(default_factory=dict, repr=False)
    whole: Mapping[str, Any] = field(default_factory=dict, repr=False)
    distinct: int = 0
    _places: dict[tuple[int, int, bytes], int] = field(default_factory=dict, repr=False)

    def empty(self) -> "ResultSet":
        """The same without runs and rows."""
        return ResultSet(self.data, self.schema, self.space, self.goal, self.sample, self.aim, self.rules)

    @property
    def rows(self) -> int:
        """Distinct clean rows, those included that are not held here."""
        return self.distinct if self.whole else len(self.clean)

    @property
    def unit(self) -> Unit | None:
        """What budgets count, if it is money."""
        return None if self.rules is None else self.rules.unit

    @property
    def derived_columns(self) -> frozenset[int]:
        """Columns that are computed from others whenever a row is written."""
        return frozenset() if self.rules is None else frozenset(each.column for each in self.rules.derived)

    @property
    def budget_label(self) -> str:
        """What an axis of budgets shows."""
        return "budget: changed features" if self.unit is None else f"budget, {self.unit.currency or 'cost'}"

    def on_axis(self, budget: int) -> float:
        """Where a budget lies on its axis. Prices span orders of magnitude: their axis is logarithmic, without 0."""
        return float(budget) if self.unit is None else max(float(budget), float(self.unit.amount(1)))

    @property
    def population(self) -> tuple[int, ...] | None:
        """Rows of each class in the whole split, if that was noted."""
        fits = self.sample is not None and len(self.sample.population) == len(self.schema.classes)
        return self.sample.population if self.sample is not None and fits else None

    @property
    def positive(self) -> str | None:
        """The class that comes first, if one was named."""
        named = None if self.sample is None else self.sample.positive
        return named if named in self.schema.classes else None

    @property
    def victims(self) -> list[str]:
        """In the order they were added."""
        return list(dict.fromkeys(run.facts.victim for run in self.runs))

    @property
    def attacks(self) -> list[str]:
        """In the order they were added."""
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
    ) -> Iterator[RunRows]:
        """Runs with these facts; None selects any."""
        for run in self.runs:
            facts = run.facts
            if victim in (None, facts.victim) and attack in (None, facts.attack) and budget in (None, facts.budget):
                yield run

    def clean_ids(self) -> Int64[np.ndarray, "places features"]:
        """All clean rows."""
        joined = np.frombuffer(b"".join(self.clean), dtype=_ID)
        return joined.reshape(len(self.clean), len(self.schema.features)).astype(np.int64)

    def add(
        self,
        facts: RunFacts,
        rows: Rows | None,
        plausibility: tuple[Int64[np.ndarray, "rows"], Float64[np.ndarray, "rows"]] | None = None,
        totals: RunTotals | None = None,
    ) -> None:
        """Adds a run; None for a run that was refused.

        Args:
            facts: what the run is.
            rows: its rows.
            plausibility: unseen pairs and anomalies of its rows, if they were noted.
            totals: what all its rows add up to, where `rows` are only some of them.
        """
        if rows is None:
            self.runs.append(RunRows.empty(facts))
            return
        clean, written, labels = rows.clean.numpy(), rows.adversarial.numpy(), rows.labels.numpy()
        place = self._place(rows.numbers.tolist(), labels.tolist(), clean)
        self.before.setdefault(facts.victim, CleanAnswers()).add(place, rows.clean_logits.float().numpy())
        logits = rows.logits.double().numpy()
        pairs, anomaly = plausibility or (np.full(len(rows), -1), np.full(len(rows), np.nan))
        self.runs.append(
            RunRows(
                facts=facts,
                summary=rows.summary() if totals is None else totals.summary(),
                place=place,
                correct=rows.correct.numpy(),
                attacked=rows.attacked.numpy(),
                broken=rows.success.numpy(),
                proven=rows.proven.numpy(),
                predicted=logits.argmax(1),
                distance=rows.distance.numpy(),
                forward=rows.forward.numpy(),
                backward=rows.backward.numpy(),
                stage=rows.stage.numpy(),
                changes=changes(clean, written),
                after=likeliest(logits, labels),
                unseen_pairs=pairs,
                anomaly=anomaly,
                totals=totals,
            )
        )

    def _place(
        self, numbers: list[int], labels: list[int], clean: Int64[np.ndarray, "rows features"]
    ) -> Int64[np.ndarray, "rows"]:
        """Where each clean row is held. Two rows are the same when number, label and content are equal."""
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


def row_form(schema: Schema) -> Form:
    """How rows of a schema are written: numbered features with one alphabet are strings, texts or lists of events."""
    names = [feature.name for feature in schema.features]
    prefix = re.sub(r"\d+$", "", names[0])
    if not schema.shares_alphabet or names != [f"{prefix}{i + 1}" for i in range(len(names))]:
        return "columns"
    alphabet = schema.features[0].categories
    if alphabet[: len(SPECIAL)] == SPECIAL:
        return "words"
    return "letters" if all(len(category) == 1 for category in alphabet) else "events"
