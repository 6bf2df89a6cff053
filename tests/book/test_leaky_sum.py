"""Chapter 40's op: in NumPy, in Cython and on a device, it computes what a loop of tensor ops does."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import tensorlab as torch
from tensorlab._core.dispatch.facets import REGISTRY
from tensorlab._core.dispatch.overloads import forget_index
from tensorlab.autograd import gradcheck, gradgradcheck
from tensorlab.library import opcheck
from tensorlab.utils.cython_extension import load

FOLDER = Path(__file__).resolve().parents[2] / "chapters/40-custom-ops"
OPS: dict = {}  # the op, once it is declared: a module is loaded once in a process


def program(name):
    specification = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def fast():
    """The function; other tests don't meet its op, which isn't one of the package's."""
    function = load("leaky_sum", FOLDER / "leaky_sum.pyx").leaky_sum
    REGISTRY["fast::leaky_sum"] = OPS.setdefault("leaky_sum", REGISTRY.get("fast::leaky_sum"))
    forget_index()
    yield function
    REGISTRY.pop("fast::leaky_sum")
    forget_index()


def looped(x, decay):
    columns = [x[:, 0]]
    for t in range(1, x.shape[1]):
        columns.append(x[:, t] + decay * columns[-1])
    return torch.stack(columns, 1)


def samples(rows, steps, dtype=torch.float64):
    return torch.randn(rows, steps, dtype=dtype), torch.rand(rows, dtype=dtype)


@pytest.mark.parametrize("rows", [1, 2, 5])
@pytest.mark.parametrize("steps", [1, 2, 3, 7])
def test_numpy_and_cython_compute_what_a_loop_does(fast, rows, steps):
    x, decay = samples(rows, steps)
    expected = looped(x, decay)
    torch.testing.assert_close(fast(x, decay), expected)
    array = program("leaky").leaky(x.numpy(), decay.numpy())
    torch.testing.assert_close(torch.from_numpy(array), expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_strides_are_followed(fast, dtype):
    x, decay = samples(6, 8, dtype)
    for one in (x.T[:, ::2], x[1:4, 1:].T, x.flip(0)[::2]):
        few = torch.cat([decay, decay])[::2][: one.shape[0]]
        few = few if few.shape[0] == one.shape[0] else torch.rand(one.shape[0], dtype=dtype)
        torch.testing.assert_close(fast(one, few), looped(one, few))


def test_its_derivatives_are_right_and_it_is_what_it_says(fast):
    x, decay = (one.requires_grad_() for one in samples(3, 4))
    assert gradcheck(fast, (x, decay))
    assert gradgradcheck(fast, (x, decay))
    assert set(opcheck(torch.ops.fast.leaky_sum.default, (x, decay)).values()) == {"SUCCESS"}


def test_arguments_that_do_not_fit_are_refused(fast):
    with pytest.raises(RuntimeError, match=r"x is \(2, 3\) and decay is \(3,\)"):
        fast(torch.ones(2, 3), torch.ones(3))
    with pytest.raises(TypeError, match="both must be float32 or float64"):
        fast(torch.ones(2, 3), torch.ones(2, dtype=torch.float64))


DEVICE = """
import tensorlab as torch
from leaky import leaky
from my_device import BACKEND, on_device
from visitors import custom_op

op = custom_op(torch)

@op.register_kernel("mine")
def kernel(x, decay):
    out = torch.empty(x.shape, dtype=x.dtype, device="mine")
    on_device(out)[...] = leaky(on_device(x), on_device(decay))
    return out

x, decay = torch.rand(3, 5), torch.rand(3)
for one in (x, x[:, ::2]):
    grads = []
    for device in ("cpu", "mine"):
        leaves = [y.detach().to(device).requires_grad_() for y in (one, decay)]
        result = op(*leaves)
        result.sum().backward()
        assert result.device.type == device
        grads.append([result.detach().cpu(), *(leaf.grad.cpu() for leaf in leaves)])
    for here, there in zip(*grads, strict=True):
        torch.testing.assert_close(here, there)
assert not any("leaky_sum" in name for name in BACKEND.fallbacks), BACKEND.fallbacks
"""


def test_on_the_device_it_runs_its_own_kernel_forward_and_backward():
    done = subprocess.run(
        [sys.executable, "-c", DEVICE], cwd=FOLDER, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_custom_op_answers_what_the_other_ways_do_not():
    code = (
        "import json, tensorlab; from visitors import visits; print(json.dumps(visits(tensorlab)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=FOLDER, capture_output=True, text=True, check=True
    )
    assert '"no"' not in done.stdout.partition('"custom op"')[2]
    assert done.stdout.partition('"custom op"')[2].count('"yes"') == 6
