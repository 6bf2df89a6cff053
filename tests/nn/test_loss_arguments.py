"""Arguments of losses: PyTorch's, in its order, with size_average and reduce, which warn."""

import inspect

import numpy as np
import pytest

import tensorlab
from tests.oracle import require_torch

torch = require_torch()

FUNCTIONS = [
    *("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div", "poisson_nll_loss"),
    *("nll_loss", "cross_entropy", "binary_cross_entropy", "binary_cross_entropy_with_logits"),
    *("margin_ranking_loss", "hinge_embedding_loss", "soft_margin_loss", "cosine_embedding_loss"),
    *("multi_margin_loss", "multilabel_margin_loss", "multilabel_soft_margin_loss"),
    *("triplet_margin_loss", "triplet_margin_with_distance_loss", "gaussian_nll_loss"),
    *("ctc_loss", "linear_cross_entropy"),
]
CLASSES = [
    *("MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss", "KLDivLoss", "PoissonNLLLoss"),
    *("NLLLoss", "CrossEntropyLoss", "BCELoss", "BCEWithLogitsLoss", "GaussianNLLLoss"),
    *("MarginRankingLoss", "HingeEmbeddingLoss", "SoftMarginLoss", "CosineEmbeddingLoss"),
    *("MultiMarginLoss", "MultiLabelMarginLoss", "MultiLabelSoftMarginLoss", "CTCLoss"),
    *("TripletMarginLoss", "TripletMarginWithDistanceLoss", "LinearCrossEntropyLoss"),
]


def arguments(function):
    """Those that may be given by position, and the defaults of all."""
    parameters = list(inspect.signature(function).parameters.values())
    by_position = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
    return by_position, {p.name: p.default for p in parameters}


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        *[
            (getattr(tensorlab.nn.functional, f), getattr(torch.nn.functional, f))
            for f in FUNCTIONS
        ],
        *[(getattr(tensorlab.nn, c), getattr(torch.nn, c)) for c in CLASSES],
    ],
)
def test_losses_take_the_arguments_of_pytorch(ours, theirs):
    assert arguments(ours) == arguments(theirs)


OLDER = [(None, True), (None, False), (True, None), (False, None), (True, True), (False, True)]
OLDER += [(True, False), (False, False)]


@pytest.mark.filterwarnings("ignore:kl_div", "ignore:reduction:")
@pytest.mark.parametrize(("size_average", "reduce"), OLDER)
def test_older_names_of_the_reduction_mean_what_they_meant(size_average, reduce):
    older = {"size_average": size_average, "reduce": reduce}
    found = []
    for T in (tensorlab, torch):
        x, y = T.tensor([[0.25, 0.5, 0.125]] * 2), T.tensor([[1.0, 0.0, 1.0]] * 2)
        losses = []
        for name in FUNCTIONS:
            function = getattr(T.nn.functional, name)
            if "reduce" not in inspect.signature(getattr(torch.nn.functional, name)).parameters:
                continue
            tensors = [x, y]
            if name in ("nll_loss", "cross_entropy", "multi_margin_loss"):
                tensors[1] = T.tensor([1, 2])
            elif name == "multilabel_margin_loss":
                tensors[1] = T.tensor([[1, -1, 0]] * 2)
            elif name == "cosine_embedding_loss":
                tensors = [x, y, T.tensor([1, -1])]
            elif "triplet" in name or "ranking" in name:
                tensors = [x, y, 2 * y - 1]
            with pytest.warns(UserWarning, match="please use reduction=") as caught:
                losses.append(function(*tensors, **older).tolist())
            assert T is torch or caught[0].filename == __file__
        with pytest.warns(UserWarning, match="please use reduction="):
            losses.append(T.nn.MSELoss(**older).reduction)
        found.append(losses)
    assert len(found[0]) == 18
    for ours, theirs in zip(*found, strict=True):
        assert ours == theirs if isinstance(ours, str) else np.allclose(ours, theirs, rtol=1e-5)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "huber_loss"])
def test_weights_of_elements(name, reduction):
    def program(T):
        x, y, w = T.tensor(numbers, dtype=T.float64)
        for one in (x, y, w):
            one.requires_grad_()
        loss = getattr(T.nn.functional, name)(x, y, reduction=reduction, weight=w)
        return [loss, *T.autograd.grad(loss.sum(), [x, y, w])]

    numbers = np.random.default_rng(0).uniform(0.1, 3, size=(3, 2, 4)).tolist()
    for ours, theirs in zip(program(tensorlab), program(torch), strict=True):
        np.testing.assert_allclose(ours.tolist(), theirs.tolist(), rtol=1e-12)


@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "huber_loss"])
def test_weights_of_another_shape_are_refused(name):
    x = tensorlab.ones(2, 3)
    for T, given in ((tensorlab, x), (torch, torch.ones(2, 3))):
        with pytest.raises(ValueError, match="size|shape"):
            getattr(T.nn.functional, name)(given, given, weight=T.ones(3))
    with pytest.raises(ValueError, match=rf"^{name}: reduction is 'all'"):
        getattr(tensorlab.nn.functional, name)(x, x, reduction="all", weight=x)


def test_the_older_name_of_nll_loss_warns_and_does_the_same():
    options = {"weight": tensorlab.tensor([1.0, 2.0]), "ignore_index": 1, "reduction": "sum"}
    with pytest.warns(FutureWarning, match="NLLLoss takes images") as caught:
        older = tensorlab.nn.NLLLoss2d(**options)
    assert caught[0].filename == __file__
    x, target = tensorlab.randn(2, 2, 3, 3), tensorlab.randint(2, (2, 3, 3))
    assert tensorlab.equal(older(x, target), tensorlab.nn.NLLLoss(**options)(x, target))
    with pytest.warns((FutureWarning, UserWarning)):
        positional = tensorlab.nn.NLLLoss2d(None, True, 0, True, "none")
    assert positional.ignore_index == 0
    assert positional.reduction == "mean"


def test_an_input_needs_a_dimension_for_its_classes():
    for package, text in ((tensorlab, "the input has no dimensions"), (torch, "1 or more dim")):
        with pytest.raises(ValueError, match=text):
            package.nn.functional.nll_loss(package.tensor(1.0), package.tensor(0))
