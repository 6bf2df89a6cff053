"""What the profiler, autocast and their tools refuse: PyTorch's class, and a message that names the function."""

import pytest

import tensorlab
import tensorlab.utils.benchmark  # as `import torch.utils.benchmark`, which PyTorch needs
import tensorlab.utils.flop_counter
from tests.oracle import require_torch

torch = require_torch()
pytest.importorskip("torch.utils.benchmark")
pytest.importorskip("torch.utils.flop_counter")


def handled(T, folder):
    """A profile whose traces go to a folder."""
    handler = T.profiler.tensorboard_trace_handler(folder)
    with T.profiler.profile(activities=[T.profiler.ProfilerActivity.CPU], on_trace_ready=handler):
        T.ones(2)


# call: what the message says of ours
BAD = {
    "no such action": (lambda T: T.profiler.ProfilerAction(99), "99"),
    "no such device type": (lambda T: T.profiler.DeviceType.ABACUS, "ABACUS"),
    "an argument of kineto": (lambda T: T.profiler.kineto_available(1), "kineto_available"),
    "an argument of activities": (
        lambda T: T.profiler.supported_activities(1),
        "supported_activities",
    ),
    "no folder": (lambda T: T.profiler.tensorboard_trace_handler(), "dir_name"),
    "a file as a folder": (lambda T: handled(T, __file__), "tensorboard_trace_handler.*folder"),
    "a number as the text of a range": (
        lambda T: T.profiler.record_function("range", 3).__enter__(),
        "record_function: args",
    ),
    "no activity": (lambda T: T.profiler.profile(activities=[]), "activities is empty"),
    "a schedule that is a number": (lambda T: T.profiler.profile(schedule=3), "callable"),
    "custom_fwd without a device": (lambda T: T.amp.custom_fwd(len), "device_type"),
    "custom_fwd with a number": (lambda T: T.amp.custom_fwd(device_type=3), "custom_fwd"),
    "custom_bwd without a device": (lambda T: T.amp.custom_bwd(len), "device_type"),
    "custom_bwd with a number": (lambda T: T.amp.custom_bwd(device_type=3), "custom_bwd"),
    "autocast for a number": (lambda T: T.amp.is_autocast_available(3), "is_autocast_available"),
    "autocast for nothing known": (
        lambda T: T.amp.is_autocast_available("abacus"),
        "is_autocast_available.*abacus",
    ),
    "a growth that shrinks": (
        lambda T: T.amp.GradScaler("cpu", growth_factor=0.5),
        "growth_factor",
    ),
    "a word as a scale": (lambda T: T.amp.GradScaler("cpu").update("a"), "GradScaler.update"),
    "a statement that is a number": (lambda T: T.utils.benchmark.Timer(3), "Timer: stmt"),
    "another language": (
        lambda T: T.utils.benchmark.Timer("x", language="cobol"),
        "language is 'cobol'",
    ),
    "fewer runs than none": (
        lambda T: str(T.utils.benchmark.Timer("pass").timeit(-1)),
        "timeit",
    ),
    "no runs": (lambda T: str(T.utils.benchmark.Timer("pass").timeit(0)), "zero"),
    "no threads": (
        lambda T: T.utils.benchmark.set_torch_threads(0).__enter__(),
        "at least 1 thread",
    ),
    "no time": (lambda T: T.utils.benchmark.select_unit("a"), "str"),
    "no unit": (lambda T: T.utils.benchmark.unit_to_english("parsecs"), "parsecs"),
    "a task without a statement": (lambda T: T.utils.benchmark.TaskSpec(), "stmt"),
    "numbers to compare": (lambda T: T.utils.benchmark.Compare([3]).print(), "Measurement"),
    "no list": (lambda T: T.utils.benchmark.ordered_unique(3), "iterable"),
    "a sparse tensor without a size": (lambda T: T.utils.benchmark.FuzzedSparseTensor(), "size"),
    "another distribution": (
        lambda T: T.utils.benchmark.FuzzedParameter("n", 1, 2, "normal"),
        "distribution is 'normal'",
    ),
    "a formula of no op": (
        lambda T: T.utils.flop_counter.register_flop_formula(3)(len),
        "an op is needed",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_raises_the_class_of_pytorch(name):
    call, message = BAD[name]
    with pytest.raises(Exception) as theirs:  # noqa: PT011
        call(torch)
    with pytest.raises(
        theirs.type if theirs.type is not Exception else RuntimeError, match=message
    ):
        call(tensorlab)


def test_what_is_planned_says_so():
    with pytest.raises(NotImplementedError, match="ExecutionTraceObserver"):
        tensorlab.profiler.ExecutionTraceObserver()
