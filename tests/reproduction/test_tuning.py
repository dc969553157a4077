"""Tuning: as many settings for every method, judged on validation rows; the chosen one is among them."""

from hammingbox.reproduction.tuning import CHOSEN, CHOSEN_ON_SPLICE, TRIED, TRIED_ON_SPLICE, TUNING, trainings
from hammingbox.studies.study import Size
from hammingbox.studies.workspace import Workspace
from toys.studies import QUICK, CountingTrainer, number


def test_every_method_has_as_many_settings_and_the_chosen_one_was_tried() -> None:
    for tried, chosen in ((TRIED, CHOSEN), (TRIED_ON_SPLICE, CHOSEN_ON_SPLICE)):
        assert chosen.keys() == tried.keys()
        assert {len(settings) for settings in tried.values()} == {4}
        assert all(chosen[method] in settings for method, settings in tried.items())
        folders = [recipe.folder for recipe in trainings(QUICK, 2, tried)]
        assert len(set(folders)) == len(folders) == 4 * len(tried)


def test_a_line_has_the_errors_on_validation_rows_and_the_cost(workspace: Workspace, trainer: CountingTrainer) -> None:
    victims = trainings(QUICK, 1, epochs=1, robust_rows=8, train_rows=64)[:2]
    size = Size(victims=victims)
    assert len(TUNING.plan(workspace, size)) == 3, "the start is trained once"
    outcome = TUNING.run(workspace, size)
    assert len(trainer.trained) == 3
    (table,) = outcome.tables
    for recipe, (label, rows, epochs, clean, robust, mean, seconds) in zip(victims, table.rows, strict=True):
        facts = workspace.checkpoint(recipe).training
        assert (label, rows, epochs) == (recipe.label, 64, 1)
        assert number(clean) == 100 * (1 - facts["validation_accuracy"])
        assert number(robust) == 100 * (1 - facts["robust_validation_accuracy"])
        assert number(mean) == (number(clean) + number(robust)) / 2
        assert number(seconds) >= 0
    assert not workspace.store.runs(), "no test row is attacked"


def test_without_data_it_is_skipped(workspace: Workspace) -> None:
    size = TUNING.size("cpu")
    assert "skipped" in TUNING.plan(workspace, size)[0].note
    assert TUNING.run(workspace, size).skipped
