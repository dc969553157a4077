"""Recipes: the folder of a checkpoint names everything that makes the victim."""

from dataclasses import replace

from hammingbox.studies.recipe import Recipe


def test_recipes_that_differ_have_different_folders() -> None:
    one = Recipe(label="a", data="splice", model="cnn")
    assert one.folder == replace(one, label="b").folder
    others = [
        replace(one, model="lstm"), replace(one, training={"epochs": 2}), replace(one, train_rows=5),
        replace(one, model_settings={"dim": 3}), replace(one, defence="padvt"), replace(one, budget=3),
        replace(one, start=one), replace(one, defence_settings={"zeta": 1.0}),
    ]  # fmt: skip
    assert len({recipe.folder for recipe in (one, *others)}) == 1 + len(others)


def test_folders_of_published_victims_keep_their_names() -> None:
    """Checkpoints and records of earlier versions are found under these names."""
    one = Recipe(label="small CNN", data="splice", model="cnn", model_settings={"channels": 16, "dim": 8},
                 training={"epochs": 4, "batch_size": 64, "learning_rate": 1e-2})  # fmt: skip
    assert one.folder == "splice-cnn-standard-0e48a8fd"
    assert replace(one, start=one, defence="padvt", budget=2, neighbours=True).folder == "splice-cnn-padvt-d4868045"
