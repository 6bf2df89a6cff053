"""Random tensors: after equal seeds PyTorch's, in every layout and dtype, from as many words."""

import pytest

import tensorlab
from tests.ops.agreement import agree
from tests.oracle import require_torch

SHAPES = [(), (0,), (3,), (15,), (16,), (17,), (40,), (4, 5), (64, 33)]
FLOATS = ["float64", "float32", "float16", "bfloat16"]


def seeded(call, **options):
    """The call after a seed, and what the stream gives next."""

    def program(T):
        T.manual_seed(7)
        return call(T), T.rand(3, dtype=T.float64)

    agree(program, tolerance=3e-6, **options)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", FLOATS)
def test_factories_draw_what_pytorch_draws(shape, dtype):
    seeded(lambda T: T.rand(shape, dtype=getattr(T, dtype)))
    seeded(lambda T: T.randn(shape, dtype=getattr(T, dtype)))
    seeded(lambda T: T.randint(-3, 200, shape, dtype=getattr(T, dtype)))


FILLS = {
    "uniform_": lambda x: x.uniform_(-1, 2),
    "normal_": lambda x: x.normal_(1, 0.5),
    "log_normal_": lambda x: x.log_normal_(0, 0.5),
    "cauchy_": lambda x: x.cauchy_(),
    "exponential_": lambda x: x.exponential_(2),
    "geometric_": lambda x: x.geometric_(0.3),
    "bernoulli_": lambda x: x.bernoulli_(0.3),
    "random_": lambda x: x.random_(),
    "random_ to": lambda x: x.random_(2),
}
LAYOUTS = {
    "transposed": lambda T, dtype: T.zeros(5, 4, dtype=dtype).t(),
    "stepped": lambda T, dtype: T.zeros(4, 10, dtype=dtype)[:, ::2],
    "stepped and transposed": lambda T, dtype: T.zeros(4, 10, dtype=dtype)[:, ::2].t(),
    "permuted": lambda T, dtype: T.zeros(2, 3, 4, dtype=dtype).permute(1, 2, 0),
    "expanded": lambda T, dtype: T.zeros(1, dtype=dtype).expand(3),
    "empty": lambda T, dtype: T.zeros(0, 3, dtype=dtype),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("fill", FILLS)
def test_fills_follow_the_order_of_memory(fill, layout):
    for dtype in ("float32", "float64", "int64"):
        seeded(lambda T, dtype=dtype: FILLS[fill](LAYOUTS[layout](T, getattr(T, dtype))))


OVERWRITTEN = {**FILLS, "zero_": lambda x: x.zero_(), "fill_": lambda x: x.fill_(2)}


@pytest.mark.parametrize("fill", OVERWRITTEN)
def test_the_gradient_of_what_is_overwritten_is_0_in_the_layout_of_the_gradient(fill):
    x = tensorlab.rand(3, 2, requires_grad=True)
    y = x.t() * 1
    square = OVERWRITTEN[fill](y.clone()) * y.detach()
    (gradient,) = tensorlab.autograd.grad(square, y, y.detach(), create_graph=True)
    assert gradient.stride() == y.stride() == (1, 2)
    assert not gradient.any()
    assert not gradient.requires_grad


@pytest.mark.parametrize(
    "dtype", ["float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool"]
)
@pytest.mark.parametrize("fill", FILLS)
def test_fills_of_other_dtypes_do_what_pytorch_does(fill, dtype):
    if (fill, dtype) == ("geometric_", "bool"):
        pytest.skip("PyTorch casts numbers above 1 to bool, which C++ leaves open")
    seeded(lambda T: FILLS[fill](T.zeros(40, dtype=getattr(T, dtype))))


CALLS = {
    "rand integers": lambda T: T.rand(2, dtype=T.int64),
    "rand no size": lambda T: T.rand(),
    "rand requires grad": lambda T: T.rand(3, requires_grad=True),
    "rand out": lambda T: T.rand(3, out=T.zeros(3)),
    "rand generator": lambda T: T.rand(3, generator=T.Generator().manual_seed(3)),
    "rand_like": lambda T: T.rand_like(T.zeros(2, 3).t()),
    "rand_like dtype": lambda T: T.rand_like(T.zeros(2, dtype=T.int64), dtype=T.float32),
    "rand_like integers": lambda T: T.rand_like(T.zeros(2, dtype=T.int64)),
    "randn_like": lambda T: T.randn_like(T.zeros(5, 4).t()),
    "randint_like": lambda T: T.randint_like(T.zeros(3), 2, 5),
    "randint": lambda T: T.randint(2, 5, (3,)),
    "randint named": lambda T: T.randint(low=0, high=3, size=(2,)),
    "randint empty range": lambda T: T.randint(5, 5, (3,)),
    "randint negative": lambda T: T.randint(-3, (2,)),
    "randint int size": lambda T: T.randint(3, 2),
    "randint bool": lambda T: T.randint(2, (9,), dtype=T.bool),
    "randint too large": lambda T: T.randint(300, (2,), dtype=T.uint8),
    "randint wide": lambda T: T.randint(-(2**62), 2**62, (5,)),
    "randperm": lambda T: T.randperm(100),
    "randperm int32": lambda T: T.randperm(5, dtype=T.int32),
    "randperm float": lambda T: T.randperm(5, dtype=T.float32),
    "randperm negative": lambda T: T.randperm(-1),
    "randperm none": lambda T: T.randperm(0),
    "randperm too many": lambda T: T.randperm(300, dtype=T.uint8),
    "uniform bounds": lambda T: T.zeros(3).uniform_(2, 1),
    "uniform infinite": lambda T: T.zeros(3).uniform_(0, float("inf")),
    "uniform nan": lambda T: T.zeros(3).uniform_(float("nan"), 1),
    "uniform from": lambda T: T.zeros(3).uniform_(**{"from": 1, "to": 2}),
    "uniform leaf": lambda T: T.zeros(3, requires_grad=True).uniform_(),
    "normal negative": lambda T: T.zeros(3).normal_(0, -1),
    "exponential 0": lambda T: T.zeros(3).exponential_(0),
    "cauchy 0": lambda T: T.zeros(3).cauchy_(0, 0),
    "log_normal negative": lambda T: T.zeros(3).log_normal_(0, -1),
    "geometric 0": lambda T: T.zeros(3).geometric_(0),
    "random bounds": lambda T: T.zeros(3).random_(5, 2),
    "random too large": lambda T: T.zeros(3, dtype=T.uint8).random_(300),
    "random rounds": lambda T: T.zeros(3, dtype=T.float16).random_(0, 5000),
    "random wide": lambda T: T.zeros(3).random_(0, 2**30),
    "bernoulli p": lambda T: T.zeros(3).bernoulli_(2),
    "bernoulli tensor": lambda T: T.zeros(3, 2).bernoulli_(T.tensor([0.1, 0.5])),
    "bernoulli double": lambda T: T.zeros(3).bernoulli_(T.tensor([0.1, 0.5, 0.9], dtype=T.float64)),
    "bernoulli shapes": lambda T: T.zeros(3, 1).bernoulli_(T.tensor([0.1, 0.5])),
    "bernoulli of": lambda T: T.bernoulli(T.tensor([[0.1, 0.5, 0.9], [0.2, 0.3, 0.4]]).t()),
    "bernoulli of integers": lambda T: T.bernoulli(T.tensor([1, 0])),
    "bernoulli with p": lambda T: T.bernoulli(T.tensor([0.1, 0.5]), p=0.5),
    "bernoulli is followed": lambda T: T.bernoulli(T.tensor([0.1, 0.5], requires_grad=True)),
    "normal of tensors": lambda T: T.normal(T.zeros(2, 1), T.ones(3)),
    "normal of mean": lambda T: T.normal(T.arange(3.0), 2.0),
    "normal of std": lambda T: T.normal(1.0, T.arange(3.0)),
    "normal of numbers": lambda T: T.normal(0, 1, (20,), dtype=T.float64),
    "normal without size": lambda T: T.normal(0.0, 1.0),
    "normal negative std": lambda T: T.normal(T.zeros(3), -T.ones(3)),
    "normal of integers": lambda T: T.normal(T.zeros(3, dtype=T.int64), T.ones(3)),
    "multinomial": lambda T: T.multinomial(T.tensor([0.1, 0.2, 0.7]), 2),
    "multinomial one": lambda T: T.multinomial(T.tensor([[0.1, 0.2, 0.7], [0, 0, 1]]), 1),
    "multinomial replaces": lambda T: T.multinomial(
        T.tensor([[0.1, 0.2, 0.7], [1, 0, 1]]), 50, True
    ),
    "multinomial in blocks": lambda T: T.multinomial(T.arange(66.0).reshape(2, 33), 600, True),
    "multinomial too many": lambda T: T.multinomial(T.tensor([0.1, 0.2, 0.7]), 4),
    "multinomial zeros": lambda T: T.multinomial(T.zeros(3), 1),
    "multinomial negative": lambda T: T.multinomial(T.tensor([-1.0, 0, 2]), 1),
    "multinomial integers": lambda T: T.multinomial(T.tensor([1, 2]), 1),
    "multinomial no rows": lambda T: T.multinomial(T.ones(0, 3), 1),
    "dropout": lambda T: T.dropout(T.ones(4, 5).t(), 0.3, True),
    "dropout 0": lambda T: T.dropout(T.ones(5), 0.0, True),
    "dropout 1": lambda T: T.dropout(T.ones(5), 1.0, True),
    "dropout 2": lambda T: T.dropout(T.ones(5), 2.0, True),
    "dropout off": lambda T: T.dropout(T.ones(5), 0.5, False),
    "dropout_": lambda T: T.dropout_(T.ones(5), 0.5, True),
    "dropout half": lambda T: T.dropout(T.ones(5, dtype=T.float16), 0.5, True),
    "feature_dropout": lambda T: T.feature_dropout(T.ones(2, 3, 2), 0.5, True),
    "feature_dropout 1-d": lambda T: T.feature_dropout(T.ones(2), 0.5, True),
    "alpha_dropout": lambda T: T.alpha_dropout(T.arange(6.0), 0.4, True),
    "alpha_dropout_": lambda T: T.alpha_dropout_(T.arange(6.0), 0.4, True),
    "feature_alpha_dropout_": lambda T: T.feature_alpha_dropout_(T.ones(2, 3, 2), 0.3, True),
    "feature_dropout_": lambda T: T.feature_dropout_(T.arange(12.0).view(2, 3, 2), 0.3, True),
    "rrelu": lambda T: T.rrelu(T.arange(-6.0, 6.0).view(3, 4).t(), 0.1, 0.6, True),
    "rrelu default": lambda T: T.rrelu(T.arange(-6.0, 6.0), training=True),
    "rrelu_ default": lambda T: T.rrelu_(T.arange(-6.0, 6.0), training=True),
    "rrelu off": lambda T: T.rrelu(T.arange(-6.0, 6.0)),
    "rrelu_ off": lambda T: T.rrelu_(T.arange(-6.0, 6.0)),
    "rrelu double": lambda T: T.rrelu(T.arange(-6, 6, dtype=T.float64), 0.1, 0.6, True),
    "rrelu bfloat16": lambda T: T.rrelu(T.arange(-60, 6, dtype=T.bfloat16), training=True),
    "rrelu equal": lambda T: T.rrelu(T.arange(-6.0, 6.0), 0.5, 0.5, True),
    "rrelu nan": lambda T: T.rrelu(T.tensor([float("nan"), -float("inf")]), training=True),
    "rrelu nothing": lambda T: T.rrelu(T.zeros(0, 3), training=True),
    "rrelu bounds": lambda T: T.rrelu(T.arange(-6.0, 6.0), 0.6, 0.5),
    "rrelu infinite": lambda T: T.rrelu(T.arange(-6.0, 6.0), 0.6, float("inf"), True),
    "rrelu nan bound": lambda T: T.rrelu(T.arange(-6.0, 6.0), float("nan"), 1.0, True),
    "rrelu integers": lambda T: T.rrelu(T.arange(-6, 6)),
    "rrelu generator": lambda T: T.rrelu(
        T.arange(-6.0, 6.0), training=True, generator=T.Generator().manual_seed(3)
    ),
    "rrelu_": lambda T: T.rrelu_(T.arange(-6.0, 6.0).view(3, 4).t(), 0.1, 0.6, True),
    "rrelu_ bounds": lambda T: T.rrelu_(T.arange(-6.0, 6.0), 0.6, 0.5),
    "rrelu_ generator": lambda T: T.rrelu_(
        T.arange(-6.0, 6.0), training=True, generator=T.Generator().manual_seed(3)
    ),
    "rrelu of functional": lambda T: T.nn.functional.rrelu(T.arange(-6.0, 6.0), 0.1, 0.6, True),
    "gumbel_softmax": lambda T: T.nn.functional.gumbel_softmax(T.arange(12.0).view(3, 4)),
    "gumbel_softmax tau": lambda T: T.nn.functional.gumbel_softmax(
        T.arange(12.0).view(3, 4).t(), 0.3, dim=0
    ),
    "gumbel_softmax hard": lambda T: T.nn.functional.gumbel_softmax(
        T.arange(60.0).view(3, 4, 5).sin().transpose(0, 2), 2.0, True, dim=1
    ),
    "gumbel_softmax half": lambda T: T.nn.functional.gumbel_softmax(T.ones(9, dtype=T.bfloat16)),
    "gumbel_softmax number": lambda T: T.nn.functional.gumbel_softmax(T.tensor(1.0), hard=True),
    "gumbel_softmax integers": lambda T: T.nn.functional.gumbel_softmax(T.arange(3)),
    "gumbel_softmax dim": lambda T: T.nn.functional.gumbel_softmax(T.ones(3), dim=1),
    "feature_alpha_dropout": lambda T: T.feature_alpha_dropout(T.ones(2, 3, 2), 0.4, True),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_draws_what_pytorch_draws_and_raises_where_it_raises(name):
    theirs = require_torch()

    def program(T):
        T.manual_seed(7)
        return CALLS[name](T)

    agree(program, tolerance=3e-6)
    try:
        program(theirs)
        program(tensorlab)
    except Exception:
        return
    assert tensorlab.rand(()).item() == theirs.rand(()).item(), "words consumed"


def test_slopes_of_doubles_have_the_digits_of_doubles():
    tensorlab.manual_seed(7)
    slopes = -tensorlab.rrelu(tensorlab.full([9], -1.0, dtype=tensorlab.float64), 0.1, 0.6, True)
    assert (slopes != slopes.float()).all()


def test_fills_take_the_gradient_to_zero():
    def program(T):
        T.manual_seed(7)
        x = T.ones(3, requires_grad=True)
        (x * 1).uniform_().sum().backward()
        y = T.ones(3, requires_grad=True)
        T.normal(y, 1.0).sum().backward()
        z = T.full((3,), 0.5, requires_grad=True)
        T.bernoulli(z).sum().backward()
        return x.grad.tolist(), y.grad.tolist(), z.grad.tolist()

    agree(program)


def test_the_default_stream_can_be_seeded_saved_and_set_back():
    tensorlab.manual_seed(-5)
    assert tensorlab.initial_seed() == 2**64 - 5
    state = tensorlab.get_rng_state()
    assert (state.dtype, tuple(state.shape)) == (tensorlab.uint8, (5056,))
    first = tensorlab.rand(5).tolist()
    tensorlab.set_rng_state(state)
    assert tensorlab.rand(5).tolist() == first
    with pytest.raises(TypeError):
        tensorlab.set_rng_state(tensorlab.zeros(5056))
    with pytest.raises(RuntimeError):
        tensorlab.set_rng_state(tensorlab.zeros(3, dtype=tensorlab.uint8))
    with tensorlab.random.fork_rng():
        expected = tensorlab.rand(2).tolist()
        tensorlab.manual_seed(1)
    assert tensorlab.rand(2).tolist() == expected


def test_pytorch_takes_our_state_and_goes_on_as_we_do():
    torch = require_torch()
    tensorlab.manual_seed(3)
    tensorlab.randn(5)
    torch.set_rng_state(torch.tensor(tensorlab.get_rng_state().tolist(), dtype=torch.uint8))
    assert tensorlab.rand(9).tolist() == torch.rand(9).tolist()


@pytest.mark.parametrize(
    "draw",
    [
        lambda T, x: T.normal(x, x),
        lambda T, x: T.normal(x, 2.0),
        lambda T, x: T.normal(0.0, x),
        lambda T, x: x.clone().normal_(),
    ],
    ids=["mean and std", "mean", "std", "in place"],
)
def test_the_nodes_of_normal_have_the_names_of_pytorch(draw):
    def name(T):
        return draw(T, T.ones(2, requires_grad=True)).grad_fn.name()

    assert name(tensorlab) == name(require_torch())


def test_a_leaf_is_refused_by_the_name_that_was_called():
    with pytest.raises(RuntimeError, match="^normal_: a leaf"):
        tensorlab.ones(2, requires_grad=True).normal_()


def test_a_probability_is_refused_by_the_name_that_was_called():
    for draw, name in (
        (tensorlab.bernoulli, "bernoulli"),
        (tensorlab.Tensor.bernoulli_, "bernoulli_"),
    ):
        with pytest.raises(RuntimeError, match=f"^{name}: p must lie from 0 to 1, not be 2"):
            draw(tensorlab.zeros(3), 2)


@pytest.mark.parametrize(
    "draw",
    [
        lambda T, p: T.bernoulli(p),
        lambda T, p: T.zeros(3).bernoulli_(p),
        lambda T, p: (p * 1).bernoulli_(0.5),
        lambda T, p: (p * 1).bernoulli_(p),
    ],
    ids=["bernoulli", "bernoulli_ with p", "bernoulli_ with a number", "bernoulli_ of p with p"],
)
def test_what_is_drawn_is_recorded_and_its_gradient_is_0(draw):
    def program(T):
        p = T.full((3,), 0.5, requires_grad=True)
        drawn = draw(T, p)
        drawn.sum().backward()
        return [
            type(drawn.grad_fn).__name__ if T is not tensorlab else drawn.grad_fn.name(),
            p.grad.tolist(),
        ]

    agree(program)


@pytest.mark.parametrize(
    "bounds", [{"args": (5,)}, {"args": (2, 9)}, {"args": (), "high": 4}, {"args": (1,), "high": 7}]
)
def test_the_bounds_of_randint_like_can_be_given_in_several_ways(bounds):
    args, options = bounds["args"], {key: value for key, value in bounds.items() if key != "args"}
    seeded(lambda T: T.randint_like(T.zeros(40), *args, **options))


def test_a_size_can_be_given_by_name_to_random_factories():
    for name in ("rand", "randn"):
        seeded(lambda T, name=name: getattr(T, name)(size=(3, 2)))
        seeded(lambda T, name=name: getattr(T, name)((3, 2)))


RANDOM_ACTIVATIONS = {
    "rrelu": lambda T, x: T.rrelu(x, 0.1, 0.6, True),
    "rrelu_": lambda T, x: T.rrelu_(x * 1, 0.1, 0.6, True),
    "rrelu inplace": lambda T, x: T.nn.functional.rrelu(x * 1, 0.1, 0.6, True, inplace=True),
    "rrelu off": lambda T, x: T.nn.functional.rrelu(x, 0.1, 0.6),
    "gumbel_softmax": lambda T, x: T.nn.functional.gumbel_softmax(x, 0.5),
    "gumbel_softmax hard": lambda T, x: T.nn.functional.gumbel_softmax(x, hard=True),
}


@pytest.mark.parametrize("name", RANDOM_ACTIVATIONS)
def test_the_gradient_of_a_random_activation_is_pytorchs(name):
    def program(T):
        T.manual_seed(7)
        x = T.arange(-6.0, 6.0).view(3, 4).t().requires_grad_()
        out = RANDOM_ACTIVATIONS[name](T, x)
        (gradient,) = T.autograd.grad(out, x, T.arange(12.0).view(4, 3).cos())
        return out.detach(), gradient.tolist()

    agree(program, tolerance=3e-6)


def test_an_activation_in_place_gives_its_input():
    x = tensorlab.arange(-6.0, 6.0)
    assert tensorlab.nn.functional.rrelu(x, training=True, inplace=True) is x
    assert tensorlab.rrelu_(x) is x
    assert tensorlab.rrelu(x) is not x


def test_random_slopes_need_no_values_on_meta():
    x = tensorlab.empty(2, 3, device="meta", dtype=tensorlab.bfloat16)
    out = tensorlab.rrelu(x, training=True)
    assert (out.shape, out.dtype, out.device.type) == ((2, 3), tensorlab.bfloat16, "meta")


def test_slopes_that_cannot_be_drawn_are_refused_by_name():
    for function in (tensorlab.rrelu, tensorlab.rrelu_):
        name = function.__name__
        with pytest.raises(RuntimeError, match=f"^{name}: lower is 2.0 and upper is 1.0; expected"):
            function(tensorlab.ones(3), 2.0, 1.0)
        with pytest.raises(NotImplementedError, match=f"^{name}: the input is of type"):
            function(tensorlab.arange(3))


def test_the_eps_of_gumbel_softmax_has_no_effect_and_warns():
    logits = tensorlab.arange(3.0)
    tensorlab.manual_seed(7)
    expected = tensorlab.nn.functional.gumbel_softmax(logits)
    tensorlab.manual_seed(7)
    with pytest.warns(UserWarning, match="gumbel_softmax: eps is deprecated"):
        assert tensorlab.nn.functional.gumbel_softmax(logits, eps=1e-3).equal(expected)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_no_index_without_weight_is_drawn_where_none_is_put_back(dtype):
    """PyTorch draws them after all others."""
    kind = getattr(tensorlab, dtype)
    for weights, n in (([1.0, 0.0], 2), ([[1.0, 1.0], [1.0, 0.0]], 2), ([0.0, 3.0, 1.0], 3)):
        x = tensorlab.tensor(weights, dtype=kind)
        with pytest.raises(RuntimeError, match=f"{n} samples without replacement"):
            tensorlab.multinomial(x, n)
        assert x[..., 0].numel() * n == tensorlab.multinomial(x, n, replacement=True).numel()
    drawn = tensorlab.multinomial(tensorlab.tensor([0.0, 3.0, 1.0], dtype=kind), 2)
    assert sorted(drawn.tolist()) == [1, 2]
