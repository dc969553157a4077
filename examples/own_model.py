"""Your own PyTorch model, its code unchanged: hand over its embedding and attack it."""

import torch
from torch import Tensor, nn

import hammingbox as hb


class MyModel(nn.Module):
    """Any module that looks its ids up in an embedding and returns logits."""

    def __init__(self, letters: int, classes: int) -> None:
        super().__init__()
        self.letters = nn.Embedding(letters, 12)
        self.reader = nn.GRU(12, 32, batch_first=True, bidirectional=True)
        self.classify = nn.Linear(64, classes)

    def forward(self, ids: Tensor) -> Tensor:
        states, _ = self.reader(self.letters(ids))
        return self.classify(states[:, 25:35].mean(1))  # around the junction


def train(model: nn.Module, data: hb.Dataset, epochs: int) -> None:
    """Your own training; hammingbox has no part in it."""
    optimiser = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(epochs):
        for rows in torch.randperm(len(data)).split(64):
            x, y = data.batch(rows)
            loss = nn.functional.cross_entropy(model(x), y)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()


def main(epochs: int = 6, rows: int = 64) -> float:
    torch.manual_seed(0)
    splits = hb.DATASETS["splice"].load()
    model = MyModel(letters=5, classes=3)
    train(model, splits.train, epochs)

    victim = hb.wrap(model, embedding=model.letters)
    print(f"accuracy {hb.accuracy(victim, splits.test):.1%}")
    space = hb.MaskedSpace(splits.schema, forbidden={"*": ["N"]})  # N: a base that could not be read
    for name in ("hotflip", "ga"):
        result = hb.evaluate(victim, splits.test.take(slice(0, rows)), hb.ThreatModel(space, 2), hb.ATTACKS[name]())
        print(f"{name}: two changed bases break {result.success_rate.value:.1%} of {result.accuracy.hits} rows")
    return result.success_rate.value


if __name__ == "__main__":
    main()
