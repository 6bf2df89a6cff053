"""Read handwritten digits: a complete classifier in sixty lines."""

from sklearn.datasets import load_digits

import tensorlab as torch
from tensorlab import nn
from tensorlab.nn import functional as F
from tensorlab.utils.data import DataLoader, TensorDataset, random_split


class Classifier(nn.Module):
    """64 pixels in, 10 scores out, two hidden layers between them."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(64, 128)
        self.second = nn.Linear(128, 64)
        self.last = nn.Linear(64, 10)

    def forward(self, pixels):
        x = F.relu(self.first(pixels))
        x = F.relu(self.second(x))
        return self.last(x)


def load():
    """Return images to learn from, to choose by, and to judge by."""
    data = load_digits()
    pixels = torch.tensor(data.images, dtype=torch.float32) / 16
    labels = torch.tensor(data.target)
    images = TensorDataset(pixels.flatten(1), labels)
    return random_split(images, [1197, 300, 300])


def train(model, images, epochs=30):
    """Fit the model to the images; return the loss of every step."""
    batches = DataLoader(images, batch_size=32, shuffle=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for _ in range(epochs):
        for pixels, labels in batches:
            loss = F.cross_entropy(model(pixels), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses


def accuracy(model, images):
    """Return the share of images whose highest score is the right digit."""
    pixels, labels = next(iter(DataLoader(images, batch_size=len(images))))
    with torch.no_grad():
        found = model(pixels).argmax(1)
    return (found == labels).sum().item() / len(images)


if __name__ == "__main__":
    torch.manual_seed(0)
    learning, choosing, judging = load()
    model = Classifier()
    losses = train(model, learning)
    print(f"loss: {losses[0]:.2f} at first, {losses[-1]:.4f} at last")
    print(f"right: {accuracy(model, judging):.1%} of {len(judging)} unseen images")
