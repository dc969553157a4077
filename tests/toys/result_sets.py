"""Result sets of real attacks on toy victims, without a store."""

from collections.abc import Sequence
from dataclasses import replace

import torch

from hammingbox import Dataset, FullSpace, Schema, ThreatModel, TooExpensiveError, evaluate
from hammingbox.attacks import attack_named
from hammingbox.report.result_set import ResultSet
from hammingbox.report.run_rows import RunFacts
from toys import ToyVictim, toy_rows


def toy_results(
    schema: Schema,
    *,
    attacks: Sequence[str] = ("ga", "random", "exhaustive"),
    budgets: Sequence[int] = (1, 2),
    rows: int = 30,
    wrong: int = 3,
) -> ResultSet:
    """Attacks a toy victim; the first `wrong` rows have labels the victim does not give.

    Args:
        schema: of the data.
        attacks: by name. Those that enumerate prove every row that they do not break.
        budgets: of every attack.
        rows: attacked.
        wrong: of them.
    """
    victim = ToyVictim(schema.cardinalities, len(schema.classes))
    ids, labels = toy_rows(schema, victim, rows)
    labels[:wrong] = (labels[:wrong] + 1) % len(schema.classes)
    data = Dataset(schema, ids, labels, "toy data", torch.arange(rows) * 3 + 7)
    results = ResultSet("toy data", schema)
    for name in attacks:
        for budget in budgets:
            attack = attack_named(name)
            facts = RunFacts(
                victim="toy", attack=name, name=name, settings=repr(attack), budget=budget, seed=0, planned=rows
            )
            try:
                found = evaluate(victim, data, ThreatModel(FullSpace(schema), budget), attack)
            except TooExpensiveError as error:
                results.add(replace(facts, refused=str(error)), None)
                continue
            proven = found.rows.attacked & ~found.rows.success if attack.exact else found.rows.proven
            results.add(replace(facts, seconds=found.seconds), replace(found.rows, proven=proven))
    return results
