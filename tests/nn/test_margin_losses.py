"""Losses with margins, of distributions and of label sequences: PyTorch's values, gradients and errors."""

import numpy as np
import pytest

import tensorlab
from tests.oracle import require_torch

torch = require_torch()
RNG = np.random.default_rng(7)
X, Y, Z = (RNG.standard_normal((4, 5)) for _ in range(3))
SIGNS = [1, -1, -1, 1]
CLASSES = [[1, 3, -1, 0, 0], [-1, 2, 2, 2, 2], [4, 4, 1, -1, -1], [0, 1, 2, 3, 4]]
WEIGHT = [0.5, 1.0, 2.0, 0.25, 3.0]
LONG = RNG.standard_normal((9, 4, 5)) * 2


def far(x, y):
    return (x - y).abs().amax(-1)


# name, tensors (lists of ints are targets), options
LOSSES = [
    ("margin_ranking_loss", [X, Y, np.sign(Z)], {}),
    ("margin_ranking_loss", [X, Y, np.sign(Z)], {"margin": 0.5}),
    ("margin_ranking_loss", [X, Y[:1], np.sign(Z[:, :1])], {"margin": -0.5}),
    ("hinge_embedding_loss", [np.abs(X), np.sign(Z)], {}),
    ("hinge_embedding_loss", [np.abs(X), np.sign(Z)], {"margin": 0.3}),
    ("hinge_embedding_loss", [np.abs(X), [[0, 1, -1, 2, 1]] * 4], {}),
    ("soft_margin_loss", [X, np.sign(Z)], {}),
    ("soft_margin_loss", [X, Y[:1]], {}),
    ("cosine_embedding_loss", [X, Y, SIGNS], {}),
    ("cosine_embedding_loss", [X, Y, SIGNS], {"margin": 0.25}),
    ("cosine_embedding_loss", [X, Y[:1], [1, -1, 0, -1]], {"margin": -0.5}),
    ("cosine_embedding_loss", [X[0], Y[0], -1], {}),
    ("multi_margin_loss", [X, [0, 4, 2, 2]], {}),
    ("multi_margin_loss", [X, [0, 4, 2, 2]], {"p": 2, "margin": 0.4}),
    ("multi_margin_loss", [X, [0, 4, 2, 1]], {"weight": WEIGHT, "margin": 3}),
    ("multi_margin_loss", [X[0], 3], {"p": 2}),
    ("multi_margin_loss", [X[0], [3]], {}),
    ("multi_margin_loss", [X[0, 0], 0], {}),
    ("multilabel_margin_loss", [X, CLASSES], {}),
    ("multilabel_margin_loss", [3 * X, CLASSES], {}),
    ("multilabel_margin_loss", [X[1], CLASSES[0]], {}),
    ("multilabel_margin_loss", [X[0, 0], 0], {}),
    ("multilabel_margin_loss", [X[0, 0], [-1]], {}),
    ("multilabel_soft_margin_loss", [X, (Z > 0).astype("float64")], {}),
    ("multilabel_soft_margin_loss", [X, (Z > 0).astype("float64")], {"weight": WEIGHT}),
    ("multilabel_soft_margin_loss", [LONG, (LONG > 1).astype("float64")], {}),
    ("triplet_margin_loss", [X, Y, Z], {}),
    ("triplet_margin_loss", [X, Y, Z], {"margin": 3.0, "p": 1}),
    ("triplet_margin_loss", [X, Y, Z], {"swap": True, "eps": 0.5}),
    ("triplet_margin_loss", [X[0], Y[0], Z[0]], {"margin": 0.1}),
    ("triplet_margin_loss", [X, Y[:1], Z], {}),
    ("triplet_margin_with_distance_loss", [X, Y, Z], {}),
    ("triplet_margin_with_distance_loss", [X, Y, Z], {"distance_function": far}),
    ("triplet_margin_with_distance_loss", [X, Y, Z], {"swap": True, "margin": 4.0}),
    ("gaussian_nll_loss", [X, Y, np.abs(Z)], {}),
    ("gaussian_nll_loss", [X, Y, np.abs(Z)], {"full": True, "eps": 0.5}),
    ("gaussian_nll_loss", [X, Y, np.abs(Z[:, 0])], {}),
    ("gaussian_nll_loss", [X, Y, np.abs(Z[:, :1])], {}),
    ("gaussian_nll_loss", [X, Y, 0.25], {}),
    ("gaussian_nll_loss", [X, Y, 0 * Z], {"eps": 0.3}),
    ("linear_cross_entropy", [X, RNG.standard_normal((3, 5)), [0, 2, 2, 1]], {}),
    ("linear_cross_entropy", [X, RNG.standard_normal((3, 5)), [0, 2, 2, 1]],
     {"linear_bias": WEIGHT[:3], "weight": WEIGHT[:3], "ignore_index": 2}),
    ("linear_cross_entropy", [X, RNG.standard_normal((3, 5)), np.full((4, 3), 1 / 3)],
     {"label_smoothing": 0.2}),
    ("linear_cross_entropy", [X, RNG.standard_normal((3, 2, 5)), [[0, 2]] * 4], {}),
    ("linear_cross_entropy", [X[0], RNG.standard_normal((3, 5)), 1], {}),
    ("linear_cross_entropy", [X, RNG.standard_normal((3, 5)), [0, -100, 2, 1]], {}),
]  # fmt: skip


def as_tensors(T, values):
    found = []
    for value in values:
        if type(value) is float:
            found.append(value)
            continue
        x = T.tensor(np.asarray(value).tolist(), dtype=T.float64)
        if np.asarray(value).dtype.kind == "i":
            x = x.to(T.int64)
        found.append(x.reshape(np.asarray(value).shape))
    return found


def options_of(T, options):
    return {
        key: T.tensor(value, dtype=T.float64) if isinstance(value, list) else value
        for key, value in options.items()
    }


def assert_close(ours, theirs):
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert str(ours.dtype).split(".")[-1] == str(theirs.dtype).split(".")[-1]
    np.testing.assert_allclose(ours.tolist(), theirs.tolist(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("index", range(len(LOSSES)))
def test_values_and_gradients_are_those_of_pytorch(index, reduction):
    name, values, options = LOSSES[index]
    found = []
    for T in (tensorlab, torch):
        tensors = as_tensors(T, values)
        leaves = [x for x in tensors if type(x) is not float and x.is_floating_point()]
        leaves = leaves[:1] if "soft_margin" in name else leaves  # PyTorch's targets are constants
        leaves = [x.requires_grad_() for x in leaves]
        loss = getattr(T.nn.functional, name)(
            *tensors, **options_of(T, options), reduction=reduction
        )
        grads = T.autograd.grad(loss.sum(), leaves, allow_unused=True)
        found.append([loss.detach(), *[g for g in grads if g is not None]])
    assert len(found[0]) == len(found[1]) > 1
    for ours, theirs in zip(*found, strict=True):
        assert_close(ours, theirs)


MODULES = [
    ("MarginRankingLoss", (0.5,), [X, Y, np.sign(Z)]),
    ("HingeEmbeddingLoss", (0.5,), [X, np.sign(Z)]),
    ("SoftMarginLoss", (), [X, np.sign(Z)]),
    ("CosineEmbeddingLoss", (0.2,), [X, Y, SIGNS]),
    ("MultiMarginLoss", (2, 0.5, WEIGHT), [X, [0, 4, 2, 1]]),
    ("MultiLabelMarginLoss", (), [X, CLASSES]),
    ("MultiLabelSoftMarginLoss", (WEIGHT,), [X, (Z > 0).astype("float64")]),
    ("TripletMarginLoss", (0.5, 1, 0.1, True), [X, Y, Z]),
    ("TripletMarginWithDistanceLoss", (), [X, Y, Z]),
    ("GaussianNLLLoss", (), [X, Y, np.abs(Z)]),
]


@pytest.mark.parametrize(("name", "args", "values"), MODULES)
def test_modules_do_what_their_functions_do(name, args, values):
    found = []
    for T in (tensorlab, torch):
        args_of = [T.tensor(a, dtype=T.float64) if isinstance(a, list) else a for a in args]
        module = getattr(T.nn, name)(*args_of, reduction="sum")
        found.append((module(*as_tensors(T, values)), repr(module), list(module.state_dict())))
    assert_close(found[0][0], found[1][0])
    assert found[0][1:] == found[1][1:]


def test_options_of_modules_reach_their_functions():
    found = []
    for T in (tensorlab, torch):
        x, y, z = as_tensors(T, [X, Y, Z])
        found.append(
            [
                T.nn.TripletMarginWithDistanceLoss(
                    distance_function=far, margin=4.0, swap=True, reduction="none"
                )(x, y, z),
                T.nn.GaussianNLLLoss(full=True, eps=0.7, reduction="none")(x, y, z.abs()),
                T.nn.CTCLoss(2, "none", True)(
                    as_tensors(T, [LONG])[0].log_softmax(2),
                    T.tensor([[1, 3]] * 4),
                    T.tensor([9, 5, 1, 9]),
                    T.tensor([2, 1, 2, 0]),
                ),
            ]
        )
    for ours, theirs in zip(*found, strict=True):
        assert_close(ours, theirs)


def test_the_variance_of_a_gaussian_has_the_shape_of_the_input_not_of_the_target():
    found = []
    for T in (tensorlab, torch):
        x, y, z = as_tensors(T, [X[0], Y, np.abs(Z[0])])
        found.append(T.nn.GaussianNLLLoss()(x, y, z))
        with pytest.raises(ValueError, match=r"(?i)var"):
            T.nn.GaussianNLLLoss()(y, x, z)
    assert_close(*found)


def test_a_linear_with_cross_entropy_starts_computes_and_prints_as_in_pytorch():
    found = []
    for T in (tensorlab, torch):
        T.manual_seed(1)
        weight = T.tensor([0.5, 2.0, 1.0])
        one = T.nn.LinearCrossEntropyLoss(5, 3, bias=True, weight=weight, label_smoothing=0.1)
        two = T.nn.LinearCrossEntropyLoss(5, 3, out_features=(2,), reduction="sum", ignore_index=1)
        x = as_tensors(T, [X])[0].to(T.float32)
        loss = one(x, T.tensor([0, 1, 2, 1])) + two(x, T.tensor([[0, 1], [2, 1], [0, 0], [1, 1]]))
        loss.backward()
        grads = [p.grad.tolist() for m in (one, two) for p in m.parameters()]
        found.append((loss.item(), grads, repr(one), repr(two), list(one.state_dict())))
    assert found[0][0] == pytest.approx(found[1][0], rel=1e-5)
    for ours, theirs in zip(found[0][1], found[1][1], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)
    assert found[0][2:] == found[1][2:]


# ------------------------------------------------------------------------------ CTC
CTC = [
    ([9, 9, 9, 9], [[1, 2, 3], [1, 1, 2], [4, 4, 4], [3, 2, 1]], [3, 3, 3, 3], 0),
    ([9, 5, 2, 7], [[1, 2, 3], [1, 1, 2], [4, 4, 4], [3, 2, 1]], [3, 1, 2, 0], 0),
    ([9, 5, 3, 7], [[1, 2, 3], [1, 1, 2], [4, 4, 4], [3, 2, 1]], [2, 3, 2, 1], 0),
    ([4, 4, 4, 4], [[0, 2, 3], [1, 0, 2], [4, 1, 4], [3, 2, 1]], [2, 2, 2, 3], 4),
    ([9, 8, 7, 6], [1, 2, 3, 1, 4, 4], [2, 1, 0, 3], 0),
    ([9, 1, 0, 0], [1, 2, 3], [2, 1, 0, 0], 0),
    ([9, 8, 7, 6], [1, 2, 3, 1], [2, 1, 0, 1], 0),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("zero_infinity", [False, True])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("index", range(len(CTC)))
def test_ctc_is_that_of_pytorch(index, reduction, zero_infinity):
    steps, targets, lengths, blank = CTC[index]
    found = []
    for T in (tensorlab, torch):
        scores = as_tensors(T, [LONG])[0].requires_grad_()
        log_probs = scores.log_softmax(2)
        loss = T.nn.functional.ctc_loss(
            log_probs,
            T.tensor(targets),
            T.tensor(steps),
            T.tensor(lengths),
            blank,
            reduction,
            zero_infinity,
        )
        found.append([loss.detach(), *T.autograd.grad(loss.sum(), [scores, log_probs])])
    for ours, theirs in zip(*found, strict=True):
        assert_close(ours, theirs)


def test_ctc_without_a_batch_in_float32_and_twice_differentiated():
    for reduction in ("mean", "none"):
        found = []
        for T in (tensorlab, torch):
            scores = T.tensor(LONG[:, 0].tolist(), requires_grad=True)
            loss = T.nn.functional.ctc_loss(
                scores.log_softmax(1),
                T.tensor([2, 1]),
                T.tensor(9),
                T.tensor(2),
                reduction=reduction,
            )
            assert loss.shape == ()
            loss.backward()
            found.append([loss.item(), *scores.grad.flatten().tolist()])
        np.testing.assert_allclose(found[0], found[1], rtol=1e-4, atol=1e-6)
    scores = tensorlab.tensor(LONG[:4, 0].tolist(), dtype=tensorlab.float64, requires_grad=True)

    def loss_of(scores):
        return tensorlab.nn.functional.ctc_loss(
            scores.log_softmax(1), tensorlab.tensor([2, 1]), [4], [2]
        )

    assert tensorlab.autograd.gradcheck(loss_of, [scores])
    assert tensorlab.autograd.gradgradcheck(loss_of, [scores])


def test_a_blank_among_the_labels_of_ctc_is_a_label_like_others():
    scores = RNG.standard_normal((2, 2, 4))
    losses = []
    for T in (tensorlab, torch):
        logs = T.tensor(scores.tolist()).log_softmax(-1)
        labels, lengths = T.tensor([[1, 0], [0, 3]]), T.tensor([2, 2])
        losses.append(
            T.nn.functional.ctc_loss(logs, labels, lengths, lengths, reduction="none").tolist()
        )
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-5)
    assert np.isfinite(losses[0]).all()


def test_ctc_counts_all_alignments():
    """Two steps and the label 1 alone: the alignments are (1, 1), (blank, 1) and (1, blank)."""
    p = tensorlab.tensor([[0.5, 0.25, 0.25], [0.125, 0.5, 0.375]])
    loss = tensorlab.nn.functional.ctc_loss(p.log(), tensorlab.tensor([1]), [2], [1])
    assert (-loss).exp().item() == pytest.approx(0.25 * 0.5 + 0.5 * 0.5 + 0.25 * 0.125)


# ------------------------------------------------------------------------------ what is refused
def call(name, *values, **options):
    def run(T):
        return getattr(T.nn.functional, name)(*as_tensors(T, values), **options_of(T, options))

    return run


def ctc(shape=(9, 4, 5), targets=((1, 2),) * 4, steps=(9,) * 4, lengths=(2,) * 4, blank=0, **rest):
    def run(T):
        log_probs = T.zeros(shape, dtype=getattr(T, rest.get("dtype", "float64")))
        of = T.tensor(targets, dtype=getattr(T, rest.get("of", "int64")))
        return T.nn.functional.ctc_loss(log_probs, of, T.tensor(steps), T.tensor(lengths), blank)

    return run


REFUSED = [
    call("margin_ranking_loss", X, Y, SIGNS),
    call("margin_ranking_loss", X, Y[0], np.sign(Z)),
    call("margin_ranking_loss", X, Y, np.sign(Z), reduction="all"),
    call("hinge_embedding_loss", X, Y, reduction="all"),
    call("soft_margin_loss", X, Y, reduction="all"),
    call("cosine_embedding_loss", X, Y, [SIGNS]),
    call("cosine_embedding_loss", X[0], Y, SIGNS),
    call("cosine_embedding_loss", X, Y[0], SIGNS),
    call("cosine_embedding_loss", X, Y, 1),
    call("cosine_embedding_loss", X, Y, SIGNS, reduction="all"),
    call("multi_margin_loss", X, [0, 1, 2, 3], p=3),
    call("multi_margin_loss", X, [0, 1, 2]),
    call("multi_margin_loss", X, [[0, 1, 2, 3]]),
    call("multi_margin_loss", X, [0, 1, 2, 5]),
    call("multi_margin_loss", X, [0, 1, 2, -1]),
    call("multi_margin_loss", X, SIGNS, weight=WEIGHT[:3]),
    call("multi_margin_loss", X, [0, 1, 2, 3], weight=[WEIGHT]),
    call("multi_margin_loss", X, X[:, 0]),
    call("multi_margin_loss", LONG, [0, 1, 2, 3]),
    call("multi_margin_loss", X[:, :0], [0, 1, 2, 3]),
    call("multi_margin_loss", X, [0, 1, 2, 3], reduction="all"),
    call("multi_margin_loss", X[0], [0, 1]),
    call("multilabel_margin_loss", X, CLASSES[:3]),
    call("multilabel_margin_loss", X, CLASSES[0]),
    call("multilabel_margin_loss", X, X),
    call("multilabel_margin_loss", X[0], [5, -1, 0, 0, 0]),
    call("multilabel_margin_loss", X[0], [-2, -1, 0, 0, 0]),
    call("multilabel_margin_loss", LONG, np.zeros(LONG.shape, "int64")),
    call("multilabel_margin_loss", X, CLASSES, reduction="all"),
    call("multilabel_soft_margin_loss", X, Y, reduction="all"),
    call("triplet_margin_loss", X, Y, Z, margin=0),
    call("triplet_margin_loss", X, Y[0], Z),
    call("triplet_margin_loss", X, Y, Z[0]),
    call("triplet_margin_loss", X, Y, Z, reduction="all"),
    call("triplet_margin_with_distance_loss", X, Y, Z, margin=-1.0),
    call("triplet_margin_with_distance_loss", X[0], Y, Z),
    call("triplet_margin_with_distance_loss", X, Y, Z, reduction="all"),
    call("gaussian_nll_loss", X, Y, Z),
    call("gaussian_nll_loss", X, Y, -0.5),
    call("gaussian_nll_loss", X, Y, np.abs(Z[0])),
    call("gaussian_nll_loss", X, Y, np.abs(Z[:2])),
    call("gaussian_nll_loss", X, Y, np.abs(Z[:1, :1])),
    call("gaussian_nll_loss", X, Y, np.abs(Z), reduction="all"),
    call("linear_cross_entropy", LONG, X, SIGNS),
    call("linear_cross_entropy", X[0, 0], X, SIGNS),
    call("linear_cross_entropy", X, X[0], SIGNS),
    call("linear_cross_entropy", X, X[:, :4], SIGNS),
    call("linear_cross_entropy", X, X, [0, 1, 2, 3], linear_bias=WEIGHT),
    call("linear_cross_entropy", X[0], LONG, 0),
    call("linear_cross_entropy", X, X, np.full((4, 4), 0.25), ignore_index=1),
    ctc(blank=5),
    ctc(blank=-1),
    ctc(shape=(9, 0, 5), targets=((1, 2),) * 0, steps=(), lengths=()),
    ctc(shape=(0, 4, 5), steps=(0,) * 4),
    ctc(steps=(9,) * 3),
    ctc(lengths=(2,) * 5),
    ctc(steps=(9, 9, 9, 10)),
    ctc(steps=(9, 9, 9, -1)),
    ctc(lengths=(2, 2, 2, 3)),
    ctc(lengths=(2, 2, 2, -1)),
    ctc(targets=((1, 2),) * 3),
    ctc(targets=(1, 2, 3)),
    ctc(targets=(((1, 2),),) * 4),
    ctc(targets=(1, 2) * 4 + (1,)),
    ctc(dtype="int64"),
    ctc(dtype="float16"),
    ctc(shape=(9, 2, 2, 5)),
    lambda T: T.nn.MultiMarginLoss(p=3),
    lambda T: T.nn.MultiMarginLoss(weight=T.ones(2, 2)),
    lambda T: T.nn.TripletMarginLoss(margin=0),
    lambda T: T.nn.TripletMarginWithDistanceLoss(margin=0),
    lambda T: T.nn.LinearCrossEntropyLoss(2, 3, weight=T.ones(2)),
    lambda T: T.nn.LinearCrossEntropyLoss(2, 3, label_smoothing=1.5),
    lambda T: T.nn.LinearCrossEntropyLoss(2, 3, label_smoothing=-0.5),
]


@pytest.mark.parametrize("index", range(len(REFUSED)))
def test_what_does_not_fit_is_refused_as_in_pytorch(index):
    with pytest.raises(Exception, match=".") as theirs:
        REFUSED[index](torch)
    with pytest.raises(Exception, match="expected|holds|as many|no meaning|negative") as ours:
        REFUSED[index](tensorlab)
    assert issubclass(ours.type, theirs.type)


def test_a_linear_loss_names_the_shapes_that_do_not_fit():
    x, target = tensorlab.ones(5), tensorlab.tensor(0)
    for sizes in ((3, 5, 5), (3, 2, 4, 5), (3, 4), (5,)):
        with pytest.raises(tensorlab.errors.ShapeError, match="cross_entropy: the input has shape"):
            tensorlab.nn.functional.linear_cross_entropy(x, tensorlab.ones(sizes), target)


def test_labels_that_are_not_whole_numbers_are_refused():
    with pytest.raises(tensorlab.errors.DTypeError, match="targets is of type"):
        ctc(of="float32")(tensorlab)


def test_a_distance_of_scores_far_apart_does_not_overflow():
    x, y = tensorlab.tensor([300.0, -300.0]), tensorlab.tensor([-1.0, -1.0])
    loss = tensorlab.nn.functional.soft_margin_loss(x, y, reduction="none")
    assert loss.tolist() == [300.0, 0.0]


@pytest.mark.parametrize("dtype", [tensorlab.float16, tensorlab.bfloat16, tensorlab.float64])
def test_an_embedding_loss_keeps_the_type_of_its_inputs_without_a_batch_too(dtype):
    x, loss = tensorlab.ones(3, dtype=dtype), tensorlab.nn.functional.cosine_embedding_loss
    assert loss(x, -x, tensorlab.tensor(1)).dtype is dtype
    assert loss(x[None], -x[None], tensorlab.tensor([-1])).dtype is dtype


def test_kl_div_of_a_single_number():
    for T in (tensorlab, torch):
        x, y = T.tensor(0.5), T.tensor(0.25)
        loss = T.nn.functional.kl_div(x, y, reduction="batchmean")
        assert loss.item() == pytest.approx(0.25 * (np.log(0.25) - 0.5))


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 2.0, 3.0, float("inf")])
def test_distances_of_all_pairs_are_those_of_pytorch(p):
    found = []
    for T in (tensorlab, torch):
        x = T.tensor(X.tolist(), dtype=T.float64, requires_grad=True)
        out = T.nn.functional.pdist(x, p)
        (grad,) = T.autograd.grad((out * T.arange(1.0, 7.0, dtype=T.float64)).sum(), x)
        found.append((out.detach(), grad))
    for ours, theirs in zip(*found, strict=True):
        assert_close(ours, theirs)


def test_distances_of_few_rows_and_of_what_has_none():
    for rows in (0, 1):
        assert tensorlab.nn.functional.pdist(tensorlab.ones(rows, 3)).shape == (0,)
    for T in (torch, tensorlab):
        for x, p in ((T.ones(3), 2), (T.ones(2, 3, dtype=T.int64), 2), (T.ones(2, 3), -1)):
            with pytest.raises(RuntimeError, match="pdist"):
                T.nn.functional.pdist(x, p)
