"""What tests of compiled functions begin with."""

import pytest

import tensorlab


@pytest.fixture
def fresh():
    """A generator with a seed, and no recordings, neither before the test nor after it."""
    tensorlab.manual_seed(0)
    tensorlab.compiler.reset()
    yield
    tensorlab.compiler.reset()
