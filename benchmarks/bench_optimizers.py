"""What does a step of SGD or Adam cost next to PyTorch's fused one, for many small parameters and for a large one?

python benchmarks/bench_optimizers.py

A loop that the compiler doesn't vectorise shows in the rows of 200,000 numbers: Adam is ten times slower then.
"""

from comparing import table


def step_of(name, dtype, n, numel, **options):
    """What `table` calls for the names: an optimizer `optimizer` that has taken its first step."""

    def setup(T):
        params = [T.randn(numel, dtype=getattr(T, dtype)).requires_grad_() for _ in range(n)]
        for param in params:
            param.grad = T.randn(numel, dtype=param.dtype)
        optimizer = getattr(T.optim, name)(params, lr=1e-5, fused=True, **options)
        optimizer.step()
        return {"optimizer": optimizer}

    return setup


KINDS = {
    "SGD": ("SGD", {}),
    "momentum": ("SGD", {"momentum": 0.9}),
    "Adam": ("Adam", {}),
    "amsgrad": ("Adam", {"amsgrad": True}),
    "AdamW": ("AdamW", {}),
}

if __name__ == "__main__":
    rows = [
        (f"{label}, {n} of {numel}, {dtype[5:]}", name, dtype, n, numel, options)
        for label, (name, options) in KINDS.items()
        for dtype in ("float32", "float64")
        for n, numel in ((50, 1000), (1, 200_000))
    ]
    table(
        [
            (label, "optimizer.step()", step_of(name, dtype, n, numel, **options))
            for label, name, dtype, n, numel, options in rows
        ]
    )
