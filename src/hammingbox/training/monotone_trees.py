"""XGBoost models that a paying attacker cannot move in the direction he wants, by construction.

What an attacker can do to a column, taken alone, within his whole budget decides how the model may use it. A column out
of reach is used freely. One that he can only raise (or only lower) may count only so that this makes his case worse: a
monotone constraint. One that he can write both ways is worth nothing, and the model does not see it. Every change that
he can pay for then leaves the score of his class where it was or raises it, and so do all of them together: robust
accuracy equals clean accuracy, and no attack is needed to know it. Sums of changes above the budget are defended
against as well, which a model trained on worst rows need not do.
"""

from collections.abc import Sequence
from typing import Any

from hammingbox.data.dataset import Dataset
from hammingbox.data.schema import Schema
from hammingbox.errors import InputError, missing_library
from hammingbox.threat.column_reach import Reach, column_reach
from hammingbox.threat.goal import Goal
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.victims.trees.columns import codes, encoded


def fit_monotone_trees(
    data: Dataset,
    threat: ThreatModel,
    goal: Goal,
    *,
    rounds: int = 150,
    learning_rate: float = 0.06,
    depth: int = 2,
    leaf_weight: float = 20.0,
    row_share: float = 0.7,
    ordered: Sequence[str] = (),
    seed: int = 0,
) -> Any:
    """Trains an XGBoost classifier of two classes that nobody within the threat can turn.

    The model is given category codes (or the numbers of number columns): :func:`hammingbox.tree_victim` reads it. It
    can be saved with `save_model`. With a budget of 0 it is a plain XGBoost model.

    Args:
        data: training rows.
        threat: what the attacker may do, and for how much.
        goal: whose rows are attacked. If both classes are, a column that moves one way only is not seen either.
        rounds: rounds of boosting.
        learning_rate: of a round.
        depth: of the trees.
        leaf_weight: XGBoost's `min_child_weight`.
        row_share: the share of the rows that each tree sees.
        ordered: features of categories whose ids are in a meaningful order: they are split like numbers.
        seed: of the choice of rows.

    Returns:
        The `xgboost.Booster`.

    Raises:
        InputError: XGBoost is not installed, not two classes, nothing that the attacker leaves alone, or settings out
            of range.
    """
    try:
        import xgboost
    except ImportError as error:
        raise missing_library("xgboost", "xgboost", "to train trees", error) from error
    if rounds < 1 or depth < 1 or not 0 < row_share <= 1:
        raise InputError(
            "expected at least one round, a depth of at least 1 and a share of rows above 0 and up to 1, got "
            f"{rounds}, {depth} and {row_share}."
        )
    schema = data.schema
    ids, labels = data.batch(slice(None))
    signs = column_signs(column_reach(threat, ids), goal, schema)
    if all(sign is None for sign in signs):
        raise InputError(
            "expected a column that the attacker cannot write both ways, got none: a model that cannot be turned would "
            "give everybody the same answer. Lower the budget, or freeze what cannot be changed."
        )
    listed = {schema.feature_index(name) for name in ordered}
    kinds = [
        "q" if feature.is_ordered or sign or i in listed else "c"
        for i, (feature, sign) in enumerate(zip(schema.features, signs, strict=True))
    ]
    matrix = encoded(codes(schema), ids.cpu().numpy())
    matrix[:, [i for i, sign in enumerate(signs) if sign is None]] = 0.0  # no split separates equal values
    settings = {
        "objective": "binary:logistic",
        "base_score": 0.5,
        "max_depth": depth,
        "learning_rate": learning_rate,
        "min_child_weight": leaf_weight,
        "subsample": row_share,
        "monotone_constraints": str(tuple(sign or 0 for sign in signs)),
        "max_cat_to_onehot": 1,
        "seed": seed,
        "nthread": 1,
    }
    rows = xgboost.DMatrix(matrix, labels.cpu().numpy(), feature_types=kinds, enable_categorical=True)
    return xgboost.train(settings, rows, rounds)


def column_signs(reach: Sequence[Reach], goal: Goal, schema: Schema) -> list[int | None]:
    """How the score of the second class may depend on each column.

    Returns:
        0: in any way; 1: it may only grow with the column; -1: only fall; None: not at all.

    Raises:
        InputError: not two classes, or a goal that attacks neither.
    """
    if len(schema.classes) != 2:
        raise InputError(
            f"expected two classes for monotone trees, got {len(schema.classes)}. Train one class against the rest."
        )
    attacked = goal.winning(schema).any(1).tolist()
    if not any(attacked):
        raise InputError("expected a goal that attacks one of the classes, got one that attacks none.")
    one_way: dict[Reach, int | None] = {Reach.UP: 1, Reach.DOWN: -1}
    if all(attacked):
        one_way = {}
    elif attacked[0]:
        one_way = {Reach.UP: -1, Reach.DOWN: 1}
    signs = {Reach.NOTHING: 0, Reach.UP: None, Reach.DOWN: None, Reach.BOTH: None} | one_way
    return [signs[each] for each in reach]
