"""Import tensorlab and train a network, as the first thing that an installed package is asked to do.

    python tools/first_step.py

Run it in an environment that has the package, anywhere but in the checkout's own.  It says where the package lies and
what was built into it, and ends with 1 if training doesn't work.
"""

import sys
from pathlib import Path

sys.path = [folder for folder in sys.path if folder != str(Path(__file__).resolve().parent)]

import tensorlab as torch  # noqa: E402
from tensorlab import nn  # noqa: E402


def train(steps=200):
    """Return the first loss and the last of a small network that learns a parabola."""
    torch.manual_seed(0)
    x = torch.linspace(-1, 1, 64).unsqueeze(1)
    net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(x), x**2)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses[0], losses[-1]


if __name__ == "__main__":
    checkout = Path(__file__).resolve().parent.parent / "tensorlab"
    if Path(torch.__file__).parent == checkout:
        sys.exit(f"{checkout} was imported, and not an installed package")
    print(torch.__file__)
    torch.__config__.show()
    first, last = train()
    print(f"loss {first:.4f}, after training {last:.4f}")
    if not last < first / 10:
        sys.exit("training did not bring the loss down")
