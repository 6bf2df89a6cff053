"""Small networks, and how one process trains them: what sharded training is compared with."""

import tensorlab as torch
from tensorlab import nn

F = nn.functional


class MLP(nn.Module):
    """Two linear layers; 3 outputs, which 2 or 4 ranks can't share evenly."""

    def __init__(self, width=6, hidden=12, out=3):
        super().__init__()
        self.up, self.down = nn.Linear(width, hidden), nn.Linear(hidden, out)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))


class Attention(nn.Module):
    """Heads with weights of their own, so that they can be shared out over ranks."""

    def __init__(self, width, head_width):
        super().__init__()
        self.head_width = head_width
        self.query, self.key, self.value = (nn.Linear(width, width, bias=False) for _ in range(3))
        self.out = nn.Linear(width, width)

    def forward(self, x):
        q, k, v = (
            layer(x).unflatten(-1, (-1, self.head_width)).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).flatten(2))


class Block(nn.Module):
    """Attention, and two linear layers for each token alone."""

    def __init__(self, width, head_width):
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, head_width)
        self.think = MLP(width, 4 * width, width)

    def forward(self, x):
        x = x + self.attention(self.norm_1(x))
        return x + self.think(self.norm_2(x))


class GPT(nn.Module):
    """Scores of the next token at every place."""

    def __init__(self, tokens=11, width=16, head_width=4, blocks=2, context=8):
        super().__init__()
        self.tokens, self.places = nn.Embedding(tokens, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList([Block(width, head_width) for _ in range(blocks)])
        self.norm = nn.LayerNorm(width)
        self.scores = nn.Linear(width, tokens)

    def forward(self, ids):
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.scores(self.norm(x))


def mlp_case(dtype=torch.float64):
    """Return an MLP, a batch of 8 rows, and the function of its loss."""
    torch.manual_seed(0)
    return MLP().to(dtype), torch.randn(8, 6, dtype=dtype), lambda out, x: (out**2).mean()


def gpt_case(dtype=torch.float64):
    """Return a GPT, a batch of 4 texts of 8 tokens, and the function of its loss."""
    torch.manual_seed(0)
    ids = torch.randint(0, 11, (4, 8))

    def loss(out, x):
        return F.cross_entropy(out.flatten(0, 1), x.roll(-1, 1).flatten())

    return GPT().to(dtype), ids, loss


CASES = {"mlp": mlp_case, "gpt": gpt_case}


def train(model, x, loss_of, steps=3, make=None, clip=None):
    """Take steps; return the losses, the gradients of the last one and the weights, by name."""
    make = make or (lambda parameters: torch.optim.AdamW(parameters, lr=0.01))
    optimizer, losses = make(model.parameters()), []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of(model(x), x)
        loss.backward()
        if clip is not None:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        losses.append(whole(loss.detach()))
    return (
        losses,
        {name: whole(one.grad) for name, one in model.named_parameters()},
        {name: whole(one.detach()) for name, one in model.named_parameters()},
    )


def whole(x):
    """Return a tensor, or the whole of a DTensor."""
    return x.full_tensor() if hasattr(x, "full_tensor") else x


def alone(case, **settings):
    """Train in one process on the whole batch."""
    model, x, loss_of = CASES[case]()
    return train(model, x, loss_of, **settings)


def assert_same(found, expected, tolerance=1e-12, losses=True):
    """Compare what two trainings have returned; the largest gradients are about 1."""
    if losses:
        for one, other in zip(found[0], expected[0], strict=True):
            assert abs(one - other).item() < tolerance, (one, other)
    for ours, theirs in zip(found[1:], expected[1:], strict=True):
        assert list(ours) == list(theirs)
        for name in ours:
            error = (ours[name] - theirs[name]).abs().max().item()
            assert error < tolerance, f"{name}: {error}"
