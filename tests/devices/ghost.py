"""A device that exists only in tests: its tensors compute on the CPU and refuse to meet CPU tensors.

No GPU is needed to find a tensor on the wrong device. Inside `ghost_device()`, `GHOST` behaves as a GPU would:

- factories (``torch.zeros(..., device=x.device)``) and ``.to(device)`` make ghost tensors;
- an operation on a ghost tensor and a CPU tensor raises `MixedDevicesError`, which names the operation;
- ``.numpy()`` raises, ``.cpu()``, ``.item()``, ``.tolist()`` and ``bool()`` give the values;
- random numbers that are drawn on the device come from the device's own generator, not from the CPU's.

It is stricter than a GPU in two points, because both hide a transfer: an index on the CPU may not index a ghost tensor,
and ``copy_`` may not cross devices except where a state dict is loaded. A CPU tensor without dimensions may take part
in pointwise operations, as on a GPU.

How it works. `GhostTensor` is a wrapper subclass around a CPU tensor; every operation unwraps, computes and wraps.
To torch's C++ code the wrapper is on the device ``meta``, because autograd and LSTM need nothing from that device that
a CPU build of torch does not have. To Python code it is on `GHOST`.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from types import FrameType
from typing import Any, NoReturn

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing

GHOST = torch.device("privateuseone", 0)
"""The name torch keeps for devices that it does not know. Renaming it would last beyond the tests of this folder."""
_INNER = torch.device("meta")
_CPU = torch.device("cpu")
_LOADER = "_load_from_state_dict"
"""The function of torch in which a copy from one device to another is meant."""
_SEED = 20_240_229
"""Where the device's generator starts: elsewhere than any test's seed would put it."""
_SCALARS = ("aten::index_put_", "aten::index_put", "aten::fill_", "aten::masked_fill", "aten::masked_fill_")
"""Operations that take a CPU tensor without dimensions though they are not pointwise."""


class MixedDevicesError(AssertionError):
    """An operation was given tensors of two devices. An AssertionError, so that no code under test handles it."""


class GhostTensor(torch.Tensor):
    """A tensor on the ghost device. `held` is the CPU tensor with its values."""

    held: torch.Tensor

    @staticmethod
    def __new__(cls, held: torch.Tensor) -> "GhostTensor":
        return torch.Tensor._make_wrapper_subclass(
            cls,
            held.shape,
            strides=held.stride(),
            storage_offset=held.storage_offset(),
            dtype=held.dtype,
            device=_INNER,
        )

    def __init__(self, held: torch.Tensor) -> None:
        self.held = held

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        return _compute(func, args, dict(kwargs or {}))

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        return GHOST

    @property
    def is_meta(self) -> bool:  # type: ignore[override]
        return False

    def tolist(self) -> Any:
        return self.held.tolist()

    def numpy(self, *, force: bool = False) -> NoReturn:
        raise TypeError(f"can't convert {GHOST} device type tensor to numpy. Use Tensor.cpu() first.")

    def __format__(self, spec: str) -> str:
        return format(self.held, spec)

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return f"GhostTensor({self.held!r})"


class _Backend:
    """The module of the device in `torch`: the part of a device module that has to do with random numbers.

    Attributes:
        generator: what random operations on the device draw from.
        operations: how many operations the device has done since `ghost_device` was entered.
    """

    def __init__(self) -> None:
        self.generator = torch.Generator()
        self.operations = 0

    def manual_seed(self, seed: int) -> None:
        self.generator.manual_seed(seed)

    manual_seed_all = manual_seed

    def get_rng_state(self, device: Any = GHOST) -> torch.Tensor:
        return self.generator.get_state()

    def set_rng_state(self, state: torch.Tensor, device: Any = GHOST) -> None:
        self.generator.set_state(state)

    def device_count(self) -> int:
        return 1

    def current_device(self) -> int:
        return 0

    def is_available(self) -> bool:
        return True

    def is_initialized(self) -> bool:
        return True

    def _is_in_bad_fork(self) -> bool:
        return False

    @contextmanager
    def drawing(self) -> Iterator[None]:
        """Lets an operation draw from this device's generator in place of the CPU's."""
        kept = torch.default_generator.get_state()
        torch.default_generator.set_state(self.generator.get_state())
        try:
            yield
        finally:
            self.generator.set_state(torch.default_generator.get_state())
            torch.default_generator.set_state(kept)


_backend = _Backend()  # one for all: torch remembers the module of a device


def operations() -> int:
    """How many operations the ghost device has done."""
    return _backend.operations


@contextmanager
def ghost_device() -> Iterator[torch.device]:
    """Makes the device `GHOST` usable and gives it."""
    setattr(torch, GHOST.type, _backend)
    _backend.manual_seed(_SEED)
    _backend.operations = 0
    try:
        with _Functions(), _Factories():  # type: ignore[no-untyped-call]
            yield GHOST
    finally:
        delattr(torch, GHOST.type)


class _Functions(TorchFunctionMode):
    """Writes the inner device wherever Python code names the ghost device."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        named = dict(kwargs or {})
        if func is torch.device or not any(isinstance(value, str | torch.device) for value in (*args, *named.values())):
            if func in _INDEXING and isinstance(args[0], GhostTensor):
                args = (args[0], _indices(args[1]), *args[2:])
            elif func is torch.Tensor.new_tensor and isinstance(args[0], GhostTensor):
                return torch.tensor(*args[1:], **{"dtype": args[0].dtype} | named).to(_INNER)
            return func(*args, **named)
        args, named = tuple(map(_inner, args)), {name: _inner(value) for name, value in named.items()}
        if func in _FROM_DATA and named.get("device") == _INNER:
            # On `meta` torch would not even look at the data.
            grad = named.pop("requires_grad", False)
            return func(*args, **named | {"device": _CPU}).to(_INNER).requires_grad_(grad)
        return func(*args, **named)


_FROM_DATA: tuple[Callable[..., Any], ...] = (torch.tensor, torch.as_tensor, torch.asarray)
_INDEXING = (torch.Tensor.__getitem__, torch.Tensor.__setitem__)


def _inner(value: Any) -> Any:
    if isinstance(value, torch.device):
        return _INNER if value.type == GHOST.type else value
    return _INNER if isinstance(value, str) and value.split(":")[0] == GHOST.type else value


def _indices(index: Any) -> Any:
    """An index in which lists are tensors on the device, which is what torch makes of them on a GPU."""
    if isinstance(index, tuple):
        return tuple(_indices(part) for part in index)
    return torch.tensor(index).to(_INNER) if isinstance(index, list) else index


class _Factories(TorchDispatchMode):
    """Sees the operations that have no ghost tensor among their arguments: factories and transfers."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # or torch would import its compiler at the first operation, which takes seconds

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        return _compute(func, args, dict(kwargs or {}))


class _Operation:
    """What is known of an operation of torch before it runs."""

    def __init__(self, func: Any) -> None:
        self.name: str = func._schema.name
        self.random = torch.Tag.nondeterministic_seeded in func.tags
        self.takes_scalars = torch.Tag.pointwise in func.tags or self.name in _SCALARS
        self.aliases = any(part.alias_info for part in (*func._schema.arguments, *func._schema.returns))


_operation = cache(_Operation)


def _compute(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Runs one operation of torch on the CPU tensors behind its arguments."""
    operation, tensors = _operation(func), list(_tensors((*args, *kwargs.values())))
    ghostly = any(isinstance(tensor, GhostTensor) for tensor in tensors)
    _refuse_mixtures(operation, tensors)
    real_args, real_kwargs = _unwrap(args), {name: _unwrap(value) for name, value in kwargs.items()}
    on_ghost = ghostly
    if (device := kwargs.get("device")) is not None:
        on_ghost = device == _INNER
        real_kwargs["device"] = _CPU
    if on_ghost and operation.random:
        if kwargs.get("generator") is not None:
            raise MixedDevicesError(f"{operation.name}: expected a generator of {GHOST}, got one of the CPU.")
        with _backend.drawing():
            out = func(*real_args, **real_kwargs)
    else:
        out = func(*real_args, **real_kwargs)
    if not on_ghost:
        return out
    _backend.operations += 1
    out = _wrap(out)
    return return_and_correct_aliasing(func, args, kwargs, out) if ghostly and operation.aliases else out


def _tensors(values: Iterable[Any]) -> Iterator[torch.Tensor]:
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from _tensors(value)


def _wrap(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return GhostTensor(value)
    return type(value)(map(_wrap, value)) if isinstance(value, list | tuple) else value


def _unwrap(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(map(_unwrap, value))
    if not isinstance(value, GhostTensor):
        return value
    if value.held.shape != value.shape or value.held.dtype != value.dtype:
        # `tensor.data = other` and operations such as `resize_` change the wrapper alone.
        raise MixedDevicesError(f"a ghost tensor of shape {tuple(value.shape)} holds {tuple(value.held.shape)}.")
    return value.held


def _refuse_mixtures(operation: _Operation, tensors: Sequence[torch.Tensor]) -> None:
    plain = [tensor for tensor in tensors if not isinstance(tensor, GhostTensor)]
    if any(tensor.device == _INNER for tensor in plain):
        raise MixedDevicesError(f"{operation.name}: a tensor without data. The ghost device does not know its factory.")
    if not plain or len(plain) == len(tensors):
        return
    if operation.takes_scalars and all(tensor.dim() == 0 for tensor in plain):
        return
    if operation.name == "aten::copy_" and _loads_a_state():
        return
    shown = ", ".join(f"{tensor.device} {tuple(tensor.shape)}" for tensor in tensors)
    raise MixedDevicesError(f"{operation.name}: expected tensors of one device, got {shown}.")


def _loads_a_state() -> bool:
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == _LOADER:
            return True
        frame = frame.f_back
    return False
