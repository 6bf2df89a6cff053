"""NumPy's names for arguments."""

import pytest

import tensorlab


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
