"""Random numbers keyed by row: they depend on (seed, row) and on nothing else.

Each row has its own stream of random numbers, seeded with the seed of the run and the content of the row. A row
therefore gets the same noise whether it is attacked alone, in a batch of 256, in another order, on another worker or
after a killed run was resumed. One generator per row costs no more than one per batch: NumPy's SFC64 fills float32
exponentials faster than torch draws uniforms.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from hashlib import blake2b

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from hammingbox.settings import whole_number
from hammingbox.types import Ids

LARGEST_SEED = 2**63 - 1


def check_seed(seed: int) -> int:
    """A seed that a user passed.

    Raises:
        InputError: it is negative, above 2**63 - 1, or not a whole number.
    """
    return whole_number("seed", seed, least=0, most=LARGEST_SEED)


class RowRandom:
    """One independent stream per row; the first axis of every draw is the batch.

    Cost per draw: one NumPy call per row. Draws are sequential within a row, so drawing 2 and then 3 samples gives
    the same numbers as drawing 5. Micro-batches therefore never change a result.
    """

    def __init__(self, source: "_Streams", rows: Sequence[int], device: torch.device) -> None:
        self._source, self._rows = source, rows
        self.device = device

    @classmethod
    def for_rows(cls, seed: int, ids: Ids) -> "RowRandom":
        """Streams keyed by the content of the rows: equal rows get equal noise.

        Raises:
            InputError: the seed is not a whole number of at least 0.
        """
        return cls(_Streams(check_seed(seed), ids), range(len(ids)), ids.device)

    @property
    def streams(self) -> list[np.random.Generator]:
        """The stream of each row."""
        return self._source.of(self._rows)

    def select(self, rows: Int64[Tensor, "some"] | Bool[Tensor, "batch"]) -> "RowRandom":
        """The streams of some rows. They are shared with this object: drawing from one advances both."""
        index = rows.nonzero()[:, 0] if rows.dtype == torch.bool else rows
        return RowRandom(self._source, [self._rows[i] for i in index.tolist()], self.device)

    def exponential(self, *shape: int) -> Float[Tensor, "batch ..."]:
        """Standard exponential noise of this shape for each row."""
        noise = np.empty((len(self._rows), *shape), dtype=np.float32)
        for stream, row in zip(self.streams, noise, strict=True):
            stream.standard_exponential(out=row, dtype=np.float32)
        return torch.from_numpy(noise).to(self.device)

    def gumbel(self, *shape: int) -> Float[Tensor, "batch ..."]:
        """Standard Gumbel noise: -log of an exponential."""
        # A draw is exactly 0 with probability 2**-24: keep its logarithm finite.
        return self.exponential(*shape).clamp_min_(1e-30).log_().neg_()

    def uniform(self, *shape: int) -> Float[Tensor, "batch ..."]:
        """Uniform noise in [0, 1)."""
        noise = np.empty((len(self._rows), *shape), dtype=np.float32)
        for stream, row in zip(self.streams, noise, strict=True):
            stream.random(out=row, dtype=np.float32)
        return torch.from_numpy(noise).to(self.device)


class _Streams:
    """The streams of the rows of a batch, each made when it is first drawn from: many searches draw nothing."""

    def __init__(self, seed: int, ids: Ids) -> None:
        content = np.ascontiguousarray(ids.cpu().numpy(), dtype="<i8")
        self._seed, self._bytes, self._size = seed, content.tobytes(), content[:1].nbytes
        self._made: dict[int, np.random.Generator] = {}

    def of(self, rows: Sequence[int]) -> list[np.random.Generator]:
        made = self._made
        return [made[row] if row in made else self._make(row) for row in rows]

    def _make(self, row: int) -> np.random.Generator:
        begin = row * self._size
        key = int.from_bytes(blake2b(self._bytes[begin : begin + self._size], digest_size=16).digest())
        stream = np.random.Generator(np.random.SFC64(np.random.SeedSequence([self._seed, key])))
        self._made[row] = stream
        return stream


def torch_generator(seed: int) -> torch.Generator:
    """A seeded torch generator on the CPU. All of them are made here; the global one is never used.

    Raises:
        InputError: the seed is not a whole number of at least 0.
    """
    return torch.Generator(device="cpu").manual_seed(check_seed(seed))


def process_seed(seed: int, rank: int) -> int:
    """A seed of its own for each of several processes that share one seed."""
    return int(np.random.SeedSequence([check_seed(seed), rank]).generate_state(1, np.uint64)[0] >> np.uint64(1))


@contextmanager
def borrowed_generators(device: torch.device) -> Iterator[None]:
    """Gives torch's global generators, the CPU's and the device's, back as they were.

    Layers such as dropout draw from them and know no other.
    """
    devices = [] if device.type == "cpu" else [device]
    with torch.random.fork_rng(devices=devices, device_type=device.type):
        yield


def generator_states(device: torch.device) -> dict[str, Tensor]:
    """The states of the global generators: "cpu" and, where the device has one of its own, "device"."""
    states = {"cpu": torch.default_generator.get_state()}
    if device.type != "cpu":
        states["device"] = torch.get_device_module(device).get_rng_state(device)
    return states


def set_generators(device: torch.device, seed: int, states: Mapping[str, Tensor]) -> None:
    """Sets the global generators to states of `generator_states`; one without a state is seeded.

    Call it inside `borrowed_generators`.
    """
    if "cpu" in states:
        torch.default_generator.set_state(states["cpu"])
    else:
        torch.default_generator.manual_seed(seed)
    if device.type == "cpu":
        return
    module = torch.get_device_module(device)
    if "device" in states:
        module.set_rng_state(states["device"], device)
        return
    # `manual_seed` seeds the current device, which need not be the one that is meant.
    with module.device(device) if hasattr(module, "device") else nullcontext():
        module.manual_seed(seed)
