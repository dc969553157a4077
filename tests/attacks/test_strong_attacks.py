"""What is special about the strong attacks, beyond the contract all attacks keep."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from xgboost import XGBClassifier

from hammingbox.attacks import ATTACKS, Auto, Evolution, Exhaustive, Local, Swap
from hammingbox.attacks._search.incumbent import Incumbent
from hammingbox.attacks._search.points import ask_points
from hammingbox.attacks._search.surrogate import Additive
from hammingbox.attacks._search.visited import Visited
from hammingbox.data.dataset import Splits
from hammingbox.data.schema import Schema
from hammingbox.errors import InputError, VictimError
from hammingbox.problem import Problem, place_in_row
from hammingbox.seeding import RowRandom
from hammingbox.threat.layout import Layout
from hammingbox.threat.masked_space import MaskedSpace
from hammingbox.threat.space import FullSpace
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.types import Embedded, Ids, Logits
from hammingbox.victims.black_box import BlackBox
from hammingbox.victims.frozen import frozen_eval
from hammingbox.victims.wrapped import wrap
from toys import ToyVictim, toy_rows, toy_schema, untargeted

BLACK_BOX = [name for name, make in ATTACKS.items() if not make().needs_gradient]


class Recorder(ToyVictim):
    """Remembers every row it is asked about outside soft passes. With a bias it answers class 0 whatever it reads."""

    asked: list[Ids]
    bias = 0.0

    def head(self, embedded: Embedded, ids: Ids) -> Logits:
        return super().head(embedded, ids) + self.bias * torch.tensor([1.0, 0.0, 0.0])

    def forward(self, ids: Ids) -> Logits:
        if hasattr(self, "asked"):
            self.asked.append(ids.clone())
        return super().forward(ids)


def black_box(victim: ToyVictim) -> BlackBox:
    def predict_proba(rows: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return victim.eval()(torch.from_numpy(rows)).double().softmax(1).numpy()

    return BlackBox(predict_proba)


@pytest.fixture(scope="module")
def wide() -> tuple[Schema, ToyVictim, Ids, torch.Tensor]:
    """A victim that most attacks need many queries for: twelve features, small gains."""
    schema = toy_schema((4,) * 12)
    victim = ToyVictim(schema.cardinalities, seed=4)
    return schema, victim, *toy_rows(schema, victim, rows=30)


@pytest.fixture(scope="module")
def hard(wide: tuple) -> tuple[Schema, ToyVictim, Ids, torch.Tensor]:
    """The same victim with a leaning towards class 0: some rows stand at every budget tried here."""
    schema = wide[0]
    victim = Recorder(schema.cardinalities, seed=4)
    victim.bias = 3.0
    return schema, victim, *toy_rows(schema, victim, rows=30)


@pytest.mark.parametrize("name", BLACK_BOX)
@pytest.mark.parametrize("queries", [1, 2, 7, 30])
def test_the_query_limit_is_never_exceeded_and_used(name: str, queries: int, wide: tuple) -> None:
    schema, victim, x, y = wide
    result = ATTACKS[name](queries=queries)(victim, x, y, ThreatModel(FullSpace(schema), 2))
    assert int(result.forward.max()) == queries, "some row stands and asks until its last query"
    assert not result.backward.any()
    assert bool((result.forward[~result.success] == queries).all()), "who stands has used all its queries"


def test_queries_counted_by_the_victim_equal_the_meter(wide: tuple) -> None:
    schema, toy, x, y = wide
    victim = Recorder(schema.cardinalities, seed=4)
    victim.load_state_dict(toy.state_dict())
    threat = ThreatModel(FullSpace(schema), 2)
    for name in ("local", "evolution", "sparse_rs", "auto"):
        victim.asked = []
        result = ATTACKS[name](queries=50)(victim, x, y, threat)
        asked = sum(len(ids) for ids in victim.asked)
        assert asked == int(result.forward.sum()) + 3 * len(x), "the first check and the recount are not the attack's"


@pytest.mark.parametrize("name", ["swap", "pcaa", "hotflip"])
def test_a_query_limit_on_a_gradient_attack_is_refused(name: str, wide: tuple) -> None:
    schema, victim, x, y = wide
    with pytest.raises(InputError, match="needs losses only"):
        ATTACKS[name](queries=10)(victim, x, y, ThreatModel(FullSpace(schema), 1))


@pytest.mark.parametrize("name", BLACK_BOX)
def test_attacks_without_gradients_work_on_black_boxes(name: str, wide: tuple) -> None:
    schema, victim, x, y = wide
    attack = ATTACKS[name](queries=200)
    threat = ThreatModel(FullSpace(schema), 1)
    seen, hidden = attack(victim, x, y, threat), attack(black_box(victim), x, y, threat)
    assert bool(hidden.success.any())
    # Log-probabilities have the margins of logits, so the same search finds the same rows.
    assert float((seen.ids == hidden.ids).all(1).float().mean()) > 0.9


def test_gradient_attacks_name_the_attacks_a_black_box_allows(wide: tuple) -> None:
    schema, victim, x, y = wide
    with pytest.raises(VictimError, match="evolution"):
        Swap()(black_box(victim), x, y, ThreatModel(FullSpace(schema), 1))


@pytest.mark.parametrize("attack", [Swap(steps=30, patience=99), Local(steps=60, patience=99), Evolution()])
def test_no_row_is_tried_twice(attack: Swap | Local | Evolution, wide: tuple) -> None:
    schema, _, x, _ = wide
    victim = Recorder(schema.cardinalities, seed=4)
    victim.bias = 100.0  # no row falls, so every search goes on to its end
    victim.asked = []
    attack(victim, x[:1], torch.zeros_like(x[:1, 0]), ThreatModel(FullSpace(schema), 2))
    tried = torch.cat(victim.asked[1:-2])  # without the check before and the recount after
    assert len(tried) > 100
    assert len(torch.unique(tried, dim=0)) == len(tried)


def test_place_in_row() -> None:
    assert place_in_row(torch.tensor([2, 0, 2, 2, 0])).tolist() == [0, 0, 1, 2, 1]


def test_visited_knows_what_was_added_and_nothing_else() -> None:
    visited = Visited(Layout.of([3, 3, 3], torch.device("cpu")), batch=2)
    rows, points = torch.arange(2), torch.tensor([[[1, 0, 0], [0, 2, 1]], [[2, 0, 0], [0, 0, 0]]])
    visited.add(rows, visited.keys(points))
    other = torch.tensor([[[0, 2, 1], [2, 0, 0]], [[2, 0, 0], [1, 0, 0]]])
    assert visited.knows(rows, visited.keys(other)).tolist() == [[True, False], [True, False]]


@pytest.mark.parametrize("budget", [1, 2, 3])
@pytest.mark.parametrize("hidden", [False, True], ids=["gradient", "black box"])
def test_verdicts_of_the_pruned_enumeration_are_the_same_and_cheaper(budget: int, hidden: bool, wide: tuple) -> None:
    schema, toy, x, y = wide
    victim = black_box(toy) if hidden else toy
    threat = ThreatModel(FullSpace(schema), budget)
    plain, pruned = Exhaustive()(victim, x, y, threat), Exhaustive(verdict=True)(victim, x, y, threat)
    assert torch.equal(plain.success, pruned.success)
    assert int(pruned.forward.sum() + pruned.backward.sum()) < int(plain.forward.sum())


@pytest.mark.parametrize("hidden", [False, True], ids=["gradient", "black box"])
def test_auto_is_at_least_as_good_as_every_stage_and_says_which_one_broke_a_row(hidden: bool, wide: tuple) -> None:
    schema, toy, x, y = wide
    victim = black_box(toy) if hidden else toy
    for budget in (1, 2, 3):
        threat = ThreatModel(FullSpace(schema), budget)
        result = Auto()(victim, x, y, threat)
        stages = Auto().stages(Problem.of(victim, threat.space.candidates(x), untargeted(y), budget))
        for number, stage in enumerate(stages, 1):
            alone = stage(victim, x, y, threat)
            assert int(result.success.sum()) >= int(alone.success.sum())
            if number == 1:
                assert bool((result.stage[alone.success] == 1).all())
                assert bool((result.stage[~alone.success] > 1).all()) or len(stages) == 1
        assert bool((result.stage[~result.success] == len(stages)).all()), "who stands has been through all stages"


@pytest.mark.parametrize("queries", [100, 300])
def test_auto_under_a_query_limit_is_as_good_as_each_black_box_attack(queries: int, hard: tuple) -> None:
    schema, victim, x, y = hard
    for budget in (1, 2, 3):
        threat = ThreatModel(FullSpace(schema), budget)
        found = int(Auto(queries=queries)(victim, x, y, threat).success.sum())
        for name in ("local", "evolution", "sparse_rs", "genetic", "pcaa_blackbox"):
            assert found >= int(ATTACKS[name](queries=queries)(victim, x, y, threat).success.sum())


def test_auto_decides_rows_that_the_queries_suffice_for_and_asks_no_further(hard: tuple) -> None:
    schema, victim, x, y = hard
    points = 1 + 36 + 66 * 9
    threat = ThreatModel(FullSpace(schema), 2)
    limits = Exhaustive()(victim, x, y, threat)
    assert 0 < int(limits.success.sum()) < len(x)
    result = Auto(queries=5000)(black_box(victim), x, y, threat)
    assert torch.equal(result.success, limits.success)
    assert bool((result.forward[~result.success] == points).all()), "what is decided needs no more queries"
    starved = Auto(queries=points // 2)(black_box(victim), x, y, threat)
    assert bool((starved.forward[~starved.success] == points // 2).all())


def test_a_row_decided_at_one_budget_is_attacked_again_at_the_next(hard: tuple) -> None:
    schema, victim, x, y = hard
    result = Auto(minimum=True, queries=1000)(black_box(victim), x, y, ThreatModel(FullSpace(schema), 2))
    for budget in (1, 2):
        oracle = Exhaustive()(victim, x, y, ThreatModel(FullSpace(schema), budget))
        assert torch.equal(result.success & (result.distance <= budget), oracle.success)


def test_a_walk_ends_when_its_space_is_used_up() -> None:
    schema = toy_schema((3,) * 4)
    victim = Recorder(schema.cardinalities, seed=4)
    victim.bias = 100.0  # no row falls
    result = Local(queries=10**6, steps=10**6)(
        victim,
        torch.ones(2, 4, dtype=torch.int64),
        torch.zeros(2, dtype=torch.int64),
        ThreatModel(FullSpace(schema), 2),
    )
    assert result.forward.tolist() == [1 + 8 + 24] * 2, "every row of the space once"


def test_the_additive_model_is_exact_for_a_victim_that_is_one(wide: tuple) -> None:
    schema, _, x, y = wide
    model = torch.nn.Sequential(torch.nn.Embedding(4, 5), torch.nn.Flatten(), torch.nn.Linear(60, 3))
    victim, threat = wrap(model, embedding=model[0]), ThreatModel(FullSpace(schema), 3)
    with frozen_eval(victim):
        problem = Problem.of(victim, threat.space.candidates(x), untargeted(y), 3)
        best, layout = Incumbent(problem), problem.candidates.layout
        guide = Additive(problem, best, Visited(layout, len(x)), RowRandom.for_rows(0, x))
        singles = layout.slot_of.new_zeros(layout.options, 12)
        singles[torch.arange(layout.options), layout.feature_of] = layout.slot_of
        points, rows = singles.repeat(len(x), 1, 1), torch.arange(len(x))
        guide.learn(rows, points, ask_points(problem, best, rows, points, points.any(2))[1])
        here = torch.zeros_like(x)
        here[:, 2], here[:, 7] = 1, 3
        gain = guide.gain(problem, rows, here)
        # The class that is nearest after two changes need not be the one that is nearest before.
        moves = guide.promise(problem, rows, here, gain[:, layout.starts + 2])
        for feature in range(12):
            there = here.clone()
            there[:, feature] = 2
            assert torch.allclose(moves[:, feature], problem.loss(there), atol=1e-4)


@pytest.mark.parametrize("hidden", [False, True], ids=["gradient", "black box"])
def test_minimum_budgets_are_those_of_enumeration(hidden: bool, wide: tuple) -> None:
    schema, toy, x, y = wide
    victim = black_box(toy) if hidden else toy
    result = Auto(minimum=True)(victim, x, y, ThreatModel(FullSpace(schema), 3))
    for budget in (1, 2, 3):
        oracle = Exhaustive()(toy, x, y, ThreatModel(FullSpace(schema), budget))
        assert torch.equal(result.success & (result.distance <= budget), oracle.success)


def sklearn_pipeline(rows: np.ndarray, labels: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    pipeline = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression(max_iter=200))
    return pipeline.fit(rows, labels).predict_proba


def xgboost_model(rows: np.ndarray, labels: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    encoder = OneHotEncoder(handle_unknown="ignore").fit(rows)
    model = XGBClassifier(n_estimators=30, max_depth=4, n_jobs=1).fit(encoder.transform(rows), labels)
    return lambda asked: model.predict_proba(encoder.transform(asked))


@pytest.mark.parametrize("train", [sklearn_pipeline, xgboost_model])
def test_models_of_other_libraries_on_splice(train: Callable, splice_splits: Splits) -> None:
    schema, data, test = splice_splits.train.schema, splice_splits.train, splice_splits.test
    words = np.array(
        [[f.categories[i] for f, i in zip(schema.features, row, strict=True)] for row in data.ids.tolist()]
    )
    victim = BlackBox(train(words, data.labels.numpy()), schema=schema)
    right = victim(test.ids).argmax(1) == test.labels
    assert float(right.float().mean()) > 0.9
    x, y = test.ids[right][:30], test.labels[right][:30]
    space = MaskedSpace(schema, forbidden={"*": ["N"]})
    single = Exhaustive()(victim, x, y, ThreatModel(space, 1))
    found = Auto(queries=1000)(victim, x, y, ThreatModel(space, 1))
    assert torch.equal(found.success, single.success), "180 single changes: exact within the queries"
    assert int(found.forward.max()) <= 1000
    rates = [float(Auto(queries=1000)(victim, x, y, ThreatModel(space, b)).success.float().mean()) for b in (2, 3)]
    assert rates[1] >= rates[0] >= float(found.success.float().mean()) > 0


def test_auto_walks_first_among_thousands_of_single_changes_and_is_still_exact() -> None:
    wide = toy_schema((900, 900, 900))
    victim = ToyVictim(wide.cardinalities)
    x, y = toy_rows(wide, victim, 8)
    threat = ThreatModel(FullSpace(wide), 1)
    found, limit = Auto()(victim, x, y, threat), Exhaustive()(victim, x, y, threat)
    assert torch.equal(found.success, limit.success)
    assert found.success.any()
    assert set(found.stage[found.success].tolist()) <= {1, 2}
    assert (found.stage[~found.success] == 2).all(), "a row that stands must have been enumerated"
    assert found.forward[found.stage == 1].float().mean() < 300
