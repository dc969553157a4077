"""Batch normalisation in several processes, each of which has some rows of a batch."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from hammingbox.training.team import Team
from hammingbox.victims.victim import Victim


@contextmanager
def statistics_of_all_processes(victim: Victim, team: Team) -> Iterator[None]:
    """Inside the block, layers that normalise over batches do so over the rows of all processes.

    Only for GPUs: a victim on the CPU with such layers is refused before. The layers are the victim's own again at the
    end; their weights and running statistics are the same tensors all the time.
    """
    replaced: list[tuple[nn.Module, str, nn.Module]] = []
    if team.size > 1:
        for parent in list(victim.modules()):
            for name, layer in list(parent.named_children()):
                if isinstance(layer, _BatchNorm) and not isinstance(layer, nn.SyncBatchNorm):
                    setattr(parent, name, nn.SyncBatchNorm.convert_sync_batchnorm(layer))
                    replaced.append((parent, name, layer))
    try:
        yield
    finally:
        for parent, name, layer in replaced:
            setattr(parent, name, layer)
