"""trace_dispatch: the layers that a call meets."""

import io
import subprocess
import sys

import pytest
from tensorlab._core.dispatch.layers import entered_layers

import tensorlab as torch
from tensorlab._core.dispatch.recorder import Counter
from tensorlab.overrides import trace_dispatch
from tensorlab.utils._python_dispatch import BaseTorchDispatchMode
from tests.utils.test_python_dispatch import Wrapped


def labels(events):
    """Nested lists of labels."""
    return [[one.label, *labels(one.children)] for one in events]


def test_a_call_is_public_then_an_op_then_a_kernel_then_a_node():
    x = torch.ones(2, 3, requires_grad=True)
    with trace_dispatch(file=False) as trace:
        x.mul(2)
        torch.stack([x.detach(), torch.ones(2, 3)])
    assert labels(trace.calls[:1]) == [
        [
            "mul(f32[2, 3], 2)",
            [
                "aten::mul.Tensor(f32[2, 3], 2) -> f32[2, 3]",
                ["kernel on cpu"],
                ["autograd: MulBackward0"],
            ],
        ]
    ]
    assert trace.calls[-1].label == "stack([f32[2, 3], f32[2, 3]])"
    assert len(trace.calls) == 4


def test_layers_modes_and_classes_are_named():
    x = Wrapped(torch.ones(2))
    with trace_dispatch(file=False) as trace, BaseTorchDispatchMode(), Counter():
        x.neg()
    (call,) = [one for one in trace.calls if one.label.startswith("neg")]
    text = "\n".join(call.lines())
    names = ["recorder Counter", "mode BaseTorchDispatchMode", "class Wrapped"]
    places = [text.index(name) for name in names]
    assert places == sorted(places)


def test_backward_shows_what_the_engine_calls():
    x = torch.ones(2, requires_grad=True)
    y = x.tanh().sum()
    with trace_dispatch(file=False) as trace:
        y.backward()
    (call,) = trace.calls
    assert call.label == "backward(f32[])"
    assert any("tanh_backward" in one.label for one in call.children)


def test_it_is_printed_as_it_happens_and_ends_with_the_block():
    file = io.StringIO()
    with trace_dispatch(file=file) as trace:
        torch.ones(2)
    assert file.getvalue().startswith("ones(2)")
    assert str(trace) in file.getvalue()
    assert " us" in file.getvalue()
    with pytest.raises(ValueError, match="no"), trace_dispatch(file=False):
        raise ValueError("no")
    assert entered_layers() == ()
    assert "call" not in vars(BaseTorchDispatchMode())


def test_a_variable_of_the_environment_traces_a_whole_program():
    program = "import tensorlab; tensorlab.ones(2) + 1"
    environment = {"TENSORLAB_LOGS": "dispatch", "PATH": ""}
    ran = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert "aten::add.Tensor(f32[2], 1) -> f32[2]" in ran.stderr
