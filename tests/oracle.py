"""PyTorch as the oracle of tests: where it is installed, tensorlab must agree with it.

The package never imports PyTorch; tests get it here and nowhere else:

    from tests.oracle import require_torch

    torch = require_torch()
"""

import os

import pytest


def require_torch():
    """Return the module torch, or skip the test or file that asks.

    With TENSORLAB_REQUIRE_ORACLE=1 in the environment a missing PyTorch fails instead, so that
    continuous integration cannot pass by comparing with nothing.
    """
    if os.environ.get("TENSORLAB_REQUIRE_ORACLE") == "1":
        try:
            import torch
        except ImportError as error:
            pytest.fail(f"TENSORLAB_REQUIRE_ORACLE=1, but torch cannot be imported: {error}")
        return torch
    return pytest.importorskip("torch", reason="compares with PyTorch, which is not installed")
