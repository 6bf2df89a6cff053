"""What the tests of reported bugs share; their fixture `T` is in conftest.py."""

import pytest

import tensorlab

SEVERAL = "several that one function returned"


def leaf(T, *values):
    return T.tensor(list(values), requires_grad=True)


def refuses(T, words=None):
    """Expect a RuntimeError, from tensorlab with these words in it."""
    return pytest.raises(RuntimeError, match=words if T is tensorlab else None)


def function(T, forward, backward):
    """A custom function of module T."""
    body = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("Custom", (T.autograd.Function,), body)
