"""A task whose schema knows what derived columns become: a total that no row has is a total nevertheless."""

from collections.abc import Sequence
from dataclasses import replace

from hammingbox.data.dataset import Dataset
from hammingbox.errors import InputError
from hammingbox.running.tasks import Task
from hammingbox.threat.reachable import with_reachable
from hammingbox.threat.ruled_space import RuledSpace
from hammingbox.threat.rules.function import Function
from hammingbox.threat.space import Space
from hammingbox.victims.open_model import is_object

_MOST_VALUES = 200_000
"""New values of a column up to which they are added without being asked for."""


def reaching(task: Task, rows: Dataset, space: Space, models: Sequence[str | None] = ()) -> tuple[Task, Dataset, Space]:
    """The same task, rows and space under a schema that knows the numbers that derived columns can become.

    Without it a change whose total no row of the table shows could not be written, and robustness would look better
    than it is. Where the numbers are too many, a rule cannot be built again, or a model is a Python object, which may
    read ids itself, everything stays as it is, and a finding says how many changes are lost.

    Args:
        task: the data set.
        rows: its rows that are attacked.
        space: what may be written.
        models: what users name with --model.
    """
    if any(is_object(model) for model in models if model is not None):
        return task, rows, space
    if not isinstance(space, RuledSpace) or not space.rules.derived:
        return task, rows, space
    functions = {
        relation.function: relation.code for relation in space.rules.relations if isinstance(relation, Function)
    }
    try:
        found = with_reachable(rows, space.base, space.rules, functions=functions, most=_MOST_VALUES)
        if not any(found.added.values()):
            return task, rows, space
        splits = task.splits.in_schema(found.data.schema)
    except InputError:
        return task, rows, space
    return replace(task, splits=splits), found.data, RuledSpace(found.space, found.rules, space.budgets)
