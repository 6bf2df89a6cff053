"""Products of a sparse matrix with a dense one and with itself, against PyTorch: forward, and with gradients.

    python benchmarks/bench_sparse.py [--rounds 9] [--threads 1 2]

The first matrix has the size of a citation graph with 2,708 papers, the others are random. A ratio is tensorlab's
time divided by PyTorch's, the median of the rounds.
"""

import argparse
import statistics

from comparing import best_seconds, loop_of, modules

# rows, columns, elements of a row, width of the dense matrix
SHAPES = ((2708, 2708, 4, 16), (10000, 10000, 10, 64), (1000, 1000, 100, 128), (4096, 4096, 40, 1))
STATEMENTS = {
    "coo": "T.sparse.mm(coo, dense)",
    "csr": "T.sparse.mm(csr, dense)",
    "csr @": "csr @ dense",
    "coo + backward": "T.sparse.mm(coo_leaf, dense_leaf).backward(grad)",
    "csr + backward": "T.sparse.mm(csr_leaf, dense_leaf).backward(grad)",
    "coo graph": "T.sparse.mm(coo, dense_leaf).backward(grad)",
    "csr graph": "T.sparse.mm(csr, dense_leaf).backward(grad)",
    "coo @ coo": "coo @ coo",
    "csr @ csr": "csr @ csr",
}


def operands(T, shape):
    """The same matrices in either package; the gradients of leaves add up."""
    rows, columns, held, width = shape
    T.manual_seed(0)
    row = T.arange(rows).repeat_interleave(held)
    column = (T.arange(rows * held) * 7919 + row * 31) % columns
    coo = T.sparse_coo_tensor(T.stack([row, column]), T.rand(rows * held), (rows, columns))
    coo = coo.coalesce()
    csr = coo.to_sparse_csr()
    dense = T.rand(columns, width)
    return {
        "T": T,
        "coo": coo,
        "csr": csr,
        "dense": dense,
        "coo_leaf": coo.detach().clone().requires_grad_(),
        "csr_leaf": csr.detach().clone().requires_grad_(),
        "dense_leaf": dense.clone().requires_grad_(),
        "grad": T.ones(rows, width),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    arguments = parser.parse_args()
    for threads in arguments.threads:
        packages = modules(threads)
        for shape in SHAPES:
            given = [operands(T, shape) for T in packages]
            for name, statement in STATEMENTS.items():
                loops = [loop_of(statement, names) for names in given]
                seconds = [[best_seconds(loop) for loop in loops] for _ in range(arguments.rounds)]
                ours = statistics.median(one for one, _ in seconds)
                ratio = statistics.median(one / other for one, other in seconds)
                print(
                    f"{threads} threads {shape!s:26} {name:15} {1e3 * ours:8.3f} ms {ratio:6.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
