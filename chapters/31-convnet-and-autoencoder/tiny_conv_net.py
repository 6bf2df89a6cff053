"""A convnet, an autoencoder and one training loop for both: the small program of chapter 31."""

import tensorlab as torch
from tensorlab import nn


def mlp():
    """The network of chapter 28 for pictures of 12 x 12 pixels."""
    return nn.Sequential(nn.Flatten(), nn.Linear(144, 32), nn.ReLU(), nn.Linear(32, 10))


def convnet():
    """Two convolutions, each with a pooling behind it, and one layer of scores."""
    return nn.Sequential(
        nn.Conv2d(1, 12, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(12, 24, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(24 * 3 * 3, 10),
    )


class Autoencoder(nn.Module):
    """Pictures of 8 x 8 pixels to a few numbers and back."""

    def __init__(self, latent):
        super().__init__()
        self.encode = nn.Sequential(
            nn.Conv2d(1, 12, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(12, 24, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(24 * 2 * 2, latent),
        )
        self.decode = nn.Sequential(
            nn.Linear(latent, 24 * 2 * 2),
            nn.ReLU(),
            nn.Unflatten(1, (24, 2, 2)),
            nn.ConvTranspose2d(24, 12, 3, stride=2, padding=1, output_padding=1),
            nn.ReLU(),
            nn.ConvTranspose2d(12, 1, 3, stride=2, padding=1, output_padding=1),
        )

    def forward(self, x):
        return self.decode(self.encode(x)).sigmoid()


def train(model, loss_of, rows, steps, lr=3e-3, batch=64):
    """Take steps of Adam on random batches; `loss_of` gets row numbers. Return the losses."""
    optimizer, losses = torch.optim.Adam(model.parameters(), lr=lr), []
    for _ in range(steps):
        loss = loss_of(torch.randint(rows, (batch,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def place(images, down, right, size=12):
    """Put pictures into larger black ones, so many pixels from the top and from the left."""
    below, beside = size - images.shape[2] - down, size - images.shape[3] - right
    return nn.functional.pad(images, (right, beside, down, below))


def shifted(images, most):
    """Move each picture by its own random number of pixels, at most `most` in each direction."""
    n, _, height, width = images.shape
    padded = nn.functional.pad(images, (most, most, most, most))
    down, right = torch.randint(2 * most + 1, (2, n)).tolist()
    cuts = [padded[i, :, down[i] : down[i] + height, right[i] : right[i] + width] for i in range(n)]
    return torch.stack(cuts)
