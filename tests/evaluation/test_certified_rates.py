"""Certified and attacked accuracy, and what rows add up to, counted row by row."""

import random
from typing import Any

import pytest
import torch

from hammingbox.evaluation.certified_rates import CertifiedRates
from hammingbox.evaluation.rates import Rate
from hammingbox.evaluation.rows import Rows
from toys import toy_schema

SCHEMA = toy_schema((3, 2), classes=4)


def some_rows(chance: random.Random, count: int = 60) -> Rows:
    """Every kind of row: wrong, spared, without a change, broken, proven, unknown."""
    kinds = [chance.choice(("wrong", "spared", "fixed", "broken", "proven", "unknown")) for _ in range(count)]

    def mask(*names: str) -> torch.Tensor:
        return torch.tensor([kind in names for kind in kinds])

    def whole(most: int) -> torch.Tensor:
        return torch.tensor([chance.randrange(most) for _ in range(count)])

    ids, broken = torch.zeros(count, 2, dtype=torch.int64), mask("broken")
    return Rows(
        numbers=torch.arange(count), labels=whole(3), clean=ids, adversarial=ids, clean_logits=torch.zeros(count, 4),
        logits=torch.zeros(count, 4), correct=~mask("wrong"), attacked=mask("broken", "proven", "unknown"),
        success=broken, distance=torch.where(broken, 1 + whole(2), 0), margin=torch.where(broken, 1.0, -1.0),
        forward=whole(50), backward=whole(5), stage=whole(2), proven=mask("proven", "fixed"),
    )  # fmt: skip


def listed(rows: Rows) -> list[dict[str, Any]]:
    names = ("labels", "correct", "attacked", "success", "proven", "distance", "forward", "backward")
    columns = [getattr(rows, name).tolist() for name in names]
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


@pytest.mark.parametrize("seed", range(4))
def test_rates_by_budget_and_class(seed: int) -> None:
    chance = random.Random(seed)
    by_budget = {budget: some_rows(chance) for budget in (3, 1, 2)}
    found = CertifiedRates.of(by_budget, SCHEMA)
    summary = found.summary()
    assert [line["budget"] for line in summary["by_budget"]] == list(found.rows) == [1, 2, 3]
    assert summary["rows"] == 60
    assert summary["correct"] == sum(row["correct"] for row in listed(by_budget[3]))
    assert summary["forward"] == sum(row["forward"] for rows in by_budget.values() for row in listed(rows))
    for line in summary["by_budget"]:
        rows, budget = listed(by_budget[line["budget"]]), line["budget"]
        means = []
        for label in (None, 0, 1, 2):
            own = [row for row in rows if label in (None, row["labels"])]
            holds = sum(row["correct"] and (row["proven"] or not row["attacked"]) for row in own)
            stands = sum(row["correct"] and not row["success"] for row in own)
            assert found.certified(budget, label) == Rate(holds, len(own))
            assert found.attacked(budget, label) == Rate(stands, len(own))
            if label is None:
                assert (line["certified"], line["attacked"]) == (holds / 60, stands / 60)
                assert line["certified_interval"] == list(Rate(holds, 60).interval)
            else:
                means.append(holds / len(own))
                shown = line["classes"][SCHEMA.classes[label]]
                assert shown == {"rows": len(own), "certified": holds / len(own), "attacked": stands / len(own)}
        assert set(line["classes"]) == set(SCHEMA.classes[:3]), "only classes that occur"
        assert line["class_mean"] == found.class_mean(budget) == pytest.approx(sum(means) / 3)
        counts = {
            "proven": sum(row["proven"] and row["attacked"] for row in rows),
            "broken": sum(row["success"] for row in rows),
            "unknown": sum(row["attacked"] and not row["success"] and not row["proven"] for row in rows),
            "not_attackable": sum(row["proven"] and not row["attacked"] for row in rows),
        }
        assert {name: line[name] for name in counts} == counts
        assert min(counts.values()) > 0


def test_what_rows_add_up_to() -> None:
    for seed in range(5):
        rows = some_rows(random.Random(seed))
        plain, summary = listed(rows), rows.summary()
        broken = [row["distance"] for row in plain if row["success"]]
        attacked = sum(row["attacked"] for row in plain)
        lost = sum(not row["correct"] or row["success"] for row in plain)
        wanted = {
            "rows": 60, "correct": sum(row["correct"] for row in plain), "attacked": attacked, "success": len(broken),
            "proven": sum(row["proven"] for row in plain if row["attacked"]), "success_rate": len(broken) / attacked,
            "success_interval": list(Rate(len(broken), attacked).interval), "robust_error": lost / 60,
            "robust_error_interval": list(Rate(lost, 60).interval), "mean_distance": sum(broken) / len(broken),
            "forward": sum(row["forward"] for row in plain), "backward": sum(row["backward"] for row in plain),
        }  # fmt: skip
        for name, value in wanted.items():
            assert summary[name] == pytest.approx(value), name
