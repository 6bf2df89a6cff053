"""From a recurrent step to a GPT that writes, with a cache of keys and values: the small program of chapter 32."""

import tensorlab as torch
from tensorlab import nn

F = nn.functional


def rnn_step(x, h, weight_x, weight_h, bias):
    """Return the next state: one layer, with the state as a second input."""
    return torch.tanh(x @ weight_x.T + h @ weight_h.T + bias)


def lstm_step(x, h, c, weight_x, weight_h, bias):
    """Return the next state and cell: the cell is added to, and gates say how much."""
    i, f, g, o = (x @ weight_x.T + h @ weight_h.T + bias).chunk(4, dim=1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def attention(query, key, value, mask):
    """Return each query's weighted mean of the values, and the weights."""
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1)
    return weights @ value, weights


class Attention(nn.Module):
    """Several heads, each with its own queries, keys and values."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.is_causal = heads, True
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x, cache=None):
        n, length, width = x.shape
        q, k, v = self.qkv(x).view(n, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        if cache is not None:
            k, v = cache.append(k, v)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.is_causal and length > 1)
        return self.out(y.transpose(1, 2).reshape(n, length, width))


class Cache:
    """The keys and values of all tokens so far, of one layer."""

    def __init__(self):
        self.keys = self.values = None

    def append(self, keys, values):
        if self.keys is not None:
            keys = torch.cat([self.keys, keys], 2)
            values = torch.cat([self.values, values], 2)
        self.keys, self.values = keys, values
        return keys, values


class Block(nn.Module):
    """Attention lets tokens meet; two linear layers then work on each alone."""

    def __init__(self, width, heads):
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.think = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x, cache=None):
        x = x + self.attention(self.norm_1(x), cache)
        return x + self.think(self.norm_2(x))


class GPT(nn.Module):
    """Scores of the next token at every place, from all tokens up to there."""

    def __init__(self, tokens, width=32, heads=2, blocks=2, context=64):
        super().__init__()
        self.tokens = nn.Embedding(tokens, width)
        self.places = nn.Embedding(context, width)
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(blocks)])
        self.norm = nn.LayerNorm(width)
        self.scores = nn.Linear(width, tokens)

    def forward(self, ids, caches=None, first=0):
        places = torch.arange(first, first + ids.shape[1])
        x = self.tokens(ids) + self.places(places)
        for i, block in enumerate(self.blocks):
            x = block(x, None if caches is None else caches[i])
        return self.scores(self.norm(x))

    @torch.no_grad()
    def write(self, ids, count, use_cache=True):
        """Return `ids`, one row per text, with the likeliest token appended `count` times."""
        caches, done = [Cache() for _ in self.blocks] if use_cache else None, 0
        for _ in range(count):
            scores = self(ids[:, done:], caches, done)
            done = ids.shape[1] if use_cache else 0
            ids = torch.cat([ids, scores[:, -1:].argmax(-1)], 1)
        return ids


class Recurrent(nn.Module):
    """The same scores from a recurrent layer instead of the blocks."""

    def __init__(self, tokens, layer, width=32):
        super().__init__()
        self.tokens = nn.Embedding(tokens, width)
        self.layer = layer(width, width, batch_first=True)
        self.scores = nn.Linear(width, tokens)

    def forward(self, ids):
        return self.scores(self.layer(self.tokens(ids))[0])


ONES = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
ONES = [*ONES.split(), "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"]
TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]


def number(n):
    """Return the English name of 0 to 99."""
    if n < 20:
        return ONES[n]
    return TENS[n // 10 - 2] + (f"-{ONES[n % 10]}" if n % 10 else "")


def train(model, loss_of, steps, lr=3e-3):
    """Take steps of Adam, the gradient clipped to a norm of 1. Return the losses."""
    optimizer, losses = torch.optim.Adam(model.parameters(), lr=lr), []
    for _ in range(steps):
        loss = loss_of(model)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses
