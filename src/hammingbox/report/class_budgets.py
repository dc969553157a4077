"""What happens to each class at each budget: in the worst case over all attacks, and in one run."""

import numpy as np

from hammingbox.evaluation.class_rates import ClassRates, class_rates
from hammingbox.report.result_set import ResultSet
from hammingbox.report.run_rows import RunRows
from hammingbox.report.status import statuses_by_budget


def worst_case_classes(results: ResultSet, victim: str) -> dict[int, ClassRates]:
    """The classes at each budget the victim was attacked with; a row is broken when any run up to it broke it.

    What a broken row becomes is what the run that broke most rows made of it.
    """
    if victim in results.whole:
        return dict(results.whole[victim].classes)
    labels = np.array(results.labels, dtype=np.int64)
    runs = sorted(results.select(victim=victim), key=lambda run: run.hits)
    found = {}
    for budget, rows in statuses_by_budget(results, victim).items():
        predicted = labels.copy()
        for run in runs:
            if run.facts.budget <= budget:
                predicted[run.place[run.broken]] = run.predicted[run.broken]
        found[budget] = class_rates(
            results.schema.classes,
            labels[rows.seen],
            correct=rows.correct[rows.seen],
            attacked=rows.attacked[rows.seen],
            broken=rows.broken[rows.seen],
            predicted=predicted[rows.seen],
            population=results.population,
            positive=results.positive,
        )
    return found


def classes_of_run(results: ResultSet, run: RunRows) -> ClassRates:
    """The classes in one run."""
    if run.totals is not None:
        return run.totals.classes(results.schema.classes, population=results.population, positive=results.positive)
    return class_rates(
        results.schema.classes,
        np.array(results.labels, dtype=np.int64)[run.place],
        correct=run.correct,
        attacked=run.attacked,
        broken=run.broken,
        predicted=run.predicted,
        population=results.population,
        positive=results.positive,
    )
