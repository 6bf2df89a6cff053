"""Corners that random programs found: views that are out of date, and tensors reshaped under no_grad."""

import pytest

from tests.ops.agreement import agree


def leaf(T, *values):
    return T.tensor(values, dtype=T.float64, requires_grad=True)


def computed(T, *values):
    return leaf(T, *values) * 1


# ------------------------------------------------------------ views that are out of date
def test_the_flag_of_a_stale_view_cannot_be_switched_off():
    def program(T):
        x = T.ones(4)
        view = x[2:]
        x.mul_(leaf(T, 1).float())
        view.grad_fn  # noqa: B018 (PyTorch's answer depends on having looked; ours does not)
        view.requires_grad_(False)

    agree(program)


def test_a_retained_gradient_moves_on_when_a_view_gets_out_of_date():
    def program(T):
        x = leaf(T, 1, 2)
        view = x.view(2)
        total = view.sum()
        view.retain_grad()
        with T.no_grad():
            x.mul_(2)
        view.grad_fn  # noqa: B018 (PyTorch's answer depends on having looked; ours does not)
        total.backward()
        return [x.grad, view.grad]

    agree(program)


@pytest.mark.parametrize("padding", [None, 9])
def test_a_table_that_cannot_be_mended_raises_what_it_raises_in_pytorch(padding):
    def program(T):
        x = computed(T, 1, 2).reshape(2, 1)
        with T.no_grad():
            view = x[...]
        x.fill_(1.5)
        return T.nn.functional.embedding(T.tensor([0]), view, padding)

    agree(program)


def test_joining_a_view_that_cannot_be_mended_raises_for_that_first():
    def program(T):
        x = computed(T, 1, 2)
        with T.no_grad():
            view = x[...]
        x.fill_(1.5)
        return T.stack([computed(T, 1, 2), view], -9)

    agree(program)


@pytest.mark.parametrize(
    "call",
    [
        "narrow(9, 0, 0)",
        "movedim(0, 9)",
        "chunk(2, 9)",
        "tensor_split(2, 9)",
        "unflatten(9, (1, 1))",
        "select(9, 0)",
        "transpose(0, 9)",
        "sum(9)",
        "__getitem__([[True]])",
        "__getitem__(view > 9)",
        "__getitem__((view > 9)[:1])",
        "__getitem__((None, (view > 9)[:1]))",
    ],
)
def test_what_is_wrong_with_a_stale_view_is_told_in_pytorchs_order(call):
    def program(T):
        x = computed(T, 1, 2, 3, 4)
        with T.no_grad():
            view = x.view(2, 2)[:, :]
        x.fill_(1.5)
        return eval(f"view.{call}", {"view": view})

    agree(program)


@pytest.mark.parametrize("index", ["9", "0, 9", "1:, 9", ":, 9", "None, 9"])
def test_an_index_is_looked_at_after_what_stands_before_it(index):
    def program(T):
        x = computed(T, 1, 2, 3, 4)
        with T.no_grad():
            view = x.view(2, 2)[:, :]
        x.fill_(1.5)
        return eval(f"view[{index}]", {"view": view})

    agree(program)


# ------------------------------------------------------------ another shape under no_grad
RESHAPED = {
    "indexing": lambda T, x: x[0, T.tensor([0, 0, 2])],
    "sum": lambda T, x: x.sum(1),
    "embedding": lambda T, x: T.nn.functional.embedding(T.tensor([0, 0]), x),
    "slicing": lambda T, x: x[:, 1:],
}


@pytest.mark.parametrize("name", RESHAPED)
def test_a_tensor_reshaped_under_no_grad_gets_its_gradient(name):
    def program(T):
        start = leaf(T, 1, 2, 3)
        x = start * 2
        with T.no_grad():
            x.unsqueeze_(0)
        out = RESHAPED[name](T, x)
        (out * out).sum().backward()
        return [out, x, start.grad]

    agree(program)


def test_a_view_follows_a_base_reshaped_under_no_grad():
    def program(T):
        start = leaf(T, 1, 2)
        x = start * 2
        view = x.squeeze()
        with T.no_grad():
            x.unsqueeze_(0)
        (view * view).sum().backward()
        return [view, start.grad]

    agree(program)


def test_a_gradient_that_cannot_fit_the_old_shape_raises():
    def program(T):
        start = T.ones(2, 3, requires_grad=True)
        x = start * 2
        with T.no_grad():
            x.t_()
        x.sum(0).sum().backward()

    agree(program)


def test_a_leaf_transposed_under_no_grad_refuses_the_gradient_of_its_old_shape():
    def program(T):
        x = T.ones(4, 3, requires_grad=True)
        total = (x.reshape(12) * 2).sum()
        with T.no_grad():
            x.t_()
        total.backward()

    agree(program)


def test_a_shape_changed_under_no_grad_is_undone_on_the_way_back():
    def program(T):
        x = T.full((1, 1), -1.5, requires_grad=True)
        y = x.min(1)[0]
        with T.no_grad():
            y.squeeze_()
        z = T.add(y, x, alpha=2)
        (z * z).sum().backward()
        return [x.grad]

    agree(program)


def test_shapes_changed_under_no_grad_leave_formulas_and_retained_gradients_as_they_were():
    def program(T):
        x = T.tensor([1.25, 0.0, -0.5, 1.0], requires_grad=True)
        y = T.sin(x)
        with T.no_grad():
            y.unsqueeze_(0)
        y.retain_grad()
        (y[T.tensor([-1, 0, 0])] ** 2).sum().backward()
        return [x.grad, y.grad]

    agree(program, 1e-6)


def test_a_gradient_that_cannot_be_brought_to_the_old_shape_is_refused():
    def program(T):
        x = T.tensor([-0.5], requires_grad=True) * 1
        y = x @ x
        with T.no_grad():
            x.squeeze_()
        (T.stack([y, x], 0) ** 2).sum().backward()

    agree(program)
