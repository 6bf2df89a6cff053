"""A training program with three planted bottlenecks: the small program of chapter 43.

Each of them can be fixed by its name: "loader", "copy", "small ops".
"""

import tensorlab as torch
from tensorlab import nn
from tensorlab.utils.data import DataLoader, Dataset

BATCH, PIXELS = 64, 1024


class Pictures(Dataset):
    """Pictures that are normalised when they are asked for."""

    def __init__(self, count, fixed=()):
        source = torch.Generator().manual_seed(0)
        self.pixels = torch.rand(count, PIXELS, generator=source)
        self.classes = torch.randint(10, (count,), generator=source)
        self.mean, self.std = self.pixels.mean(), self.pixels.std()
        self.is_fixed = "loader" in fixed

    def __len__(self):
        return len(self.pixels)

    def __getitem__(self, i):
        mean, std = self.mean, self.std
        if not self.is_fixed:
            mean, std = self.pixels.mean(), self.pixels.std()
        return (self.pixels[i] - mean) / std, self.classes[i]


class Network(nn.Module):
    """Two layers, and a conversion that someone left over from a hunt for nan."""

    def __init__(self, fixed=()):
        super().__init__()
        self.hidden, self.scores = nn.Linear(PIXELS, 128), nn.Linear(128, 10)
        self.is_fixed = "copy" in fixed

    def forward(self, x):
        if not self.is_fixed:
            x = x.double().float()
        return self.scores(self.hidden(x).relu())


def penalty(model, fixed=()):
    """The sum of the squares of all weights."""
    if "small ops" in fixed:
        return sum(weight.square().sum() for weight in model.parameters())
    total = 0
    for weight in model.parameters():
        for row in weight:
            total = total + (row * row).sum()
    return total


def train(count=512, fixed=(), on_step=None):
    """Go through `count` pictures once; return the losses."""
    torch.manual_seed(0)
    model, losses = Network(fixed), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for x, target in DataLoader(Pictures(count, fixed), batch_size=BATCH):
        loss = nn.functional.cross_entropy(model(x), target) + 1e-4 * penalty(model, fixed)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if on_step is not None:
            on_step()
    return losses
