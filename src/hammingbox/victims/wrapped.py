"""Any module that looks its ids up in an ``nn.Embedding``; its code does not change."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from hammingbox.errors import InputError, VictimError
from hammingbox.types import Embedded, Ids, Logits
from hammingbox.victims.victim import Victim, logits_of


class _EmbeddingSeenError(Exception):
    """Ends a forward pass once the embedding has returned."""


class Wrapped(Victim):
    """See :func:`wrap`."""

    def __init__(self, module: nn.Module, embedding: nn.Embedding) -> None:
        super().__init__()
        self.module = module
        self._embedding = [embedding]  # in a list, because it is registered as part of `module` already

    def embed(self, ids: Ids) -> Embedded:
        """The output of the module's embedding for these ids. The rest of the module does not run."""
        seen: list[Tensor] = []

        def stop(_module: nn.Module, _args: Any, output: Tensor) -> None:
            seen.append(output)
            raise _EmbeddingSeenError

        with self._hooked(stop):
            try:
                self.module(ids)
            except _EmbeddingSeenError:
                return self._checked(seen[0], ids)
        raise VictimError(
            "expected the module to look its ids up in the given embedding, got a forward pass that never did. "
            "Pass the embedding that the module uses, or subclass Victim."
        )

    def head(self, embedded: Embedded, ids: Ids) -> Logits:
        """The module's logits for `ids`, with the output of its embedding replaced."""
        calls = 0

        def replace(_module: nn.Module, _args: Any, _output: Tensor) -> Tensor:
            nonlocal calls
            calls += 1
            return embedded

        with self._hooked(replace):
            logits = logits_of(self.module(ids))
        if calls != 1:
            raise VictimError(
                f"expected the embedding to be used once per forward pass, got {calls} times. Subclass Victim instead."
            )
        return logits

    def forward(self, ids: Ids) -> Logits:
        """The module, untouched."""
        return logits_of(self.module(ids))

    @contextmanager
    def _hooked(self, hook: Callable[[nn.Module, Any, Tensor], Any]) -> Iterator[None]:
        handle = self._embedding[0].register_forward_hook(hook)
        try:
            yield
        finally:
            handle.remove()

    @staticmethod
    def _checked(output: Tensor, ids: Ids) -> Embedded:
        if output.shape[:2] != ids.shape or output.dim() != 3:
            raise VictimError(
                f"expected the embedding to return (batch, features, dim) = ({ids.shape[0]}, {ids.shape[1]}, dim), "
                f"got {tuple(output.shape)}. Subclass Victim for a model that reorders its input."
            )
        return output


def wrap(module: nn.Module, *, embedding: nn.Embedding) -> Victim:
    """Makes a victim of any module that looks its ids up in an embedding. The module's code does not change.

    Args:
        module: called with ids (batch, features), returns logits or an object with a `logits` attribute.
        embedding: the ``nn.Embedding`` inside `module`.

    Raises:
        InputError: `embedding` is not an embedding of `module`.
    """
    if not isinstance(module, nn.Module):
        raise InputError(f"expected a torch module, got {type(module).__name__}. Use BlackBox for other models.")
    if not isinstance(embedding, nn.Embedding) or all(embedding is not part for part in module.modules()):
        raise InputError(
            f"expected an nn.Embedding that is part of the module, got {type(embedding).__name__}. "
            "Pass the layer itself, for example embedding=model.embedding."
        )
    return Wrapped(module, embedding)
