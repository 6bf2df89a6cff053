"""The fixture of tests that ask tensorlab and PyTorch the same."""

import pytest

import tensorlab
from tests.oracle import require_torch


@pytest.fixture(params=["tensorlab", "torch"])
def T(request):
    """The module under test: a test that takes it runs with tensorlab and with PyTorch."""
    return tensorlab if request.param == "tensorlab" else require_torch()
