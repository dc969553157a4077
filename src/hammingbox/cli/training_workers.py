"""`--workers` of `train` and `defend`: which processes train a model together."""

import os
from typing import Annotated

import torch
import typer

from hammingbox.cli.options import device_from
from hammingbox.cli.workers import note_few_cores
from hammingbox.errors import InputError
from hammingbox.running.processes import MOST_WORKERS
from hammingbox.running.training_processes import TrainingProcesses
from hammingbox.training.loop import serve
from hammingbox.training.process_group import Torchrun, is_under_torchrun
from hammingbox.training.team import Alone, Team

TrainingWorkers = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=MOST_WORKERS,
        help="Processes that share the rows of every step, one thread each. Or start the command with torchrun.",
    ),
]


def team_from(workers: int | None, device: str) -> tuple[Team, torch.device]:
    """Who trains, as the option or torchrun says, and where this process does. Close the team.

    A process of torchrun that does not lead takes part in all trainings of the one that does; then its command ends.

    Raises:
        InputError: both `--workers` and torchrun, or a device that is not there.
    """
    if is_under_torchrun():
        if workers is not None:
            raise InputError(
                f"expected --workers or torchrun, got both. Leave out --workers: torchrun started "
                f"{os.environ['WORLD_SIZE']} processes."
            )
        place = device_from(f"cuda:{os.environ.get('LOCAL_RANK', 0)}" if device == "cuda" else device)
        team = Torchrun(place)
        if team.rank:
            with team:
                serve(team)
            raise typer.Exit
        return team, place
    place = device_from(device)
    if workers is None:
        return Alone(), place
    note_few_cores(workers)
    processes = TrainingProcesses(workers, device=None if device == "cpu" else device)
    return processes, processes.devices[0] if device == "cuda" else place
