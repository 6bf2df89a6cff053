"""Corners that one in ten thousand random programs finds: which error comes first, strides of dimensions of size 1."""

import pytest

from tests.ops.agreement import agree


def leaf(T, *values):
    return T.tensor(values, dtype=T.float64, requires_grad=True)


def integers_that_require_grad(T):
    x = T.zeros(3, 2, dtype=T.bool)
    x[0, :] = leaf(T, 0.5)[0]
    return x


SUBSCRIPTS = {
    "None first": (None, 5),
    "a part first": (slice(1, None), 5),
    "a whole slice first": (slice(None), 5),
    "Ellipsis first": (..., 5),
    "a number first": (0, 5),
    "a wrong number first": (5, 0),
    "nothing wrong": (None, 1),
}


@pytest.mark.parametrize("subscript", SUBSCRIPTS.values(), ids=SUBSCRIPTS)
def test_a_wrong_index_into_integers_that_require_grad(subscript):
    agree(lambda T: integers_that_require_grad(T)[subscript])


def test_a_gradient_that_is_not_wanted_is_looked_at_too():
    def program(T):
        x = leaf(T, -0.5)
        y = x.to(T.float64)
        z = y @ y
        with T.no_grad():
            y.squeeze_()
        both = T.stack([z, y], 0)
        return T.autograd.grad((both * both).sum(), [z], allow_unused=True)

    agree(program)


def test_a_product_saves_the_matrix_though_no_gradient_leaves_the_vector():
    def program(T):
        x = leaf(T, 0.5, 1.5, 2.0).reshape(3, 1) * 1
        with T.no_grad():
            vector = x.select(1, 0)
        matrix = T.ones(3, 2, dtype=T.float64) * 2
        y = vector @ matrix
        matrix[:] = 1
        y.sum().backward()

    agree(program)


def test_such_a_product_has_the_version_of_any_other():
    def program(T):
        x = leaf(T, 0.5, 1.5, 2.0).reshape(3, 1) * 1
        with T.no_grad():
            vector = x.select(1, 0)
        return vector @ T.ones(3, 2, dtype=T.float64)

    agree(program)


@pytest.mark.parametrize("shapes", [((0, 1), (3, 1, 1)), ((3, 1), (1, 0)), ((2, 0, 3), (3,))])
def test_strides_of_an_empty_result_of_a_broadcast(shapes):
    agree(lambda T: T.zeros(shapes[0]) + T.zeros(shapes[1]))


@pytest.mark.parametrize("shape", [(2, 3), (3, 3), (2, 1)])
@pytest.mark.parametrize("is_turned", [False, True])
def test_the_gradient_of_what_was_written_into_a_view_is_contiguous(shape, is_turned):
    def program(T):
        base = T.zeros(shape, dtype=T.float64)
        view = base.t()[:1] if is_turned else base[::2]
        x = T.zeros(view.shape, dtype=T.float64, requires_grad=True)
        view.add_(x)
        return T.autograd.grad(base.sum(), x)[0].stride()

    agree(program)


def test_the_gradient_of_clamp_has_the_strides_of_its_input():
    def program(T):
        x = T.zeros(2, 2, 2, dtype=T.float64, requires_grad=True).unfold(2, 2, 1)
        y = x.clamp(-1, 1)
        return x.stride(), y.stride(), T.autograd.grad((y * y).sum(), x)[0].stride()

    agree(program)
