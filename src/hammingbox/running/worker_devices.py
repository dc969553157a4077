"""Which device each worker owns."""

import torch

from hammingbox.errors import InputError


def spread(device: str | None, workers: int, *, gpus: int | None = None) -> tuple[str | None, ...]:
    """The device of each worker: GPUs in turn for "cuda", the same one for a device with a number.

    Args:
        device: as `--device` takes it; None leaves victims where they are.
        workers: how many.
        gpus: how many GPUs there are; those that torch sees by default.

    Raises:
        InputError: "cuda" without a GPU.
    """
    if device != "cuda":
        return (device,) * workers
    count = torch.cuda.device_count() if gpus is None else gpus
    if count == 0:
        raise InputError("expected a GPU for workers with --device cuda, got none. Use --device cpu.")
    return tuple(f"cuda:{worker % count}" for worker in range(workers))
