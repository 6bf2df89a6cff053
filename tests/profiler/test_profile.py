"""profile: what is recorded, in which order, inside what, and for how long."""

import contextlib
import gc
import io
import json
import os
import threading
import time
import weakref

import pytest
from tensorlab._core.dispatch.layers import takes_part

import tensorlab as torch
from tensorlab import nn
from tensorlab._core import profiling
from tensorlab._core.dispatch.recorder import Counter, Recorder
from tensorlab.profiler import ProfilerActivity, profile, record_function
from tensorlab.utils.flop_counter import FlopCounterMode


def names(prof):
    return [event.name for event in prof.events()]


def named(prof, name):
    return next(event for event in prof.events() if event.name == name)


def step(model, optimizer, x, y):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()


@pytest.fixture
def training():
    model = nn.Sequential(nn.Linear(10, 20), nn.ReLU(), nn.Linear(20, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return model, optimizer, torch.randn(8, 10), torch.randint(0, 3, (8,))


def test_a_step_has_forward_backward_and_optimizer(training):
    step(*training)
    with profile() as prof:
        step(*training)
    prefix = "autograd::engine::evaluate_function: "
    assert [event.name for event in prof.events() if event.cpu_parent is None] == [
        "Optimizer.zero_grad#SGD.zero_grad",
        *("aten::linear", "aten::relu", "aten::linear", "aten::cross_entropy_loss", "aten::full"),
        prefix + "NllLossBackward0",
        prefix + "AddmmBackward0",
        *[prefix + "torch::autograd::AccumulateGrad"] * 2,
        prefix + "ReluBackward0",
        prefix + "AddmmBackward0",
        *[prefix + "torch::autograd::AccumulateGrad"] * 2,
        "Optimizer.step#SGD.step",
    ]
    node = named(prof, "AddmmBackward0")
    assert node.cpu_parent.name == prefix + "AddmmBackward0"
    assert "aten::mm" in [one.name for one in node.cpu_children]
    assert [one.name for one in named(prof, "Optimizer.step#SGD.step").cpu_children] == [
        "tensorlab::sgd_step_"
    ]


def test_backward_has_the_sequence_number_of_its_forward_op(training):
    with profile() as prof:
        step(*training)
    made = {
        event.sequence_nr: event.name
        for event in prof.events()
        if event.sequence_nr > 0 and event.scope == 0
    }
    ran = {
        event.name: made.get(event.sequence_nr)
        for event in prof.events()
        if event.name in ("ReluBackward0", "NllLossBackward0", "AddmmBackward0")
    }
    assert ran == {
        "ReluBackward0": "aten::relu",
        "NllLossBackward0": "aten::cross_entropy_loss",
        "AddmmBackward0": "aten::linear",
    }
    assert named(prof, "ReluBackward0").fwd_thread == 1
    assert named(prof, "aten::full").sequence_nr == -1


def test_what_a_kernel_calls_is_inside_of_the_op():
    x = torch.rand(3, 3)
    with profile() as prof:
        torch.linalg.matrix_exp(x)
        nn.functional.binary_cross_entropy(x, x)
        x.clamp(0, 1)
    assert "aten::mm" in [one.name for one in named(prof, "aten::linalg_matrix_exp").cpu_children]
    inside = [one.name for one in named(prof, "aten::binary_cross_entropy").cpu_children]
    assert inside[-1] == "tensorlab::binary_cross_entropy_of_probabilities"
    assert named(prof, "aten::clamp").cpu_children == []
    for event in prof.events():
        for inner in event.cpu_children:
            assert inner.cpu_parent is event
            assert event.time_range.start <= inner.time_range.start
            assert inner.time_range.end <= event.time_range.end


def test_self_times_and_what_is_in_no_row_are_the_wall_time(training):
    step(*training)
    shares = []
    for _ in range(5):  # another process may take the processor away where a clock is read
        with profile() as prof:
            start = time.perf_counter()
            for _ in range(100):
                step(*training)
            wall = (time.perf_counter() - start) * 1e6
        shares.append(prof.wall_time_total / wall)
    assert any(0.95 < share < 1.05 for share in shares)
    total, outside = prof.key_averages()._times
    assert total == pytest.approx(prof.wall_time_total)
    assert prof.events().self_cpu_time_total + outside == pytest.approx(total, rel=1e-6)


def test_with_a_schedule_the_self_times_are_the_wall_time(training):
    def every(step):
        return torch.profiler.ProfilerAction.RECORD

    step(*training)
    shares = []
    for _ in range(5):  # another process may take the processor away between two records
        with profile(schedule=every) as prof:
            for _ in range(100):
                step(*training)
                prof.step()
        shares.append(prof.events().self_cpu_time_total / prof.wall_time_total)
    assert 0.95 < max(shares) < 1.05


def test_times_are_those_of_the_clock():
    with profile() as prof, record_function("sleep"):
        time.sleep(0.02)
    assert 0.02e6 <= named(prof, "sleep").cpu_time_total < 2e6


def test_each_thread_has_a_track_of_its_own():
    def work():
        with record_function("in the thread"):
            torch.ones(3) + 1

    with profile() as prof, record_function("outside"):
        torch.zeros(2)
        thread = threading.Thread(target=work, name="helper")
        thread.start()
        thread.join()
    inside, outside = named(prof, "in the thread"), named(prof, "outside")
    assert (outside.thread, inside.thread) == (1, 2)
    assert inside.cpu_parent is None
    assert named(prof, "aten::add").cpu_parent is inside
    assert [track.name for track in prof._finished.tracks] == ["MainThread", "helper"]


def test_backward_in_another_thread_knows_where_forward_was():
    x = torch.ones(3, requires_grad=True)
    with profile() as prof:
        y = x.exp().sum()
        thread = threading.Thread(target=y.backward)
        thread.start()
        thread.join()
    node = named(prof, "ExpBackward0")
    assert (node.thread, node.fwd_thread) == (2, 1)


def test_an_error_ends_what_it_passes():
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda grad: 1 / 0)
    with profile() as prof:
        with pytest.raises(RuntimeError), record_function("bad"):
            torch.ones(2) + torch.ones(3)
        with pytest.raises(ZeroDivisionError):
            y.sum().backward()
        torch.zeros(2)
    assert named(prof, "aten::zeros").cpu_parent is None
    assert named(prof, "aten::add").cpu_parent.name == "bad"
    assert all(event.time_range.end >= event.time_range.start for event in prof.events())


def test_custom_functions_are_rows():
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 2 * x * grad

    x = torch.ones(3, requires_grad=True)
    with profile() as prof:
        Square.apply(x).sum().backward()
    forward, backward = named(prof, "Square"), named(prof, "SquareBackward")
    assert [one.name for one in forward.cpu_children] == ["aten::mul"]
    assert forward.sequence_nr == backward.sequence_nr > 0
    with profile() as prof:
        Square.apply(x.detach())
    assert named(prof, "Square").sequence_nr == -1


def test_compiled_code_is_a_row_with_its_kernels():
    @torch.compile
    def f(x):
        return (x * 2).sin().exp()

    x = torch.ones(1000, requires_grad=True)
    for _ in range(2):
        f(x).sum().backward()
    with profile() as prof:
        f(x).sum().backward()
    region = next(event for event in prof.events() if event.name.startswith("compiled "))
    assert len(region.cpu_children) == 1
    node = named(prof, "CompiledFunctionBackward")
    assert node.sequence_nr == region.sequence_nr > 0


def test_loading_saving_and_modules_are_rows(training):
    model, _, x, _ = training
    loader = torch.utils.data.DataLoader(range(5), batch_size=2)
    with profile(with_modules=True) as prof:
        for _ in loader:
            pass
        model(x)
        file = io.BytesIO()
        torch.save(model.state_dict(), file)
        file.seek(0)
        torch.load(file)
    found = names(prof)
    assert found.count("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__") == 4
    assert found.count("nn.Module: Linear") == 2
    assert {"tensorlab.save", "tensorlab.load"} <= set(found)
    assert named(prof, "aten::relu").cpu_parent.name == "nn.Module: ReLU"
    model(x)
    assert named(prof, "nn.Module: ReLU").cpu_parent.name == "nn.Module: Sequential"


class Slow(torch.utils.data.Dataset):
    def __len__(self):
        return 5

    def __getitem__(self, i):
        time.sleep(0.01)
        return i


def test_workers_have_tracks_and_are_waited_for_in_a_row(tmp_path):
    loader = torch.utils.data.DataLoader(Slow(), batch_size=2, num_workers=1)
    with profile() as prof:
        assert len(list(loader)) == 3
    assert names(prof).count("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__") == 4
    loads = [event for event in prof.events() if event.name == "DataLoader worker 0: load a batch"]
    assert len(loads) == 3
    assert {event.thread for event in loads} == {2}
    assert all(event.cpu_time_total >= 0.01e6 for event in loads)
    pids = [track.pid for track in prof._finished.tracks]
    assert pids[0] == os.getpid() != pids[1]
    prof.export_chrome_trace(tmp_path / "trace.json")
    entries = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert {"name": "DataLoader worker 0"} in [
        one.get("args") for one in entries if one["pid"] == pids[1]
    ]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_records_nothing():
    with profile() as prof:
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.write(write, b"yes" if profiling.is_recording() else b"no")
            torch.ones(2) + 1
            os._exit(0)
        os.waitpid(pid, 0)
        assert os.read(read, 3) == b"no"
        torch.zeros(2)
    assert names(prof) == ["aten::zeros"]


def test_one_profile_at_a_time():
    with profile():
        with pytest.raises(RuntimeError, match="another profile is being recorded"):
            profile().start()
        with pytest.raises(RuntimeError, match="another profile"), profile(with_modules=True):
            pass
    assert not profiling.is_recording()
    with profile() as prof:
        torch.ones(2)
    assert names(prof) == ["aten::ones"]


def test_a_range_of_an_earlier_profile_ends_nothing():
    first = profile()
    first.start()
    block = record_function("first").__enter__()
    first.stop()
    with profile() as prof, record_function("second"):
        block.__exit__(None, None, None)
        torch.ones(2)
    assert named(prof, "aten::ones").cpu_parent.name == "second"


def test_a_range_that_another_thread_ends_stays_open():
    block = record_function("main")
    with profile() as prof:
        block.__enter__()
        thread = threading.Thread(target=block.__exit__, args=(None, None, None))
        thread.start()
        thread.join()
        torch.ones(2)
    assert named(prof, "aten::ones").cpu_parent.name == "main"


def test_recorders_and_modes_see_what_they_see_without_a_profile():
    x = torch.ones(3, requires_grad=True)

    def program():
        x.grad = None
        with Recorder() as recorder:
            (x * 2).exp().sum().backward()
        return [call.op.name for call in recorder.calls]

    without = program()
    with profile() as prof:
        assert program() == without
    assert names(prof).count("aten::exp") == 1


def test_a_call_that_layers_pass_on_is_one_row():
    layers = [Counter(place) for place in ("transform", "autocast", "functionalize", "mode")]
    with profile() as prof, contextlib.ExitStack() as stack:
        for layer in layers:
            stack.enter_context(layer)
        flops = stack.enter_context(FlopCounterMode(display=False))
        torch.ones(2, 3) @ torch.ones(3, 4)
    assert names(prof) == ["aten::ones", "aten::ones", "aten::mm"]
    assert [layer.counts["mm"] for layer in layers] == [1] * 4
    assert flops.get_total_flops() == 48


def test_layers_go_on_after_a_profile():
    with Counter() as counter:
        with profile():
            torch.ones(2)
        torch.ones(2)
    assert counter.counts["ones"] == 2
    assert not takes_part()


def test_a_profile_keeps_no_tensor_alive():
    x = torch.ones(3)
    with profile(record_shapes=True, profile_memory=True, with_stack=True) as prof:
        y = x + torch.ones(3)
        z = torch.stack([y, y])
        generator = torch.Generator()
        torch.rand(2, generator=generator, dtype=torch.float64)
    gone = weakref.ref(y), weakref.ref(z), weakref.ref(generator)
    del y, z, generator
    gc.collect()
    assert [ref() for ref in gone] == [None] * 3
    assert prof.events()[3].concrete_inputs[:3] == [[2], None, torch.float64]


def test_shapes_and_numbers_of_arguments():
    x = torch.ones(2, 3)
    with profile(record_shapes=True) as prof:
        torch.add(x, 5)
        x.sum(1, keepdim=True)
        torch.stack([x, x])
    add, total, stack = prof.events()
    assert add.input_shapes == [[2, 3], [], []]
    assert add.input_dtypes == ["float32", "", ""]
    assert add.structured_input_strides == [[3, 1], [], []]
    assert total.concrete_inputs[1:3] == [1, True]
    assert stack.input_shapes == [[], []]
    assert stack.structured_input_shapes[0] == [[2, 3], [2, 3]]


def test_without_record_shapes_there_are_none():
    with profile() as prof:
        torch.ones(2) + 1
    assert all(event.input_shapes == [] for event in prof.events())
    (track,) = prof._finished.tracks
    assert all(row[7:10] == (None, None, None) for row in track.rows())


def test_memory_is_what_was_taken_and_not_given_back():
    with profile(profile_memory=True) as prof, record_function("block"):
        x = torch.ones(1000)
        y = x + 1
        del x
    add, block = named(prof, "aten::add"), named(prof, "block")
    assert add.cpu_memory_usage == add.self_cpu_memory_usage == 4032
    assert block.cpu_memory_usage == 4032
    assert block.self_cpu_memory_usage == -4032
    del y


def test_a_memory_history_goes_on_beside_a_profile():
    with torch.cpu.MemoryHistory() as history:
        with profile(profile_memory=True) as prof:
            x = torch.ones(1000)
        y = torch.ones(1000)
    assert [block.nbytes for block in history.blocks] == [4032, 4032]
    assert named(prof, "aten::ones").cpu_memory_usage == 4032
    del x, y


def test_flops_are_those_of_the_formulas():
    with profile(with_flops=True) as prof:
        torch.ones(2, 3) @ torch.ones(3, 4)
        nn.functional.linear(torch.ones(5, 3), torch.ones(4, 3))
        torch.ones(7) * 2
    found = {event.name: event.flops for event in prof.events()}
    assert found == {"aten::ones": 0, "aten::mm": 48, "aten::linear": 120, "aten::mul": 7}
    assert all(event.input_shapes == [] for event in prof.events())


def test_stacks_are_lines_of_source():
    with profile(with_stack=True) as prof:
        torch.ones(2)
        with record_function("block"):
            torch.ones(2) + 1
    first = prof.events()[0]
    assert first.stack[0].endswith("test_stacks_are_lines_of_source")
    path, _, rest = first.stack[0].partition("(")
    assert path == __file__
    line = int(rest.partition(")")[0])
    with open(__file__) as file:
        assert file.readlines()[line - 1].strip() == "torch.ones(2)"
    assert named(prof, "block").stack[0].startswith(__file__)


@pytest.mark.parametrize("activities", [[ProfilerActivity.CPU], None, [{ProfilerActivity.CPU: []}]])
def test_activities(activities):
    with profile(activities=activities) as prof:
        torch.ones(2)
    assert names(prof) == ["aten::ones"]


def test_activities_that_make_no_sense():
    with pytest.raises(AssertionError, match="activities is empty"):
        profile(activities=[])
    with pytest.raises(TypeError, match="has a str"):
        profile(activities=["cpu"])


def test_other_devices_are_not_there():
    activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    with (
        pytest.warns(UserWarning, match="^CUDA is not available"),
        profile(activities=activities) as prof,
    ):
        torch.ones(2)
    assert names(prof) == ["aten::ones"]
    with pytest.raises(AssertionError, match="there is no CUDA here"):
        profile(activities=[ProfilerActivity.CUDA]).start()
    with pytest.warns(UserWarning, match="^CUDA is not available") as caught:
        torch.autograd.profiler.profile(use_cuda=True)
    assert caught[0].filename == __file__


def test_nothing_can_be_asked_before_it_is_over():
    prof = profile()
    with pytest.raises(RuntimeError, match="nothing has been recorded yet"):
        prof.events()
    assert repr(prof) == "<profile: nothing recorded>"
    assert "nothing recorded" in prof._repr_html_()
    with prof:
        assert repr(prof) == "<profile: recording>"
    assert prof.events() == []
    assert prof.key_averages().table() == ""


def test_a_function_can_be_decorated():
    @record_function("halve")
    def halve(x):
        """Halve it."""
        return x / 2

    with profile() as prof:
        halve(torch.ones(2))
    assert names(prof) == ["aten::ones", "halve", "aten::div"]
    assert halve.__doc__ == "Halve it."
    with pytest.raises(TypeError, match="generator"):

        @record_function("no")
        def numbers():
            yield 1

    with pytest.raises(TypeError, match="name must be a str"):
        record_function(3)
