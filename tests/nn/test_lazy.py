"""Lazy modules become ordinary ones at their first forward, with PyTorch's initial values."""

import copy
import pickle

import pytest

import tensorlab
from tensorlab import nn
from tests.oracle import assert_same_values, require_torch

MAKERS = [
    ("LazyLinear", lambda nn: nn.LazyLinear(3), (2, 5)),
    ("LazyLinear", lambda nn: nn.LazyLinear(3, bias=False), (4,)),
    ("LazyConv1d", lambda nn: nn.LazyConv1d(4, 3, stride=2, padding=1), (2, 3, 7)),
    ("LazyConv2d", lambda nn: nn.LazyConv2d(4, (3, 2), groups=2, bias=False), (2, 4, 6, 5)),
    ("LazyConv2d", lambda nn: nn.LazyConv2d(4, 3, padding_mode="reflect", padding=1), (3, 6, 5)),
    ("LazyConv3d", lambda nn: nn.LazyConv3d(2, 2, dilation=2), (1, 3, 4, 4, 4)),
    ("LazyConvTranspose1d", lambda nn: nn.LazyConvTranspose1d(4, 3, stride=2), (2, 3, 5)),
    (
        "LazyConvTranspose2d",
        lambda nn: nn.LazyConvTranspose2d(4, 3, stride=2, output_padding=1, groups=2),
        (2, 4, 3, 3),
    ),
    ("LazyConvTranspose3d", lambda nn: nn.LazyConvTranspose3d(2, 2), (1, 3, 3, 3, 3)),
    ("LazyBatchNorm1d", lambda nn: nn.LazyBatchNorm1d(eps=0.1), (4, 3)),
    ("LazyBatchNorm2d", lambda nn: nn.LazyBatchNorm2d(affine=False), (2, 3, 4, 4)),
    ("LazyBatchNorm3d", lambda nn: nn.LazyBatchNorm3d(track_running_stats=False), (2, 3, 2, 2, 2)),
    ("LazyBatchNorm1d", lambda nn: nn.LazyBatchNorm1d(momentum=0.5, bias=False), (4, 3)),
    ("LazyInstanceNorm1d", lambda nn: nn.LazyInstanceNorm1d(), (2, 3, 5)),
    ("LazyInstanceNorm2d", lambda nn: nn.LazyInstanceNorm2d(affine=False), (2, 3, 4, 4)),
    ("LazyInstanceNorm3d", lambda nn: nn.LazyInstanceNorm3d(), (2, 3, 2, 2, 2)),
]


def is_lazy(T, x):
    return isinstance(x, (T.nn.UninitializedParameter, T.nn.UninitializedBuffer))


@pytest.mark.parametrize(("name", "make", "shape"), MAKERS)
def test_a_lazy_module_becomes_the_module_of_pytorch(name, make, shape):
    torch = require_torch()
    found = []
    for T in (tensorlab, torch):
        layer = make(T.nn)
        before = repr(layer), [key for key, _ in layer.named_parameters()], list(layer.state_dict())
        T.manual_seed(4)
        x = T.randn(shape)
        out = layer(x)
        assert type(layer).__name__ == name.removeprefix("Lazy")
        found.append((before, repr(layer), list(layer.state_dict()), out, layer.state_dict()))
        assert layer(x).shape == out.shape
    ours, theirs = found
    assert ours[:3] == theirs[:3]
    assert_same_values(ours[3], theirs[3], 1e-5)
    for key, value in theirs[4].items():
        assert_same_values(ours[4][key], value, 1e-6)


@pytest.mark.parametrize("name", sorted({name for name, *_ in MAKERS}))
def test_a_lazy_module_is_made_on_the_device_and_of_the_dtype_asked_for(name):
    sizes = {"LazyLinear": (3,)}.get(name, (4, 3) if "Conv" in name else ())
    affine = {"affine": True} if "Norm" in name else {}
    found = []
    for T in (tensorlab, require_torch()):
        layer = getattr(T.nn, name)(*sizes, **affine, device="meta", dtype=T.float64)
        parts = [*layer.named_parameters(), *layer.named_buffers()]
        found.append([(key, str(x.dtype).split(".")[1], x.device.type) for key, x in parts])
    assert found[0] == found[1]


@pytest.mark.parametrize(("name", "make", "shape"), MAKERS)
def test_a_lazy_module_loads_and_gives_states_in_every_stage(name, make, shape):
    trained, fresh, again = (make(nn) for _ in range(3))
    x = tensorlab.randn(shape)
    trained(x)
    fresh.load_state_dict(trained.state_dict())
    assert not any(is_lazy(tensorlab, p) for p in fresh.parameters())
    fresh.eval()
    tensorlab.testing.assert_close(fresh(x), trained.eval()(x))
    again.load_state_dict(make(nn).state_dict())
    has_lazy = any(is_lazy(tensorlab, p) for p in (*again.parameters(), *again.buffers()))
    assert has_lazy == again.has_uninitialized_params()
    if has_lazy and any(is_lazy(tensorlab, p) for p in again.parameters()):
        with pytest.raises(RuntimeError):
            trained.load_state_dict(again.state_dict())


def test_copies_pickles_and_conversions_stay_lazy():
    model = nn.Sequential(nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(2))
    model.double()
    for one in (model, copy.deepcopy(model)):
        assert one[0].weight.dtype == tensorlab.float64
        out = one(tensorlab.randn(2, 3, 5, 5, dtype=tensorlab.float64))
        assert out.dtype == tensorlab.float64
        assert one[1].running_mean.dtype == tensorlab.float64
        assert type(one[3]) is nn.Linear
    parameter = nn.UninitializedParameter(requires_grad=False, dtype=tensorlab.float64)
    for twin in (pickle.loads(pickle.dumps(parameter)), copy.deepcopy(parameter)):
        assert type(twin) is nn.UninitializedParameter
        assert twin.dtype == tensorlab.float64
        assert not twin.requires_grad


@pytest.mark.parametrize("kind", [nn.UninitializedParameter, nn.UninitializedBuffer])
def test_what_has_no_shape_yet_is_empty_and_is_copied_once(kind):
    x = kind()
    assert x.data.numel() == 0
    both = copy.deepcopy([x, x])
    assert type(both[0]) is kind
    assert both[0] is both[1] is not x


@pytest.mark.parametrize("kind", [nn.UninitializedParameter, nn.UninitializedBuffer])
def test_what_has_no_shape_yet_can_be_converted(kind):
    for converted in (kind().to(dtype=tensorlab.float64), kind().double()):
        assert converted.dtype is tensorlab.float64


def test_an_uninitialized_parameter_refuses_to_compute_and_says_why():
    torch = require_torch()
    for T in (tensorlab, torch):
        parameter = T.nn.UninitializedParameter()
        assert repr(parameter) == "<UninitializedParameter>"
        assert repr(T.nn.UninitializedBuffer()) == "<UninitializedBuffer>"
        with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter"):
            parameter + 1
        with pytest.raises(RuntimeError, match="an't access the shape of an uninitialized"):
            _ = parameter.shape
        with pytest.raises(RuntimeError, match="an't share memory"):
            parameter.share_memory_()
        parameter.materialize((2, 3), dtype=T.float64)
        assert type(parameter) is T.nn.Parameter
        assert parameter.shape == (2, 3)
        assert parameter.dtype == T.float64


def test_inputs_that_do_not_fit_are_refused():
    for T in (tensorlab, require_torch()):
        with pytest.raises(RuntimeError, match="Expected .D .* or .D .* input"):
            T.nn.LazyConv2d(4, 3)(T.ones(2, 3))
        with pytest.raises(ValueError, match="in_channels must be divisible by groups"):
            T.nn.LazyConv2d(4, 3, groups=2)(T.ones(2, 3, 5, 5))
        layer = T.nn.LazyLinear(2)
        layer.load_state_dict({"weight": T.ones(2, 3), "bias": T.ones(2)})
        with pytest.raises(AssertionError):
            layer(T.ones(1, 4))
        layer(T.ones(1, 3))
        assert layer.in_features == 3


class Half(nn.modules.lazy.LazyModuleMixin, nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.UninitializedParameter()


def test_a_class_of_ones_own_must_initialize_everything():
    with pytest.raises(NotImplementedError, match="has no initialize_parameters"):
        Half()(1)
    Half.initialize_parameters = lambda self, x: None
    with pytest.raises(RuntimeError, match="has not been fully initialized"):
        Half()(1)
    Half.initialize_parameters = lambda self, x: self.weight.materialize((x,))
    Half.forward = lambda self, x: self.weight.shape
    module = Half()
    assert module(3) == (3,)
    assert type(module) is Half


def test_paths_of_pytorchs_modules_lead_to_the_classes():
    import tensorlab.nn.modules.conv as conv
    from tensorlab.nn.modules.batchnorm import _BatchNorm, _NormBase

    assert conv.Conv2d is nn.Conv2d
    assert conv.LazyConv2d is nn.LazyConv2d
    assert isinstance(nn.BatchNorm2d(1), _BatchNorm)
    assert not isinstance(nn.InstanceNorm2d(1), _BatchNorm)
    assert isinstance(nn.InstanceNorm2d(1), _NormBase)
    assert isinstance(nn.InstanceNorm2d(1), nn.modules.instancenorm._InstanceNorm)
    assert isinstance(nn.ConvTranspose1d(1, 1, 1), nn.modules.conv._ConvTransposeNd)
    assert isinstance(nn.Conv1d(1, 1, 1), nn.modules.conv._ConvNd)
    assert nn.modules.Linear is nn.Linear
    assert nn.modules.module.Module is nn.Module
    assert nn.modules.loss._Loss.__subclasses__()
    assert nn.parameter.Parameter is nn.Parameter
    assert set(nn.modules.__all__) - {*nn.__all__} == {
        "LazyModuleMixin",
        "NonDynamicallyQuantizableLinear",
    }


def test_small_functions_of_nn_modules_utils():
    for T in (tensorlab, require_torch()):
        u = T.nn.modules.utils
        assert u._pair(3) == (3, 3)
        assert u._triple([1, 2, 3]) == (1, 2, 3)
        assert u._single(2) == (2,)
        assert u._quadruple(0) == (0, 0, 0, 0)
        assert u._ntuple(5)(1) == (1,) * 5
        assert u._reverse_repeat_tuple((1, 2), 2) == (2, 2, 1, 1)
        state = T.nn.Sequential(T.nn.Linear(1, 1)).state_dict(prefix="module.")
        u.consume_prefix_in_state_dict_if_present(state, "module.")
        assert list(state) == ["0.weight", "0.bias"]
        assert sorted(state._metadata) == ["", "0"]
        state = T.nn.ModuleDict({"module": T.nn.Sequential(T.nn.PReLU()), "last": T.nn.PReLU()})
        state = state.state_dict()
        u.consume_prefix_in_state_dict_if_present(state, "module.")
        assert list(state) == ["last.weight", "0.weight"]  # what has no prefix stays in its place
        assert list(state._metadata) == ["", "last", "0"]
        u.consume_prefix_in_state_dict_if_present(plain := {"a": 1, "module.b": 2}, "module.")
        assert plain == {"a": 1, "b": 2}
    assert u is not nn.modules.utils
    assert nn.modules.utils._pair.__name__ == "_pair"


def test_a_module_is_made_without_drawing():
    tensorlab.manual_seed(1)
    before = tensorlab.get_rng_state()
    layer = nn.utils.skip_init(nn.Linear, 3, 2, bias=False)
    assert layer.weight.shape == (2, 3)
    assert layer.weight.device.type == "cpu"
    assert tensorlab.get_rng_state().equal(before)
    assert nn.utils.skip_init(nn.Linear, 3, 2, device="meta").weight.is_meta
    with pytest.raises(RuntimeError, match="expected a Module class"):
        nn.utils.skip_init(int, 3)
    with pytest.raises(RuntimeError, match="must support a 'device' arg"):
        nn.utils.skip_init(nn.ReLU)


def test_what_has_no_shape_yet_gets_memory_on_its_own_device():
    parameter = nn.UninitializedParameter(device="meta")
    parameter.materialize((2, 3))
    assert (parameter.shape, parameter.is_meta) == ((2, 3), True)
