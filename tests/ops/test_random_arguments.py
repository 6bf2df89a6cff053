"""Every argument of every random function, and its bounds: what PyTorch draws, and errors where PyTorch raises."""

import pytest
from tensorlab._core.dispatch.op import REGISTRY

import tensorlab
from tests.ops.agreement import agree

INTEGERS = {"uint8": (0, 2**8), "int8": (-(2**7), 2**7), "int16": (-(2**15), 2**15)} | {
    "int32": (-(2**31), 2**31),
    "int64": (-(2**63), 2**63),
    "bool": (0, 2),
}
EXACT = {"float16": 2**11, "bfloat16": 2**8, "float32": 2**24, "float64": 2**53}


def seeded(call):
    """The call after a seed, and what the stream gives next."""

    def program(T):
        T.manual_seed(7)
        return call(T), T.rand(3, dtype=T.float64)

    agree(program, tolerance=3e-6)


# ---------------------------------------------------------------- bounds of integers
INTEGER_DRAWS = {
    "randint": lambda T, dtype, low, high: T.randint(low, high, (40,), dtype=dtype),
    "randint_like": lambda T, dtype, low, high: T.randint_like(T.zeros(40, dtype=dtype), low, high),
    "random_": lambda T, dtype, low, high: T.zeros(40, dtype=dtype).random_(low, high),
}


@pytest.mark.parametrize("draw", INTEGER_DRAWS)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_reach_the_bounds_of_their_type_and_not_beyond(dtype, draw):
    least, stop = INTEGERS[dtype]
    bounds = [(least, stop), (stop - 1, stop), (least, least + 1), (stop - 3, stop), (0, 1), (1, 1)]
    if dtype != "int64":
        bounds += [(least - 1, stop), (least, stop + 1), (stop, stop + 1), (least - 1, least)]
    for low, high in bounds:
        if high < 2**63:
            seeded(lambda T, b=(low, high): INTEGER_DRAWS[draw](T, getattr(T, dtype), *b))


@pytest.mark.parametrize("dtype", EXACT)
def test_floats_are_drawn_from_integers_that_they_hold(dtype):
    exact = EXACT[dtype]
    bounds = [
        (0, exact),
        (-exact, exact),
        (exact - 3, exact),
        (-exact, 3 - exact),
        (-3, exact // 2),
    ]
    for low, high in bounds:
        seeded(lambda T, b=(low, high): T.randint(*b, (40,), dtype=getattr(T, dtype)))
        seeded(lambda T, b=(low, high): T.zeros(40, dtype=getattr(T, dtype)).random_(*b))
    # Beyond, the result is as random, rounded to the type, and inside of the bounds.
    for low, high in [
        (-exact - 1, exact + 2),
        (-2 * exact - 1, 2 * exact + 1),
        (-5 * exact + 3, 7),
    ]:
        drawn = tensorlab.randint(low, high, (2000,), dtype=getattr(tensorlab, dtype))
        assert all(low <= number < high for number in drawn.tolist())


@pytest.mark.parametrize("dtype", [*INTEGERS, *EXACT])
def test_random_without_bounds_draws_what_the_type_holds(dtype):
    for bounds in [(), (3, None), (0, None)]:
        if (dtype, bounds) != ("bool", (3, None)):
            seeded(lambda T, b=bounds: T.zeros(400, dtype=getattr(T, dtype)).random_(*b))


@pytest.mark.parametrize("range_", [2**28 - 1, 2**28, 2**31, 2**32 - 1, 2**32 + 5])
def test_a_range_takes_one_word_or_two(range_):
    seeded(lambda T: T.randint(-5, range_ - 5, (600,)))


BOUNDS_OF_INTEGERS = {
    "two": lambda draw: draw(2, 9),
    "one": lambda draw: draw(5),
    "high": lambda draw: draw(high=5),
    "low and high": lambda draw: draw(low=-2, high=5),
    "one and high": lambda draw: draw(2, high=5),
    "one and low": lambda draw: draw(5, low=2),
    "one, low and high": lambda draw: draw(2, low=0, high=7),
    "none": lambda draw: draw(),
    "low": lambda draw: draw(low=2),
    "three": lambda draw: draw(1, 2, 3),
    "two and high": lambda draw: draw(1, 2, high=3),
    "float": lambda draw: draw(2.5),
    "float low": lambda draw: draw(0.5, 3),
    "text": lambda draw: draw("5"),
}


@pytest.mark.parametrize("bounds", BOUNDS_OF_INTEGERS)
def test_bounds_can_be_given_in_the_ways_of_pytorch(bounds):
    give = BOUNDS_OF_INTEGERS[bounds]
    seeded(lambda T: give(lambda *args, **named: T.randint_like(T.zeros(40), *args, **named)))
    seeded(lambda T: give(lambda *args, **named: T.randint(*args, size=(40,), **named)))
    if "high" not in bounds and "low" not in bounds:
        seeded(lambda T: give(T.zeros(40).random_))
    if bounds not in ("none", "low") and "high" not in bounds:
        seeded(lambda T: give(lambda *args, **named: T.randint(*args, (40,), **named)))


RANDOM_BOUNDS = {
    "to": lambda x: x.random_(to=5),
    "from and to": lambda x: x.random_(2, to=5),
    "named": lambda x: x.random_(**{"from": 2, "to": 5}),
    "from": lambda x: x.random_(**{"from": 2, "to": None}),
    "None": lambda x: x.random_(None),
    "float": lambda x: x.random_(2.5),
    "from, a float": lambda x: x.random_(0.5, 3),
    "from, a text": lambda x: x.random_("2", 3),
    "unknown": lambda x: x.random_(form=2, to=5),
    "three": lambda x: x.random_(1, 2, 3),
    "two and to": lambda x: x.random_(1, 2, to=3),
    "empty": lambda x: x.random_(0),
}


@pytest.mark.parametrize("bounds", RANDOM_BOUNDS)
def test_bounds_of_random_(bounds):
    for dtype in ("int64", "uint8"):
        seeded(lambda T, dtype=dtype: RANDOM_BOUNDS[bounds](T.zeros(40, dtype=getattr(T, dtype))))


# ---------------------------------------------------------------- bounds of other parameters
INF, NAN = float("inf"), float("nan")
LARGEST = {
    "float16": 65504.0,
    "bfloat16": 3.4028234663852886e38,
    "float32": 3.4028234663852886e38,
} | {"float64": 1.7976931348623157e308}
PARAMETERS = {
    "normal_": [(0, 0), (0, -1e-300), (0, INF), (0, NAN), (NAN, 1), (-2, 3)],
    "log_normal_": [(0, 1e-300), (0, 0), (0, -1), (0, NAN), (-1, 0.5)],
    "cauchy_": [(0, 1e-300), (0, 0), (0, -1), (0, NAN), (2, 3)],
    "exponential_": [(1e-300,), (0,), (-1,), (NAN,), (3,)],
    "geometric_": [(1e-9,), (0,), (1,), (1 - 2**-53,), (1.5,), (-0.5,), (NAN,), (0.7,)],
    "bernoulli_": [(0,), (1,), (-1e-9,), (1 + 1e-9,), (NAN,), (0.7,)],
    "uniform_": [(0, 0), (2, 1), (1, 2), (0, INF), (-INF, 0), (INF, 0), (0, NAN), (NAN, 0)],
}


@pytest.mark.parametrize("fill", PARAMETERS)
def test_parameters_of_a_fill_are_bounded_as_in_pytorch(fill):
    for parameters in PARAMETERS[fill]:
        seeded(lambda T, p=parameters: getattr(T.zeros(20, dtype=T.float64), fill)(*p))


@pytest.mark.parametrize("dtype", LARGEST)
def test_bounds_of_uniform_are_numbers_of_the_type(dtype):
    most = LARGEST[dtype]
    for low, high in [(0, most), (-most, 0), (0, most * 1.001), (-most * 1.001, 0), (most, most)]:
        seeded(lambda T, b=(low, high): T.zeros(9, dtype=getattr(T, dtype)).uniform_(*b))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_uniform_does_not_round_up_to_its_upper_bound(dtype):
    """Half types have few numbers below 1, so many uniform ones would be rounded to it."""
    seeded(lambda T: T.zeros(20000, dtype=getattr(T, dtype)).uniform_())
    seeded(lambda T: T.zeros(20000, dtype=getattr(T, dtype)).uniform_(-3, -1))


@pytest.mark.parametrize("p", [0, 0.2, 1, -1e-9, 1 + 1e-9, NAN])
@pytest.mark.parametrize("alpha", [False, True], ids=["", "alpha"])
@pytest.mark.parametrize("feature", [False, True], ids=["", "feature"])
@pytest.mark.parametrize("in_place", [False, True], ids=["", "in place"])
def test_dropouts_take_a_probability(in_place, feature, alpha, p):
    name = f"{'feature_' if feature else ''}{'alpha_' if alpha else ''}dropout{'_' if in_place else ''}"
    for train in (True, False):
        for shape in [(4, 3, 2), (0, 3), (), (5, 4)]:

            def call(T, train=train, shape=shape):
                x = T.linspace(-2, 3, 24)[: T.empty(shape).numel()].reshape(shape)
                y = getattr(T, name)(x, p, train)
                return y, y is x, x

            seeded(call)


REFUSED = {  # for a tensor whose elements share memory, so both this and the parameter are wrong
    "normal_": lambda x: x.normal_(0, -1),
    "log_normal_": lambda x: x.log_normal_(0, -1),
    "cauchy_": lambda x: x.cauchy_(0, -1),
    "exponential_": lambda x: x.exponential_(-1),
    "geometric_": lambda x: x.geometric_(2),
    "bernoulli_": lambda x: x.bernoulli_(2),
    "uniform_": lambda x: x.uniform_(2, 1),
    "random_": lambda x: x.random_(2, 1),
}
WHAT_IS_WRONG = {
    "normal_": "normal_: std must be at least 0, not -1",
    "log_normal_": "log_normal_: std must be above 0, not -1",
    "cauchy_": "cauchy_: sigma must be above 0, not -1",
    "exponential_": "exponential_: lambd must be above 0, not -1",
    "geometric_": "geometric_: p must lie between 0 and 1, not be 2",
    "bernoulli_": "bernoulli_: p must lie from 0 to 1, not be 2",
    "uniform_": "uniform_: the lower bound 2.0 is above the upper bound 1.0",
    "random_": "random_: no integer is at least 2 and below 1",
}
TO_THE_KERNEL = {
    "normal_": ("normal", (0.0, -1.0)),
    "log_normal_": ("log_normal", (0.0, -1.0)),
    "cauchy_": ("cauchy", (0.0, -1.0)),
    "exponential_": ("exponential", (-1.0,)),
    "geometric_": ("geometric", (2.0,)),
    "bernoulli_": ("bernoulli", (2.0,)),
    "uniform_": ("uniform", (2.0, 1.0)),
    "random_": ("random", (2, 1)),
}


@pytest.mark.parametrize("fill", REFUSED)
def test_a_bad_parameter_is_found_before_memory_that_overlaps(fill):
    with pytest.raises(RuntimeError, match=f"^{WHAT_IS_WRONG[fill]}"):
        REFUSED[fill](tensorlab.zeros(1).expand(3))
    with pytest.raises(RuntimeError, match=f"^{WHAT_IS_WRONG[fill]}"):
        REFUSED[fill](tensorlab.zeros(3, requires_grad=True))


@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize(("shape", "p"), [((3, 2), (3,)), ((2,), (3, 2)), ((1, 2), (4, 2))])
def test_probabilities_that_do_not_fit_are_refused(shape, p, device):
    with pytest.raises(RuntimeError, match="expand"):
        tensorlab.zeros(shape, device=device).bernoulli_(tensorlab.full(p, 0.5, device=device))


@pytest.mark.parametrize("fill", TO_THE_KERNEL)
def test_the_ops_check_their_parameters_themselves(fill):
    op, parameters = TO_THE_KERNEL[fill]
    for name in (op, op + "_"):
        with pytest.raises(
            RuntimeError, match=f"^{name}: {WHAT_IS_WRONG[fill].partition(': ')[2]}"
        ):
            REGISTRY[name](tensorlab.zeros(3), *parameters, None)


FLOATING_ONLY = ["normal_", "log_normal_", "cauchy_", "exponential_", "uniform_"]


@pytest.mark.parametrize("fill", FLOATING_ONLY)
def test_fills_of_floats_refuse_integers_unless_there_are_none(fill):
    for shape in ((3,), (0,)):
        seeded(lambda T, shape=shape: getattr(T.zeros(shape, dtype=T.int64), fill)())
    for name in (fill[:-1], fill):
        parameters = (1.0,) if fill == "exponential_" else (0.5, 1.0)
        with pytest.raises(
            (RuntimeError, TypeError), match=f"^{name}: not implemented for .*int64"
        ):
            REGISTRY[name](tensorlab.zeros(3, dtype=tensorlab.int64), *parameters, None)


# ---------------------------------------------------------------- arguments of factories
FACTORIES = {
    "rand": lambda T, **named: T.rand((3, 7), **named),
    "randn": lambda T, **named: T.randn((3, 7), **named),
    "randint": lambda T, **named: T.randint(2, 50, (3, 7), **named),
    "randperm": lambda T, **named: T.randperm(21, **named),
    "normal": lambda T, **named: T.normal(2.0, 3.0, (3, 7), **named),
    "rand_like": lambda T, **named: T.rand_like(T.zeros(3, 7).t(), **named),
    "randn_like": lambda T, **named: T.randn_like(T.zeros(3, 7).t(), **named),
    "randint_like": lambda T, **named: T.randint_like(T.zeros(3, 7).t(), 2, 50, **named),
}
WITH_OUT = ["rand", "randn", "randint", "randperm", "normal"]
LIKE = ["rand_like", "randn_like", "randint_like"]
OUTS = {
    "a fitting one": lambda T: T.zeros(3, 7),
    "a vector": lambda T: T.zeros(21),
    "an empty one": lambda T: T.zeros(0),
    "a double": lambda T: T.zeros(3, 7, dtype=T.float64),
    "integers": lambda T: T.zeros(3, 7, dtype=T.int64),
    "bytes": lambda T: T.zeros(21, dtype=T.uint8),
    "a transposed one": lambda T: T.zeros(7, 3).t(),
    "every other": lambda T: T.zeros(42)[::2],
    "overlapping": lambda T: T.zeros(7).expand(3, 7),
    "not a tensor": lambda T: 3,
}


@pytest.mark.parametrize("out", OUTS)
@pytest.mark.parametrize("factory", WITH_OUT)
def test_factories_write_to_out_what_pytorch_writes(factory, out):
    def call(T):
        target = OUTS[out](T)
        made = FACTORIES[factory](T, out=target)
        return made.clone(), made.stride(), made is target, target.tolist()

    if (factory, out) != ("randperm", "overlapping"):
        seeded(call)


@pytest.mark.parametrize("factory", FACTORIES)
def test_factories_take_what_all_factories_take(factory):
    make = FACTORIES[factory]
    floats = ("float64", "float16", "bfloat16")
    for dtype in (*floats, "int64", "int32", "uint8", "bool"):
        seeded(lambda T, dtype=dtype: make(T, dtype=getattr(T, dtype)))
    seeded(lambda T: make(T, dtype=T.float64, requires_grad=True))
    seeded(lambda T: make(T, dtype=T.int64, requires_grad=True))
    seeded(lambda T: make(T, layout=T.strided))
    seeded(lambda T: make(T, device="meta").shape)
    for bad in (3, "cpu", tensorlab.zeros(1)):
        with pytest.raises(TypeError, match=rf"^{factory}: generator is a {type(bad).__name__}"):
            make(tensorlab, generator=bad)

    def twice(T):
        generator = T.Generator().manual_seed(3)
        return (
            make(T, generator=generator),
            make(T, generator=generator),
            T.rand(2, generator=generator),
        )

    seeded(twice)
    if factory in WITH_OUT:

        def twice_to_out(T):
            generator = T.Generator().manual_seed(3)
            out = T.zeros(21 if factory == "randperm" else (3, 7))
            first = make(T, generator=generator, out=out).clone()
            second = make(T, generator=generator, out=out)
            return first, second.clone(), T.rand(2, generator=generator)

        seeded(twice_to_out)
        seeded(lambda T: make(T, out=T.zeros(3, 7), dtype=T.float64))
        seeded(lambda T: make(T, out=T.zeros(21), requires_grad=True).requires_grad)


@pytest.mark.parametrize("factory", LIKE)
def test_factories_like_another_tensor_follow_its_memory(factory):
    named = {"low": 2, "high": 50} if factory == "randint_like" else {}
    sources = {
        "permuted": lambda T: T.zeros(2, 3, 4, 5).permute(1, 3, 0, 2),
        "stepped": lambda T: T.zeros(3, 8)[:, ::2],
        "channels last": lambda T: T.zeros(2, 3, 4, 5).to(memory_format=T.channels_last),
        "integers": lambda T: T.zeros(2, 3, dtype=T.int64),
        "half": lambda T: T.zeros(2, 30, dtype=T.float16),
        "followed": lambda T: T.zeros(2, 3, requires_grad=True),
        "empty": lambda T: T.zeros(2, 0),
    }
    for source in sources.values():
        seeded(lambda T, source=source: getattr(T, factory)(source(T), **named))
    for form in ("contiguous_format", "preserve_format", "channels_last"):
        seeded(
            lambda T, form=form: getattr(T, factory)(
                sources["permuted"](T), memory_format=getattr(T, form), **named
            )
        )


# ---------------------------------------------------------------- randperm
@pytest.mark.parametrize("dtype", [*INTEGERS, *EXACT])
def test_a_permutation_has_as_many_numbers_as_the_type_holds(dtype):
    most = INTEGERS[dtype][1] if dtype in INTEGERS else EXACT[dtype] + 1
    for n in {0, 1, 2, min(most, 40000)}:
        seeded(lambda T, n=n: T.randperm(n, dtype=getattr(T, dtype)))
    with pytest.raises((RuntimeError, OverflowError)):  # PyTorch rounds in bfloat16
        tensorlab.randperm(most + 1, dtype=getattr(tensorlab, dtype), device="meta")


# ---------------------------------------------------------------- normal and bernoulli of tensors
OF_TENSORS = {
    "means": lambda T: T.normal(T.arange(20.0), 2.0),
    "means, double": lambda T: T.normal(T.arange(20.0, dtype=T.float64), 2.0),
    "means, default std": lambda T: T.normal(T.arange(20.0)),
    "means and a negative std": lambda T: T.normal(T.arange(3.0), -1.0),
    "means and no std": lambda T: T.normal(T.arange(3.0), 0.0),
    "stds": lambda T: T.normal(-1.0, T.arange(20.0)),
    "stds with 0": lambda T: T.normal(-1.0, T.tensor([0.0, 1.0])),
    "stds, one below 0": lambda T: T.normal(-1.0, T.tensor([0.0, -1e-30])),
    "stds, nan": lambda T: T.normal(-1.0, T.tensor([0.0, NAN])),
    "pairs": lambda T: T.normal(T.arange(20.0).view(4, 5), T.arange(5.0)),
    "pairs, other types": lambda T: T.normal(T.arange(5.0), T.arange(5.0, dtype=T.float64)),
    "pairs that do not fit": lambda T: T.normal(T.zeros(4), T.ones(5)),
    "transposed": lambda T: T.normal(T.zeros(4, 5).t(), T.ones(4, 5).t()),
    "none": lambda T: T.normal(T.zeros(0), T.ones(0)),
    "integers as std": lambda T: T.normal(1.0, T.ones(3, dtype=T.int64)),
    "followed": lambda T: T.normal(T.zeros(3, requires_grad=True), T.ones(3, requires_grad=True)),
    "size and tensors": lambda T: T.normal(T.zeros(3), 1.0, (3,)),
    "out": lambda T: T.normal(T.zeros(3), T.ones(3), out=T.zeros(3)),
    "out, double": lambda T: T.normal(T.zeros(3), T.ones(3), out=T.zeros(3, dtype=T.float64)),
    "out, integers": lambda T: T.normal(T.zeros(3), T.ones(3), out=T.zeros(3, dtype=T.int64)),
    "out, resized": lambda T: T.normal(T.zeros(3), T.ones(3), out=T.zeros(0)),
    "numbers, out": lambda T: T.normal(1.0, 2.0, (20,), out=T.zeros(0)),
    "numbers, negative std": lambda T: T.normal(1.0, -2.0, (20,)),
    "numbers, std 0": lambda T: T.normal(1.0, 0.0, (20,)),
    "numbers, negative std and out": lambda T: T.normal(1.0, -2.0, (20,), out=T.zeros(20)),
    "numbers, integer dtype": lambda T: T.normal(1.0, 2.0, (20,), dtype=T.int64),
    "bernoulli at the ends": lambda T: T.bernoulli(T.tensor([0.0, 1.0] * 20)),
    "bernoulli above 1": lambda T: T.bernoulli(T.tensor([0.0, 1.0001])),
    "bernoulli below 0": lambda T: T.bernoulli(T.tensor([-0.0001, 1.0])),
    "bernoulli nan": lambda T: T.bernoulli(T.tensor([NAN])),
    "bernoulli double": lambda T: T.bernoulli(T.linspace(0, 1, 300, dtype=T.float64)),
    "bernoulli out": lambda T: T.bernoulli(T.linspace(0, 1, 30), out=T.zeros(30)),
    "bernoulli out, integers": lambda T: T.bernoulli(T.linspace(0, 1, 30), out=T.zeros(30).long()),
    "bernoulli with p, integers": lambda T: T.bernoulli(T.zeros(30, dtype=T.int64), 0.3),
    "bernoulli_ above 1": lambda T: T.zeros(2).bernoulli_(T.tensor([0.0, 1.0001])),
    "bernoulli_ below 0": lambda T: T.zeros(2).bernoulli_(T.tensor([-0.0001, 1.0])),
    "bernoulli_ at the ends": lambda T: T.zeros(2).bernoulli_(T.tensor([0.0, 1.0])),
    "bernoulli_ of integers": lambda T: T.zeros(30).long().bernoulli_(T.linspace(0, 1, 30)),
    "bernoulli_ with integers": lambda T: T.zeros(2).bernoulli_(T.tensor([0, 1])),
    "bernoulli_ larger p": lambda T: T.zeros(2).bernoulli_(T.zeros(3, 2)),
}


@pytest.mark.parametrize("name", OF_TENSORS)
def test_distributions_with_a_tensor_of_parameters(name):
    seeded(OF_TENSORS[name])


# ---------------------------------------------------------------- multinomial
WEIGHTS = {
    "vector": lambda T: T.tensor([0.1, 0.0, 0.2, 0.7]),
    "matrix": lambda T: T.tensor([[0.1, 0.2, 0.7], [3.0, 0.0, 5.0]]),
    "double": lambda T: T.tensor([[0.1, 0.2, 0.7], [3.0, 0.0, 5.0]], dtype=T.float64),
    "half": lambda T: T.tensor([0.125, 0.5, 0.25, 0.125], dtype=T.float16),
    "many": lambda T: 1 / T.arange(1.0, 1001),
    "many thirds": lambda T: T.full((1001,), 1 / 3),
    "transposed": lambda T: T.arange(1.0, 13).view(4, 3).t(),
    "one": lambda T: T.tensor([2.0]),
    "3-d": lambda T: T.ones(2, 2, 2),
    "0-d": lambda T: T.tensor(1.0),
    "no columns": lambda T: T.ones(2, 0),
    "no rows": lambda T: T.ones(0, 3),
    "negative": lambda T: T.tensor([[1.0, 2.0], [1.0, -1e-30]]),
    "infinite": lambda T: T.tensor([1.0, INF]),
    "nan": lambda T: T.tensor([1.0, NAN]),
    "a row of zeros": lambda T: T.tensor([[1.0, 2.0], [0.0, 0.0]]),
    "integers": lambda T: T.tensor([1, 2]),
}


@pytest.mark.parametrize("weights", WEIGHTS)
def test_multinomial_draws_what_pytorch_draws(weights):
    for samples in (1, 2, 4, 100, 0, -1):
        for replacement in (False, True):
            if weights == "vector" and samples == 4 and not replacement:
                continue  # PyTorch goes on with what has no weight
            seeded(lambda T, s=samples, r=replacement: T.multinomial(WEIGHTS[weights](T), s, r))


def test_multinomial_takes_a_generator_and_out():
    def program(T):
        generator, out = T.Generator().manual_seed(3), T.zeros(0, dtype=T.int64)
        weights = T.tensor([0.1, 0.0, 0.2, 0.7])
        made = T.multinomial(weights, 3, generator=generator, out=out)
        drawn = T.multinomial(weights, num_samples=9, replacement=True, generator=generator)
        return made, made is out, drawn, T.rand(2, generator=generator)

    seeded(program)
    seeded(lambda T: T.multinomial(T.ones(3), 2, out=T.zeros(2)))
