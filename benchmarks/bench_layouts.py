"""What does a layout cost? The same multiplication with contiguous, strided, broadcast, transposed and cast operands.

python benchmarks/bench_layouts.py
"""

from comparing import table

N = 1000


def operands(T):
    x = T.rand(N, N)
    return {
        "x": x,
        "row": T.rand(N),
        "column": T.rand(N, 1),
        "wide": T.rand(N, 2 * N)[:, ::2],
        "turned": T.rand(N, N).t(),
        "integers": (x * 100).to(T.int32),
        "double": x.double(),
        "halves": x.half(),
        "narrow": T.rand(N * N // 10, 10),
        "ten": T.rand(10),
    }


if __name__ == "__main__":
    table(
        [
            ("contiguous", "x * x", operands),
            ("row", "x * row", operands),
            ("column", "x * column", operands),
            ("number", "x * 2.0", operands),
            ("every second column", "x * wide", operands),
            ("transposed", "x * turned", operands),
            ("int32 operand", "x * integers", operands),
            ("float64 operand", "x * double", operands),
            ("float16", "halves * halves", operands),
            ("short rows", "narrow * ten", operands),
            ("copy of a transpose", "turned.contiguous()", operands),
        ]
    )
