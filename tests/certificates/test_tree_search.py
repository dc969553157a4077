"""TreeSearch against enumeration, against an integer programme, and against every attack."""

import numpy as np
import pytest
import torch
import xgboost
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array

import hammingbox
from hammingbox.attacks import ATTACKS, Exhaustive
from hammingbox.certificates import Certificate, TreeSearch
from hammingbox.certificates._trees import row_search
from hammingbox.certificates.tree_search import leaf_boxes
from hammingbox.data.dataset import Splits
from hammingbox.data.schema import Schema
from hammingbox.errors import InputError
from hammingbox.threat.goal import AnyOther, Direction, Goal, Target
from hammingbox.threat.masked_space import MaskedSpace
from hammingbox.threat.space import FullSpace, Space
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.victims.trees.columns import encoded, one_hot
from hammingbox.victims.trees.tree_victim import TreeVictim, tree_victim
from toys import ToyVictim
from toys.random_trees import all_points, random_schema, random_victim

GOALS: list[Goal] = [AnyOther(), Target("x"), Direction("y", "z"), Target("x") | Target("y")]


def rows_of(schema: Schema, seed: int, rows: int = 3) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    x = torch.stack([torch.randint(0, d, (rows,), generator=generator) for d in schema.cardinalities], 1)
    return x, torch.randint(0, len(schema.classes), (rows,), generator=generator)


def check_against_enumeration(
    method: Certificate, victim: TreeVictim, space: Space, budget: int, goal: Goal, seed: int
) -> None:
    """The radius is one less than the distance of the nearest point that meets the goal; no row stays unknown."""
    x, y = rows_of(space.schema, seed)
    result = method(victim, x, y, ThreatModel(space, budget), goal=goal)
    goals, candidates = goal.of(y, space.schema), space.candidates(x)
    for row in range(len(x)):
        points = all_points(candidates, row, budget)
        ids = candidates.select_points(torch.full((len(points),), row), points)
        margins = goals.take(torch.full((len(points),), row)).margin(victim(ids))
        distances = (points != 0).sum(1)
        nearest = int(distances[margins > 0].min()) if bool((margins > 0).any()) else budget + 1
        assert int(result.radius[row]) == nearest - 1
        assert bool(result.broken[row]) == (nearest <= budget)
        if nearest <= budget:
            assert int(result.distance[row]) == nearest
        elif bool(goals.possible[row]):
            assert float(result.bound[row]) >= float(margins.max()) - 1e-9, "the bound covers every point"
            assert float(result.bound[row]) <= 0


@given(seed=st.integers(0, 10**6), budget=st.integers(1, 5), goal=st.sampled_from(GOALS), whole=st.booleans())
def test_scores_against_enumeration(seed: int, budget: int, goal: Goal, whole: bool) -> None:
    schema = random_schema(seed)
    check_against_enumeration(
        TreeSearch(), random_victim(schema, seed, whole=whole), FullSpace(schema), budget, goal, seed
    )


@given(seed=st.integers(0, 10**6), budget=st.integers(1, 4), whole=st.booleans())
def test_probabilities_in_masked_spaces_against_enumeration(seed: int, budget: int, whole: bool) -> None:
    schema = random_schema(seed)
    space = MaskedSpace(schema, immutable=["f0"], forbidden={"*": ["b"]}, kept={"f2": ["a"]})
    victim = random_victim(schema, seed, link="probabilities", whole=whole)
    check_against_enumeration(TreeSearch(), victim, space, budget, AnyOther(), seed)


@given(seed=st.integers(0, 10**6))
def test_branching_against_enumeration(seed: int) -> None:
    """Without the arrays of all pairs and triples, every set of moves goes through the branches."""
    schema = random_schema(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_search, "_DENSE_PAIRS", 0)
        patch.setattr(row_search, "_DENSE_TRIPLES", 0)
        check_against_enumeration(
            TreeSearch(), random_victim(schema, seed, trees=8), FullSpace(schema), 4, AnyOther(), seed
        )


@given(seed=st.integers(0, 10**6), budget=st.integers(1, 5), size=st.integers(1, 2), whole=st.booleans())
def test_groups_against_enumeration(seed: int, budget: int, size: int, whole: bool) -> None:
    """Trees that share no feature beyond their group: the closed form, at every budget."""
    schema = random_schema(seed)
    groups = [list(range(5))[i : i + size] for i in range(0, 5, size)]
    victim = random_victim(schema, seed, trees=8, whole=whole, groups=groups)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TreeSearch, "_searched", None)  # it must not be needed
        check_against_enumeration(TreeSearch(), victim, FullSpace(schema), budget, AnyOther(), seed)
        space = MaskedSpace(schema, immutable=["f0"], forbidden={"*": ["b"]}, kept={"f2": ["a"]})
        check_against_enumeration(TreeSearch(), victim, space, budget, Direction("x") | Direction("y"), seed)


def largest_lead(victim: TreeVictim, x: torch.Tensor, k: int, j: int, budget: int) -> float:
    """The largest lead of class k over class j within the budget, as an integer programme over leaves."""
    boxes, widths = leaf_boxes(victim.ensemble), victim.ensemble.cardinalities
    leaves, starts = len(boxes.tree), np.cumsum([0, *widths])
    size = leaves + starts[-1]
    rows: list[tuple[list[int], list[float], float, float]] = []
    for f, width in enumerate(widths):
        rows.append(([leaves + starts[f] + c for c in range(width)], [1.0] * width, 1.0, 1.0))
    for t in range(victim.ensemble.trees):
        own = np.flatnonzero(boxes.tree == t).tolist()
        rows.append((own, [1.0] * len(own), 1.0, 1.0))
    for leaf in range(leaves):
        for f, s in zip(boxes.features[leaf], boxes.sets[leaf], strict=True):
            if f < len(widths):  # a leaf is reached only if its feature takes one of its categories
                inside = [c for c in range(widths[f]) if boxes.member[boxes.set_offset[s] + c]]
                rows.append(
                    ([leaf, *(leaves + starts[f] + c for c in inside)], [1.0] + [-1.0] * len(inside), -np.inf, 0.0)
                )
    kept = [leaves + starts[f] + int(c) for f, c in enumerate(x)]
    rows.append((kept, [1.0] * len(kept), len(widths) - budget, np.inf))
    row = np.concatenate([[i] * len(places) for i, (places, *_) in enumerate(rows)])
    matrix = coo_array(
        (np.concatenate([r[1] for r in rows]), (row, np.concatenate([r[0] for r in rows]))), (len(rows), size)
    )
    gain = np.zeros(size)
    gain[:leaves] = boxes.values[:, j] - boxes.values[:, k]
    limits = LinearConstraint(matrix.tocsr(), [r[2] for r in rows], [r[3] for r in rows])
    solved = milp(gain, constraints=limits, integrality=np.ones(size), bounds=Bounds(0, 1))
    assert solved.success
    return -float(solved.fun)


@pytest.mark.parametrize("seed", range(3))
def test_against_an_integer_programme(seed: int) -> None:
    """An independent judge, on spaces that enumeration would not finish: 4^10 rows."""
    schema = Schema.sequence(10, "abcd", "xyz")
    victim = random_victim(schema, seed, trees=10, depth=3)
    x, _ = rows_of(schema, seed, 2)
    y = victim(x).argmax(1)
    for budget in (1, 2, 3):
        result = TreeSearch()(victim, x, y, ThreatModel(FullSpace(schema), budget))
        for row in range(len(x)):
            leads = [largest_lead(victim, x[row], k, int(y[row]), budget) for k in range(3) if k != int(y[row])]
            assert bool(result.proven[row]) == (max(leads) <= 0)
            if bool(result.proven[row]):
                assert max(leads) - 1e-6 <= float(result.bound[row]) <= 0


@pytest.fixture(scope="module")
def splice_trees(splice_splits: Splits) -> TreeVictim:
    columns = one_hot(splice_splits.schema)
    model = xgboost.XGBClassifier(n_estimators=15, max_depth=3, n_jobs=1)
    model.fit(encoded(columns, splice_splits.train.ids.long().numpy()), splice_splits.train.labels.numpy())
    return tree_victim(model, splice_splits.schema)


def test_splice_equals_exhaustive_search(splice_trees: TreeVictim, splice_splits: Splits) -> None:
    space = MaskedSpace(splice_splits.schema, forbidden={"*": ["N"]})
    x, y = splice_splits.test.batch(slice(0, 40))
    for budget in (1, 2):
        threat = ThreatModel(space, budget)
        proven = TreeSearch()(splice_trees, x, y, threat)
        attacked = Exhaustive(verdict=True)(splice_trees, x, y, threat)
        assert not bool(proven.unknown.any())
        assert torch.equal(proven.proven, ~attacked.success & (attacked.clean_logits.argmax(1) == y))


@pytest.mark.parametrize("name", ["auto", "evolution", "genetic", "greedy", "local", "random", "sparse_rs"])
def test_nothing_proven_falls(name: str, splice_trees: TreeVictim, splice_splits: Splits) -> None:
    space = MaskedSpace(splice_splits.schema, forbidden={"*": ["N"]})
    x, y = splice_splits.test.batch(slice(40, 60))
    for budget in (1, 3):
        threat = ThreatModel(space, budget)
        result = TreeSearch()(splice_trees, x, y, threat)
        attack = ATTACKS[name]() if name == "auto" else ATTACKS[name](queries=150)
        assert not bool((attack(splice_trees, x, y, threat).success & result.proven).any())


def test_auto_certifies_trees_and_evaluates_them(splice_trees: TreeVictim, splice_splits: Splits) -> None:
    """As a user calls it: certified accuracy never exceeds attacked accuracy, and they meet where all was searched."""
    threat = ThreatModel(MaskedSpace(splice_splits.schema, forbidden={"*": ["N"]}), 1)
    data = splice_splits.test.take(slice(0, 30))
    found = hammingbox.certify(splice_trees, data, threat)
    attacked = hammingbox.evaluate(splice_trees, data, threat, Exhaustive())
    assert found.certified(1).value == pytest.approx(1 - attacked.robust_error.value)


def test_limits_give_unknown_with_what_was_proven(splice_trees: TreeVictim, splice_splits: Splits) -> None:
    space = MaskedSpace(splice_splits.schema, forbidden={"*": ["N"]})
    x, y = splice_splits.test.batch(slice(0, 12))
    threat = ThreatModel(space, 3)
    exact, cut = TreeSearch()(splice_trees, x, y, threat), TreeSearch(nodes=2)(splice_trees, x, y, threat)
    assert bool(cut.unknown.any())
    assert bool((cut.radius <= exact.radius).all())
    assert bool((cut.radius[cut.unknown] >= 1).all()), "two rivals at one change take two nodes"
    hurried = TreeSearch(seconds=1e-9)(splice_trees, x, y, threat)
    assert bool((hurried.unknown | (hurried.radius < 0)).all())
    assert bool((hurried.radius[hurried.unknown] == 0).all())


def test_other_victims_are_refused(schema: Schema) -> None:
    toy = ToyVictim(schema.cardinalities, len(schema.classes))
    x, y = rows_of(schema, 0)
    with pytest.raises(InputError, match="a model of trees"):
        TreeSearch()(toy, x, y, ThreatModel(FullSpace(schema), 1))
    other = random_schema(3)
    with pytest.raises(InputError, match="one schema"):
        TreeSearch()(random_victim(other, 1), x, y, ThreatModel(FullSpace(schema), 1))


def test_rounding_of_exact_sums() -> None:
    schema = random_schema(1)
    assert random_victim(schema, 1, whole=True).ensemble.rounding == 0.0
    assert 0 < random_victim(schema, 1).ensemble.rounding < 1e-11
