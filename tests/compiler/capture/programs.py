"""Random small Python programs around tensors, and random changes of everything that they can read."""

SETTING = """
import math
import tensorlab as torch
from tensorlab import nn

A, B, FLAG, NAME = 2.0, 2, True, "up"
LIST = [1, 2.5]
TABLE = {"p": 0.5, "q": 3}
T = torch.tensor([1.0, -2.0, 3.0])


class Thing:
    factor = 1.5

    def __init__(self):
        self.a, self.t, self.parts = 1.25, torch.tensor([0.5, 1.0, -1.0]), [1.0]

    @property
    def doubled(self):
        return self.a * 2

    def scaled(self, h):
        return h * self.a * self.factor


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.scale = nn.Linear(3, 3), 1.0
        self.register_buffer("mean", torch.zeros(3))

    def forward(self, h):
        h = self.linear(h) * self.scale
        return h if self.training else h - self.mean


THING, NET = Thing(), Net()


def helper(h, k=2):
    return h * k if k > 1 else h - k


def nested(h, depth):
    return h if depth <= 0 else nested(h + 1, depth - 1)


def make():
    cell, kept = 1.5, [2]

    def inner(h):
        return h * cell + len(kept)

    def put(value):
        nonlocal cell
        cell = value
        kept.append(value)

    return inner, put


INNER, PUT = make()
"""

# Lines of a function of h (a tensor), y (a tensor), n (a number) and k (a number); `>` begins a block.
PLAIN = """
h = h * A + y
h = torch.relu(h) - y
h = h + T
h = THING.scaled(h)
h = h * THING.a + THING.t
h = h + THING.doubled * THING.parts[0]
h = h - sum(THING.parts)
h = NET(h)
h = helper(h)
h = helper(h, k=n)
h = nested(h, B)
h = INNER(h)
h = h * len(LIST) + LIST[0]
h = h + TABLE["p"] * TABLE.get("r", 1)
h = h * (1 if "q" in TABLE else -1)
h = h * getattr(THING, "extra", 2)
h = h + (3 if hasattr(THING, "extra") else 4)
h = torch.stack([h * v for v in LIST]).sum(0)
h = (lambda g: g + k)(h)
h = h.clone().add_(n)
h = torch.where(h > 0, h, y)
h = h * math.sqrt(abs(n) + 1)
h = h * h.sum().item()
h = h * (2 if isinstance(n, float) else 3)
h = h.softmax(0) * float(NAME == "up")
h = h + torch.tensor([k, 1.0, 2.0])
h = sum((g * 2 for g in (h, y)), h)
h = [h, y][k % 2]
h = {"p": h, "q": y}["p" if FLAG else "q"]
h = max(k, n) * h
k = int(h.sum()) % 3
k = k + len(NAME)
k = B - k
k = len([v for v in LIST if v > k])
k = sorted(LIST, key=lambda v: -v)[0]
k = n if n == n else 0
h = h * (y is x) + y
T2 = T[1:]; h = h * T2.sum()
"""
BLOCKS = """
if h.sum() > 0:
if FLAG:
if n > 1:
if k:
if NAME == "up":
if h.max() > y.max():
for v in LIST[:3]:
for i in range(B):
for key in TABLE:
while k > 3: k = k // 2
with torch.no_grad():
try:
"""
EFFECTS = """
LIST.append(k)
THING.a = k
THING.parts.append(1.0)
TABLE["r"] = n
TABLE.pop("q", None)
PUT(k)
THING.extra = k
NET.scale = NET.scale + 1
Thing.factor = Thing.factor + 1
setattr(THING, "a", THING.a + 1)
vars(THING)["a"] = 7
T.add_(1)
THING.t = h.detach()
del LIST[0]
print(end="")
x.mul_(2)
"""

# What happens between two calls.
CHANGES = """
A = A + 1
A = float(A)
B = B % 3 + 1
B = True
FLAG = not FLAG
NAME = "down" if NAME == "up" else "up"
LIST.append(len(LIST))
LIST[0] = LIST[0] + 1
LIST[0] = float(LIST[0])
LIST = list(LIST)
TABLE["p"] = TABLE["p"] + 1
TABLE["r"] = 4
TABLE.pop("r", None)
TABLE = dict(sorted(TABLE.items(), reverse=True))
T = T + 1
T.add_(1)
T = T[:]
THING.a = THING.a + 1
THING.a = -0.0
THING.a = 0.0
THING.t = THING.t * 2
THING.parts.append(2.0)
THING.parts = [3.0]
THING.extra = 5
vars(THING).pop("extra", None)
THING.scaled = lambda h: h - 1
vars(THING).pop("scaled", None)
THING = Thing()
Thing.factor = Thing.factor + 1
Thing.doubled = property(lambda self: self.a * 3)
THING.factor = 9
NET.eval()
NET.train()
NET.scale = NET.scale + 1
NET.linear = nn.Linear(3, 3)
NET.mean.add_(1)
NET.linear.weight.data = NET.linear.weight.data * 2
NET.linear.requires_grad_(False)
NET.linear.requires_grad_(True)
NET.linear.forward = lambda h: h
vars(NET.linear).pop("forward", None)
helper = lambda h, k=3: h * k
helper.__defaults__ = (4,)
PUT(2.5)
sum = lambda values, start=0: start
globals().pop("sum", None)
max = min
globals().pop("max", None)
"""


def lines(text):
    return [line for line in text.strip().split("\n") if line]


def write_program(rng, has_effects):
    """Source of a function f(x, y, n)."""
    body, indent, waits = [], 1, []
    for _ in range(rng.randint(2, 7)):
        if rng.random() < 0.3 and indent < 3:
            block = rng.choice(lines(BLOCKS))
            body.append("    " * indent + block)
            if block.endswith(":"):
                waits.append(block)
                indent += 1
        body.append("    " * indent + rng.choice(lines(PLAIN)))
        if has_effects and rng.random() < 0.3:
            body.append("    " * indent + rng.choice(lines(EFFECTS)))
        while waits and rng.random() < 0.5:
            indent -= 1
            body += close(waits.pop(), indent)
    while waits:
        indent -= 1
        body += close(waits.pop(), indent)
    result = rng.choice(["h", "(h, k)", "[h, {'k': k}]", "h.sum()", "(h, y)", "(x[1:], h)"])
    return "def f(x, y, n=1):\n    h, k = x, 2\n" + "\n".join(body) + f"\n    return {result}\n"


def close(block, indent):
    if block == "try:":
        return [
            "    " * indent + "except (KeyError, IndexError):",
            "    " * indent + "    h = h + 100",
        ]
    return []


def make_arguments(rng, torch):
    """Arguments for f, as a function that makes them anew."""
    seed, dtype = rng.randint(0, 5), rng.choice([torch.float32] * 5 + [torch.float64])
    follows, is_same, n = (
        rng.random() < 0.2,
        rng.random() < 0.1,
        rng.choice([1, 2, 2.0, True, 0.5, -0.0, 0.0]),
    )
    by_keyword, gives_n = rng.random() < 0.3, rng.random() < 0.8

    def make():
        generator = torch.Generator().manual_seed(seed)
        x = torch.randint(-3, 4, (3,), generator=generator).to(dtype)
        y = x if is_same else torch.randint(-3, 4, (3,), generator=generator).to(dtype)
        if follows:
            x.requires_grad_()
        if not gives_n:
            return (x, y), {}
        return ((x, y), {"n": n}) if by_keyword else ((x, y, n), {})

    return make
