"""Programs of several lines give the same on PyTorch and on tensorlab; programs/ holds them."""

import importlib
import pkgutil

import numpy as np
import pytest

import tensorlab
from tests.func import programs
from tests.oracle import require_torch

pytestmark = pytest.mark.filterwarnings(  # what PyTorch imports, and says of its graphs and loops
    *("ignore::DeprecationWarning", "ignore:Attempted to insert a get_attr Node"),
    "ignore:There is a performance drop",
)

for module in pkgutil.iter_modules(programs.__path__):
    importlib.import_module(f"tests.func.programs.{module.name}")


def array(x):
    return np.asarray(x.detach().resolve_conj() if hasattr(x, "detach") else x)


@pytest.mark.parametrize("name", programs.PROGRAMS)
def test_program(name):
    expected, given = [programs.PROGRAMS[name](T) for T in (require_torch(), tensorlab)]
    assert list(expected) == list(given)
    for key, one in expected.items():
        theirs, ours = array(one), array(given[key])
        assert (theirs.shape, theirs.dtype) == (ours.shape, ours.dtype), key
        if theirs.dtype.kind in "fc":
            scale = max(1.0, np.abs(theirs).max(initial=0.0))
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9 * scale, err_msg=key)
        else:
            np.testing.assert_array_equal(ours, theirs, err_msg=key)
