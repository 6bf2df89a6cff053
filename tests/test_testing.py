"""assert_close accepts and refuses what PyTorch's does, and its message says the same."""

import pytest

import tensorlab
from tests.oracle import require_torch

torch = require_torch()

CLOSE = """
    T.ones(2), T.ones(2)
    T.ones(2), T.ones(2) + 1e-6
    T.ones(2), T.ones(2) + 1e-3
    T.ones(2).double(), T.ones(2).double() + 1e-6
    T.ones(2).half(), T.ones(2).half() + 1e-3
    T.ones(2).bfloat16(), T.ones(2).bfloat16() + 0.015625
    T.ones(2).bfloat16(), T.ones(2).bfloat16() + 0.03125
    T.ones(2), T.ones(3)
    T.ones(2), T.ones(2, 1)
    T.ones(2), T.ones(2).double()
    T.ones(2), T.ones(2).double(), dict(check_dtype=False)
    T.arange(3), T.arange(3)
    T.arange(3), T.tensor([0, 1, 4])
    T.tensor([True]), T.tensor([False])
    T.tensor([1.0, float("nan")]), T.tensor([1.0, float("nan")])
    T.tensor([1.0, float("nan")]), T.tensor([1.0, float("nan")]), dict(equal_nan=True)
    T.tensor([float("inf")]), T.tensor([float("inf")])
    T.tensor([float("inf")]), T.tensor([-float("inf")])
    T.zeros(0), T.zeros(0)
    T.tensor(1.0), T.tensor(1.5)
    1.0, 1.0
    1.0, 1.0 + 1e-8
    1.0, 1.1
    1, 1.0
    1, 2
    1.0, T.tensor(1.0)
    None, None
    [T.ones(2), 1.0], [T.ones(2), 1.0]
    [T.ones(2), 1.0], (T.ones(2), 1.0)
    [T.ones(2), 1.0], [T.ones(2), 2.0]
    [T.ones(2)], [T.ones(2), 2.0]
    {"a": T.ones(2)}, {"a": T.ones(2)}
    {"a": T.ones(2)}, {"a": T.zeros(2)}
    {"a": T.ones(2)}, {"b": T.zeros(2)}
    T.ones(2, 3), T.ones(3, 2).t()
    T.ones(2, 3), T.ones(3, 2).t(), dict(check_stride=True)
    T.eye(2).to_sparse(), T.eye(2).to_sparse()
    T.eye(2).to_sparse(), T.eye(2).to_sparse_csr()
    T.eye(2).to_sparse(), T.eye(2)
    T.eye(2).to_sparse(), T.eye(2), dict(check_layout=False)
    T.eye(2).to_sparse_csr(), T.eye(2).to_sparse_csr() * 1.1, dict(rtol=0.2, atol=0.0)
    T.ones(2), T.ones(2) + 0.1, dict(rtol=0.0, atol=0.2)
    T.ones(2), T.ones(2) + 0.1, dict(rtol=0.1)
    T.ones(2), T.ones(2) + 1, dict(msg="my words")
    T.ones(2), T.ones(2) + 1, dict(msg=lambda text: text[:5])
    T.zeros(2, 3), T.eye(2, 3), dict(rtol=0.0, atol=0.0)
    T.nn.Parameter(T.ones(2)), T.ones(2)
    T.nn.Parameter(T.ones(2)), T.ones(2), dict(allow_subclasses=False)
    T.ones(2), [1.0, 1.0]
"""


def outcome(T, line):
    """The class of the error and, where numbers differ, its first lines; None if there is none."""
    actual, expected, *options = eval(f"({line})", {"T": T})
    try:
        T.testing.assert_close(actual, expected, **(options[0] if options else {}))
    except Exception as error:
        return type(error), str(error).partition("Greatest")[0] if "Mism" in str(error) else ""
    return None


@pytest.mark.filterwarnings("ignore:Sparse CSR")  # of PyTorch, once in a process
@pytest.mark.parametrize("line", [line.strip() for line in CLOSE.strip().splitlines()])
def test_two_values_are_close_where_pytorch_says_so(line):
    assert outcome(tensorlab, line) == outcome(torch, line)


def test_the_message_names_the_worst_elements():
    x, y = tensorlab.tensor([[1.0, 2.0], [3.0, 4.0]]), tensorlab.tensor([[1.0, 2.5], [3.0, 5.0]])
    with pytest.raises(AssertionError) as error:
        tensorlab.testing.assert_close([x], [y])
    assert str(error.value).splitlines() == [
        "Tensor-likes are not close!",
        "",
        "Mismatched elements: 2 / 4 (50.0%)",
        "Greatest absolute difference: 1.0 at index (1, 1) (up to 1e-05 allowed)",
        "Greatest relative difference: 0.2 at index (0, 1) (up to 1.3e-06 allowed)",
        "",
        "The failure occurred for item [0]",
    ]
