"""Products written in index notation, and their relatives with many arguments, drawn at random: next to PyTorch."""

import itertools
import random

import pytest

from tests.ops.agreement import agree

LETTERS = "abcdeA"


def numbers(T, *shape, seed=0):
    """Small whole numbers, so that every order of a sum gives the same."""
    count = T.empty(shape).numel()
    return ((T.arange(count) * 7919 + 13 * seed) % 11 - 5).double().reshape(shape)


def draw_equation(rng):
    """An equation and the shapes of its operands: letters that repeat, sizes of 1, ellipses, sums over anything."""
    sizes = {letter: rng.choice([1, 2, 3, 4]) for letter in LETTERS}
    hidden = [rng.choice([1, 2, 3]) for _ in range(2)]
    with_ellipsis = rng.random() < 0.3
    operands, shapes = [], []
    for _ in range(rng.choice([1, 2, 2, 2, 3, 4])):
        labels = [rng.choice(LETTERS) for _ in range(rng.randrange(5))]
        shape = [
            1 if labels.count(label) == 1 and rng.random() < 0.15 else sizes[label]
            for label in labels
        ]
        if with_ellipsis and rng.random() < 0.8:
            at, n = rng.randrange(len(labels) + 1), rng.randrange(3)
            labels.insert(at, "...")
            shape[at:at] = [1 if rng.random() < 0.2 else size for size in hidden[2 - n :]]
        operands.append("".join(labels))
        shapes.append(shape)
    text = ",".join(operands)
    if rng.random() < 0.7:
        letters = sorted(set(text) & set(LETTERS))
        result = rng.sample(letters, rng.randrange(len(letters) + 1))
        if "..." in text:
            result.insert(rng.randrange(len(result) + 1), "...")
        text += "->" + "".join(result)
    return text, shapes


@pytest.mark.parametrize("seed", range(8))
def test_random_equations_give_pytorchs_values_gradients_and_strides(seed):
    rng = random.Random(seed)
    for _ in range(60):
        text, shapes = draw_equation(rng)

        def call(T, text=text, shapes=shapes):
            operands = [numbers(T, *shape, seed=i) for i, shape in enumerate(shapes)]
            operands = [x.requires_grad_() for x in operands]
            y = T.einsum(text, *operands)
            return y, T.autograd.grad((y * y).sum(), operands)

        agree(call)


@pytest.mark.parametrize("seed", range(4))
def test_what_does_not_fit_is_refused(seed):
    rng = random.Random(seed)
    for _ in range(60):
        text, shapes = draw_equation(rng)
        at = rng.randrange(len(text) + 1)
        spoiled = text[:at] + rng.choice([*"abz.,-> 1", ""]) + text[at + rng.randrange(2) :]

        def call(T, text=spoiled, shapes=shapes):
            operands = [numbers(T, *shape, seed=i) for i, shape in enumerate(shapes)]
            return T.einsum(text, *operands).tolist()

        agree(call)


TENSORDOTS = [
    *[((2, 3, 4), (4, 3, 5), dims) for dims in (0, 1, 2, 4, -1, ([1], [1]), ([2, 1], [0, 1]))],
    *[((2, 3, 4), (4, 3, 5), dims) for dims in (([1, 2], [0, 1]), ([1, 1], [1, 1]), ([-1], [-3]))],
    *[((2, 3, 4), (4, 3, 5), dims) for dims in (([3], [0]), ([1], [1, 0]), ([], []), (1, 1))],
    *[((2, 3), (2, 3), dims) for dims in (([0, 1], [0, 1]), ([1, 0], [0, 1]), 2)],
    *[((2, 1), (3, 4), dims) for dims in (1, ([1], [1]), ([0], [0]))],
    *[((2, 3), (1, 4), dims) for dims in (1, ([0], [0]))],
    *[((3,), (3,), 1), ((), (3,), 0), ((), (), 0), ((0, 2), (2, 0), 1), ((2, 0), (0, 2), 1)],
]


@pytest.mark.parametrize(("x_shape", "y_shape", "dims"), TENSORDOTS)
def test_tensordot_sums_over_any_dimensions(x_shape, y_shape, dims):
    agree(lambda T: T.tensordot(numbers(T, *x_shape), numbers(T, *y_shape, seed=1), dims).tolist())


DIMS = {
    "a list": lambda T: [[1], [1]],
    "a pair of numbers": lambda T: (1, 1),
    "a float": lambda T: 1.5,
    "a text": lambda T: "ab",
    "floats": lambda T: ([1.5], [1]),
    "bools": lambda T: ([True], [1]),
    "too many": lambda T: 5,
    "a tensor of one": lambda T: T.tensor(1),
    "a tensor of a negative one": lambda T: T.tensor(-1),
    "a tensor of two rows": lambda T: T.tensor([[0, 1], [0, 1]]),
    "a tensor of two": lambda T: T.tensor([1, 1]),
    "tensors": lambda T: (T.tensor([1]), T.tensor([1])),
}


@pytest.mark.parametrize("dims", DIMS)
def test_dims_of_tensordot_are_given_in_pytorchs_ways(dims):
    agree(lambda T: T.tensordot(numbers(T, 2, 2), numbers(T, 2, 2, seed=1), DIMS[dims](T)).tolist())


SHAPES = [(), (1,), (3,), (0,), (2, 3), (3, 1), (1, 2), (2, 1, 3)]


def test_products_of_all_shapes():
    for name, x_shape, y_shape in itertools.product(
        ("kron", "inner", "outer", "dot", "mv", "matmul"), SHAPES, SHAPES
    ):

        def call(T, name=name, x_shape=x_shape, y_shape=y_shape):
            return getattr(T, name)(numbers(T, *x_shape), numbers(T, *y_shape, seed=1)).tolist()

        if name != "mv" or x_shape:  # PyTorch's error is about a dimension that is missing
            agree(call)


# ---------------------------------------------------------------- beta * input + alpha * product
ADDED = {
    "addmm": [(2, 3), (3, 4)],
    "baddbmm": [(2, 2, 3), (2, 3, 4)],
    "addbmm": [(2, 2, 3), (2, 3, 4)],
    "addmv": [(2, 3), (3,)],
    "addr": [(2,), (4,)],
}
FACTORS = [0, 1, 2, -0.5, True, "2", None]


@pytest.mark.parametrize("name", ADDED)
def test_what_is_added_is_broadcast_and_scaled(name):
    shapes = [
        (),
        (1,),
        (2,),
        (4,),
        (2, 1),
        (1, 4),
        (2, 4),
        (3, 4),
        (2, 2, 4),
        (1, 1, 4),
        (1, 2, 2, 4),
    ]

    def call(T, shape, beta, alpha, write=False):
        x, *others = numbers(T, *shape, seed=5), *[numbers(T, *one) for one in ADDED[name]]
        if write:
            getattr(x, name + "_")(*others, beta=beta, alpha=alpha)
            return x
        leaves = [one.requires_grad_() for one in (x, *others)]
        y = getattr(T, name)(*leaves, beta=beta, alpha=alpha)
        grads = T.autograd.grad((y * y).sum(), leaves, materialize_grads=True)
        return y.tolist(), [grad.tolist() for grad in grads]

    for shape in shapes:
        agree(lambda T, shape=shape: call(T, shape, 2, 3))
        if name in ("addmm", "baddbmm"):
            agree(lambda T, shape=shape: call(T, shape, 2, 3, write=True))
    factors = [one for one in FACTORS if one is not True or name != "addr"]  # there it wants bools
    for beta, alpha in itertools.product(factors, factors):
        agree(lambda T, beta=beta, alpha=alpha: call(T, (4,), beta, alpha))
