"""The certificate `auto`: the cheapest method that applies, and the next one for the rows that it leaves open."""

from dataclasses import dataclass, replace

import torch

from hammingbox.attacks._search.incumbent import Incumbent
from hammingbox.attacks.auto import Auto
from hammingbox.certificates.ablation import Ablation
from hammingbox.certificates.additive import Additive
from hammingbox.certificates.base import Certificate
from hammingbox.certificates.exact import Exact
from hammingbox.certificates.relaxation import Relaxation
from hammingbox.certificates.result import Claims
from hammingbox.certificates.tree_search import TreeSearch
from hammingbox.errors import InputError
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom
from hammingbox.threat.ruled_space import RuledSpace
from hammingbox.threat.space import Space
from hammingbox.victims.victim import Victim

METHODS: tuple[Certificate, ...] = (Additive(), TreeSearch(), Relaxation(), Ablation(), Exact())
"""In order of cost."""


def _methods_for(space: Space) -> tuple[Certificate, ...]:
    """The methods that know prices and relations, where the space has some."""
    return tuple(method for method in METHODS if method.keeps_rules or not isinstance(space, RuledSpace))


@dataclass(frozen=True, kw_only=True)
class Cascade(Certificate):
    """Chooses the methods for a victim, in order of cost.

    Guarantee: that of the method that proved a row; all methods of a victim hold with certainty, or there is only one.
    A row is handed on until it is proven or broken. Methods that compute with weights come first. Rows that they leave
    open are attacked before they are enumerated, and rows that no method decides are attacked once more with the whole
    budget, so what stays unknown has withstood `auto` as well.

    Attributes:
        max_passes: forward passes per row at most of the last method, which enumerates.
    """

    max_passes: int = Exact.max_passes

    def __repr__(self) -> str:
        # Stores hold runs of the default under its short name.
        return "Cascade()" if self.max_passes == Exact.max_passes else f"Cascade(max_passes={self.max_passes})"

    def applies_to(self, victim: Victim, space: Space) -> str | None:
        """Every victim that some method applies to."""
        reasons = [method.applies_to(victim, space) for method in _methods_for(space)]
        return None if any(reason is None for reason in reasons) else reasons[-1]

    def methods(self, victim: Victim, space: Space) -> tuple[Certificate, ...]:
        """The methods that apply, the cheapest first."""
        found = (method for method in _methods_for(space) if method.applies_to(victim, space) is None)
        return tuple(
            replace(method, max_passes=self.max_passes) if isinstance(method, Exact) else method for method in found
        )

    def chosen_for(self, victim: Victim, space: Space) -> Certificate:
        """The methods that apply, one after the other."""
        found = self.methods(victim, space)
        if not found:
            raise InputError(str(self.applies_to(victim, space)))
        return found[0] if found[0].confidence < 1 or len(found) == 1 else Stages(methods=found)

    def run(self, problem: Problem, random: RowRandom) -> Claims:
        """Not called: `chosen_for` gives the method that runs."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Stages(Certificate):
    """Several methods, each on the rows that are still open; see `Cascade`."""

    methods: tuple[Certificate, ...]

    def applies_to(self, victim: Victim, space: Space) -> str | None:
        """Victims that all methods apply to."""
        reasons = (method.applies_to(victim, space) for method in self.methods)
        return next((reason for reason in reasons if reason is not None), None)

    def run(self, problem: Problem, random: RowRandom) -> Claims:
        """Keeps, for every row, the largest radius, a witness that was confirmed, and the smallest bound."""
        radius, witness = torch.zeros_like(problem.rows), problem.clean_slots
        bound = torch.full(radius.shape, torch.inf, dtype=torch.float64, device=radius.device)
        broken = torch.zeros_like(radius, dtype=torch.bool)
        for method in self.methods:
            rows = (~broken & (radius < problem.budget)).nonzero()[:, 0]
            if not len(rows):
                break
            part = problem.take(rows)
            claims = method.run(part, random.select(rows))
            radius[rows] = torch.maximum(radius[rows], claims.radius)
            bound[rows] = torch.minimum(bound[rows], claims.bound.double())
            confirmed = self._really_broken(part, claims.witness)
            witness[rows[confirmed]], broken[rows[confirmed]] = claims.witness[confirmed], True
        rows = (~broken & (radius < problem.budget)).nonzero()[:, 0]
        if len(rows) and any(method.needs_passes for method in self.methods):
            best = Incumbent(problem.take(rows))
            Auto().search(problem.take(rows), random.select(rows), best)
            found = best.fooled & ((best.slots != 0).sum(1) > radius[rows])
            witness[rows[found]] = best.slots[found]
        return Claims(radius, witness, bound)
