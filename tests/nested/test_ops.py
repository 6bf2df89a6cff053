"""What functions do with nested tensors, and their gradients, against PyTorch."""

import pytest

import tensorlab
from tests.nested.both import LENGTHS, assert_same, nested, rows
from tests.oracle import require_torch

# PyTorch's, that they are a prototype, and the notes of its compiler
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


def operands(package):
    """The operands of the expressions below: x and its like are nested, the others dense."""
    return {
        "x": nested(package, 4),
        "flat": nested(package),
        "wide": nested(package, 2, 3),
        "row": rows(package, 4).requires_grad_(),
        "each": rows(package, 3, 1, 4).requires_grad_(),
        "matrix": rows(package, 4, 5).requires_grad_(),
        "weight": rows(package, 5, 4).requires_grad_(),
        "bias": rows(package, 5).requires_grad_(),
        "square": rows(package, 3, 3).requires_grad_(),
        "row3": rows(package, 3).requires_grad_(),
    }


def run(package, code, given, **names):
    """The value of an expression, with the package as `torch`."""
    y = given["x"] * 0.5 + 1.5
    return eval(code, {"torch": package, "F": package.nn.functional, "y": y, **given, **names})


def run_backward(out):
    """Give the operands the gradient of the sum of squares."""
    parts = out if isinstance(out, (tuple, list)) else [out]
    wanted = [one for one in parts if getattr(one, "requires_grad", False)]
    squares = [(one * one).sum() for one in wanted]
    if squares:
        sum(squares[1:], squares[0]).backward()


def gradients(given):
    """The gradients of the operands that have one, by name."""
    return {name: one.grad for name, one in given.items() if one.grad is not None}


def alone(given, k):
    """The operands of sequence k alone: a batch of one, and dense."""
    found = {}
    for name, one in given.items():
        part = one.detach()
        if one.is_nested:
            part = part[k].unsqueeze(0)
        elif name == "each":
            part = part[k : k + 1]
        found[name] = part.clone().requires_grad_()
    return found


NOT_IN_PYTORCH = RuntimeError, ValueError, IndexError  # what its missing functions raise


def assert_same_as_pytorch(code, is_differentiated=True):
    """Assert that PyTorch, where it has the function, or its gradient, has the same results."""
    torch = require_torch()
    mine, theirs = operands(tensorlab), operands(torch)
    got = run(tensorlab, code, mine)
    run_backward(got)
    try:
        wanted = run(torch, code, theirs)
        assert_same(got, wanted)
        if not is_differentiated:
            return
        run_backward(wanted)
    except NOT_IN_PYTORCH:
        return
    expected = gradients(theirs)
    for name, one in gradients(mine).items():
        assert_same(one, expected[name])


def assert_same_as_alone(code):
    """Assert that each sequence has the results that it has alone, as a dense tensor, and that their
    gradients add up.
    """
    whole = operands(tensorlab)
    got = run(tensorlab, code, whole)
    run_backward(got)
    added = {}
    for k in range(len(LENGTHS)):
        given = alone(whole, k)
        wanted = run(tensorlab, code, given)
        assert_same(got[k], wanted[0])
        run_backward(wanted)
        for name, one in gradients(given).items():
            if whole[name].is_nested:
                assert_same(whole[name].grad[k], one[0])
            elif name == "each":
                assert_same(whole[name].grad[k : k + 1], one)
            else:
                added[name] = added.get(name, 0) + one
    for name, one in added.items():
        assert_same(whole[name].grad, one)


POINTWISE = """x + y
x - y
x * y
x / y
x + 2
2 - x
3 * x
1 / y
-x
x ** 2
x.pow(3)
x + row
x * each
row * x
each + x
x > 0
x == x
x.abs()
x.exp()
y.log()
x.sin()
x.tanh()
x.sigmoid()
y.sqrt()
x.clamp(-0.5, 0.5)
x.clone()
x.detach()
x.float()
x.to(torch.float32)
x.relu()
F.gelu(x)
F.silu(x)
F.leaky_relu(x, 0.1)
F.dropout(x, 0.5, training=False)
torch.where(x > 0, x, y)
x.masked_fill(x > 0, 0.0)
torch.zeros_like(x)
torch.ones_like(x)
flat * flat
wide * 2
torch.add(x, y, alpha=2)
(x > 0).logical_not()""".splitlines()


@pytest.mark.parametrize("code", POINTWISE)
def test_element_by_element(code):
    assert_same_as_alone(code)
    assert_same_as_pytorch(code)


INNER = """F.linear(x, weight)
F.linear(x, weight, bias)
x @ matrix
torch.matmul(x, matrix)
F.layer_norm(x, (4,))
F.layer_norm(x, (4,), row, row)
F.rms_norm(x, (4,))
F.softmax(x, -1)
x.softmax(2)
F.log_softmax(x, -1)
x.sum(-1)
x.sum(-1, keepdim=True)
x.sum(1)
x.sum(1, keepdim=True)
x.sum((1, 2))
wide.sum(2)
wide.sum((2, 3))
wide.sum((1, 3), keepdim=True)
x.mean(-1)
x.mean(1)
x.mean(1, keepdim=True)
x.amax(-1)
x.amax(1)
x.amin(1, keepdim=True)
(x > 0).all(-1)
x.argmax(-1)
x.max(-1).values
F.softmax(x, 1)
F.softmax(wide, 1)""".splitlines()
WRONG_IN_PYTORCH = ["F.softmax(x, 1)", "F.softmax(wide, 1)"]  # their gradients, in 2.13


@pytest.mark.parametrize("code", INNER)
def test_along_dimensions(code):
    assert_same_as_alone(code)
    if code not in WRONG_IN_PYTORCH:
        assert_same_as_pytorch(code)


@pytest.mark.parametrize("code", ["x.sum()", "x.mean()", "x.sum((0, 1))", "(x > 0).any()"])
def test_over_all_sequences(code):
    assert_same_as_pytorch(code)


SHAPES = """wide.transpose(1, 2)
wide.transpose(-1, -2)
wide.transpose(1, 2).transpose(1, 2)
wide.permute(0, 2, 1, 3)
x.mT
x.mH
x.isclose(y)
x.unflatten(-1, (2, 2))
x.unflatten(-1, (2, 2)).transpose(1, 2)
wide.flatten(2)
wide.flatten(-2, -1)
x.view(3, -1, 2, 2)
x.reshape(3, -1, 2, 2)
x.unsqueeze(-1)
x.unsqueeze(2)
x.unsqueeze(-1).squeeze(-1)
x.unsqueeze(-1).expand(-1, -1, -1, 2)
x.contiguous()
x[:, :, 1:3]
x[..., 0]
x.select(-1, 1)
x.narrow(-1, 1, 2)
x.chunk(2, -1)
x.split(3, -1)
x.split([1, 3], dim=-1)
torch.cat([x, y], -1)
torch.stack([x, y], -1)""".splitlines()


@pytest.mark.parametrize("code", SHAPES)
def test_shapes_and_inner_parts(code):
    has_parts = ".chunk(" in code or ".split(" in code
    for one in (f"{code}[{k}]" for k in range(2)) if has_parts else [code]:
        if not (".view(" in code or ".reshape(" in code):  # they name the number of sequences
            assert_same_as_alone(one)
        # PyTorch 2.13 ends the process in the gradient of a part
        assert_same_as_pytorch(one, is_differentiated=not has_parts)


MOVED = """moved + 1
moved * moved
moved.sum(1)
moved.sum(2)
moved.sum(-1)
moved.sum(2, keepdim=True)
moved.sum((1, 3))
moved.sum((2, 3))
moved.mean(2)
moved.mean((1, 2))
moved.amax(1)
moved.amax(2)
moved.amax(3)
moved.amin(2, keepdim=True)
moved.max(1).values
moved.max(3).indices
moved.argmax(1)
moved.softmax(1)
moved.softmax(2)
moved.softmax(3)
moved.log_softmax(2)
moved.select(1, 0)
moved.select(3, 1)
moved[:, 1]
moved[:, 0:1]
moved[..., 1:]
moved.narrow(1, 1, 1)
moved.chunk(2, 1)[1]
moved.split(2, -1)[0]
moved.unsqueeze(1)
moved.unsqueeze(2)
moved.unsqueeze(-1)
moved.unsqueeze(1).squeeze(1)
moved.unflatten(1, (2, 1))
moved.unflatten(1, (1, 2)).flatten(1, 2)
moved.transpose(1, 3)
moved.transpose(2, 3)
moved.permute(0, 3, 1, 2)
moved.transpose(1, 2).flatten(2)
moved @ square
torch.matmul(moved, square)
moved.transpose(2, 3) @ moved
torch.cat([moved, moved], 1)
torch.cat([moved, moved], -1)
torch.stack([moved, moved], 1)
moved * row3
F.linear(moved, square)
F.layer_norm(moved, (3,))
F.gelu(moved.transpose(2, 3))""".splitlines()


@pytest.mark.parametrize("code", MOVED)
def test_with_the_ragged_dimension_further_back(code):
    assert_same_as_alone(code.replace("moved", "wide.transpose(1, 2)"))


OF_THE_BATCH = """x.unbind()
x[1]
x[-1]
x[0, 1]
x.select(0, 2)
x.chunk(3)
torch.is_floating_point(x)
x.is_same_size(y)
torch.numel(x)
x.new_tensor([1.0])
F.embedding(torch.nested.nested_tensor([torch.tensor([1, 0]), torch.tensor([2])], layout=torch.jagged), matrix)
""".splitlines()


@pytest.mark.parametrize("code", OF_THE_BATCH)
def test_sequences_and_questions(code):
    assert_same_as_pytorch(code)


def test_modules():
    torch = require_torch()
    results = []
    for package in (tensorlab, torch):
        nn = package.nn
        model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 2)).double()
        with package.no_grad():
            for one in model.parameters():
                one.copy_(rows(package, one.numel()).reshape(one.shape))
        x = nested(package, 4)
        out = model(x)
        out.sum().backward()
        results.append([out, x.grad, *(one.grad for one in model.parameters())])
    assert_same(*results)


def test_dropout_leaves_out_elements_and_keeps_the_sequences():
    tensorlab.manual_seed(0)
    x = tensorlab.nested.nested_tensor([tensorlab.ones(50, 4), tensorlab.ones(30, 4)])
    out = tensorlab.nn.functional.dropout(x, 0.5)
    assert out.offsets().tolist() == x.offsets().tolist()
    assert sorted(set(out.values().flatten().tolist())) == [0.0, 2.0]


def test_in_place():
    torch = require_torch()
    for package in (tensorlab, torch):
        x = package.nested.nested_tensor([package.ones(1), package.ones(2)], layout=package.jagged)
        assert x.mul_(3) is x
        x.add_(1)
        assert [one.tolist() for one in x.unbind()] == [[4.0], [4.0, 4.0]]
    x += 1
    assert x[0].tolist() == [5.0]


@pytest.mark.parametrize("code", ["x * 2", "x.sum(1)", "x + x", "F.softmax(x, -1)", "x.mean(1)"])
def test_sequences_with_gaps_between_them(code):
    results = []
    for made in ("narrow", "nested_tensor"):
        whole = rows(tensorlab, 3, 4, 2)
        if made == "narrow":
            x = tensorlab.nested.narrow(whole, 1, 0, tensorlab.tensor(LENGTHS))
        else:
            parts = [one[:n] for one, n in zip(whole, LENGTHS, strict=True)]
            x = tensorlab.nested.nested_tensor(parts)
        results.append(eval(code, {"x": x, "F": tensorlab.nn.functional}))
    assert_same(*results)


def test_nothing_at_all():
    """A sequence of length 0 among others: what is of it alone is that of nothing."""
    parts = [tensorlab.ones(2, 3), tensorlab.ones(0, 3), tensorlab.ones(1, 3)]
    x = tensorlab.nested.nested_tensor(parts)
    assert x.sum(1).tolist() == [[2.0] * 3, [0.0] * 3, [1.0] * 3]
    assert tensorlab.nested.to_padded_tensor(x, 7.0)[1].tolist() == [[7.0] * 3] * 2
    assert (x * 2)[1].shape == (0, 3)
    assert x.softmax(1)[1].shape == (0, 3)


def test_gradients_of_autograd_grad():
    torch = require_torch()
    results = []
    for package in (tensorlab, torch):
        x = nested(package, 2)
        (found,) = package.autograd.grad((x * x).sum(), (x,))
        results.append(found)
    assert_same(*results)


def test_second_order():
    values = tensorlab.randn(8, 2, dtype=tensorlab.float64, requires_grad=True)
    offsets = tensorlab.tensor([0, 3, 4, 8])

    def f(values):
        x = tensorlab.nested.nested_tensor_from_jagged(values, offsets)
        return (x.softmax(1) * x.tanh()).sum(1)

    assert tensorlab.autograd.gradcheck(f, values)
    assert tensorlab.autograd.gradgradcheck(f, values)


@pytest.mark.parametrize(
    ("error", "message", "code"),
    [
        (
            RuntimeError,
            "cannot call add with nested tensors",
            "x + nested(torch, 4, lengths=(2, 2, 4))",
        ),
        (RuntimeError, "its size in the ragged dimension must be 1", "x * torch.ones(3, 2, 4)"),
        (RuntimeError, "batch dimension of a nested tensor alone", "x.sum(0)"),
        (RuntimeError, "only dim=0", "x.unbind(1)"),
        (RuntimeError, "ragged dimension 1 of a nested tensor", "F.layer_norm(flat, (3,))"),
        (RuntimeError, "batch dimension of a nested tensor must stay", "x.transpose(0, 1)"),
        (RuntimeError, "last size must be 5", "x @ torch.ones(5, 2)"),
        (RuntimeError, r"weight of shape \(2, 5\)", "F.linear(x, torch.ones(2, 5))"),
        (RuntimeError, r"normalized_shape \(5,\)", "F.layer_norm(x, (5,))"),
        (
            RuntimeError,
            "stack: all tensors must be nested",
            "torch.stack([x, torch.ones(3, 4, 4)], -1)",
        ),
        (
            AssertionError,
            "call scaled_dot_product_attention",
            "torch.nn.MultiheadAttention(4, 1).double()(x, x, x)",
        ),
        (RuntimeError, "batch dimension of a nested tensor must stay", "x.T"),
        (IndexError, "index 3 is out of bounds for a batch of 3", "x[3]"),
        (IndexError, "Dimension out of range", "x.sum(3)"),
        (RuntimeError, "can be indexed in its inner dimensions", "x[:, 1:]"),
        (RuntimeError, "matmul: not supported between", "x @ x"),
        (RuntimeError, "can't get the size 8", "x.view(3, 8, 4)"),
    ],
)
def test_what_is_refused(error, message, code):
    torch = require_torch()
    with pytest.raises(error, match=message):
        run(tensorlab, code, operands(tensorlab), nested=nested)
    with pytest.raises(Exception):  # noqa: B017, PT011 - PyTorch's classes differ among themselves
        run(torch, code, operands(torch), nested=nested)


def test_sums_and_means_of_complex_sequences():
    x = tensorlab.nested.nested_tensor(
        [tensorlab.tensor([1 + 2j, 2j]), tensorlab.tensor([3 + 1j])], layout=tensorlab.jagged
    )
    assert tensorlab.sum(x, 1).tolist() == [1 + 4j, 3 + 1j]
    assert x.mean(1).tolist() == [0.5 + 2j, 3 + 1j]
