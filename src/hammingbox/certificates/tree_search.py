"""Exact search over tree ensembles: the smallest number of changes that breaks each row."""

from dataclasses import dataclass
from time import perf_counter
from typing import ClassVar
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from hammingbox.certificates._trees.expansion import Moves
from hammingbox.certificates._trees.groups import GroupPoints, GroupTables, feature_groups, worst_cases
from hammingbox.certificates._trees.leaf_boxes import LeafBoxes
from hammingbox.certificates._trees.row_search import Effort, search_row
from hammingbox.certificates.base import Certificate, Claims
from hammingbox.errors import InputError
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom
from hammingbox.threat.candidates import Candidates
from hammingbox.threat.space import Space
from hammingbox.victims.trees.ensemble import BoolArray, FloatArray, TreeEnsemble
from hammingbox.victims.trees.tree_victim import TreeVictim
from hammingbox.victims.victim import Victim

_BOXES: "WeakKeyDictionary[TreeEnsemble, LeafBoxes]" = WeakKeyDictionary()
"""The leaves of ensembles that were searched before; they are a function of the ensemble."""

_TABLES: "WeakKeyDictionary[TreeEnsemble, GroupTables | None]" = WeakKeyDictionary()
"""The same for their groups."""

_ROWS = 256
"""Rows whose groups are held at once."""


@dataclass(frozen=True, kw_only=True)
class TreeSearch(Certificate):
    """Decides every row of a tree ensemble by branch and bound.

    Guarantee: a row that is proven at r has no point of S(x) within r changes that meets the goal, in exact arithmetic
    over the model's leaf values. Sums are taken in float64 and are exact for leaf values of float32 (XGBoost) and for
    forests of pure leaves; otherwise leads within `TreeEnsemble.rounding` of 0 (about 1e-11 of the largest sum) count
    as reached, and a row whose witness the victim then does not confirm is unknown. A model that is asked through its
    library (`hb.victim`, `--model`) may add in float32 and decide ties in its own way: there, leads within
    `TreeEnsemble.library_rounding` count as reached. Its trees are read from the model, and are used only if they
    answer at least 512 random rows as the library does; that they do so for all rows is checked, not proven.

    Where the trees fall into groups that share no feature (stumps, large-spread ensembles, interaction constraints) and
    the goal has one losing class, the worst case is computed in closed form, for every r and without a limit.

    A row that runs into a limit is unknown, with the radius that was proven by then.

    Cost: no forward passes but one for the clean row and one for a witness. Time grows with the leaves that are within
    r changes of the row.

    Attributes:
        nodes: expansions of each row at most.
        seconds: time of each row at most; with a limit of time, what is unknown depends on the machine.
    """

    exact: ClassVar[bool] = True

    nodes: int = 20_000
    seconds: float | None = None

    def applies_to(self, victim: Victim, space: Space) -> str | None:
        """It needs the trees, over the features of the space."""
        try:
            trees = victim.as_trees()
        except InputError as error:
            return str(error)
        if not isinstance(trees, TreeVictim):
            return (
                f"expected a model of trees (XGBoost, LightGBM or scikit-learn) for the certificate trees, got "
                f"{type(victim).__name__}. Use additive or relaxation for a network, exact for any model at small "
                "budgets."
            )
        if trees.ensemble.cardinalities != space.schema.cardinalities:
            return "expected trees over the features of the space, got others. Use one schema for both."
        return None

    def run(self, problem: Problem, random: RowRandom) -> Claims:  # noqa: ARG002
        """In closed form where the trees fall into groups that share no feature, row by row otherwise."""
        victim = problem.victim.as_trees()
        assert isinstance(victim, TreeVictim)
        ensemble = victim.ensemble
        tolerance = ensemble.rounding if victim is problem.victim else ensemble.library_rounding
        one_loser = bool(((~problem.goal.wins).sum(1) == 1).all())
        tables = _group_tables(ensemble) if one_loser else None
        if tables is not None:
            return _grouped(problem, victim, tables, tolerance)
        return self._searched(problem, victim, tolerance)

    def _searched(self, problem: Problem, victim: TreeVictim, tolerance: float) -> Claims:
        ensemble, boxes = victim.ensemble, leaf_boxes(victim.ensemble)
        wins = problem.goal.wins.cpu().numpy()
        sums = victim.sums(problem.candidates.clean).cpu().numpy()
        radius = torch.zeros_like(problem.rows)
        witness = problem.clean_slots.clone()
        bound, seconds = (torch.zeros(len(problem), dtype=torch.float64, device=radius.device) for _ in range(2))
        for row in range(len(problem)):
            begin = perf_counter()
            moves = distinct_moves(boxes, problem.candidates, row)
            pairs, leads = _rivals(boxes.values, sums[row], wins[row])
            outcome = search_row(
                boxes,
                pairs,
                leads,
                problem.candidates.clean[row].cpu().numpy(),
                moves,
                problem.budget,
                tolerance=tolerance,
                effort=Effort(self.nodes, begin + (self.seconds or np.inf)),
            )
            radius[row], bound[row] = outcome.radius, _margin(outcome.bound, ensemble)
            if outcome.witness is not None:
                chosen = moves.take(outcome.witness)
                witness[row, torch.from_numpy(chosen.feature)] = torch.from_numpy(chosen.slot).to(witness.device)
            seconds[row] = perf_counter() - begin
        return Claims(radius, witness, bound, seconds)


def _group_tables(ensemble: TreeEnsemble) -> GroupTables | None:
    """The ensemble as a sum over groups of features, made once; None if it is not one of small groups."""
    if ensemble not in _TABLES:
        groups = feature_groups(ensemble)
        tables = None
        if len(groups) > 1 and GroupTables.fits(ensemble.cardinalities, groups):
            tables = GroupTables(ensemble.cardinalities, groups, ensemble.classes)
            tables.add(ensemble)
        _TABLES[ensemble] = tables
    return _TABLES[ensemble]


def _grouped(problem: Problem, victim: TreeVictim, tables: GroupTables, tolerance: float) -> Claims:
    """Exact at every number of changes, whatever the budget."""
    parts = [
        _grouped_part(problem.take(rows), victim, tables, tolerance)
        for rows in torch.arange(len(problem), device=problem.rows.device).split(_ROWS)
    ]
    radius, witness, bound = (torch.cat([part[i] for part in parts]) for i in range(3))
    return Claims(radius, witness, bound)


def _grouped_part(
    problem: Problem, victim: TreeVictim, tables: GroupTables, tolerance: float
) -> tuple[Tensor, Tensor, Tensor]:
    ensemble, budget, device = victim.ensemble, problem.budget, problem.rows.device
    wins = problem.goal.wins.cpu().numpy()
    losing, rows = (~wins).argmax(1), np.arange(len(wins))
    sums = victim.sums(problem.candidates.clean).cpu().numpy()
    points = GroupPoints.of(problem.candidates, tables, budget)
    found = worst_cases(tables, points, sums - sums[rows, losing][:, None], losing, budget)
    leads = np.where(wins[:, :, None], found.leads, -np.inf)
    worst = leads.max(1)  # (batch, changes)
    reached = worst > -tolerance
    changes = np.where(reached.any(1), reached.argmax(1), budget + 1)
    rival = leads[rows, :, np.minimum(changes, budget)].argmax(1)
    slots = np.zeros((len(rows), problem.candidates.layout.features), dtype=np.int64)
    chosen = found.slots(tables, points, rival, np.minimum(changes, budget))
    slots[:, : chosen.shape[1]] = np.where((changes <= budget)[:, None], chosen, 0)
    bound = [_margin(float(value), ensemble) for value in worst.max(1)]
    return (
        torch.from_numpy(np.minimum(changes - 1, budget)).to(device),
        torch.from_numpy(slots).to(device),
        torch.tensor(bound, dtype=torch.float64, device=device),
    )


def leaf_boxes(ensemble: TreeEnsemble) -> LeafBoxes:
    """The leaves of an ensemble, made once."""
    if ensemble not in _BOXES:
        _BOXES[ensemble] = LeafBoxes.of(ensemble)
    return _BOXES[ensemble]


def distinct_moves(boxes: LeafBoxes, candidates: Candidates, row: int) -> Moves:
    """The changes that S(x) allows, one for each group of categories that the trees tell apart."""
    layout = candidates.layout
    option = candidates.moves[row].nonzero()[:, 0]
    feature, slot = layout.feature_of[option].cpu().numpy(), layout.slot_of[option].cpu().numpy()
    category = candidates.ids[row, option].cpu().numpy()
    clean = candidates.clean[row].cpu().numpy()
    group = boxes.groups[feature, category]
    key = np.where(group == boxes.groups[feature, clean[feature]], -1, feature * boxes.groups.shape[1] + group)
    found, first = np.unique(key, return_index=True)  # sorted by feature
    return Moves(feature, category, slot).take(first[found >= 0])


def _rivals(values: FloatArray, sums: FloatArray, wins: BoolArray) -> tuple[list[FloatArray], list[FloatArray]]:
    """For each winning class, what the leaves add to its leads over the other classes, and these leads now."""
    winning, losing = np.flatnonzero(wins), np.flatnonzero(~wins)
    pairs = [values[:, [k]] - values[:, losing] for k in winning]
    return pairs, [sums[k] - sums[losing] for k in winning]


def _margin(bound: float, ensemble: TreeEnsemble) -> float:
    """A bound on the lead as a bound on the margin of the victim's logits.

    The logits of a forest are the logarithms of its probabilities. If the probability p of the rival is at most that
    of another class plus b < 0, then the difference of their logarithms is at most log((1 + b) / (1 - b)).
    """
    if ensemble.link == "scores" or not np.isfinite(bound):
        return bound
    lead = bound / ensemble.trees
    return np.inf if lead > 0 else float(np.log((1 + lead) / (1 - lead)))
