"""NumPy's names for arguments."""

import inspect

import pytest

import tensorlab
from tests.oracle import require_torch


def test_axis_means_dim_and_keepdims_means_keepdim():
    x = tensorlab.arange(6.0).reshape(2, 3)
    assert x.sum(axis=1).tolist() == [3, 12]
    assert tensorlab.mean(x, axis=0, keepdims=True).shape == (1, 3)
    assert tensorlab.cat([x, x], axis=1).shape == (2, 6)
    assert x.unsqueeze(axis=0).shape == (1, 2, 3)


def test_an_argument_under_two_names_is_refused():
    with pytest.raises(TypeError, match="given twice"):
        tensorlab.ones(2, 3).sum(dim=1, axis=1)
    with pytest.raises(TypeError, match="dims"):
        tensorlab.ones(2, 3).sum(dims=1)


def test_dictionaries_of_arguments_are_read_too():
    assert tensorlab.ones(2, 3).sum(axis=0).tolist() == [2, 2, 2]


def test_functions_written_in_python_take_them_too():
    x = tensorlab.tensor([[1.0, 2.0, 6.0], [4.0, 4.0, 5.0]])
    assert tensorlab.quantile(x, 0.5, axis=1, keepdims=True).tolist() == [[2.0], [4.0]]
    assert x.quantile(0.5, axis=0).tolist() == [2.5, 3.0, 5.5]
    assert x.nanquantile(0.5, axis=1).tolist() == [2.0, 4.0]
    assert tensorlab.mode(x, axis=1).values.tolist() == [1.0, 4.0]
    assert tensorlab.trapezoid(x, axis=1).tolist() == [5.5, 8.5]
    assert tensorlab.cumulative_trapezoid(x, axis=0).tolist() == [[2.5, 3.0, 5.5]]
    assert tensorlab.gradient(x, axis=0)[0].tolist() == [[3.0, 2.0, -1.0]] * 2
    with pytest.raises(TypeError, match="^quantile: an argument is given twice"):
        tensorlab.quantile(x, 0.5, dim=1, axis=1)
    assert tensorlab.quantile.__module__ == "tensorlab.ops.quantiles"
    assert "axis" not in inspect.signature(tensorlab.quantile).parameters


def test_every_function_that_takes_dim_in_pytorch_takes_axis_here():
    """PyTorch's parser of arguments knows the spelling; what it writes in Python does not, and need not here."""
    torch = require_torch()
    refused = []
    for name in tensorlab.__all__:
        function = getattr(tensorlab, name)
        theirs = getattr(torch, name, None)
        if not inspect.isbuiltin(theirs) or not inspect.isroutine(function):
            continue
        try:
            takes_dim = "dim" in inspect.signature(function).parameters
        except ValueError:
            continue
        if takes_dim and not is_taken(function, "axis"):
            refused.append(name)
    assert refused == []


def is_taken(function, name):
    """Does a call with this argument complain of something else than an unknown argument?"""
    try:
        function(**{name: 0})
    except TypeError as error:
        return "unexpected keyword" not in str(error)
    except Exception:
        return True
    return True
