"""Samples of the activation functions, each at smooth points, at its corners and for special numbers."""

import importlib

from tests.ops.samples import FLOATING_DTYPES, Sample, away_from_zero, normal, uniform, values

NAN, INF = float("nan"), float("inf")


def functional(T):
    """nn.functional of the module under test."""
    return importlib.import_module(f"{T.__name__}.nn.functional")


def activation(
    name,
    *arguments,
    corners=(),
    inputs=away_from_zero,
    inplace=False,
    title=None,
    nan=True,
    **options,
):
    """Samples of F.name(x, *arguments): smooth points, corners (first derivative only), special numbers."""
    title = title or " ".join([name, *map(str, arguments)])

    def call(T, x):
        return getattr(functional(T), name)(x, *arguments)

    def call_in_place(T, x):
        return getattr(functional(T), name)(x, *arguments, inplace=True)

    smooth = Sample(
        title,
        call,
        inputs(3, 4),
        pointwise=True,
        inplace=inplace and call_in_place,
        **options,
    )
    special = Sample(
        f"{title} of specials",
        call,
        values(0.0, -0.0, NAN if nan else 5.0, 80.0, -80.0, 1e-3, -1e-3, *corners),
        dtypes=["float32"],
        **{**options, "derivatives": 1},
    )
    return [smooth, special]


SAMPLES = [
    *activation("relu", inplace=True),
    *activation("leaky_relu", inplace=True),
    *activation("leaky_relu", 0.3, inplace=True),
    *activation("elu", inplace=True),
    *activation("elu", 0.5, inplace=True),
    *activation("selu", inplace=True),
    *activation("celu", inplace=True),
    *activation("celu", 2.0, inplace=True),
    *activation("gelu"),
    *activation("silu", inplace=True),
    *activation("mish", inplace=True),
    *activation("softplus"),
    *activation("softplus", 2.0, 3.0),
    *activation("softplus", 1.0, 1.0, corners=(1.0, 1.0000001), title="softplus at its threshold"),
    *activation("logsigmoid", same_strides=False),  # PyTorch's is row-major for any layout
    *activation("sigmoid", title="sigmoid of nn.functional"),
    *activation("tanh", title="tanh of nn.functional"),
    *activation("hardtanh", corners=(-1.0, 1.0), inplace=True),
    *activation("hardtanh", -0.5, 2.0, corners=(-0.5, 2.0), inplace=True),
    *activation("relu6", corners=(6.0, 7.0), inplace=True),
    *activation(
        "hardsigmoid",
        corners=(-3.0, 3.0, -4.0, 4.0, 2.9),
        inplace=True,
        tolerance=1e4,  # PyTorch has the constant 1/6 in float32,
        derivatives=1,  # and no second derivative
    ),
    # PyTorch's gradient at nan depends on the processor: 1 with AVX-512, nan with AVX2
    *activation("hardswish", corners=(-3.0, 3.0, -4.0, 4.0, 2.9), inplace=True, nan=False),
    *activation("threshold", 0.1, 20.0, corners=(0.1,), inplace=True),
    *activation("softshrink", corners=(0.5, -0.5)),
    *activation("hardshrink", corners=(0.5, -0.5)),
    *activation("softsign"),
    *activation("tanhshrink"),
    Sample(
        "gelu tanh",
        lambda T, x: functional(T).gelu(x, approximate="tanh"),
        normal(3, 4),
        pointwise=True,
        bad=[lambda T, x: functional(T).gelu(x, approximate="erf")],
    ),
    Sample(
        "prelu of channels",
        lambda T, x, w: functional(T).prelu(x, w),
        away_from_zero(2, 3, 4),
        uniform(0.1, 0.5, 3),
        more=[[away_from_zero(5), uniform(0.1, 0.5, 1)], [away_from_zero(2, 3), normal(3)]],
        bad=[
            lambda T, x, w: functional(T).prelu(x, T.zeros(2, dtype=T.float64)),
            lambda T, x, w: functional(T).prelu(x, w.to(T.float32)),
        ],
        dtypes=FLOATING_DTYPES,
        same_strides=False,  # PyTorch's result for transposed inputs is row-major
    ),
    Sample(
        "glu",
        lambda T, x: functional(T).glu(x, 1),
        normal(3, 4),
        more=[[normal(0, 4)], [normal(2, 6, 2)]],
        bad=[lambda T, x: functional(T).glu(x, 0), lambda T, x: functional(T).glu(x, 2)],
        same_strides=False,
    ),
    Sample(
        "bad arguments of activations",
        lambda T, x: functional(T).relu(x),
        normal(3, 4),
        bad=[
            lambda T, x: functional(T).hardtanh(x, 1, -1),
            lambda T, x: functional(T).softshrink(x, -1.0),
            lambda T, x: functional(T).celu(x, 0.0),
            lambda T, x: functional(T).relu("x"),
        ],
    ),
]
