"""Attacks and certificates from their recorded `repr`: parsed, and nothing else is built."""

import pytest

import hammingbox.attacks
from hammingbox import ATTACKS, CERTIFICATES
from hammingbox.evaluation.known_attack import attack_from_repr, certificate_from_repr


@pytest.mark.parametrize("name", sorted(ATTACKS))
def test_an_attack_comes_back(name: str) -> None:
    attack = ATTACKS[name]()
    assert attack_from_repr(repr(attack)) == attack
    assert certificate_from_repr(repr(attack)) is None


@pytest.mark.parametrize("name", sorted(CERTIFICATES))
def test_a_certificate_comes_back(name: str) -> None:
    certificate = CERTIFICATES[name]()
    assert certificate_from_repr(repr(certificate)) == certificate
    assert attack_from_repr(repr(certificate)) is None


@pytest.mark.parametrize(
    "text",
    [
        "", "(", "3", "TwoStage", "TwoStage(3)", "greedy.TwoStage()", "Nothing()", "Found()", "ATTACKS()",
        "TwoStage(samples=x)", "TwoStage(nonsense=1)", "(lambda: 1)()", "print('x')", "[" * 5000, "TwoStage()()",
        "TwoStage ( )", "TwoStage(**{})",
    ],
)  # fmt: skip
def test_anything_else_is_nobodys_attack(text: str) -> None:
    assert attack_from_repr(text) is None
    assert certificate_from_repr(text) is None


def test_what_is_no_attack_is_not_even_built(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[str] = []

    class Other:
        def __init__(self) -> None:
            built.append("built")

        def __repr__(self) -> str:
            return "Other()"

    monkeypatch.setattr(hammingbox.attacks, "Other", Other, raising=False)
    assert attack_from_repr("Other()") is None
    assert built == []
