"""A network with two heads of which one is trained, for chapter 49. With `import torch` it runs in PyTorch, too."""

import tensorlab as torch

STEPS = 60


class TwoHeads(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Linear(8, 8)
        self.main = torch.nn.Linear(8, 1)
        self.spare = torch.nn.Linear(8, 1)

    def forward(self, x):
        h = torch.tanh(self.body(x))
        return self.main(h), self.spare(h)


def train(compile):
    """Train the main head; return after each step how large the weights of the spare one are, as a share."""
    torch.manual_seed(0)
    model = TwoHeads()
    call = compile(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05, weight_decay=0.2)
    x, y = torch.randn(32, 8), torch.randn(32, 1)
    first, sizes = model.spare.weight.norm().item(), [1.0]
    for _ in range(STEPS):
        main, _ = call(x)
        optimizer.zero_grad()
        (main - y).square().mean().backward()
        optimizer.step()
        sizes.append(model.spare.weight.norm().item() / first)
    return sizes
