"""Samples of the convolutions."""

from tests.ops.samples import Sample, normal


def convolution(name, *shapes, bad=(), more=(), **options):
    """A convolution of torch.nn.functional with these options."""
    op = name.split()[0]
    return Sample(
        name,
        lambda T, *tensors: getattr(T.nn.functional, op)(*tensors, **options),
        *[normal(*shape) for shape in shapes],
        dtypes=("float32", "int64", "bool"),
        more=[[normal(*shape) for shape in one] for one in more],
        bad=bad,
        tolerance=20,  # another order of the sums
    )


SAMPLES = [
    convolution(
        "conv1d",
        (2, 4, 9),
        (6, 4, 3),
        (6,),
        more=[[(4, 9), (6, 4, 3)], [(0, 4, 9), (6, 4, 3)], [(3, 4, 500), (6, 4, 5), (6,)]],
        bad=[
            lambda T, x, w, b: T.nn.functional.conv1d(x[:, :2], w),
            lambda T, x, w, b: T.nn.functional.conv1d(x[:, :, :2], w),
            lambda T, x, w, b: T.nn.functional.conv1d(x, w, b[:2]),
            lambda T, x, w, b: T.nn.functional.conv1d(x, w, stride=0),
            lambda T, x, w, b: T.nn.functional.conv1d(x, w, padding=-1),
            lambda T, x, w, b: T.nn.functional.conv1d(x, w, dilation=0),
            lambda T, x, w, b: T.nn.functional.conv1d(x, w, groups=3),
            lambda T, x, w, b: T.nn.functional.conv1d(x, w, padding="full"),
            lambda T, x, w, b: T.nn.functional.conv1d(x, w, padding="same", stride=2),
            lambda T, x, w, b: T.nn.functional.conv1d(x[0, 0], w),
            lambda T, x, w, b: T.nn.functional.conv1d(x, w.float()),
            lambda T, x, w, b: T.nn.functional.conv1d(x, w, stride=1.5),
        ],
    ),
    convolution("conv1d strided", (2, 4, 9), (6, 4, 3), (6,), stride=2, padding=1, dilation=2),
    convolution("conv1d same", (2, 4, 9), (6, 4, 3), (6,), padding="same", dilation=2),
    convolution("conv1d groups", (2, 4, 9), (6, 2, 3), (6,), groups=2),
    convolution("conv1d pointwise", (2, 4, 9), (6, 4, 1), (6,)),
    convolution("conv2d pointwise padded", (2, 3, 4, 5), (4, 3, 1, 1), (4,), padding=(1, 2)),
    convolution("conv2d pointwise strided", (2, 3, 4, 5), (4, 3, 1, 1), (4,), stride=(2, 3)),
    convolution("conv1d pointwise of equal size", (2, 3, 4), (5, 3, 1), (5,), stride=2, padding=2),
    convolution("conv1d of padding only", (2, 3, 1), (4, 3, 2), (4,), padding=99, dilation=198),
    convolution("conv2d", (2, 3, 5, 6), (4, 3, 3, 3), (4,), padding=1),
    convolution(
        "conv2d uneven",
        (2, 3, 7, 6),
        (4, 3, 2, 3),
        (4,),
        stride=(2, 1),
        padding=(1, 2),
        dilation=(1, 2),
    ),
    convolution("conv2d depthwise", (2, 4, 5, 5), (4, 1, 3, 3), groups=4),
    convolution("conv1d depthwise", (2, 3, 9), (6, 1, 4), (6,), groups=3, stride=2, padding=1),
    convolution(
        "conv2d depthwise strided", (2, 2, 7, 5), (4, 1, 3, 2), groups=2, stride=(2, 1), dilation=2
    ),
    convolution("conv3d depthwise", (1, 2, 4, 3, 5), (2, 1, 2, 2, 3), (2,), groups=2, padding=1),
    convolution("conv2d large", (3, 8, 40, 40), (16, 8, 3, 3), (16,), padding="same"),
    convolution("conv3d", (1, 2, 4, 5, 3), (3, 2, 2, 2, 2), (3,), stride=(1, 2, 1)),
    convolution(
        "conv_transpose1d",
        (2, 4, 5),
        (4, 3, 3),
        (3,),
        stride=2,
        padding=1,
        output_padding=1,
        bad=[
            lambda T, x, w, b: T.nn.functional.conv_transpose1d(x, w, output_padding=1),
            lambda T, x, w, b: T.nn.functional.conv_transpose1d(x[:, :2], w),
        ],
    ),
    convolution("conv_transpose2d", (2, 4, 3, 4), (4, 3, 2, 3), (6,), stride=2, groups=2),
    convolution("conv_transpose3d", (1, 2, 3, 2, 2), (2, 2, 2, 2, 2), (2,), dilation=2),
]
