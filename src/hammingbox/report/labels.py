"""Names for people: distinct labels for attacks and victims, spaces and goals in words."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hammingbox.running.store import Run


def arguments(text: str) -> list[str]:
    """The arguments of a repr, such as `PCAA(steps=5, samples=20)`; commas inside brackets do not separate."""
    inner = text[text.find("(") + 1 : text.rfind(")")]
    parts, depth, start = [], 0, 0
    for place, sign in enumerate(inner):
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and depth == 0:
            parts.append(inner[start:place].strip())
            start = place + 1
    return [part for part in (*parts, inner[start:].strip()) if part]


def attack_labels(attacks: Sequence[tuple[str, str, str]]) -> list[str]:
    """A label for each attack: its short name, with the settings and the goal that distinguish it from the others.

    Args:
        attacks: short name, repr, and goal in words ("" for any wrong class).
    """
    variants: dict[str, dict[str, None]] = {}
    for name, settings, _ in attacks:
        variants.setdefault(name, {})[settings] = None
    labels = []
    for name, settings, goal in attacks:
        label, known = name, list(variants[name])
        if len(known) > 1:
            others = [set(arguments(other)) for other in known]
            own = [part for part in arguments(settings) if not all(part in other for other in others)]
            label += f" ({', '.join(own)})" if own else f" (variant {known.index(settings) + 1})"
        labels.append(f"{label} {goal}" if goal else label)
    return labels


def with_digests(names: Sequence[str], digests: Sequence[str]) -> list[str]:
    """Names, followed by the start of a hash where several things have the same name."""
    meant: dict[str, set[str]] = {}
    for name, digest in zip(names, digests, strict=True):
        meant.setdefault(name, set()).add(digest)
    return [
        name if len(meant[name]) == 1 else f"{name} [{digest[:8]}]".strip()
        for name, digest in zip(names, digests, strict=True)
    ]


def victim_labels(runs: Sequence[Run]) -> dict[str, str]:
    """A name for each victim, by the hash of its weights."""
    labels = {}
    for run in runs:
        folder = Path(run.victim).name
        defence = run.key.defence.partition("(")[0]  # without its settings
        trained = "" if defence == "standard" else f", {defence}"
        labels[run.key.victim_sha256] = f"{folder} ({run.model}{trained})" if folder else f"{run.model}{trained}"
    names = list(labels.values())
    return {
        digest: name if names.count(name) == 1 else f"{name}, weights {digest[:8]}" for digest, name in labels.items()
    }


def goal_in_words(goal: Mapping[str, Any]) -> str:
    """A goal as it follows the name of an attack: "to ok", "fraud to ok"; "" for any wrong class."""
    return "" if goal.get("kind") == "any_other" else _goal_part(goal)


def _goal_part(goal: Mapping[str, Any]) -> str:
    kind = goal.get("kind")
    if kind == "any_other":
        return "to any other class"
    if kind == "target":
        return f"to {goal.get('label')}"
    if kind == "direction":
        return f"{goal.get('source')} to {'any other class' if goal.get('target') is None else goal.get('target')}"
    if kind in ("either", "both"):
        joined = (" or " if kind == "either" else " and ").join(_goal_part(part) for part in goal.get("goals", ()))
        return f"({joined})"
    return f"goal {kind}"  # a user's own


def space_in_words(space: Mapping[str, Any], *, most: int = 6) -> str:
    """What an attacker may do, in one line."""
    if space.get("kind") == "full":
        return "every category of every feature"
    if space.get("kind") == "ruled" and isinstance(space.get("base"), Mapping):
        return _rules_in_words(space["rules"], space_in_words(space["base"], most=most))
    if space.get("kind") == "synonym":
        return f"synonyms from {space.get('source')}"
    if space.get("kind") not in ("masked", "table"):  # a user's own, or damaged: its entries may be anything
        return str(space.get("kind", ""))
    parts = _table_in_words(space, most) if space["kind"] == "table" else []
    if fixed := space.get("immutable"):
        parts.append(f"never change {_some(fixed, most)}")
    for verb, name in (("never write", "forbidden"), ("never replace", "kept")):
        limits = space.get(name) or {}
        words = [
            f"{_some([repr(word) for word in some], most)}{'' if feature == '*' else f' in {feature}'}"
            for feature, some in limits.items()
        ]
        if words:
            parts.append(f"{verb} {_some(words, most, glue='; ')}")
    if rule := space.get("rule"):
        parts.append(f"the rule {rule}")
    return "; ".join(parts) or str(space.get("kind", ""))


def _table_in_words(space: Mapping[str, Any], most: int) -> list[str]:
    """What may be written into the columns of a table: values of the table, of a list, or steps from the own value."""
    options, steps = (space[name] if isinstance(space.get(name), Mapping) else {} for name in ("options", "steps"))
    parts = ["any value that the table holds in a column"]
    if listed := [f"{name} ({len(values)})" for name, values in options.items() if isinstance(values, list)]:
        parts.append(f"only listed values in {_some(listed, most)}")
    if stepped := [f"{name} ({len(sizes)})" for name, sizes in steps.items() if isinstance(sizes, list)]:
        parts.append(f"steps from the row's own value in {_some(stepped, most)}")
    return parts


def _rules_in_words(rules: Any, base: str) -> str:
    """Rules in one line: their names are in the threat file."""
    if not isinstance(rules, Mapping):
        return base
    parts = [base]
    if rules.get("unit"):
        parts.append("at the prices of the threat file")
    elif rules.get("columns"):
        parts.append("as far as the threat file lets columns change")
    for name, noun in (("relations", "relation"), ("derived", "derived column")):
        if count := len(rules.get(name) or ()):
            parts.append(f"{count} {noun}{'s' if count > 1 else ''}")
    if rules.get("changes"):
        parts.append(f"at most {rules['changes']} changes")
    return "; ".join(parts)


def _some(words: Sequence[str], most: int, *, glue: str = ", ") -> str:
    return glue.join(words[:most]) + (f"{glue}and {len(words) - most} more" if len(words) > most else "")
