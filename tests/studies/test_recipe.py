"""Recipes: the folder of a checkpoint names everything that makes the victim, its training seed included."""

from dataclasses import replace

import pytest

from hammingbox.errors import InputError
from hammingbox.studies.recipe import Recipe, defended

SMALL = Recipe(label="small CNN", data="splice", model="cnn", model_settings={"channels": 16, "dim": 8},
               training={"epochs": 4, "batch_size": 64, "learning_rate": 1e-2})  # fmt: skip


def test_recipes_that_differ_have_different_folders() -> None:
    one = Recipe(label="a", data="splice", model="cnn")
    assert one.folder == replace(one, label="b").folder
    others = [
        replace(one, model="lstm"), replace(one, training={"epochs": 2}), replace(one, train_rows=5),
        replace(one, model_settings={"dim": 3}), replace(one, defence="padvt"), replace(one, budget=3),
        replace(one, start=one), replace(one, defence_settings={"zeta": 1.0}), replace(one, seed=1),
        replace(one, seed=2), replace(one, start=one, seed=1), replace(one, start=one.seeded(1), seed=1),
        replace(one, vectors="words"), replace(one, start=replace(one, vectors="words")),
    ]  # fmt: skip
    assert len({recipe.folder for recipe in (one, *others)}) == 1 + len(others)


def test_folders_of_published_victims_keep_their_names() -> None:
    """Checkpoints and records of earlier versions are found under these names."""
    assert SMALL.folder == "splice-cnn-standard-0e48a8fd"
    padvt = replace(SMALL, start=SMALL, defence="padvt", budget=2, neighbours=True)
    assert padvt.folder == "splice-cnn-padvt-d4868045"
    assert replace(SMALL, trainings=3).seeded(0).folder == SMALL.folder, "more trainings keep the first one"
    assert padvt.seeded(0).folder == padvt.folder
    assert SMALL.seeded(1).folder == "splice-cnn-standard-seed1-691ddbd4"


def test_a_seed_is_also_the_seed_of_the_starts() -> None:
    padvt = defended("PAdvT", replace(SMALL, trainings=3), "padvt", budget=2)
    assert (padvt.seed, padvt.trainings) == (0, 3)
    assert defended("PAdvT", SMALL, "padvt", budget=2, trainings=2).trainings == 2
    assert defended("PAdvT", SMALL.seeded(4), "padvt", budget=2).seed == 4
    again = defended("PAdvT, again", padvt, "padvt", budget=3)
    for seed, training in enumerate(again.each_training()):
        assert training.start is not None
        assert training.start.start is not None
        assert [training.seed, training.start.seed, training.start.start.seed] == [seed] * 3
        assert training.start.folder == padvt.seeded(seed).folder
    assert SMALL.seeded(2).each_training() == (SMALL.seeded(2),), "a recipe with one training keeps its seed"


def test_names_of_trainings() -> None:
    assert SMALL.one_training == SMALL.name == "splice, small CNN"
    assert SMALL.seeded(2).name == SMALL.name, "tables have one line for all trainings"
    assert SMALL.seeded(2).one_training == "splice, small CNN, training seed 2"


def test_released_weights_have_no_seed() -> None:
    released = Recipe(label="released", data="ips", released=True)
    assert released.seeded(3) is released
    on_top = defended("PAdvT", released, "padvt", budget=2, trainings=2)
    assert [recipe.seed for recipe in on_top.each_training()] == [0, 1]
    assert on_top.seeded(1).start is released
    with pytest.raises(InputError, match="released weights"):
        replace(released, seed=1)
    with pytest.raises(InputError, match="released weights"):
        replace(released, trainings=2)


def test_wrong_numbers_are_refused() -> None:
    with pytest.raises(InputError, match="at least 1 training"):
        replace(SMALL, trainings=0)
    with pytest.raises(InputError, match=r"Recipe\.seed"):
        replace(SMALL, training={"seed": 1})
