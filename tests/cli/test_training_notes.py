"""What `train` and `defend` say of a model that has given up a class, or only guesses."""

import pytest

from hammingbox.cli.training_classes import show_training_notes


@pytest.mark.parametrize(
    ("recall", "what"),
    [(0.02, "hardly ever gets bad right"), (0.125, "is hardly better than guessing (bad)")],
)
def test_a_collapsed_model_is_called_what_it_is(recall: float, what: str, capsys: pytest.CaptureFixture[str]) -> None:
    facts = {
        "given_up": ["bad"],
        "test_recall": {"good": 0.96, "bad": recall},
        "test_predicted": {"good": 186, "bad": 13},
    }
    show_training_notes(facts, "")
    captured = capsys.readouterr()
    said = " ".join((captured.out + captured.err).split())
    assert f"collapsed: the model {what}" in said
    assert "good 186, bad 13" in said


def test_nothing_is_said_of_a_model_that_knows_its_classes(capsys: pytest.CaptureFixture[str]) -> None:
    show_training_notes({"given_up": [], "test_recall": {"good": 0.8, "bad": 0.7}}, "")
    captured = capsys.readouterr()
    assert captured.out + captured.err == ""
