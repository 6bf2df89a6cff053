"""vmap at its edges: writes in place, types of numbers, random numbers, what it refuses, and
what a box shows.
"""

import numpy as np
import pytest
from tensorlab._core.dispatch.layers import Layer

import tensorlab as torch
from tensorlab.func import grad, vmap

X = torch.arange(12.0).reshape(3, 4)


def loop(function, *batches):
    return torch.stack([function(*one) for one in zip(*batches, strict=True)])


# ------------------------------------------------------------------------------------------------ writes
def written(write):
    """A function that writes into its argument, and returns it."""

    def function(x):
        x = x * 1
        write(x)
        return x

    return function


def write_rows(x):
    x[1:3] = x[:2] + x[3]


def write_by_index(x):
    x[torch.tensor([0, 2])] = x[1] * 2


def write_by_mask(x):
    x[x > 5] = 0


def write_by_own_index(x):
    x[x.argmax()] = -x[0]


def write_view(x):
    x.view(2, 2).t().diagonal().mul_(2)


def write_from_outside(x):
    x.copy_(torch.ones(4))
    x[2].fill_(7).add_(torch.tensor(1.5))


def write_layout(x):
    x.unsqueeze_(0).transpose_(0, 1).squeeze_(1)


@pytest.mark.parametrize(
    "write",
    [
        *(write_rows, write_by_index, write_by_mask, write_by_own_index),
        *(write_view, write_from_outside, write_layout),
        lambda x: x.zero_().add_(x + 1).clamp_(max=2),
        lambda x: x.index_fill_(0, torch.tensor([1]), 9).masked_fill_(x < 3, 4),
        lambda x: x.cumsum_(0).sub_(x.sum()),
        lambda x: x.put_(torch.tensor([0]), x[1:2] * 2).index_add_(0, torch.tensor([3]), x[:1] * 2),
    ],
)
def test_writes_reach_the_examples(write):
    function = written(write)
    assert vmap(function)(X).equal(loop(function, X))
    weighted = lambda x: (function(x) * torch.arange(4)).sum()
    assert vmap(grad(weighted))(X).equal(loop(grad(weighted), X))


def test_tables_are_shortened_where_their_example_reads_them():
    tables, rows = torch.arange(24.0).reshape(3, 4, 2), torch.tensor([[0, 1], [1, 1], [3, 0]])
    look_up = lambda table, rows: torch.nn.functional.embedding(rows, table, max_norm=1.0)
    expected = tables.clone()
    assert vmap(look_up)(tables, rows).allclose(loop(look_up, expected, rows))
    assert tables.allclose(expected)


def test_a_tensor_of_all_examples_cannot_take_what_differs():
    shared = torch.zeros(4)
    for write in (shared.add_, shared.copy_, lambda x: shared.__setitem__(0, x[0])):
        with pytest.raises(RuntimeError, match="vmap: .*is not possible"):
            vmap(lambda x, write=write: write(x))(X)
    assert shared.equal(torch.zeros(4))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.nn.functional.conv1d(x.view(1, 2, 2), x.view(2, 2, 1)),
        lambda x: torch.nn.functional.layer_norm(x, (4,)),
        lambda x: torch.nn.functional.batch_norm(x.view(2, 2), None, None, training=True),
        lambda x: torch.nn.functional.max_pool1d(x.view(1, 1, 4), 2),
        lambda x: torch.linalg.det(x.view(2, 2)),
        grad(lambda x: torch.nn.functional.conv1d(x.view(1, 2, 2), x.view(2, 2, 1)).sum()),
    ],
)
def test_there_may_be_no_examples(function):
    assert vmap(function)(X[:0]).shape == (0, *function(X[0]).shape)


# ------------------------------------------------------------------------------------------------ types of numbers
@pytest.mark.parametrize("others", ["float32", "float64", "int32", "int64", "bool"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "bool"])
def test_numbers_take_part_in_type_promotion_as_in_a_loop(dtype, others):
    x = torch.ones(3, dtype=getattr(torch, dtype))
    for shape in [(), (2,)]:
        y = torch.ones(shape, dtype=getattr(torch, others))
        for function in (torch.add, torch.true_divide, torch.maximum, torch.eq):
            found, expected = vmap(function, (0, None))(x, y), function(x[0], y)
            assert (found.dtype, found.shape) == (expected.dtype, (3, *expected.shape))
        found = vmap(lambda x, y: torch.where(y.bool(), x, y), (0, None))(x, y)
        assert found.dtype == torch.where(y.bool(), x[0], y).dtype


# ------------------------------------------------------------------------------------------------ random numbers
DRAWS = {
    "rand": lambda x: torch.rand(4) + 0 * x[:4],
    "randn_like": torch.randn_like,
    "normal_": lambda x: (x * 1).normal_(),
    "dropout": lambda x: torch.nn.functional.dropout(x + 1, 0.5),
    "randperm": lambda x: torch.randperm(20),
    "multinomial": lambda x: torch.multinomial(torch.ones(20), 9) + 0 * x[0].long(),
    "multinomial of rows": lambda x: torch.multinomial(torch.ones(2, 20), 9) + 0 * x[0].long(),
    "bernoulli_ of tensors": lambda x: (x * 1).bernoulli_(torch.full(x.shape, 0.5)),
    "a fill of what all share": lambda x: torch.zeros(20).uniform_(),
    "nested": vmap(lambda y: torch.rand(4) + 0 * y, randomness="different"),
}


@pytest.mark.parametrize("name", DRAWS)
def test_random_numbers_are_as_asked(name):
    draw = DRAWS[name]
    if name != "nested":
        with pytest.raises(RuntimeError, match="vmap: called random operation .* error mode"):
            vmap(draw)(X)
    same = vmap(draw, randomness="same")(torch.ones(3, 4))
    assert same.shape == (3, *draw(torch.ones(4)).shape)
    assert same[0].equal(same[1])
    assert same[0].equal(same[2])
    if name == "a fill of what all share":
        with pytest.raises(RuntimeError, match="vmap: uniform_"):
            vmap(draw, randomness="different")(X)
        return
    different = vmap(draw, randomness="different")(torch.ones(3, 4).repeat(1, 5))
    assert different.shape == (3, *draw(torch.ones(20)).shape)
    assert not different[0].equal(different[1])


def test_rows_are_drawn_by_probabilities_of_their_own():
    p = torch.eye(6).reshape(3, 2, 6)
    draw = lambda p: torch.multinomial(p, 1)
    assert vmap(draw, randomness="different")(p).flatten().tolist() == list(range(6))


@pytest.mark.parametrize(
    "draw",
    [
        torch.bernoulli,
        lambda p: torch.multinomial(p, 2),
        lambda p: torch.normal(p, 1.0),
        lambda p: torch.normal(0.0, p),
        torch.poisson,
    ],
)
def test_parameters_that_differ_cannot_give_the_same_numbers(draw):
    p = torch.full((3, 4), 0.5)
    assert vmap(draw, randomness="different")(p).shape[0] == 3
    with pytest.raises(RuntimeError, match="can't be the same for all"):
        vmap(draw, randomness="same")(p)


# ------------------------------------------------------------------------------------------------ refusals
@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: x[0].item(), r"calling \.item\(\) on a Tensor"),
        (lambda x: float(x[0]), r"calling \.item\(\)"),
        (lambda x: x.tolist(), r"calling \.tolist\(\)"),
        (lambda x: x.numpy(), r"calling \.numpy\(\)"),
        (lambda x: 1 if x[0] > 0 else 2, "data-dependent control flow"),
        (lambda x: x.nonzero(), "nonzero makes a result whose shape depends on values"),
        (lambda x: x[x > 0], "shape depends on values"),
        (lambda x: torch.unique(x), "unique .*depends on values"),
        (lambda x: x.repeat_interleave(x.long()), "repeat_interleave .*depends on values"),
        (lambda x: torch.nn.functional.one_hot(x.long()), "give num_classes"),
        (lambda x: x.requires_grad_(), r"Tensor\.requires_grad_\(\) inside of a function"),
        (lambda x: x.sum().backward(), r"backward\(\) called inside a functorch transform"),
        (lambda x: x.set_(torch.zeros(2)), "set_ would put other memory"),
    ],
)
def test_what_a_batch_cannot_answer_is_refused(function, message):
    with pytest.raises(RuntimeError, match=message):
        vmap(function)(X)


def test_a_check_of_values_looks_at_all_examples():
    target = torch.tensor([[0, 1], [1, 0], [1, 9]])
    loss = vmap(torch.nn.functional.multi_margin_loss, (None, 0))
    assert loss(torch.ones(2, 3), target[:2]).shape == (2,)
    with pytest.raises(RuntimeError, match="a target is 0 or 9"):
        loss(torch.ones(2, 3), target)


# ------------------------------------------------------------------------------------------------ what a box shows
def test_the_text_of_a_box_says_its_level_and_its_value():
    seen = []

    def inner(x):
        seen.append(repr(x))
        return x.sum()

    vmap(lambda x: (seen.append(repr(x)), grad(inner)(x))[1])(torch.ones(2, 2))
    value = "tensor([[1., 1.],\n        [1., 1.]])"
    batched = f"BatchedTensor(lvl=1, bdim=0, value=\n    {value}\n)".replace(
        "\n     ", "\n         "
    )
    assert seen[0] == batched
    assert (
        seen[1]
        == "GradTrackingTensor(lvl=2, value=\n    " + batched.replace("\n", "\n    ") + "\n)"
    )


# ------------------------------------------------------------------------------------------------ programs
def test_results_with_names_keep_them():
    found = vmap(lambda x: torch.max(x, 0))(X)
    assert found.values.equal(X[:, 3])
    assert type(found) is torch.return_types.max


def test_a_program_gives_its_ops_rules():
    @torch.library.custom_op("test_limits::scaled", mutates_args=())
    def scaled(x: torch.Tensor, y: torch.Tensor, *, by: float = 1.0) -> torch.Tensor:
        return x * y * by

    seen = []

    @scaled.register_vmap
    def rule(info, in_dims, x, y, by):
        seen.append((info.batch_size, info.randomness, in_dims, by))
        return (x * y * by).T, 1

    found = vmap(lambda x, y: scaled(x, y, by=2.0), (0, None), randomness="same")(X, torch.ones(4))
    assert found.equal(X * 2)
    assert seen == [(3, "same", (0, None), 2.0)]


RULES = {  # batch first, batch last, shared by all examples
    "a dimension for each": lambda info, in_dims, x: ((x * 2, x.T), (0, 1)),
    "one for both": lambda info, in_dims, x: ((x * 2, x + 0), 0),
    "a shared result": lambda info, in_dims, x: ((x * 2, x[0]), [0, None]),
    "returns 2 results, and out_dims for 3": lambda info, in_dims, x: ((x, x), (0, 0, 0)),
    "must return": lambda info, in_dims, x: (x, x, 0),
    "must return .*, not list": lambda info, in_dims, x: [(x, x), 0],
}


@pytest.mark.parametrize("name", RULES)
def test_rules_of_ops_say_where_the_batch_is(name):
    @torch.library.custom_op(f"test_limits::rule{list(RULES).index(name)}", mutates_args=())
    def pair(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x * 2, x + 0

    pair.register_vmap(RULES[name])
    if "return" in name:
        with pytest.raises(RuntimeError, match=name):
            vmap(pair)(X)
        return
    one, two = vmap(pair)(X)
    assert one.equal(X * 2)
    assert two.equal(X[0].expand(3, 4) if "shared" in name else X)


# ------------------------------------------------------------------------------------------------ operands
@pytest.mark.parametrize("y_ndim", [1, 2, 3])
@pytest.mark.parametrize("x_ndim", [1, 2, 3])
def test_matrix_products_take_batches_in_any_operand(x_ndim, y_ndim):
    x = torch.randn(5, *(2, 3, 4)[3 - x_ndim :])
    y = torch.randn(5, *((4,) if y_ndim == 1 else (2, 4, 3)[3 - y_ndim :]))
    for in_dims in [(0, 0), (0, None), (None, 0)]:
        shared = [one if dim == 0 else one[0] for one, dim in zip((x, y), in_dims, strict=True)]
        wholes = [
            one if dim == 0 else one[:1].expand(5, *one.shape[1:])
            for one, dim in zip((x, y), in_dims, strict=True)
        ]
        found = vmap(torch.matmul, in_dims)(*shared)
        assert found.allclose(loop(torch.matmul, *wholes), atol=1e-6)


def test_a_linear_map_of_rows_takes_vectors_that_differ():
    rows, vectors = torch.randn(2, 5, 4), torch.randn(3, 4)
    found = vmap(torch.nn.functional.linear, (None, 0))(rows, vectors)
    assert found.allclose(loop(lambda v: rows @ v, vectors), atol=1e-6)


POOLS = {
    "avg": lambda F, n, x: getattr(F, f"avg_pool{n}d")(x, 2),
    "max": lambda F, n, x: getattr(F, f"max_pool{n}d")(x, 2),
    "adaptive": lambda F, n, x: getattr(F, f"adaptive_avg_pool{n}d")(x, 2),
    "fractional": lambda F, n, x: getattr(F, f"fractional_max_pool{n}d")(
        x, 2, output_size=2, _random_samples=x.new_full((*(x.shape[: -n - 1] or (1,)), 3, n), 0.3)
    ),
}


@pytest.mark.parametrize("is_single", [True, False])
@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("name", POOLS)
def test_pools_take_images_and_batches_of_images(name, n, is_single):
    pool = lambda x: POOLS[name](torch.nn.functional, n, x)
    x = torch.randn(4, *[2] * (not is_single), 3, *[5] * n)
    assert vmap(pool)(x).allclose(loop(pool, x))
    slope = grad(lambda x: (pool(x) ** 2).sum())
    assert vmap(slope)(x).allclose(loop(slope, x))


@pytest.mark.parametrize("lead", [(), (2,)])
def test_so_does_the_backward_of_a_pool_that_is_called_by_name(lead):
    pool = torch.ops.aten.max_pool2d_with_indices_backward.default
    x, g = torch.randn(3, *lead, 2, 4, 4), torch.randn(3, *lead, 2, 2, 2)
    places = torch.tensor([0, 2, 8, 10]).reshape(2, 2).expand_as(g)
    call = lambda g, x, i: pool(g, x, [2, 2], [2, 2], [0, 0], [1, 1], False, i)
    assert vmap(call)(g, x, places).equal(loop(call, g, x, places))


class Counter(Layer):
    """It counts the calls of one op."""

    def __init__(self, name):
        super().__init__("recorder")
        self.name, self.count = name, 0

    def call(self, op, arguments):
        self.count += op.name == self.name
        return op(*arguments)


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_a_recurrent_layer_runs_once_if_its_weights_are_shared_and_else_for_each(kind):
    layer, x = getattr(torch.nn, kind)(4, 2), torch.randn(3, 5, 1, 4)
    with Counter("recurrent_layer") as counter:
        found = vmap(lambda x: layer(x)[0])(x)
    assert counter.count == 1
    assert found.allclose(loop(lambda x: layer(x)[0], x), atol=1e-6)
    shared = {name: one.detach() for name, one in layer.named_parameters()}
    each = {name: torch.stack([one, one * 2, one * 3]) for name, one in shared.items()}
    call = lambda p, x: torch.func.functional_call(layer, p, (x,))[0]
    with Counter("recurrent_layer") as counter:
        found = vmap(call)(each, x)
    assert counter.count == 3
    gradients = vmap(grad(lambda p, x: call(p, x).pow(2).sum()), in_dims=(None, 0))(shared, x)
    for i in range(3):
        expected = call({name: one[i] for name, one in each.items()}, x[i])
        assert found[i].allclose(expected, atol=1e-6)
        alone = grad(lambda p, i=i: call(p, x[i]).pow(2).sum())(shared)
        for name, one in alone.items():
            assert gradients[name][i].allclose(one, atol=1e-6)


OPERANDS = {
    "conv2d": [(2, 3, 4, 6, 6), (2, 6, 2, 3, 3), (2, 6)],
    "layer_norm": [(2, 3, 4), (2, 4), (2, 4)],
    "batch_norm": [(2, 3, 4, 2), (2, 4), (2, 4)],
}
CALLS = {
    "conv2d": lambda x, w, b: torch.nn.functional.conv2d(x, w, b, stride=2, padding=1, groups=2),
    "layer_norm": lambda x, w, b: torch.nn.functional.layer_norm(x, (4,), w, b),
    "batch_norm": lambda x, w, b: torch.nn.functional.batch_norm(
        x, None, None, w, b, training=True
    ),
}


@pytest.mark.parametrize("name", OPERANDS)
def test_layers_take_batches_in_any_operand(name):
    rng = np.random.default_rng(0)
    tensors = [torch.from_numpy(rng.standard_normal(shape)) for shape in OPERANDS[name]]
    call = CALLS[name]
    loss = grad(lambda *one: (call(*one) ** 3).sum(), (0, 1, 2))
    for pattern in np.ndindex(2, 2, 2):
        in_dims = tuple(0 if differs else None for differs in pattern)
        if any(pattern):
            shared = [
                one if differs else one[0] for one, differs in zip(tensors, pattern, strict=True)
            ]
            for function in (call, loss):
                found = vmap(function, in_dims)(*shared)
                for i in range(2):
                    one = function(
                        *[y[i] if d == 0 else y for y, d in zip(shared, in_dims, strict=True)]
                    )
                    parts = zip(found, one, strict=True) if function is loss else [(found, one)]
                    assert all(ours[i].allclose(theirs) for ours, theirs in parts)
