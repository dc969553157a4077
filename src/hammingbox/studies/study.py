"""What every study has in common: a size for each preset, a plan, and an outcome to show and write."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hammingbox.errors import unknown_name
from hammingbox.report.artefacts.cases import Case
from hammingbox.report.artefacts.figures import Figure
from hammingbox.report.artefacts.table import Table
from hammingbox.studies.plan import Work
from hammingbox.studies.recipe import Recipe
from hammingbox.studies.workspace import Workspace

PRESETS = ("smoke", "cpu", "paper")
"""About a minute; at most some hours on two cores; the sizes of the paper."""


@dataclass(frozen=True, kw_only=True)
class Size:
    """How large a study is.

    Attributes:
        victims: the victims to attack.
        rows: number of test rows per victim.
        budgets: the budgets to attack with.
        seeds: number of seeds for randomised attacks; the others run once.
        attacks: names of the attacks; empty for a study that brings its own.
        attack_settings: settings that differ from an attack's defaults, by attack name.
        attack_rows: number of rows for attacks that are too expensive for all of them, by attack name.
    """

    victims: tuple[Recipe, ...] = ()
    rows: int = 0
    budgets: tuple[int, ...] = ()
    seeds: int = 1
    attacks: tuple[str, ...] = ()
    attack_settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    attack_rows: Mapping[str, int] = field(default_factory=dict)

    def rows_of(self, attack: str) -> int:
        """Number of test rows for an attack. Fewer rows are a subset of more rows."""
        return self.attack_rows.get(attack, self.rows)


@dataclass
class Outcome:
    """What a study found.

    Attributes:
        tables: our numbers beside the paper's.
        figures: by file name.
        cases: adversarial rows to read.
        skipped: parts that could not run, each with the reason.
        notes: remarks on the whole outcome, such as why our numbers differ from the paper's.
    """

    tables: list[Table] = field(default_factory=list)
    figures: dict[str, Figure] = field(default_factory=dict)
    cases: list[Case] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Study(ABC):
    """A table or figure of the paper.

    Attributes:
        name: on the command line, and of the output folder.
        title: what it shows.
        source: the table or figure of the paper it reproduces.
        sizes: by preset.
        reasons: why our numbers differ from the paper's.
    """

    name: str
    title: str
    source: str
    sizes: Mapping[str, Size]
    reasons: tuple[str, ...] = ()

    def heading(self, preset: str) -> str:
        """The title line of its page."""
        return f"{self.title} ({self.source} of the paper), preset {preset}"

    def size(self, preset: str) -> Size:
        """Its size under a preset.

        Raises:
            InputError: no such preset.
        """
        if preset not in self.sizes:
            raise unknown_name("preset", preset, self.sizes)
        return self.sizes[preset]

    @abstractmethod
    def plan(self, workspace: Workspace, size: Size) -> list[Work]:
        """Lists the work that is left, without doing it."""

    @abstractmethod
    def run(self, workspace: Workspace, size: Size) -> Outcome:
        """Does the work that is not recorded yet and returns the whole outcome."""
