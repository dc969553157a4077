"""The table of studies: every study has every preset, with attacks and victims that can be made."""

import pytest

from hammingbox import TrainConfig
from hammingbox.attacks import ATTACKS
from hammingbox.errors import InputError
from hammingbox.reproduction import STUDIES, choose_studies
from hammingbox.studies.study import PRESETS
from hammingbox.studies.workspace import Workspace, defence_of


def test_every_study_has_every_preset_with_attacks_and_victims_that_can_be_made() -> None:
    assert set(STUDIES) == {
        "attack-table", "complexity", "trade-off", "concentration", "defence-ag", "defence-imdb",
        "defence-imdb-neighbours", "defence-imdb-bilstm", "defence-splice", "imdb-budgets", "ladder",
        "mixture", "trades", "tuning", "tuning-splice", "zeta",
        "defence-curve-ag", "defence-curve-imdb", "defence-curve-splice", "certificates", "cases",
    }  # fmt: skip
    for study in STUDIES.values():
        assert set(study.sizes) == set(PRESETS), study.name
        for size in study.sizes.values():
            assert set(size.attacks) <= ATTACKS.keys()
            for attack, settings in size.attack_settings.items():
                ATTACKS[attack](**settings)
            assert len({victim.name for victim in size.victims}) == len(size.victims), study.name
            for victim in size.victims:
                TrainConfig(**victim.training)
                defence_of(victim)


def test_studies_are_chosen_by_name_in_the_order_given() -> None:
    assert choose_studies(["zeta", "cases"]) == [STUDIES["zeta"], STUDIES["cases"]]
    assert choose_studies([], everything=True) == list(STUDIES.values())
    with pytest.raises(InputError, match="Did you mean 'zeta'"):
        choose_studies(["zetta"], everything=True)
    with pytest.raises(InputError, match="or --all, got none"):
        choose_studies([])


@pytest.mark.parametrize("name", ["complexity", "concentration"])
def test_studies_with_attacks_of_their_own_have_plans(name: str, workspace: Workspace) -> None:
    work = STUDIES[name].plan(workspace, STUDIES[name].size("smoke"))
    assert sum(step.passes for step in work) > 0
    assert not workspace.store.runs()
