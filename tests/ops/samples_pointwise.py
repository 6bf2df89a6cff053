"""Samples of the pointwise ops."""

from tests.ops.samples import Sample, normal

SAMPLES = [
    Sample(
        "mul",
        lambda T, x, y: T.mul(x, y),
        normal(3, 4),
        normal(3, 4),
        pointwise=True,
        inplace=True,
        out=True,
        bad=[lambda T, x, y: T.mul(x, "a"), lambda T, x, y: x.mul_(T.tensor([[1.0, 2.0, 3.0]]))],
    ),
    Sample("tanh", lambda T, x: T.tanh(x), normal(3, 4), pointwise=True, inplace=True, out=True),
]
