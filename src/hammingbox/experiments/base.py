"""What every experiment has in common: sizes by preset, a plan, and an outcome to be shown and written."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hammingbox.errors import unknown_name
from hammingbox.experiments.plan import Work
from hammingbox.experiments.recipe import Recipe
from hammingbox.experiments.workspace import Workspace
from hammingbox.report.cases import Case
from hammingbox.report.paper_figures import Figure
from hammingbox.report.table import Table

PRESETS = ("smoke", "cpu", "paper")
"""A minute; hours at most on two cores; the paper's sizes."""


@dataclass(frozen=True, kw_only=True)
class Size:
    """How large an experiment is.

    Attributes:
        victims: what is attacked.
        rows: test rows of each victim.
        budgets: changes allowed.
        seeds: of attacks that draw.
        attacks: what attacks, by name; empty for an experiment with attacks of its own.
        attack_settings: settings of attacks that differ from their defaults.
    """

    victims: tuple[Recipe, ...] = ()
    rows: int = 0
    budgets: tuple[int, ...] = ()
    seeds: int = 1
    attacks: tuple[str, ...] = ()
    attack_settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass
class Outcome:
    """What an experiment found.

    Attributes:
        tables: with the paper's numbers beside ours.
        figures: by file name.
        cases: rows to read.
        skipped: parts that could not be run, and why.
        notes: what holds for all of it, such as why our numbers differ from the paper's.
    """

    tables: list[Table] = field(default_factory=list)
    figures: dict[str, Figure] = field(default_factory=dict)
    cases: list[Case] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Experiment(ABC):
    """A table or figure of the paper.

    Attributes:
        name: for the command line and the output folder.
        title: what it shows.
        source: where in the paper it stands.
        sizes: by preset.
        reasons: why our numbers differ from the paper's.
    """

    name: str
    title: str
    source: str
    sizes: Mapping[str, Size]
    reasons: tuple[str, ...] = ()

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
        """What would be done, without doing it."""

    @abstractmethod
    def run(self, workspace: Workspace, size: Size) -> Outcome:
        """Does what is not recorded yet and shows everything."""
