"""Nested tensors of both packages: the same one in each, and whether two are the same."""

import numpy as np

LENGTHS = (3, 1, 4)


def rows(package, length, *inner, start=0, dtype="float64"):
    """A sequence of that many rows, the same numbers in each package."""
    count = length * int(np.prod(inner))
    numbers = package.arange(start, start + count, dtype=package.float64)
    return (numbers * 0.7).sin().reshape(length, *inner).to(getattr(package, dtype))


def sequences(package, *inner, lengths=LENGTHS, start=0, dtype="float64"):
    """Sequences of different lengths."""
    return [
        rows(package, length, *inner, start=start + 100 * k, dtype=dtype)
        for k, length in enumerate(lengths)
    ]


def nested(package, *inner, lengths=LENGTHS, start=0, dtype="float64"):
    """A nested tensor of them, a leaf that wants a gradient if it can have one."""
    x = package.nested.nested_tensor(
        sequences(package, *inner, lengths=lengths, start=start, dtype=dtype),
        layout=package.jagged,
    )
    return x.requires_grad_() if x.is_floating_point() else x


def assert_same(got, wanted, tolerance=1e-6):
    """Assert that two results, nested or dense, have the same sizes and elements."""
    if isinstance(wanted, (tuple, list)):
        for one, other in zip(got, wanted, strict=True):
            assert_same(one, other, tolerance)
        return
    if not hasattr(wanted, "is_nested"):
        assert got == wanted
        return
    assert got.is_nested == wanted.is_nested
    assert str(got.dtype).rpartition(".")[2] == str(wanted.dtype).rpartition(".")[2]
    assert got.dim() == wanted.dim()
    if got.is_nested:
        assert got._ragged_idx == wanted._ragged_idx
        assert_same(got.unbind(), wanted.unbind(), tolerance)
        return
    assert tuple(got.shape) == tuple(wanted.shape)
    np.testing.assert_allclose(
        got.detach().numpy(), wanted.detach().numpy(), rtol=tolerance, atol=tolerance
    )
