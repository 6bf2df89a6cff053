"""Fused layers do what layer and batch normalization do; calls with other tensors leave the module as it was."""

import pytest

import tensorlab
from tensorlab import nn
from tests.oracle import assert_same_values, require_torch

LAYERS = [
    (lambda nn: nn.Conv1d(2, 3, 2), lambda nn: nn.BatchNorm1d(3), (4, 2, 6)),
    (
        lambda nn: nn.Conv2d(2, 4, 3, groups=2, bias=False),
        lambda nn: nn.BatchNorm2d(4),
        (2, 2, 5, 5),
    ),
    (lambda nn: nn.Conv3d(1, 2, 2), lambda nn: nn.BatchNorm3d(2, affine=False), (2, 1, 3, 3, 3)),
    (lambda nn: nn.ConvTranspose2d(2, 3, 2), lambda nn: nn.BatchNorm2d(3, eps=0.1), (2, 2, 3, 3)),
    (lambda nn: nn.Linear(4, 3), lambda nn: nn.BatchNorm1d(3), (5, 4)),
    (lambda nn: nn.Linear(4, 3, bias=False), lambda nn: nn.BatchNorm1d(3), (5, 4)),
]


def pair(T, make, make_norm, shape):
    T.manual_seed(1)
    layer, norm = make(T.nn).double(), make_norm(T.nn).double()
    norm.running_mean.uniform_(-1, 1)
    norm.running_var.uniform_(0.5, 2)
    if norm.weight is not None:
        with T.no_grad():
            norm.weight.uniform_(-1, 2)
            norm.bias.uniform_(-1, 2)
    return layer.eval(), norm.eval(), T.randn(shape, dtype=T.float64)


@pytest.mark.parametrize(("make", "make_norm", "shape"), LAYERS)
def test_a_fused_layer_does_what_both_do(make, make_norm, shape):
    torch = require_torch()
    states = []
    for T in (tensorlab, torch):
        layer, norm, x = pair(T, make, make_norm, shape)
        utils = T.nn.utils
        if isinstance(layer, T.nn.Linear):
            fuse = utils.fusion.fuse_linear_bn_eval if T is torch else utils.fuse_linear_bn_eval
            fused = fuse(layer, norm)
        else:
            transposed = isinstance(layer, T.nn.ConvTranspose2d)
            fused = utils.fusion.fuse_conv_bn_eval(layer, norm, transposed)
        T.testing.assert_close(fused(x), norm(layer(x)))
        assert fused is not layer
        assert isinstance(fused.bias, T.nn.Parameter)
        states.append((fused.weight, fused.bias, fused.bias.requires_grad))
    for x, y in zip(states[0][:2], states[1][:2], strict=True):
        assert_same_values(x, y, 1e-12)
    assert states[0][2] == states[1][2]


def test_training_modules_are_not_fused():
    layer, norm, _ = pair(tensorlab, *LAYERS[0])
    fuse = nn.utils.fuse_conv_bn_eval
    with pytest.raises(AssertionError, match="only for evaluation"):
        fuse(layer.train(), norm)
    with pytest.raises(AssertionError, match="only for evaluation"):
        fuse(layer.eval(), norm.train())
    with pytest.raises(AssertionError, match="must not be None"):
        fuse(layer, nn.BatchNorm1d(3, track_running_stats=False).eval())
    with pytest.raises(AssertionError, match="out_features is 3 and bn.num_features 2"):
        nn.utils.fuse_linear_bn_eval(nn.Linear(4, 3).eval(), nn.BatchNorm1d(2).eval())
    one = nn.utils.fuse_linear_bn_eval(nn.Linear(4, 3).eval(), nn.BatchNorm1d(1).eval())
    assert one.weight.shape == (3, 4)


# ------------------------------------------------------------ functional_call
@pytest.mark.filterwarnings("ignore:This API is deprecated")
class TestFunctionalCall:
    call = staticmethod(lambda *args, **kwargs: nn.utils.stateless.functional_call(*args, **kwargs))

    def test_other_tensors_take_the_place_for_one_call(self):
        model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
        weight, mean = model[0].weight, model[1].running_mean
        values = mean.clone()
        given = {
            "0.weight": tensorlab.zeros(2, 2, requires_grad=True),
            "1.running_mean": tensorlab.full((2,), 5.0),
        }
        out = self.call(model, given, tensorlab.ones(3, 2))
        out.sum().backward()
        assert model[0].weight is weight
        assert weight.grad is None
        assert given["0.weight"].grad is not None
        assert model[1].running_mean is mean
        assert tensorlab.equal(mean, values)
        assert (given["1.running_mean"] != 5).all()

    def test_arguments_and_keywords_are_passed_on(self):
        class Scaled(nn.Module):
            def __init__(self):
                super().__init__()
                self.w = nn.Parameter(tensorlab.ones(1))

            def forward(self, x, by=1.0):
                return x * self.w * by

        given = {"w": tensorlab.tensor([3.0])}
        assert self.call(Scaled(), given, (tensorlab.ones(1),), {"by": 2.0}).tolist() == [6.0]
        assert self.call(Scaled(), given, kwargs={"x": tensorlab.ones(1)}).tolist() == [3.0]

    def test_tied_weights_are_replaced_together(self):
        layer = nn.Linear(2, 2, bias=False)
        model = nn.Sequential(layer, layer)
        twice = tensorlab.eye(2) * 2
        x = tensorlab.ones(1, 2)
        model = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False))
        model[1].weight = model[0].weight
        assert self.call(model, {"0.weight": twice}, x).tolist() == [[4.0, 4.0]]
        alone = self.call(model, {"0.weight": twice}, x, tie_weights=False)
        tensorlab.testing.assert_close(alone, model[1](2 * x))
        with pytest.raises(ValueError, match="are one tensor in the module"):
            self.call(model, {"0.weight": twice, "1.weight": twice * 2}, x)

    def test_names_are_checked(self):
        model = nn.Linear(2, 2)
        x = tensorlab.ones(1, 2)
        with pytest.raises(
            RuntimeError, match=r"Unexpected key\(s\): other\. Missing key\(s\): bias"
        ):
            self.call(model, {"weight": tensorlab.eye(2), "other": x}, x, strict=True)
        with pytest.raises(AttributeError, match="has no tensor 'other'"):
            self.call(model, {"other": x}, x)
        with pytest.raises(TypeError, match="module is a int"):
            self.call(3, {}, x)

    def test_the_module_is_restored_after_an_error(self):
        model = nn.Linear(2, 2)
        weight = model.weight
        with pytest.raises(RuntimeError):
            self.call(model, {"weight": tensorlab.eye(3)}, tensorlab.ones(1, 2))
        assert model.weight is weight


def test_functional_call_says_that_it_is_deprecated():
    with pytest.warns(FutureWarning, match="functional_call"):
        nn.utils.stateless.functional_call(nn.ReLU(), {}, tensorlab.ones(1))


# ------------------------------------------------------------ nn.grad
@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize(
    "settings", [{}, {"stride": 2, "padding": 1, "groups": 2}, {"dilation": 2}]
)
def test_gradients_of_convolutions_are_those_of_pytorch(n, settings):
    torch = require_torch()
    found = []
    for T in (tensorlab, torch):
        T.manual_seed(n)
        x = T.randn(2, 4, *[6] * n, dtype=T.float64)
        w = T.randn(6, 4 // settings.get("groups", 1), *[2] * n, dtype=T.float64)
        out = getattr(T.nn.functional, f"conv{n}d")(x, w, None, **settings)
        g = T.randn(out.shape, dtype=T.float64)
        module = T.nn.grad
        by_input = getattr(module, f"conv{n}d_input")(x.shape, w, g, **settings)
        by_weight = getattr(module, f"conv{n}d_weight")(x, w.shape, g, **settings)
        found.append((by_input, by_weight))
    for ours, theirs in zip(*found, strict=True):
        assert_same_values(ours, theirs, 1e-10)
        assert not ours.requires_grad


def test_a_gradient_of_a_convolution_has_a_gradient():
    torch = require_torch()
    found = []
    for T in (tensorlab, torch):
        T.manual_seed(1)
        w = T.randn(2, 3, 2, dtype=T.float64, requires_grad=True)
        g = T.randn(2, 2, 4, dtype=T.float64, requires_grad=True)
        by_input = T.nn.grad.conv1d_input((2, 3, 5), w, g)
        found.append(T.autograd.grad((by_input * by_input).sum(), [w, g]))
    for ours, theirs in zip(*found, strict=True):
        assert_same_values(ours, theirs, 1e-10)


class Counting(nn.Module):
    """Replaces a buffer in each forward, which has two names."""

    def __init__(self):
        super().__init__()
        self.register_buffer("count", tensorlab.zeros(1))
        self.register_buffer("twin", self.count)
        self.scale = nn.Parameter(tensorlab.ones(1))

    def forward(self, x):
        self.count = self.count + 1
        self.twin = self.twin + 10
        return x * self.scale


def test_a_buffer_that_forward_replaces_is_handed_back_under_the_names_given():
    module, scale = Counting(), tensorlab.tensor([3.0])
    given = {"count": tensorlab.tensor([5.0]), "scale": scale}
    with pytest.warns(FutureWarning):
        out = nn.utils.stateless.functional_call(module, given, tensorlab.ones(2))
    assert out.tolist() == [3.0, 3.0]
    assert sorted(given) == ["count", "scale"]
    assert given["count"].tolist() == [6.0]
    assert given["scale"] is scale
    assert module.count.tolist() == module.twin.tolist() == [0.0]


@pytest.mark.parametrize("learns", [(False, False), (True, False), (False, True), (True, True)])
def test_gradients_of_a_convolution_are_recorded_if_either_tensor_learns(learns):
    weight, out = (
        tensorlab.ones(shape, requires_grad=one)
        for shape, one in zip(((3, 2, 2), (1, 3, 4)), learns, strict=True)
    )
    found = nn.grad.conv1d_input((1, 2, 5), weight, out)
    assert found.requires_grad is any(learns)
    if any(learns):
        given = [x for x in (weight, out) if x.requires_grad]
        assert all(
            grad.abs().sum().item() > 0 for grad in tensorlab.autograd.grad(found.sum(), given)
        )


@pytest.mark.parametrize("trains", ["layer", "norm"])
def test_a_linear_that_trains_or_whose_norm_does_is_not_fused(trains):
    layer, norm = (
        nn.Linear(2, 3).train(trains == "layer"),
        nn.BatchNorm1d(3).train(trains == "norm"),
    )
    with pytest.raises(AssertionError, match="only for evaluation"):
        nn.utils.fuse_linear_bn_eval(layer, norm)


@pytest.mark.filterwarnings("error")
def test_functional_call_of_func_does_not():
    assert tensorlab.func.functional_call(nn.ReLU(), {}, tensorlab.ones(1)) == 1
