"""Samples of the losses and of normalisation."""

import warnings

import numpy as np

from tests.ops.samples import FLOATING_DTYPES, Sample, integers, normal, positive, uniform

REDUCTIONS = ("mean", "sum", "none")


def labels(ignored, high, *shape):
    """Class indices, one of which is `ignored`."""

    def make(rng):
        made = rng.integers(0, high, shape)
        made.reshape(-1)[-1:] = ignored
        return made

    return make


def log_probabilities(*shape):
    """Logarithms of numbers that add up to 1 along dimension 1."""

    def make(rng):
        scores = rng.standard_normal(shape)
        return scores - np.log(np.exp(scores).sum(1, keepdims=True))

    return make


def loss(name, call, *inputs, **options):
    """A sample of a loss for each reduction."""
    return [
        Sample(
            f"{name} {reduction}",
            lambda T, *tensors, reduction=reduction: call(
                T.nn.functional, *tensors, reduction=reduction
            ),
            *inputs,
            **{"dtypes": FLOATING_DTYPES, "tolerance": 4, **options},
        )
        for reduction in REDUCTIONS
    ]


def bad(*calls):
    """Calls that get nn.functional instead of the package."""
    return [lambda T, *tensors, call=call: call(T, T.nn.functional, *tensors) for call in calls]


def quietly(function, *tensors, **options):
    """Call a function that warns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*tensors, **options)


MORE_CLASSES = [
    [normal(2, 3, 4), integers(0, 3, 2, 4)],
    [normal(2, 3, 4, 5), labels(-100, 3, 2, 4, 5)],
    [normal(3), integers(0, 3)],
    [normal(2, 70), integers(0, 70, 2)],
]

BAD_TARGETS = [
    lambda T, F, x, y: F.cross_entropy(x, y[:2]),
    lambda T, F, x, y: F.cross_entropy(x, y + 7),
    lambda T, F, x, y: F.cross_entropy(x, y - 7),
    lambda T, F, x, y: F.cross_entropy(x, y.int()),
    lambda T, F, x, y: F.cross_entropy(x, y.float()),
    lambda T, F, x, y: F.cross_entropy(x, x.long()),
    lambda T, F, x, y: F.cross_entropy(x, y, weight=T.ones(2, dtype=T.float64)),
    lambda T, F, x, y: F.cross_entropy(x, y, weight=T.ones(3)),
    lambda T, F, x, y: F.cross_entropy(x, y, reduction="all"),
    lambda T, F, x, y: F.cross_entropy(x, y, label_smoothing=2.0),
    lambda T, F, x, y: F.cross_entropy(x.long(), y),
    lambda T, F, x, y: F.nll_loss(x, y[:2]),
    lambda T, F, x, y: F.nll_loss(x, y + 7),
    lambda T, F, x, y: F.nll_loss(x, y, reduction="all"),
]

CLASSES = [
    *loss(
        "cross_entropy",
        lambda F, x, y, **kw: F.cross_entropy(x, y, **kw),
        normal(5, 3),
        integers(0, 3, 5),
        more=MORE_CLASSES,
        bad=bad(*BAD_TARGETS),
    ),
    *loss(
        "cross_entropy ignoring",
        lambda F, x, y, **kw: F.cross_entropy(x, y, **kw),
        normal(5, 3),
        labels(-100, 3, 5),
    ),
    *loss(
        "cross_entropy ignoring a class",
        lambda F, x, y, **kw: F.cross_entropy(x, y, ignore_index=1, **kw),
        normal(5, 3),
        integers(0, 3, 5),
    ),
    *loss(
        "cross_entropy weighted",
        lambda F, x, y, w, **kw: F.cross_entropy(x, y, weight=w.detach(), **kw),
        normal(5, 3),
        labels(-100, 3, 5),
        positive(3),
    ),
    *loss(
        "cross_entropy smoothed",
        lambda F, x, y, **kw: F.cross_entropy(x, y, label_smoothing=0.2, **kw),
        normal(5, 3),
        labels(-100, 3, 5),
        more=MORE_CLASSES,
    ),
    *loss(
        "cross_entropy smoothed and weighted",
        lambda F, x, y, w, **kw: F.cross_entropy(
            x, y, weight=w.detach(), label_smoothing=0.2, **kw
        ),
        normal(2, 3, 4),
        labels(-100, 3, 2, 4),
        positive(3),
    ),
    *loss(
        "cross_entropy of probabilities",
        lambda F, x, y, **kw: F.cross_entropy(x, y, **kw),
        normal(5, 3),
        positive(5, 3),
        more=[[normal(2, 3, 4), positive(2, 3, 4)], [normal(3), positive(3)]],
    ),
    *loss(
        "cross_entropy of probabilities, all",
        lambda F, x, y, w, **kw: F.cross_entropy(
            x, y, weight=w.detach(), label_smoothing=0.2, **kw
        ),
        normal(5, 3),
        positive(5, 3),
        positive(3),
    ),
    *loss(
        "nll_loss",
        lambda F, x, y, **kw: F.nll_loss(x, y, **kw),
        log_probabilities(5, 3),
        integers(0, 3, 5),
        more=MORE_CLASSES,
    ),
    *loss(
        "nll_loss weighted",
        lambda F, x, y, w, **kw: F.nll_loss(x, y, weight=w.detach(), ignore_index=2, **kw),
        log_probabilities(5, 3),
        integers(0, 3, 5),
        positive(3),
    ),
]

OTHER_SHAPES = [[normal(2, 3, 4), normal(2, 3, 4)], [normal(), normal()], [normal(0), normal(0)]]

REGRESSION = [
    *loss(
        "mse_loss",
        lambda F, x, y, **kw: F.mse_loss(x, y, **kw),
        normal(3, 4),
        normal(3, 4),
        more=OTHER_SHAPES,
        bad=bad(
            lambda T, F, x, y: F.mse_loss(x, y[:2]),
            lambda T, F, x, y: F.mse_loss(x, y, reduction="all"),
        ),
    ),
    *loss(
        "l1_loss",
        lambda F, x, y, **kw: F.l1_loss(x, y, **kw),
        normal(3, 4),
        normal(3, 4),
        more=OTHER_SHAPES,
        bad=bad(lambda T, F, x, y: F.l1_loss(x, y, reduction="all")),
    ),
    *loss(
        "smooth_l1_loss",
        lambda F, x, y, **kw: F.smooth_l1_loss(x, y, beta=0.7, **kw),
        normal(3, 4),
        normal(3, 4),
        more=OTHER_SHAPES,
        bad=bad(lambda T, F, x, y: F.smooth_l1_loss(x, y, beta=-1.0)),
    ),
    *loss(
        "huber_loss",
        lambda F, x, y, **kw: F.huber_loss(x, y, delta=0.7, **kw),
        normal(3, 4),
        normal(3, 4),
        more=OTHER_SHAPES,
        bad=bad(lambda T, F, x, y: F.huber_loss(x, y, delta=-1.0)),
    ),
    *loss(
        "binary_cross_entropy",
        lambda F, x, y, **kw: F.binary_cross_entropy(x, y, **kw),
        uniform(0.1, 0.9, 3, 4),
        uniform(0.1, 0.9, 3, 4),
        dtypes=("float32",),
        bad=bad(
            lambda T, F, x, y: F.binary_cross_entropy(x + 2, y),
            lambda T, F, x, y: F.binary_cross_entropy(x, y[0]),
        ),
    ),
    *loss(
        "binary_cross_entropy weighted",
        lambda F, x, y, w, **kw: F.binary_cross_entropy(x, y, w.detach(), **kw),
        uniform(0.1, 0.9, 3, 4),
        uniform(0.1, 0.9, 3, 4),
        positive(3, 4),
        dtypes=("float32",),
    ),
    *loss(
        "binary_cross_entropy_with_logits",
        lambda F, x, y, **kw: F.binary_cross_entropy_with_logits(x, y, **kw),
        normal(3, 4),
        uniform(0.1, 0.9, 3, 4),
        more=OTHER_SHAPES,
        bad=bad(lambda T, F, x, y: F.binary_cross_entropy_with_logits(x, y[0])),
    ),
    *loss(
        "binary_cross_entropy_with_logits weighted",
        lambda F, x, y, w, p, **kw: F.binary_cross_entropy_with_logits(
            x, y, w.detach(), pos_weight=p.detach(), **kw
        ),
        normal(3, 4),
        uniform(0.1, 0.9, 3, 4),
        positive(4),
        positive(4),
    ),
    *loss(
        "poisson_nll_loss",
        lambda F, x, y, **kw: F.poisson_nll_loss(x, y, **kw),
        normal(3, 4),
        positive(3, 4),
        more=OTHER_SHAPES,
        bad=bad(
            lambda T, F, x, y: F.poisson_nll_loss(x, y[:2]),
            lambda T, F, x, y: F.poisson_nll_loss(x, y, reduction="all"),
        ),
    ),
    *loss(
        "poisson_nll_loss full",
        lambda F, x, y, **kw: F.poisson_nll_loss(x, y, full=True, **kw),
        normal(3, 4),
        positive(3, 4),
        more=[[normal(2, 3), positive(3)]],
    ),
    *loss(
        "poisson_nll_loss of the mean",
        lambda F, x, y, **kw: F.poisson_nll_loss(x, y, log_input=False, eps=0.1, **kw),
        positive(3, 4),
        positive(3, 4),
    ),
    Sample(
        "kl_div batchmean",
        lambda T, x, y: T.nn.functional.kl_div(x, y, reduction="batchmean"),
        log_probabilities(3, 4),
        positive(3, 4),
        dtypes=FLOATING_DTYPES,
        tolerance=4,
    ),
    *loss(
        "kl_div",
        lambda F, x, y, **kw: quietly(F.kl_div, x, y, **kw),
        log_probabilities(3, 4),
        positive(3, 4),
    ),
    *loss(
        "kl_div log_target",
        lambda F, x, y, **kw: quietly(F.kl_div, x, y, log_target=True, **kw),
        log_probabilities(3, 4),
        log_probabilities(3, 4),
    ),
]


def norm(name, call, *inputs, **options):
    """A sample of a normalisation, called with nn.functional."""
    return Sample(
        name,
        lambda T, *tensors: call(T.nn.functional, *tensors),
        *inputs,
        **{"dtypes": FLOATING_DTYPES, "tolerance": 30, **options},
    )


NORMALISATION = [
    norm(
        "layer_norm",
        lambda F, x: F.layer_norm(x, (4,)),
        normal(3, 4),
        more=[[normal(2, 3, 4)], [normal(4)]],
        bad=bad(
            lambda T, F, x: F.layer_norm(x, (3,)),
            lambda T, F, x: F.layer_norm(x, ()),
            lambda T, F, x: F.layer_norm(x, (4,), T.ones(3, dtype=T.float64)),
            lambda T, F, x: F.layer_norm(x.long(), (4,)),
            lambda T, F, x: F.layer_norm(x, (4,), T.ones(4)),
        ),
    ),
    norm(
        "layer_norm weight",
        lambda F, x, w: F.layer_norm(x, (4,), w, None, 0.1),
        normal(3, 4),
        normal(4),
    ),
    norm(
        "layer_norm bias",
        lambda F, x, b: F.layer_norm(x, (4,), None, b),
        normal(3, 4),
        normal(4),
        derivatives=1,
    ),  # PyTorch fails in the second
    norm(
        "layer_norm both",
        lambda F, x, w, b: F.layer_norm(x, (70,), w, b),
        normal(2, 3, 70),
        normal(70),
        normal(70),
    ),
    norm(
        "layer_norm of two dims",
        lambda F, x, w, b: F.layer_norm(x, (3, 4), w, b),
        normal(2, 3, 4),
        normal(3, 4),
        normal(3, 4),
    ),
    norm("rms_norm", lambda F, x, w: F.rms_norm(x, (4,), w, 0.1), normal(3, 4), positive(4)),
    norm(
        "rms_norm default", lambda F, x: F.rms_norm(x, (3, 4)), normal(2, 3, 4), dtypes=("float32",)
    ),
    norm(
        "group_norm",
        lambda F, x, w, b: F.group_norm(x, 2, w, b),
        normal(2, 4, 3),
        positive(4),
        normal(4),
        more=[[normal(0, 4, 3), positive(4), normal(4)], [normal(2, 4), positive(4), normal(4)]],
    ),
    norm("group_norm plain", lambda F, x: F.group_norm(x, 4), normal(2, 4, 3, 2)),
]


def batch_norm(T, x, mean, variance, *rest, training):
    """The result and what became of the running averages."""
    mean, variance = mean.detach().clone(), variance.detach().clone()
    return T.nn.functional.batch_norm(x, mean, variance, *rest, training, 0.3), mean, variance


NORMALISATION += [
    Sample(
        f"batch_norm {'training' if training else 'evaluation'} of {shape}",
        lambda T, *tensors, training=training: batch_norm(T, *tensors, training=training),
        normal(*shape),
        normal(3),
        positive(3),
        positive(3),
        normal(3),
        dtypes=("float32",),
        tolerance=30,
        same_strides=training,
    )
    for training in (True, False)
    for shape in ((5, 3), (2, 3, 4), (2, 3, 4, 40))
]
NORMALISATION += [
    Sample(
        "batch_norm evaluation plain",
        lambda T, x, mean, variance: T.nn.functional.batch_norm(
            x, mean.detach(), variance.detach()
        ),
        normal(4, 3, 2),
        normal(3),
        positive(3),
        dtypes=("float32",),
        tolerance=30,
        same_strides=False,
    ),
    Sample(
        "batch_norm evaluation without bias",
        lambda T, x, mean, variance, w: T.nn.functional.batch_norm(
            x, mean.detach(), variance.detach(), w
        ),
        normal(4, 3, 2),
        normal(3),
        positive(3),
        positive(3),
        dtypes=("float32",),
        tolerance=30,
        same_strides=False,
    ),
    norm(
        "batch_norm plain",
        lambda F, x: F.batch_norm(x, None, None, training=True),
        normal(4, 3, 2),
        bad=bad(
            lambda T, F, x: F.batch_norm(x, None, None),
            lambda T, F, x: F.batch_norm(x[0, 0], None, None, training=True),
            lambda T, F, x: F.batch_norm(x[:1, :, 0], None, None, training=True),
            lambda T, F, x: F.batch_norm(x, None, None, x[0, :2, 0], training=True),
            lambda T, F, x: F.batch_norm(x.long(), None, None, training=True),
        ),
    ),
]

SAMPLES = [*CLASSES, *REGRESSION, *NORMALISATION]
