"""Names for people: attacks of different settings, spaces and goals in words."""

import pytest

from hammingbox.report.labels import arguments, attack_labels, goal_in_words, space_in_words

TO_B = {"kind": "target", "label": "b"}


def test_arguments_of_a_repr() -> None:
    assert arguments("A(b=(1, 2), c=B(d=3), e='f')") == ["b=(1, 2)", "c=B(d=3)", "e='f'"]
    assert arguments("A()") == []


def test_attacks_of_one_name_get_what_differs() -> None:
    assert attack_labels([("pcaa", "PCAA(steps=5, tau=1)", ""), ("ga", "GA()", "")]) == ["pcaa", "ga"]
    several = [("pcaa", "PCAA(steps=5, tau=1)", ""), ("pcaa", "PCAA(steps=9, tau=1)", "to ok")]
    assert attack_labels(several) == ["pcaa (steps=5)", "pcaa (steps=9) to ok"]
    assert attack_labels([("mine", "Mine()", ""), ("mine", "Other()", "")]) == ["mine (variant 1)", "mine (variant 2)"]


@pytest.mark.parametrize(
    ("goal", "words"),
    [
        ({"kind": "any_other"}, ""),
        ({"kind": "target", "label": "ok"}, "to ok"),
        ({"kind": "direction", "source": "fraud", "target": "ok"}, "fraud to ok"),
        ({"kind": "direction", "source": "fraud", "target": None}, "fraud to any other class"),
        ({"kind": "either", "goals": [{"kind": "target", "label": "a"}, TO_B]}, "(to a or to b)"),
        ({"kind": "both", "goals": [{"kind": "any_other"}, TO_B]}, "(to any other class and to b)"),
        ({"kind": "profit"}, "goal profit"),
    ],
)  # fmt: skip
def test_goals_in_words(goal: dict[str, object], words: str) -> None:
    assert goal_in_words(goal) == words


def test_spaces_in_words() -> None:
    assert space_in_words({"kind": "full"}) == "every category of every feature"
    table = {"kind": "table", "options": {"amount": ["1", "2"]}, "steps": {"age": [1.0]}, "immutable": ["sex"]}
    assert space_in_words(table) == (
        "any value that the table holds in a column; only listed values in amount (2); "
        "steps from the row's own value in age (1); never change sex"
    )
    masked = {"kind": "masked", "immutable": ["sex"], "forbidden": {"*": ["N"], "job": ["none", "a"]}, "kept": {}}
    assert space_in_words(masked) == "never change sex; never write 'N'; 'none', 'a' in job"
    many = {"kind": "masked", "immutable": [f"f{i}" for i in range(9)]}
    assert space_in_words(many, most=2) == "never change f0, f1, and 7 more"
