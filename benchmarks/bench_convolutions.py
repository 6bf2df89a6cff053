"""How long do the convolutions of a ResNet for small images take, forward, by the input and by the weight?

python benchmarks/bench_convolutions.py [THREADS]
"""

import sys
from functools import partial

from comparing import table

SHAPES = [  # channels, side of 32 images, filters, kernel, stride
    (32, 32, 32, 3, 1),
    (32, 32, 64, 3, 2),
    (32, 32, 64, 1, 2),
    (64, 16, 64, 3, 1),
    (64, 16, 128, 3, 2),
    (64, 16, 128, 1, 2),
    (128, 8, 128, 3, 1),
    (128, 8, 256, 3, 2),
    (128, 8, 256, 1, 2),
    (256, 4, 256, 3, 1),
]


def operands(channels, side, filters, kernel, stride, T):
    x = T.randn(32, channels, side, side)
    w = T.randn(filters, channels, kernel, kernel)
    options = {"stride": stride, "padding": kernel // 2}
    out = T.nn.functional.conv2d(x, w, **options)
    return {"x": x, "w": w, "options": options, "grad": T.randn(out.shape)}


STATEMENTS = {
    "forward": "T.nn.functional.conv2d(x, w, **options)",
    "by input": "T.nn.grad.conv2d_input(x.shape, w, grad, **options)",
    "by weight": "T.nn.grad.conv2d_weight(x, w.shape, grad, **options)",
}


if __name__ == "__main__":
    table(
        [
            (
                f"{shape[0]}x{shape[1]}x{shape[1]} {shape[3]}/{shape[4]} {name}",
                statement,
                partial(operands, *shape),
            )
            for shape in SHAPES
            for name, statement in STATEMENTS.items()
        ],
        threads=int(sys.argv[1]) if len(sys.argv) > 1 else 1,
    )
