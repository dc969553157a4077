"""What an audit found, and how it shows itself: per class and direction, never as one number over all rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hammingbox.auditing.shown import band_in_words, curves_by_class, frozen_in_words, headline_of, html_by_class
from hammingbox.errors import InputError, unknown_name
from hammingbox.evaluation.class_rates import ClassRate, ClassRates
from hammingbox.evaluation.diagnose import Finding
from hammingbox.evaluation.shown import frame_of
from hammingbox.notebook import Axes, Frame, data_frame
from hammingbox.report.band import BandLine, band
from hammingbox.report.comparison import Comparison
from hammingbox.report.measured_what_if import MeasuredWhatIf
from hammingbox.report.page.folder import PAGE, Chosen, read_contents
from hammingbox.report.page.page import write_page
from hammingbox.report.plausible_success import PlausibleLine
from hammingbox.report.recorded_plausibility import read_notes
from hammingbox.running.store import open_store


@dataclass(frozen=True, eq=False)
class Audit:
    """How robust a model is on a table.

    Attributes:
        comparison: the runs behind it.
        folder: of the store and the report.
        what_if: success on rows of the class of the headline with a column frozen; None where nothing was measured.
        plausible: at each budget, what is left of success when rows that look odd do not count.
        how_proven: which certificates were tried; empty if none were.
        chosen: its rows, in a folder that may hold more; None for all of the folder.
    """

    comparison: Comparison
    folder: Path
    what_if: MeasuredWhatIf | None = None
    plausible: Sequence[PlausibleLine] = ()
    how_proven: str = ""
    chosen: Chosen | None = None

    @property
    def classes(self) -> dict[int, ClassRates]:
        """Every class at every budget: a row is broken when any attack with this or a smaller budget broke it."""
        return self.comparison.summary.classes

    @property
    def band(self) -> list[BandLine]:
        """Certified and attacked accuracy at every budget, for all rows and by class; empty where nothing is proven."""
        return band(self.comparison.summary.results, self.comparison.summary.name)

    @property
    def findings(self) -> Sequence[Finding]:
        """What makes the figures doubtful."""
        return self.comparison.findings

    @property
    def headline(self) -> str:
        """The rate of the positive class, or of the worst one, at the smallest and the largest budget."""
        return headline_of(self.classes)

    def __repr__(self) -> str:
        return f"Audit({self.comparison.summary.results.data}, {self.comparison.summary.name}: {self.headline})"

    def to_frame(self) -> Frame:
        """A pandas data frame with one line per budget and class: rows, recall, success and where broken rows go.

        Raises:
            InputError: pandas is not installed.
        """
        lines = [
            {"budget": budget} | line.to_json()
            for budget, rates in self.classes.items()
            for line in rates.lines
            if line.rows or line.population
        ]
        names = ("budget", *ClassRate("", 0, 0, 0, 0).to_json())  # also where every attack was refused
        return data_frame({name: [line[name] for line in lines] for name in names})

    def rows(self, budget: int, contents: str = "outcome", *, attack: str | None = None) -> Frame:
        """A pandas data frame with one line per audited row of a run, indexed by its number in the table.

        Args:
            budget: of the run.
            contents: "outcome" for what happened to each row, "clean" or "adversarial" for its values.
            attack: of the run; the first one by default.

        Raises:
            InputError: no such run, an attack that refused, other contents, or pandas is not installed.
        """
        names = self.comparison.summary.attacks
        wanted = names[0] if attack is None else attack
        if wanted not in names:
            raise unknown_name("attack of this audit", wanted, names)
        with open_store(self.folder, readonly=True) as store:
            for run in store.runs():
                mine = run.key.victim_sha256 == self.comparison.weights and run.name == wanted
                if mine and run.key.budget == budget and run.rows:
                    rows, schema = store.rows(run.id), store.schema(run)
                    frame = frame_of(rows, schema, contents)
                    found = read_notes(self.folder).of(rows, schema.digest) if contents == "outcome" else None
                    if found is not None:
                        # One name per column: pandas and its stubs agree on item assignment only.
                        frame["unseen_pairs"] = [count if count >= 0 else None for count in found[0].tolist()]
                        frame["anomaly"] = found[1]
                    return frame
        for refused, budgets, reason in self.comparison.summary.refused:
            if refused == wanted and budget in budgets:
                raise InputError(f"expected an attack that was run, got {wanted} at budget {budget}: {reason}")
        raise InputError(f"expected a budget of this audit ({', '.join(map(str, self.classes))}), got {budget}.")

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draws the success of each class by budget, on new axes by default, and returns the axes.

        Raises:
            InputError: every attack was refused, or matplotlib is not installed.
        """
        if not self.classes:
            reasons = "; ".join(f"{name}: {reason}" for name, _, reason in self.comparison.summary.refused)
            raise InputError(f"expected attacks that were run, got none to draw ({reasons or 'no attack'}).")
        return curves_by_class(self.classes, self.comparison.summary.results.data, ax)

    def report(self, path: Path | str | None = None) -> Path:
        """Writes the report, one HTML file that needs no network, and returns its path.

        Args:
            path: of the file; report.html in the folder of the audit by default.

        Raises:
            FileError: it cannot be written.
        """
        place = self.folder / PAGE if path is None else Path(path)
        queried = {self.comparison.weights: self.comparison.queried}
        write_page(read_contents(self.folder, queried=queried, chosen=self.chosen), place)
        return place

    def _repr_html_(self) -> str:
        """How a notebook shows it: one line per class, a column per budget."""
        doubts = [f"{finding.severity}: {finding.seen}; {finding.means}." for finding in self.findings]
        title = f"{self.comparison.summary.results.data}, {self.comparison.summary.name}. {self.headline}"
        frozen = [] if self.what_if is None else frozen_in_words(self.what_if)
        proven = [*band_in_words(self.band), self.how_proven] if self.how_proven else []
        return html_by_class(self.classes, title, [*frozen, *proven, *doubts])
