"""Parametrized weights: values, gradients, state dicts and errors are PyTorch's."""

import copy
import pickle

import pytest

import tensorlab
from tensorlab import nn
from tests.oracle import assert_same_values, require_torch

CALLS = [
    ("orthogonal", lambda T: T.nn.Linear(4, 4), {}),
    ("orthogonal", lambda T: T.nn.Linear(3, 5), {}),
    ("orthogonal", lambda T: T.nn.Linear(5, 3), {}),
    ("orthogonal", lambda T: T.nn.Linear(5, 3), {"use_trivialization": False}),
    ("orthogonal", lambda T: T.nn.Linear(3, 5), {"orthogonal_map": "matrix_exp"}),
    ("orthogonal", lambda T: T.nn.Linear(5, 3), {"orthogonal_map": "cayley"}),
    ("orthogonal", lambda T: T.nn.Linear(4, 4), {"orthogonal_map": "cayley"}),
    *[
        ("orthogonal", lambda T, n=n: T.nn.Bilinear(n, 3, 2), {"orthogonal_map": one})
        for n, one in ((3, "cayley"), (3, "matrix_exp"), (4, "householder"))
    ],
    ("weight_norm", lambda T: T.nn.Linear(3, 4), {}),
    ("weight_norm", lambda T: T.nn.Conv2d(2, 3, 2), {"dim": 1}),
    ("weight_norm", lambda T: T.nn.Linear(3, 4), {"dim": None}),
    ("weight_norm", lambda T: T.nn.Linear(3, 4), {"name": "bias"}),
    ("spectral_norm", lambda T: T.nn.Linear(3, 4), {}),
    ("spectral_norm", lambda T: T.nn.Linear(3, 4), {"n_power_iterations": 3, "eps": 1e-3}),
    ("spectral_norm", lambda T: T.nn.ConvTranspose2d(2, 3, 2), {}),
    ("spectral_norm", lambda T: T.nn.Conv3d(2, 3, 2), {"dim": 2}),
    ("spectral_norm", lambda T: T.nn.Linear(3, 4), {"name": "bias"}),
]


def made(T, name, make, options):
    T.manual_seed(5)
    layer = make(T).double()
    return getattr(T.nn.utils.parametrizations, name)(layer, **options)


def results(T, name, make, options):
    layer = made(T, name, make, options)
    what = options.get("name", "weight")
    values = []
    for _ in range(2):  # spectral_norm goes on in each forward
        value = getattr(layer, what)
        factors = T.arange(float(value.numel()), dtype=T.float64).sin().view(value.shape)
        (value * factors).sum().backward()
        values.append(value)
    layer.eval()
    values.append(getattr(layer, what))
    parameters = dict(layer.named_parameters())
    values += [parameters[key].grad for key in sorted(parameters) if what in key]
    return layer, values


@pytest.mark.parametrize(("name", "make", "options"), CALLS)
def test_values_and_gradients_are_those_of_pytorch(name, make, options):
    torch = require_torch()
    ours, our_values = results(tensorlab, name, make, options)
    theirs, their_values = results(torch, name, make, options)
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for x, y in zip(our_values, their_values, strict=True):
        assert_same_values(x, y, 1e-10)
    for x, y in zip(ours.state_dict().values(), theirs.state_dict().values(), strict=True):
        assert_same_values(x, y, 1e-10)


@pytest.mark.parametrize("sizes", [(4, 4), (5, 3), (3, 5)])
@pytest.mark.parametrize("orthogonal_map", ["matrix_exp", "cayley", "householder"])
def test_orthogonal_weights_are_orthogonal_after_training(sizes, orthogonal_map):
    tensorlab.manual_seed(1)
    layer = nn.utils.parametrizations.orthogonal(
        nn.Linear(*sizes).double(), orthogonal_map=orthogonal_map
    )
    optimizer = tensorlab.optim.SGD(layer.parameters(), lr=0.3)
    before = layer.weight.detach().clone()
    for _ in range(3):
        optimizer.zero_grad()
        layer(tensorlab.ones(2, sizes[0], dtype=tensorlab.float64)).square().sum().backward()
        optimizer.step()
    weight = layer.weight
    assert (weight - before).abs().max() > 1e-3
    tall = weight if sizes[1] >= sizes[0] else weight.mT
    identity = tensorlab.eye(min(sizes), dtype=tensorlab.float64)
    tensorlab.testing.assert_close(tall.mT @ tall, identity)


class Twice(nn.Module):
    def forward(self, x):
        return 2 * x

    def right_inverse(self, x):
        return x / 2


class OneWay(nn.Module):
    def forward(self, x):
        return x.tanh()


class Sum(nn.Module):
    def forward(self, x, y):
        return x + y

    def right_inverse(self, x):
        return x - 1, tensorlab.ones_like(x)


register = nn.utils.parametrize.register_parametrization


def test_a_value_stays_and_an_assignment_goes_to_the_original():
    layer = nn.Linear(2, 3)
    weight, values = layer.weight, layer.weight.detach().clone()
    register(layer, "weight", Twice())
    assert layer.parametrizations.weight.original is weight
    assert tensorlab.equal(layer.weight, values)
    layer.weight = tensorlab.ones(3, 2)
    assert tensorlab.equal(weight, tensorlab.full((3, 2), 0.5))
    assert [name for name, _ in layer.named_parameters()] == [
        "bias",
        "parametrizations.weight.original",
    ]
    with pytest.raises(KeyError, match="no Parameter can take its place"):
        layer.weight = nn.Parameter(tensorlab.ones(3, 2))
    with pytest.raises(AttributeError, match="remove_parametrizations first"):
        del layer.weight


def test_several_functions_are_called_in_order_and_several_originals_are_kept():
    layer = nn.Linear(2, 3)
    values = layer.weight.detach().clone()
    register(layer, "weight", Sum())
    register(layer, "weight", Twice())
    tensorlab.testing.assert_close(layer.weight, 2 * values)
    names = [name for name, _ in layer.named_parameters()]
    assert names[1:] == [f"parametrizations.weight.original{i}" for i in (0, 1)]
    layer.weight = tensorlab.full((3, 2), 8.0)
    assert tensorlab.equal(layer.parametrizations.weight.original0, tensorlab.full((3, 2), 3.0))
    assert tensorlab.equal(layer.weight, tensorlab.full((3, 2), 8.0))


def test_removing_leaves_the_value_or_the_original():
    for leave, factor in ((True, 1.0), (False, 0.5)):
        layer = nn.Linear(2, 3)
        weight, values = layer.weight, layer.weight.detach().clone()
        register(layer, "weight", Twice())
        assert nn.utils.parametrize.is_parametrized(layer)
        assert nn.utils.parametrize.is_parametrized(layer, "weight")
        assert not nn.utils.parametrize.is_parametrized(layer, "bias")
        nn.utils.parametrize.remove_parametrizations(layer, "weight", leave)
        assert type(layer) is nn.Linear
        assert layer.weight is weight
        assert tensorlab.equal(layer.weight, values * factor)
        assert not nn.utils.parametrize.is_parametrized(layer)
    layer = register(nn.Linear(2, 3), "weight", Sum())
    with pytest.raises(ValueError, match="sequence of tensors"):
        nn.utils.parametrize.remove_parametrizations(layer, "weight", False)
    nn.utils.parametrize.remove_parametrizations(layer, "weight")
    assert isinstance(layer.weight, nn.Parameter)
    with pytest.raises(ValueError, match="does not have a parametrization on 'weight'"):
        nn.utils.parametrize.remove_parametrizations(layer, "weight")


def test_one_of_two_parametrizations_is_removed():
    layer = nn.Linear(2, 3)
    register(layer, "weight", Twice())
    register(layer, "bias", Twice())
    nn.utils.parametrize.remove_parametrizations(layer, "weight")
    assert type(layer).__name__ == "ParametrizedLinear"
    assert nn.utils.parametrize.type_before_parametrizations(layer) is nn.Linear
    assert isinstance(layer.weight, nn.Parameter)
    assert layer(tensorlab.ones(2)).shape == (3,)


def test_the_value_is_computed_once_in_a_cache():
    calls = []

    class Counts(nn.Module):
        def forward(self, x):
            calls.append(1)
            return x + 0

    layer = register(nn.Linear(2, 2), "weight", Counts(), unsafe=True)
    for depth in (0, 1):
        calls.clear()
        if depth:
            with nn.utils.parametrize.cached(), nn.utils.parametrize.cached():
                assert layer.weight is layer.weight
            assert layer.weight is not layer.weight
            assert len(calls) == 3
        else:
            assert layer.weight is not layer.weight
            assert len(calls) == 2


def test_a_cache_keeps_layers_and_names_apart():
    one, other = (register(nn.Linear(2, 2), "weight", Twice()) for _ in range(2))
    register(one, "bias", Twice())
    with nn.utils.parametrize.cached():
        for layer in (one, other, one):
            assert tensorlab.equal(layer.weight, 2 * layer.parametrizations.weight.original)
        assert tensorlab.equal(one.bias, 2 * one.parametrizations.bias.original)
        assert one.weight is not other.weight
        assert one.weight is one.weight


def test_a_cache_does_not_take_a_new_layer_for_one_that_is_gone():
    with nn.utils.parametrize.cached():
        for value in range(20):
            layer = register(nn.Linear(2, 2), "weight", Twice())
            with tensorlab.no_grad():
                layer.parametrizations.weight.original.fill_(value)
            assert layer.weight[0, 0] == 2 * value
            del layer


def test_copies_are_independent_and_pickling_is_refused():
    layer = nn.utils.parametrizations.weight_norm(nn.Linear(2, 3))
    twin = copy.deepcopy(layer)
    assert type(twin) is type(layer)
    assert tensorlab.equal(twin.weight, layer.weight)
    with tensorlab.no_grad():
        twin.parametrizations.weight.original0.fill_(0)
    assert not tensorlab.equal(twin.weight, layer.weight)
    with pytest.raises(RuntimeError, match="only supported through state_dict"):
        pickle.dumps(layer)


def test_parametrizations_go_to_another_module():
    source = nn.utils.parametrizations.weight_norm(nn.Linear(2, 3))
    target = nn.Linear(2, 3)
    nn.utils.parametrize.transfer_parametrizations_and_params(source, target)
    assert tensorlab.equal(source.weight, target.weight)
    assert type(target).__name__ == "ParametrizedLinear"
    before = target.weight.detach().clone()
    with tensorlab.no_grad():
        source.parametrizations.weight.original0.fill_(0)
    assert tensorlab.equal(target.weight, before)
    plain = nn.Linear(2, 3)
    assert nn.utils.parametrize.transfer_parametrizations_and_params(plain, target) is target


class Wider(nn.Module):
    def forward(self, x):
        return x.repeat(1, 2)


class Half(nn.Module):
    def forward(self, x):
        return x.half()


class NoTensor(nn.Module):
    def forward(self, x):
        return 1


class InverseInHalf(OneWay):
    def right_inverse(self, x):
        return x.half()


class InverseNone(OneWay):
    def right_inverse(self, x):
        return None


class InverseOfNumbers(OneWay):
    def right_inverse(self, x):
        return [1, 2]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (Wider, "may not change the shape"),
        (Half, "may not change the dtype"),
        (NoTensor, "must return a tensor, but it returned a int"),
        (InverseInHalf, "has dtype tensorlab.float16, while `original` has"),
        (InverseNone, "right_inverse returned a NoneType"),
        (InverseOfNumbers, "element 0 is a int"),
    ],
)
def test_a_function_that_does_not_fit_is_refused_and_nothing_is_changed(function, message):
    layer = nn.Linear(2, 3)
    weight = layer.weight
    values = weight.detach().clone()
    with pytest.raises(ValueError, match=message):
        register(layer, "weight", function())
    assert type(layer) is nn.Linear
    assert layer.weight is weight
    assert tensorlab.equal(weight, values)


def test_a_second_function_that_does_not_fit_is_refused():
    layer = register(nn.Linear(2, 3), "weight", Twice())
    for function in (Wider, Half, NoTensor, InverseInHalf):
        with pytest.raises(ValueError, match="may not change|must return"):
            register(layer, "weight", function())
    assert len(layer.parametrizations.weight) == 1
    register(layer, "weight", Wider(), unsafe=True)
    assert layer.weight.shape == (3, 4)
    assert layer.parametrizations.weight.unsafe


def test_bad_calls_say_what_is_missing():
    with pytest.raises(ValueError, match="does not have a parameter"):
        register(nn.Linear(2, 3), "weights", Twice())
    layer = register(nn.Linear(2, 3), "weight", OneWay())
    with pytest.raises(RuntimeError, match="OneWay does not implement right_inverse"):
        layer.weight = tensorlab.ones(3, 2)
    with pytest.raises(ValueError, match="there is no module"):
        nn.utils.parametrize.ParametrizationList([], tensorlab.ones(1))
    for name in ("orthogonal", "spectral_norm"):
        with pytest.raises(ValueError, match="no parameter or buffer with name 'weights'"):
            getattr(nn.utils.parametrizations, name)(nn.Linear(2, 3), "weights")
    with pytest.raises(ValueError, match="has 1 dimensions"):
        nn.utils.parametrizations.orthogonal(nn.Linear(2, 3), "bias")
    with pytest.raises(ValueError, match="orthogonal_map is 'qr'"):
        nn.utils.parametrizations.orthogonal(nn.Linear(2, 3), orthogonal_map="qr")
    with pytest.raises(IndexError, match="dim is 2"):
        nn.utils.parametrizations.spectral_norm(nn.Linear(2, 3), dim=2)
    with pytest.raises(ValueError, match="n_power_iterations is 0"):
        nn.utils.parametrizations.spectral_norm(nn.Linear(2, 3), n_power_iterations=0)


def test_an_orthogonal_matrix_can_be_assigned():
    layer = nn.utils.parametrizations.orthogonal(nn.Linear(3, 3).double())
    swap = tensorlab.eye(3, dtype=tensorlab.float64)[[1, 0, 2]]
    layer.weight = swap
    tensorlab.testing.assert_close(layer.weight, swap)
    with pytest.raises(ValueError, match=r"of shape \(3, 3\), but a tensor of shape \(2, 3\)"):
        layer.weight = swap[:2]
    plain = nn.utils.parametrizations.orthogonal(
        nn.Linear(3, 3), orthogonal_map="cayley", use_trivialization=False
    )
    with pytest.raises(NotImplementedError, match="use_trivialization=False"):
        plain.weight = swap.float()


def test_buffers_can_be_parametrized():
    module = nn.BatchNorm1d(3)
    register(module, "running_mean", Twice())
    assert [name for name, _ in module.named_buffers()] == [
        "running_var",
        "num_batches_tracked",
        "parametrizations.running_mean.original",
    ]
