"""Small programs that must have the same outcome with PyTorch and with tensorlab.

program, check = collection()

@program
def a_hook_replaces_the_gradient(M): ...        M is torch, or tensorlab

test_a_program_has_the_same_outcome_as_with_pytorch = check()
"""

import pytest

from tests.ops.agreement import agree


def collection():
    """A decorator that collects programs, and a function that makes the test of all of them."""
    programs = []

    def program(function):
        programs.append(function)
        return function

    def check():
        @pytest.mark.parametrize("run", programs, ids=lambda run: run.__name__)
        def test(run):
            agree(run, tolerance=1e-12)

        return test

    return program, check


def leaf(M, *values):
    """A float64 leaf of these values."""
    return M.tensor(list(values), dtype=M.float64, requires_grad=True)


def make(M, forward, backward, **members):
    """A Function class with these static methods."""
    members = {"forward": staticmethod(forward), "backward": staticmethod(backward), **members}
    return type("Made", (M.autograd.Function,), members)


def cube(M):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * grad

    return make(M, forward, backward)
