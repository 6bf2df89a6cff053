"""Half types: what products, convolutions and pointwise ops cost, and a training step of a small GPT under autocast.

    python benchmarks/bench_half.py [threads]

The first table compares tensorlab with itself: the time in a half type divided by that in float32. The second and
the third compare with PyTorch, as all other benchmarks do.
"""

import statistics
import sys

from comparing import best_seconds, loop_of, modules

THREADS = int(sys.argv[1]) if len(sys.argv) > 1 else 1
DTYPES = ("bfloat16", "float16")


def products(T, dtype):
    """Yield (name, statement, names) for products and convolutions in a type."""
    F, to = T.nn.functional, getattr(T, dtype)
    for n in (128, 512):
        yield f"matmul {n}", "x @ x", {"x": T.randn(n, n).to(to)}
    names = {
        "F": F,
        "x": T.randn(64, 256).to(to),
        "w": T.randn(512, 256).to(to),
        "b": T.randn(512).to(to),
    }
    yield "linear 64x256x512", "F.linear(x, w, b)", names
    grads = {name: value.clone().requires_grad_() for name, value in names.items() if name != "F"}
    yield "linear, with backward", "F.linear(x, w, b).sum().backward()", {"F": F, **grads}
    images = {"F": F, "x": T.randn(8, 32, 28, 28).to(to), "w": T.randn(64, 32, 3, 3).to(to)}
    yield "conv 8x32x28x28, 64 of 3x3", "F.conv2d(x, w, padding=1)", images
    grads = {name: value.clone().requires_grad_() for name, value in images.items() if name != "F"}
    yield "conv, with backward", "F.conv2d(x, w, padding=1).sum().backward()", {"F": F, **grads}


POINTWISE = (
    "x + y",
    "x * y",
    "x.exp()",
    "x.tanh()",
    "x.sigmoid()",
    "x.relu()",
    "x.sum()",
    "x.softmax(-1)",
    "x.float()",
)


def gpt_step(T):
    """Return a function that takes one training step of a small GPT in an autocast region."""
    T.manual_seed(0)
    n, width, heads, layers, vocabulary, batch = 64, 128, 4, 2, 65, 8

    class Block(T.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = T.nn.LayerNorm(width), T.nn.LayerNorm(width)
            self.qkv, self.out = T.nn.Linear(width, 3 * width), T.nn.Linear(width, width)
            self.up, self.down = T.nn.Linear(width, 4 * width), T.nn.Linear(4 * width, width)

        def forward(self, x):
            q, k, v = (
                self.qkv(self.norm1(x))
                .view(batch, n, 3, heads, width // heads)
                .permute(2, 0, 3, 1, 4)
            )
            y = T.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).reshape(batch, n, width))
            return x + self.down(T.nn.functional.gelu(self.up(self.norm2(x))))

    table, head = T.nn.Embedding(vocabulary, width), T.nn.Linear(width, vocabulary)
    model = T.nn.Sequential(table, *[Block() for _ in range(layers)], T.nn.LayerNorm(width), head)
    optimizer = T.optim.AdamW(model.parameters())
    x, y = T.randint(vocabulary, (batch, n)), T.randint(vocabulary, (batch * n,))

    def step(dtype):
        with T.autocast("cpu", dtype=dtype or T.bfloat16, enabled=dtype is not None):
            scores = model(x)
            loss = T.nn.functional.cross_entropy(scores.view(-1, vocabulary), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def ratio(loops, rounds=5):
    """The median over the rounds of the first loop's time divided by the second's."""
    return statistics.median(best_seconds(loops[0]) / best_seconds(loops[1]) for _ in range(rounds))


def main():
    tensorlab, torch = modules(THREADS)
    print(
        f"threads: {THREADS}\n\nours in a half type / ours in float32 / PyTorch's in that half type"
    )
    for dtype in DTYPES:
        rows = zip(
            *(
                products(*one)
                for one in ((tensorlab, dtype), (tensorlab, "float32"), (torch, dtype))
            ),
            strict=True,
        )
        for half, whole, theirs in rows:
            loops = [loop_of(one[1], one[2]) for one in (half, whole, theirs)]
            print(
                f"{dtype:9s} {half[0]:28s} {ratio(loops[:2]):6.2f} {ratio(loops[::2]):6.2f}",
                flush=True,
            )
    print("\npointwise ops of 100,000 elements: ours / PyTorch's")
    for dtype in DTYPES:
        for statement in POINTWISE:
            loops = []
            for T in (tensorlab, torch):
                x = T.randn(100, 1000).to(getattr(T, dtype))
                loops.append(loop_of(statement, {"x": x, "y": x + 1}))
            print(f"{dtype:9s} {statement:28s} {ratio(loops):6.2f}", flush=True)
    print("\na training step of a small GPT: ours / PyTorch's")
    steps = [gpt_step(T) for T in (tensorlab, torch)]
    for dtype in ("bfloat16", "float16", None):
        loops = [
            loop_of("step(dtype)", {"step": step, "dtype": dtype and getattr(T, dtype)})
            for step, T in zip(steps, (tensorlab, torch), strict=True)
        ]
        print(
            f"{dtype or 'no autocast':9s} {ratio(loops):28.2f}  ours {best_seconds(loops[0]) * 1e3:.1f} ms",
            flush=True,
        )


if __name__ == "__main__":
    main()
