"""The commands that repeat a store's runs, written from its keys."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hammingbox.attacks import ATTACKS
from hammingbox.certificates import CERTIFICATES
from hammingbox.data.registry import DATASETS, Source
from hammingbox.errors import InputError
from hammingbox.report.labels import arguments
from hammingbox.report.measured_what_if import MeasuredWhatIf
from hammingbox.running.data_reference import DataReference
from hammingbox.running.store import Run
from hammingbox.running.tasks import PLAUSIBLE
from hammingbox.text.synonyms import WORDNET
from hammingbox.threat.goal import goal_between
from hammingbox.threat.rules.unit import Unit
from hammingbox.victims.open_model import is_model

_FULL_SPACE = "--full-space"
_FROM_PYTHON = "# made in Python from an object or a frame: call hb.audit again"
"""In place of a command: none can name a model or a table that only a Python process had."""


def commands(
    runs: Sequence[Run],
    spaces: Mapping[str, Mapping[str, Any]],
    goal: Mapping[str, Any],
    folder: Path,
    measured: Mapping[str, MeasuredWhatIf] | None = None,
) -> list[str]:
    """One `audit` or `compare` for each victim and seed; `attack` where settings are not the defaults.

    All runs on a victim get as many rows as the longest of them: a store does not hold the number that was requested.

    Args:
        runs: of one data set, split, S(x) and goal.
        spaces: S(x) as JSON by its hash.
        goal: their goal as JSON.
        folder: holds the store.
        measured: what was attacked again with columns frozen, by the hash of the victim's weights.
    """
    together: dict[tuple[str, ...], tuple[dict[str, None], set[int]]] = {}
    frozen: dict[tuple[str, ...], MeasuredWhatIf] = {}
    lines = []
    unit = _unit(spaces[runs[0].key.space_sha256]) if runs else None
    for run in runs:
        if not run.victim or not _is_found_again(run):
            continue
        is_named = is_model(run.victim)
        place = [run.key.data, "--model" if is_named else "--victim", run.victim]
        if is_named and _noted(run).model_name:
            place += ["--model-name", _noted(run).model_name]
        known = run.name in ATTACKS and repr(ATTACKS[run.name]()) == run.key.attack
        options = ["--split", run.key.split, "--seed", str(run.key.seed), *space_options(run, spaces)]
        rows = max((r.rows for r in runs if r.key.victim_sha256 == run.key.victim_sha256), default=run.rows)
        options += row_options(run, rows)
        options += goal_options(goal)
        method = run.name.removeprefix("certify ")
        if method != run.name and method in CERTIFICATES:
            budget = _listed({run.key.budget}, unit)
            line = ["hammingbox", "certify", *place, "--method", method, "--budgets", budget, *options]
            default = arguments(repr(CERTIFICATES[method]()))
            line += [word for part in arguments(run.key.attack) if part not in default for word in ("--set", part)]
            lines.append(shlex.join(line))
            continue
        if known:
            names, budgets = together.setdefault((*place, *options), ({}, set()))
            names[run.name] = None
            budgets.add(run.key.budget)
            if again := (measured or {}).get(run.key.victim_sha256):
                frozen[(*place, *options)] = again
            continue
        budget = _listed({run.key.budget}, unit)
        line = ["hammingbox", "attack", *place, "--attack", run.name, "--budget", budget, *options]
        if run.name in ATTACKS:
            default = arguments(repr(ATTACKS[run.name]()))
            line += [word for part in arguments(run.key.attack) if part not in default for word in ("--set", part)]
        lines.append(shlex.join(line))
    compared = [
        shlex.join(
            [*_compared(place, frozen.get(place)), "--attacks", ",".join(names), "--budgets", _listed(budgets, unit)]
        )
        for place, (names, budgets) in together.items()
    ]
    made = [_FROM_PYTHON] if any(not run.victim or not _is_found_again(run) for run in runs) else []
    return [*(f"{line} --out {shlex.quote(str(folder))}" for line in [*compared, *lines]), *made]


def _compared(place: tuple[str, ...], frozen: MeasuredWhatIf | None) -> list[str]:
    """The command that compares attacks, and freezes as many columns as were frozen.

    Both `audit` and `compare` freeze columns. An audit does so for the class of its headline, so where the frozen runs
    have one class it is an audit, unless an option says what an audit cannot do.
    """
    if frozen is None or not frozen.lines:
        return ["hammingbox", "compare", *place]
    words, known = list(place), place[0] in DATASETS
    if not known:  # without it, an audit has the limits of the schema, and `space_options` names all of them
        words = [word for word in words if word != _FULL_SPACE]
    if "--rows" in words and words[words.index("--rows") + 1] == "all":
        words[words.index("--rows")] = "--rows-per-class"
    can_audit = not {"--rows", "--draw", "--protect", "--neighbours", _FULL_SPACE} & {*words}
    command = ["audit", *words] if frozen.of and can_audit else ["compare", *place]
    return ["hammingbox", *command, "--what-if", str(len(frozen.lines))]


def row_options(run: Run, rows: int) -> list[str]:
    """The options that choose a run's rows: as it was noted, or its number of rows."""
    sample = _noted(run).sample
    if sample is None:
        return ["--rows", str(rows)]
    draw = sample.draw
    positive = ["--positive", sample.positive] if sample.positive is not None else []
    if draw.how == "all":
        return ["--rows", "all", *positive]
    how = [] if draw.per_class is not None else ["--draw", draw.how]
    count = ["--rows-per-class", str(draw.per_class)] if draw.per_class is not None else ["--rows", str(draw.rows)]
    seed = ["--rows-seed", str(draw.seed)] if draw.how != "first" and draw.seed else []
    return [*count, *how, *seed, *positive]


def _own_file_options(run: Run) -> list[str]:
    """How a user's own file was read: the label column and the schema that were noted, if any were."""
    noted = _noted(run)
    if not noted.path:  # nobody noted it
        return ["--schema", "schema.toml"]
    label = [] if noted.label is None else ["--label", noted.label]
    schema = [] if noted.schema is None else ["--schema", noted.schema]
    return [*label, *schema, *noted.reading.command_options()]


def _is_found_again(run: Run) -> bool:
    """Whether a command can name the data of a run: a built-in set or a file, which records of old did not note."""
    return run.key.data in DATASETS or bool(_noted(run).path or Path(run.key.data).suffix)


def _noted(run: Run) -> DataReference:
    return DataReference.from_text(run.key.data, run.source) if run.source else DataReference(run.key.data)


def goal_options(goal: Mapping[str, Any]) -> list[str]:
    """The options that give a goal; none for any wrong class, and for a goal that options cannot express."""
    sources, targets = ([*dict.fromkeys(found)] for found in zip(*_directions(goal), strict=True))
    known, reached = ([label for label in found if label] for found in (sources, targets))
    if goal_between(tuple(known), tuple(reached)).to_json() != goal:
        return []
    return [
        word
        for option, labels in (("--from", known), ("--to", reached))
        for label in labels
        for word in (option, label)
    ]


def _directions(goal: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The (source, target) classes that a goal names; "" where it leaves one open."""
    if goal.get("kind") == "either":
        return [pair for part in goal["goals"] for pair in _directions(part)]
    return [(goal.get("source") or "", goal.get("target") or goal.get("label") or "")]


def space_options(run: Run, spaces: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The options that give a run's S(x), beyond the limits that its data set has by default.

    All limits are named where the default ones are unknown (a user's own file) or were switched off.
    """
    space = spaces[run.key.space_sha256]
    own = DATASETS.get(run.key.data)
    options: list[str] = []
    if space.get("kind") == "ruled" and isinstance(space.get("base"), Mapping):
        rest = space_options(run, {run.key.space_sha256: space["base"]})
        return [*rest, *_rule_options(space.get("rules"))]
    if own is None:
        options += _own_file_options(run)
    if space.get("kind") == "full":
        limited = own is not None and (own.forbidden or own.kept or own.immutable or own.synonyms)
        return [*options, _FULL_SPACE] if limited or own is None else options
    if space.get("kind") not in ("masked", "synonym", "table"):  # a user's own, which no option gives, or damaged
        return options
    bare = space.get("kind") == "masked" and (own is None or not _includes(space, own))
    if bare:
        options += [_FULL_SPACE]
    forbidden, immutable = ({}, ()) if own is None or bare else (own.forbidden, own.immutable)
    for name in space.get("immutable") or ():
        if name not in immutable:
            options += ["--immutable", name]
    for feature, words in (space.get("forbidden") or {}).items():
        for word in words:
            if word not in forbidden.get(feature, ()):
                options += ["--forbid", f"{feature}={word}"]
    if space.get("kind") == "synonym" and space.get("source") != WORDNET:
        options += ["--neighbours", str(space.get("source"))]
    for word in space.get("protected") or ():
        options += ["--protect", word]
    return options


def _rule_options(rules: Any) -> list[str]:
    """The options that give rules. A store holds what a threat file says, but not where it is."""
    if not isinstance(rules, Mapping):
        return []
    relations = rules.get("relations") or ()
    plausible = [relation for relation in relations if relation.get("name") == PLAUSIBLE]
    others = len(relations) > len(plausible) or any(
        rules.get(part) for part in ("unit", "changes", "columns", "derived", "gain")
    )
    functions = [word for part in relations if "function" in part for word in ("--function", part["function"])]
    return [*(["--threat", "threat.toml"] if others else []), *functions, *([PLAUSIBLE] if plausible else [])]


def _unit(space: Mapping[str, Any]) -> Unit | None:
    """What budgets of a space count, if it is money; None also where that is damaged."""
    rules = space.get("rules") if space.get("kind") == "ruled" else None
    stated = rules.get("unit") if isinstance(rules, Mapping) else None
    try:
        return None if stated is None else Unit.from_json(stated)
    except (InputError, KeyError, TypeError):
        return None


def _includes(space: Mapping[str, Any], own: Source) -> bool:
    """Whether a space has the default limits of its data set."""
    written = space.get("forbidden") or {}
    return (
        own.kept == (space.get("kept") or {})
        and set(own.immutable) <= set(space.get("immutable") or ())
        and all(set(words) <= set(written.get(feature, ())) for feature, words in own.forbidden.items())
    )


def _listed(budgets: set[int], unit: Unit | None) -> str:
    ordered = sorted(budgets)
    if unit is not None:
        return ",".join(f"{unit.amount(budget).normalize():f}" for budget in ordered)
    if len(ordered) > 1 and ordered[-1] - ordered[0] + 1 == len(ordered):
        return f"{ordered[0]}-{ordered[-1]}"
    return ",".join(map(str, ordered))
