"""Text CNNs asked without gradients: CPU time per row by the convolution and by the table of filter responses.

python benchmarks/text_queries.py
"""

from collections.abc import Callable
from functools import partial
from time import process_time

import torch

from hammingbox.types import Ids
from hammingbox.victims.victim import Victim
from hammingbox.victims.zoo.char_cnn import CharCNN
from hammingbox.victims.zoo.word_cnn import WordCNN

_ROWS, _CALLS = 256, 5
_SIZES: dict[str, tuple[int, int, Callable[[tuple[int, ...]], Victim]]] = {
    "word CNN, 256 words": (20_000, 256, partial(WordCNN, classes=2, dim=100)),
    "character CNN, 256 characters": (70, 256, partial(CharCNN, classes=4)),
    "the same, 384 channels": (70, 256, partial(CharCNN, classes=4, channels=384)),
}


def texts(tokens: int, length: int, *, alike: bool) -> Ids:
    """Tokens as frequent as words are; alike: four texts with four changes each, as an attack asks."""
    ids = (tokens ** torch.rand(_ROWS, length)).long().clamp_max(tokens - 1)
    if alike:
        ids = ids[:4].repeat(_ROWS // 4, 1)
        for _ in range(4):
            ids[torch.arange(_ROWS), torch.randint(length, (_ROWS,))] = torch.randint(tokens, (_ROWS,))
    return ids


def by_convolution(victim: Victim, ids: Ids) -> torch.Tensor:
    """The answers as training computes them."""
    return victim.head(victim.embed(ids), ids)


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    for name, (tokens, length, make) in _SIZES.items():
        victim = make((tokens,) * length).eval()
        for alike in (False, True):
            ids = texts(tokens, length, alike=alike)
            spent = []
            with torch.no_grad():
                for answer in (partial(by_convolution, victim), victim):
                    answer(ids)
                    begin = process_time()
                    for _ in range(_CALLS):
                        answer(ids)
                    spent.append(1000 * (process_time() - begin) / _CALLS / _ROWS)
            kind = "four texts, changed" if alike else "different texts"
            print(f"{name}, {kind}: {spent[0]:.3f} and {spent[1]:.3f} ms per row, ratio {spent[1] / spent[0]:.2f}")


if __name__ == "__main__":
    main()
