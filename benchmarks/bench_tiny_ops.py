"""What does one operation on eight floats cost, with and without recording?

python benchmarks/bench_tiny_ops.py
"""

from comparing import table


def eight(T):
    return {"a": T.arange(8.0), "b": T.arange(8.0) + 1, "m": T.ones(8, 8)}


def recorded(T):
    return {**eight(T), "a": T.arange(8.0).requires_grad_()}


def scalars(T):
    names = {n: T.tensor(v, requires_grad=True) for n, v in (("x", 0.7), ("w", 1.1), ("b", 0.3))}

    def chain():
        y = names["x"]
        for _ in range(5):
            y = y * names["w"] + names["b"]
        y.backward()
        for leaf in names.values():
            leaf.grad = None

    return {"chain": chain}


if __name__ == "__main__":
    table(
        [
            ("add", "a + b", eight),
            ("add number", "a + 1.0", eight),
            ("in place", "a.add_(1)", eight),
            ("exp", "a.exp()", eight),
            ("sum", "a.sum()", eight),
            ("matmul 8x8", "m @ m", eight),
            ("view", "m.view(64)", eight),
            ("slice", "a[1:5]", eight),
            ("add, recorded", "a + b", recorded),
            ("mul, recorded", "a * b", recorded),
            ("10 ops and backward", "chain()", scalars),
            ("no_grad", "with T.no_grad(): pass", eight),
        ]
    )
