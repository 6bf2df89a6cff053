"""_foreach_ functions give what PyTorch's give, on lists of tensors of several shapes and types."""

import pytest

import tensorlab
from tensorlab.ops import foreach
from tests.ops.agreement import agree, visible

SHAPES = [(3,), (2, 4), (), (0, 2)]


def tensors(T, dtype="float64", low=0.25, requires_grad=False):
    made = []
    for i, shape in enumerate(SHAPES):
        size = T.zeros(shape).numel()
        x = (T.arange(size, dtype=T.float64) / 16 + low + i / 8).reshape(shape)
        made.append(x.to(getattr(T, dtype)).requires_grad_(requires_grad))
    return made


def call(name, *arguments, **named):
    return lambda T, x: getattr(T, name)(
        x, *[a(T) if callable(a) else a for a in arguments], **named
    )


UNARY = [*foreach.UNARY.split(), "clone", "max", "norm", "powsum", "zero_"]
BINARY = ["add", "sub", "mul", "div", "clamp_max", "clamp_min", "maximum", "minimum", "pow"]
numbers = (2, 3.5, 1, 2)
CALLS = {
    **{name: call(f"_foreach_{name}") for name in UNARY},
    "norm of order 1": call("_foreach_norm", 1),
    "norm to another type": call("_foreach_norm", 2, dtype=None),
    "norm of infinite order": call("_foreach_norm", float("inf")),
    "powsum of order 3": call("_foreach_powsum", 3),
    **{f"{name} number": call(f"_foreach_{name}", 2) for name in BINARY},
    **{f"{name} fraction": call(f"_foreach_{name}", 0.5) for name in BINARY},
    **{f"{name} numbers": call(f"_foreach_{name}", numbers) for name in BINARY},
    **{f"{name} tensors": call(f"_foreach_{name}", lambda T: tensors(T, low=1)) for name in BINARY},
    **{
        f"{name} tensor": call(f"_foreach_{name}", lambda T: T.tensor(2.0))
        for name in ("add", "mul", "div")
    },
    **{
        f"{name} alpha": call(f"_foreach_{name}", lambda T: tensors(T, low=1), alpha=3)
        for name in ("add", "sub")
    },
    "add tensor alpha": call("_foreach_add", lambda T: T.tensor(2.0), alpha=3),
    "a number to the power of each": lambda T, x: T._foreach_pow(2.0, x),
    **{
        f"{name} {form}": call(
            f"_foreach_{name}", lambda T: tensors(T, low=1), lambda T: tensors(T, low=2), *more
        )
        for name in ("addcmul", "addcdiv")
        for form, more in {
            "plain": (),
            "value": (0.5,),
            "values": (numbers,),
            "tensor of values": (lambda T: T.tensor(numbers),),
        }.items()
    },
    "addcmul by name": lambda T, x: T._foreach_addcmul(x, x, x, scalars=list(numbers)),
    "add by name": lambda T, x: T._foreach_add(x, scalars=list(numbers)),
    "pow by name": lambda T, x: T._foreach_pow(x, exponent=2),
    "lerp number": call("_foreach_lerp", lambda T: tensors(T, low=1), 0.25),
    "lerp numbers": call("_foreach_lerp", lambda T: tensors(T, low=1), (0.25, 0.5, 0, 1)),
    "lerp tensors": call("_foreach_lerp", lambda T: tensors(T, low=1), lambda T: tensors(T)),
    "mm": lambda T, x: T._foreach_mm([T.ones(2, 3), T.eye(3)], [T.ones(3, 2), T.ones(3, 3)]),
    "a tuple": lambda T, x: T._foreach_exp(tuple(x)),
}
DTYPES = ["float64", "float32", "bfloat16", "int64", "bool"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CALLS)
def test_a_function_gives_what_that_of_pytorch_gives(name, dtype):
    if (name, dtype) == ("add tensor", "bfloat16"):
        return  # float32 where neither has dimensions, as `add` gives; only PyTorch's list is bfloat16
    if name.startswith("powsum") and dtype == "int64":
        return  # which PyTorch's refuses
    agree(
        lambda T: CALLS[name](T, tensors(T, dtype)),
        tolerance={"float64": 1e-12, "bfloat16": 1e-2}.get(dtype, 1e-6),
    )


WRITE = [
    name
    for name in CALLS
    if not name.startswith(("clone", "max ", "norm", "powsum", "mm", "a ", "zero_"))
]
WRITE.remove("max")


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
@pytest.mark.parametrize("name", WRITE)
def test_a_function_that_writes_gives_what_that_of_pytorch_gives(name, dtype):
    function = name.split()[0]

    class Writing:
        """A package whose `_foreach_f` is `_foreach_f_`."""

        def __init__(self, T):
            self.T = T

        def __getattr__(self, attribute):
            return getattr(self.T, attribute + ("_" if attribute == f"_foreach_{function}" else ""))

    def program(T):
        x = tensors(T, dtype)
        given = list(x)
        CALLS[name](Writing(T), x)
        return given

    agree(program, tolerance=1e-12 if dtype == "float64" else 1e-6)


def test_zero_and_copy_write():
    def program(T):
        x, y = tensors(T), tensors(T, "float32", low=3)
        T._foreach_copy_(x, y)
        copied = [one.tolist() for one in x]
        T._foreach_zero_(y)
        return copied, y, T._foreach_copy_(x, y, non_blocking=True) is None

    theirs_is_none = lambda T: program(T)[:2]
    agree(theirs_is_none)


def test_what_writes_returns_the_list_it_wrote_to():
    x = tensors(tensorlab)
    for name in ("_foreach_exp_", "_foreach_zero_"):
        assert getattr(tensorlab, name)(x) is x
    assert tensorlab._foreach_add_(x, 1) is x


GRADIENTS = [
    name
    for name in CALLS
    if name.split()[0] not in ("zero_", "mm", "ceil", "floor", "round", "trunc", "sign", "powsum")
]


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_are_those_of_pytorch(name):
    def program(T):
        x = tensors(T, requires_grad=True)[:3]
        given = [*x, T.ones(2, 2)]
        sum(y.sum() for y in CALLS[name](T, given)).backward()
        return [one.grad.tolist() for one in x]

    agree(program, tolerance=1e-10)


def test_each_function_is_called():
    called = {f"_foreach_{name.split()[0]}" for name in CALLS} | {"_foreach_copy_"}
    named = {name for name in foreach.FUNCTIONS if hasattr(tensorlab, name)}
    assert {name.removesuffix("_") for name in named} - {"_foreach_copy", "_foreach_zero"} <= called
    assert {"_foreach_copy_", "_foreach_zero_"} <= called & named


BAD = {
    "an empty list": lambda T: T._foreach_exp([]),
    "no list": lambda T: T._foreach_exp(T.ones(3)),
    "a number in the list": lambda T: T._foreach_exp([T.ones(3), 2.0]),
    "lists of two lengths": lambda T: T._foreach_add([T.ones(3)], [T.ones(3)] * 2),
    "too few numbers": lambda T: T._foreach_add([T.ones(3)] * 2, [1.0]),
    "no second argument": lambda T: T._foreach_add([T.ones(3)]),
    "an unknown argument": lambda T: T._foreach_add([T.ones(3)], 1, beta=2),
    "a word": lambda T: T._foreach_mul([T.ones(3)], "a"),
    "alpha of a product": lambda T: T._foreach_mul([T.ones(3)], [T.ones(3)], alpha=2),
    "alpha of numbers": lambda T: T._foreach_add([T.ones(3)], [2.0], alpha=2),
    "shapes that do not fit": lambda T: T._foreach_mul([T.ones(3)], [T.ones(2)]),
    "a tensor of several numbers": lambda T: T._foreach_add([T.ones(3)], T.ones(3)),
    "two lengths of three lists": lambda T: T._foreach_addcmul([T.ones(3)], [T.ones(3)], []),
    "too few values": lambda T: T._foreach_addcmul(
        [T.ones(3)] * 2, [T.ones(3)] * 2, [T.ones(3)] * 2, [1]
    ),
    "lerp without weight": lambda T: T._foreach_lerp([T.ones(3)], [T.ones(3)]),
    "copies of two lengths": lambda T: T._foreach_copy_([T.ones(3)], [T.ones(3)] * 2),
    "norm of a word": lambda T: T._foreach_norm([T.ones(3)], "nuc"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_raises_the_class_of_pytorch_and_names_the_function(name):
    agree(BAD[name])
    with pytest.raises(Exception, match=r"_foreach_|mul|lerp"):
        BAD[name](tensorlab)


@pytest.mark.parametrize("name", sorted(foreach.FUNCTIONS))
def test_a_number_in_the_list_is_refused_before_anything_is_written(name):
    x, lists = tensors(tensorlab), [*tensors(tensorlab), tensorlab.ones(3)]
    before = visible(x)
    for others in ((), (2.0,), (lists,), (lists, lists)):
        with pytest.raises(TypeError):
            getattr(tensorlab, name)([*x, 2.0], *others)
    assert visible(x) == before


def test_lengths_are_compared_before_anything_is_written():
    x = tensors(tensorlab)
    before = visible(x)
    for wrong in ([1.0], tensors(tensorlab)[:2]):
        with pytest.raises(RuntimeError, match="_foreach_add_"):
            tensorlab._foreach_add_(x, wrong)
    assert visible(x) == before


@pytest.mark.parametrize("name", ["_foreach_add", "_foreach_mul", "_foreach_sub", "_foreach_div"])
def test_a_number_beside_complex_ones_keeps_its_digits(name):
    agree(lambda T: getattr(T, name)([T.tensor([1 + 2j], dtype=T.complex128)], 0.1))
