"""What an attack did to a data set."""

from dataclasses import dataclass, field
from typing import Any

from hammingbox.data.dataset import Dataset
from hammingbox.evaluation.class_rates import ClassRates, class_rates_of
from hammingbox.evaluation.diagnose.finding import Finding
from hammingbox.evaluation.diagnose.row_checks import diagnose_rows
from hammingbox.evaluation.failed_row import FailedRow
from hammingbox.evaluation.method import Method
from hammingbox.evaluation.rates import Rate
from hammingbox.evaluation.rows import Rows
from hammingbox.evaluation.shown import bars_by_class, frame_of, html_of, interval_in_words, percent
from hammingbox.notebook import Axes, Frame
from hammingbox.threat.goal import AnyOther, Goal
from hammingbox.threat.threat_model import ThreatModel


@dataclass(frozen=True, eq=False)
class Evaluation:
    """An attack's result on a data set: rows, and the summary that follows from them."""

    data: Dataset
    threat: ThreatModel
    attack: Method
    seed: int
    rows: Rows
    seconds: float
    victim_digest: str
    goal: Goal = field(default_factory=AnyOther)
    failed: tuple[FailedRow, ...] = ()
    """Rows that nobody could compute; neither `data` nor `rows` has them."""

    def __repr__(self) -> str:
        return f"Evaluation({self._headline})"

    @property
    def accuracy(self) -> Rate:
        """Rows the victim got right before, over all rows."""
        return self.rows.accuracy

    @property
    def success_rate(self) -> Rate:
        """Rows that were broken, over rows that were attacked: right before, and with a goal and a change to try."""
        return self.rows.success_rate

    @property
    def robust_error(self) -> Rate:
        """Rows that are wrong with or without the attack, over all rows."""
        return self.rows.robust_error

    @property
    def clean_error(self) -> Rate:
        """Rows that are wrong without an attack, over all rows."""
        return Rate(len(self.rows) - self.accuracy.hits, len(self.rows))

    @property
    def classes(self) -> ClassRates:
        """What the attack did to each class."""
        return class_rates_of(self.rows, self.data.schema.classes)

    @property
    def findings(self) -> list[Finding]:
        """What its rows say against it: too few of them, absent classes, a collapsed or confused victim."""
        return diagnose_rows(self.rows, self.data.schema, goal=self.goal, failed=self.failed)

    def summary(self) -> dict[str, Any]:
        """One flat JSON object: rates with their intervals, mean distance of successes, passes and seconds."""
        return {
            "attack": repr(self.attack),
            "data": self.data.name,
            "budget": self.threat.budget,
            "goal": self.goal.to_json(),
            "seed": self.seed,
            **self.rows.summary(),
            "seconds": self.seconds,
        }

    def to_frame(self, contents: str = "outcome") -> Frame:
        """A pandas data frame with one line per row, indexed by the row's number in its source.

        Args:
            contents: "outcome" for what happened to each row, "clean" or "adversarial" for the values of its features.

        Raises:
            InputError: other contents, or pandas is not installed.
        """
        return frame_of(self.rows, self.data.schema, contents)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draws what happened to the rows of each class, on new axes by default, and returns the axes.

        Raises:
            InputError: matplotlib is not installed.
        """
        rate = self.success_rate
        title = f"budget {self.threat.budget}: {rate.hits:,} of {rate.rows:,} attacked rows broken ({percent(rate)})"
        return bars_by_class(self.rows, self.data.schema, title, ax)

    def _repr_html_(self) -> str:
        """How a notebook shows it: one line per class."""
        cost = f"{int(self.rows.forward.sum()):,} forward and {int(self.rows.backward.sum()):,} backward passes"
        goal = "" if self.goal == AnyOther() else f"Goal: {self.goal!r}. "
        notes = (f"{goal}{self.attack!r}, seed {self.seed}: {cost}, {self.seconds:.1f} s.",)
        return html_of(self.rows, self.data.schema, self._headline, notes)

    @property
    def _headline(self) -> str:
        rate, name = self.success_rate, type(self.attack).__name__
        return (
            f"{name} on {self.data.name}, budget {self.threat.budget}: {rate.hits:,} of {rate.rows:,} attacked rows "
            f"broken ({percent(rate)}; {interval_in_words(rate)})"
        )
