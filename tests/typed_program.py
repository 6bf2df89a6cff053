"""A training program as users write it, for type checkers: test_typed_program.py runs mypy on it, and runs it."""

from collections.abc import Iterator
from typing import assert_type

import tensorlab as torch
import tensorlab.nn.functional as F
from tensorlab import Tensor, nn
from tensorlab.autograd.function import FunctionCtx
from tensorlab.datasets import FakeData, transforms
from tensorlab.optim.lr_scheduler import CosineAnnealingLR, LRScheduler
from tensorlab.utils.data import DataLoader, Dataset, TensorDataset, random_split

CLASSES = 3


# ---------------------------------------------------------------- data
def blobs(n: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Return images with a bright bar, and which row of three it is in."""
    targets = torch.randint(0, CLASSES, (n,), generator=generator)
    images = torch.randn(n, 1, 12, 12, generator=generator) * 0.3
    for i in range(n):
        row = int(targets[i].item())
        images[i, 0, 4 * row : 4 * row + 4] += 1.0
    return images, targets


def pictures() -> DataLoader[list[Tensor]]:
    """Return a loader of small pictures that are cropped at random."""
    crop = transforms.Compose([transforms.RandomCrop(8, padding=1), transforms.ToTensor()])
    dataset = FakeData(6, image_size=(3, 8, 8), num_classes=CLASSES, transform=crop)
    return DataLoader(dataset, batch_size=3)


class Noisy(Dataset[tuple[Tensor, Tensor]]):
    """Another data set with noise on its images."""

    def __init__(self, images: Tensor, targets: Tensor, noise: float = 0.1) -> None:
        self.images = images
        self.targets = targets
        self.noise = noise

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        image = self.images[index]
        return image + self.noise * torch.randn_like(image), self.targets[index]


# ---------------------------------------------------------------- a function with a derivative of its own
class ClippedSquare(torch.autograd.Function):
    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor, limit: float) -> Tensor:
        ctx.save_for_backward(x)
        ctx.limit = limit
        return (x * x).clamp(max=limit)

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor, None]:
        (x,) = ctx.saved_tensors
        assert_type(x, Tensor)
        limit: float = ctx.limit
        inside = (x * x) < limit
        assert_type(inside, Tensor)
        return grad * 2 * x * inside, None


# ---------------------------------------------------------------- the network
class Block(nn.Module):
    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(out_channels)
        self.activation = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        h = self.conv(x)
        assert_type(h, Tensor)
        h = self.activation(self.norm(h))
        return F.max_pool2d(h, 2)


class Scale(nn.Module):
    def __init__(self, start: float) -> None:
        super().__init__()
        self.factor = nn.Parameter(torch.full((1,), start))

    def forward(self, x: Tensor) -> Tensor:
        assert_type(self.factor * x, Tensor)
        return self.factor * x


class Net(nn.Module):
    def __init__(self, width: int = 4, dropout: float = 0.1) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([Block(1, width), Block(width, 2 * width)])
        self.scale = Scale(1.0)
        self.head = nn.Sequential(
            nn.Flatten(), nn.Dropout(dropout), nn.Linear(2 * width * 9, CLASSES)
        )
        self.reset()

    def reset(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.kaiming_uniform_(module.weight, nonlinearity="relu")
                nn.init.zeros_(module.bias)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        for block in self.blocks:
            x = block(x)
            assert_type(x, Tensor)
        features = self.scale(x).mean(dim=(2, 3))
        assert_type(features, Tensor)
        logits = self.head(x)
        assert_type(logits, Tensor)
        return logits, features


# ---------------------------------------------------------------- training
def batches(loader: DataLoader[list[Tensor]]) -> Iterator[tuple[Tensor, Tensor]]:
    for images, targets in loader:
        assert_type(images, Tensor)
        yield images, targets


def train_epoch(
    net: Net,
    loader: DataLoader[list[Tensor]],
    optimizer: torch.optim.Optimizer,
    scheduler: LRScheduler,
) -> float:
    """Return the mean loss."""
    net.train()
    total, count = 0.0, 0
    criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
    for images, targets in batches(loader):
        optimizer.zero_grad()
        logits, features = net(images)
        assert_type(logits, Tensor)
        penalty = ClippedSquare.apply(features, 4.0).mean()
        assert_type(penalty, Tensor)
        loss = criterion(logits, targets) + 0.01 * penalty
        assert_type(loss, Tensor)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(net.parameters(), max_norm=5.0)
        assert_type(norm, Tensor)
        optimizer.step()
        total += loss.item() * len(images)
        count += images.size(0)
    scheduler.step()
    return total / count


@torch.no_grad()
def accuracy(net: Net, loader: DataLoader[list[Tensor]]) -> float:
    net.eval()
    right, count = 0, 0
    for images, targets in loader:
        logits, _ = net(images)
        probabilities = F.softmax(logits, dim=1)
        best = probabilities.max(dim=1)
        assert_type(best.values, Tensor)
        is_right = best.indices == targets
        assert_type(is_right, Tensor)
        right += int(is_right.sum().item())
        count += targets.shape[0]
    return right / count


def gradient_norms(net: nn.Module) -> dict[str, float]:
    norms: dict[str, float] = {}
    for name, parameter in net.named_parameters():
        if parameter.grad is not None:
            assert_type(parameter.grad, Tensor)
            norms[name] = float(parameter.grad.norm())
    return norms


def confusion(logits: Tensor, targets: Tensor) -> Tensor:
    table = torch.zeros(CLASSES, CLASSES, dtype=torch.int64)
    values, indices = logits.topk(1)
    assert_type(values, Tensor)
    flat = targets * CLASSES + indices.squeeze(1)
    table.view(-1).index_add_(0, flat, torch.ones_like(flat))
    assert_type(table.float() / table.sum().clamp(min=1), Tensor)
    return table


def projections(x: Tensor) -> Tensor:
    """What most programs do to tensors, one line each."""
    y = x @ x.T - 0.5 * x.sum(dim=1, keepdim=True)
    y = -(y.abs() ** 2) / (1 + y.exp())
    y = torch.where(y > 0, y, torch.zeros_like(y)).masked_fill(y != y, 0.0)
    left, right = y.chunk(2, dim=1)
    assert_type(left, Tensor)
    y = torch.cat([left, right], dim=1).reshape(-1, y.shape[1]).permute(1, 0).contiguous()
    order = torch.argsort(y[:, 0], descending=True)
    y = y[order].to(torch.float64).to("cpu", dtype=torch.float32)
    variance, mean = torch.var_mean(y)
    assert_type(variance, Tensor)
    y -= mean
    y.div_(variance.sqrt() + 1e-6).add_(1)
    assert_type(y, Tensor)
    return torch.einsum("ij,kj->ik", y, y)


def main(epochs: int = 4) -> float:
    generator = torch.manual_seed(0)
    images, targets = blobs(96, generator)
    assert_type(images, Tensor)
    fit, held_out = random_split(TensorDataset(images, targets), [72, 24], generator=generator)
    train_loader = DataLoader(fit, batch_size=12, shuffle=True, generator=generator)
    test_loader = DataLoader(held_out, batch_size=12)
    noisy_loader = DataLoader(Noisy(images, targets), batch_size=48)

    net = Net()
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.02, weight_decay=0.01)
    scheduler = CosineAnnealingLR(optimizer, T_max=epochs)
    for epoch in range(epochs):
        loss = train_epoch(net, train_loader, optimizer, scheduler)
        print(f"epoch {epoch}: loss {loss:.3f}, rate {scheduler.get_last_lr()[0]:.4f}")
    print(gradient_norms(net))
    with torch.no_grad():
        logits, _ = net(images)
        print(confusion(logits, targets).tolist(), projections(images.flatten(1)[:8]).shape)
    for picture, _ in pictures():
        assert_type(picture, Tensor)
        print(picture.shape)
    copy = Net()
    copy.load_state_dict(net.state_dict())
    print(accuracy(copy, noisy_loader))
    return accuracy(net, test_loader)


if __name__ == "__main__":
    main()
