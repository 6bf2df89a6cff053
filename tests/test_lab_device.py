"""The device of chapter 42: it trains, its queues have an order, a race is found, memory is reused."""

import io
import os
import re
import sys
import warnings
from pathlib import Path

import pytest
from tensorlab._core.state.devices import set_accelerator

import tensorlab as torch
from tensorlab import nn
from tensorlab.utils import backend_registration
from tensorlab.utils.data import DataLoader, TensorDataset

FOLDER = Path(__file__).resolve().parents[1] / "chapters" / "42-allocators-and-devices"


@pytest.fixture(scope="module")
def lab():
    """The package; what it registers stays registered in this process."""
    sys.path.insert(0, str(FOLDER))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import lab_device
    finally:
        sys.path.remove(str(FOLDER))
    if not hasattr(torch, "lab"):  # imported before, and taken away again
        backend_registration.rename_privateuse1_backend("lab")
        backend_registration.generate_methods_for_privateuse1_backend()
        backend_registration._register_device_module("lab", lab_device)
    yield lab_device
    take_away(torch.Tensor, "lab", "is_lab")  # the device itself stays registered
    take_away(nn.Module, "lab")
    take_away(nn.utils.rnn.PackedSequence, "lab", "is_lab")
    take_away(torch, "lab")
    backend_registration.RENAMED.clear()
    set_accelerator(None)


def take_away(place, *names):
    for name in names:
        delattr(place, name)


@pytest.fixture(autouse=True)
def quiet(lab):
    """No latency, nothing in the queues, and no word of ops that fall back."""
    lab.settings.latency = 0.0
    lab.settings.finds_races = True
    lab.BACKEND.has_warned = True
    torch.accelerator.synchronize()
    lab.timeline()


def losses(device):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 3)).to(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
    inputs, targets = torch.randn(30, 16), torch.randint(3, (30,))
    found = []
    for _ in range(5):
        loss = nn.functional.cross_entropy(net(inputs.to(device)), targets.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def test_a_network_learns_what_it_learns_on_the_cpu():
    assert losses("lab") == pytest.approx(losses("cpu"), abs=1e-6)


def test_a_gradient_comes_back_to_where_its_tensor_is():
    x = torch.rand(3, requires_grad=True)
    (x.to("lab") * 2).sum().backward()
    assert (str(x.grad.device), x.grad.tolist()) == ("cpu", [2.0] * 3)
    y = torch.rand(3, device="lab", requires_grad=True)
    (y.cpu() * 3).sum().backward()
    assert (str(y.grad.device), y.grad.cpu().tolist()) == ("lab:0", [3.0] * 3)


def test_it_is_the_accelerator(lab):
    assert torch.accelerator.is_available()
    assert torch.accelerator.device_count() == 1
    assert torch.accelerator.current_accelerator() == torch.device("lab")
    assert torch.accelerator.current_device_index() == 0
    x = torch.ones(2).lab()
    assert (x.device, x.is_lab, x.get_device()) == (torch.device("lab", 0), True, 0)
    assert nn.Linear(1, 1).lab().weight.is_lab
    with torch.accelerator.device_index(0):
        assert torch.ones(1, device="lab:0").is_lab
    with pytest.raises(
        RuntimeError, match="'lab:1' is not there; there is one such device, 'lab:0'"
    ):
        torch.ones(1, device="lab:1")
    with pytest.raises(RuntimeError, match="1 is not there; there is one accelerator"):
        torch.accelerator.set_device_index(1)


def test_programs_find_it_in_the_package_and_draw_the_same_numbers(lab):
    assert torch.get_device_module() is torch.lab is lab
    assert (torch.lab.is_available(), torch.lab.device_count(), torch.lab.current_device()) == (
        True,
        1,
        0,
    )
    torch.lab.manual_seed(3)
    state = torch.lab.get_rng_state()
    there = torch.rand(3, device="lab")
    torch.lab.set_rng_state(state)
    assert torch.rand(3).tolist() == there.cpu().tolist()
    torch.lab.synchronize()


def test_an_op_without_a_kernel_says_so_once(lab):
    lab.BACKEND.has_warned = False
    x = torch.arange(4.0).lab()
    with pytest.warns(UserWarning, match="lab: sin has no kernel here and runs on the cpu"):
        x.sin()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x.cos()


def test_kernels_run_later_and_in_order(lab):
    lab.settings.latency = 0.02
    x = torch.ones(3).lab()
    y = (x * 2) + 1
    assert not torch.accelerator.current_stream().query()
    assert y.cpu().tolist() == [3.0] * 3
    names = [name for _, name, _, _ in lab.timeline()]
    assert names[-2:] == ["multiply", "add"]


def test_a_race_is_found_and_an_event_ends_it(lab):
    x = torch.ones(3).lab()
    torch.accelerator.synchronize()
    lab.settings.latency = 0.02
    y = x * 2
    other = torch.Stream("lab")
    with (
        other,
        pytest.raises(
            lab.RaceError, match=r"add in stream \d+ uses a block that multiply in stream \d+ wrote"
        ),
    ):
        y + 1
    other.wait_event(torch.accelerator.current_stream().record_event())
    with other:
        z = y + 1
    with pytest.raises(lab.RaceError, match="overwrites a block that add in stream .* reads"):
        y.mul_(0)
    torch.accelerator.current_stream().wait_stream(other)
    y.mul_(0)
    assert (z.cpu().tolist(), y.cpu().tolist()) == ([3.0] * 3, [0.0] * 3)


def test_a_race_that_is_not_looked_for_gives_wrong_numbers(lab):
    lab.settings.finds_races = False
    x = torch.zeros(3).lab()
    torch.accelerator.synchronize()
    y = torch.zeros(3).lab()
    other = torch.Stream("lab")
    lab.settings.latency = 0.05
    x.add_(1)  # the stream is busy after it
    y.add_(x)
    with other:
        early = y * 1
    assert early.cpu().tolist() == [0.0] * 3
    assert y.cpu().tolist() == [1.0] * 3


def test_events_measure_and_are_waited_for(lab):
    lab.settings.latency = 0.03
    start, end = (torch.Event(enable_timing=True) for _ in range(2))
    x = torch.ones(3).lab()
    start.record()
    x * 2
    end.record()
    assert not end.query()
    end.synchronize()
    assert end.query()
    assert 25 < start.elapsed_time(end) < 1000
    with pytest.raises(ValueError, match="enable_timing=True"):
        start.elapsed_time(torch.Event())
    with pytest.raises(ValueError, match="must have been recorded"):
        start.elapsed_time(torch.Event(enable_timing=True))


def test_streams_and_events_know_where_they_belong(lab):
    stream, event = torch.Stream("lab"), torch.Event("lab")
    assert (str(stream.device), stream.device_type, stream.device_index) == ("lab:0", "lab", 0)
    assert (str(torch.cpu.Stream().device), torch.cpu.Stream().device_index) == ("cpu", 0)
    assert torch.Event("lab").event_id > event.event_id
    assert f"Event {event.event_id} of lab:0" in repr(event)
    with pytest.raises(RuntimeError, match="has no accelerator"):
        torch.Stream("cuda")
    with pytest.raises(TypeError, match="record_stream: a Stream is needed, not int"):
        torch.ones(1).lab().record_stream(3)
    lab.settings.latency = 0.02
    with stream:
        torch.ones(1, device="lab").mul_(2)
        event.record()
    event.wait()  # of the current stream, which is another one
    assert not torch.accelerator.current_stream().query()
    stream.synchronize()
    assert stream.query()


def test_what_an_allocator_does_not_count_is_nothing(lab, monkeypatch):
    asked = torch.accelerator
    names = ("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved")
    assert all(getattr(asked, name)() > 0 for name in names if "allocated" not in name)
    monkeypatch.setattr(lab.BACKEND, "memory_stats", dict)
    assert [getattr(asked, name)() for name in names] == [0] * 4


def test_there_is_one_accelerator():
    with torch.accelerator.device_index(None):
        torch.accelerator.set_device_index(-1)
        torch.accelerator.set_device_index("lab")
    for wrong in (1, torch.device("lab:1")):
        with pytest.raises(RuntimeError, match="1 is not there; there is one accelerator"):
            torch.accelerator.set_device_index(wrong)
    with (
        pytest.raises(RuntimeError, match="1 is not there"),
        torch.accelerator.device_index(1),
    ):
        pass
    x = torch.ones(1)
    assert x.lab(0).is_lab
    assert x.lab("lab:0").is_lab
    for wrong in (1, "lab:1"):
        with pytest.raises(RuntimeError, match="'lab:1' is not there"):
            x.lab(wrong)


def test_copies_from_pinned_memory_are_made_later(lab):
    lab.settings.latency = 0.03
    for pinned, expected in ((True, 7.0), (False, 1.0)):
        here = torch.ones(3)
        here = here.pin_memory() if pinned else here
        assert here.is_pinned() == pinned
        torch.ones(1).lab() * 2  # keeps the stream busy
        there = here.to("lab", non_blocking=True)
        here.fill_(7.0)
        assert there.cpu().tolist() == [expected] * 3
    x = torch.ones(3).lab() * 5
    back = torch.zeros(3)
    back.copy_(x, non_blocking=True)
    assert back.tolist() == [0.0] * 3
    torch.accelerator.synchronize()
    assert back.tolist() == [5.0] * 3


def test_loaders_pin_their_batches():
    data = TensorDataset(torch.arange(4.0), torch.arange(4))
    for batch in DataLoader(data, 2, pin_memory=True):
        assert [x.is_pinned() for x in batch] == [True, True]
    assert not next(iter(DataLoader(data, 2)))[0].is_pinned()


def test_memory_is_counted_and_used_again(lab):
    torch.accelerator.synchronize()
    torch.accelerator.empty_cache()
    before = torch.accelerator.memory_allocated()
    torch.accelerator.reset_peak_memory_stats()
    x = torch.zeros(1000, device="lab")
    assert torch.accelerator.memory_allocated() - before == 4096
    del x
    assert torch.accelerator.memory_allocated() == before
    assert torch.accelerator.max_memory_allocated() >= before + 4096
    reused = torch.accelerator.memory_stats()["reused"]
    y = torch.zeros(1000, device="lab")
    assert torch.accelerator.memory_stats()["reused"] > reused
    del y
    torch.accelerator.empty_cache()
    assert torch.accelerator.memory_reserved() >= torch.accelerator.memory_allocated()


def test_a_block_that_another_stream_uses_waits(lab):
    torch.accelerator.empty_cache()
    x = torch.ones(5000, device="lab")
    other = torch.Stream("lab")
    other.wait_stream(torch.accelerator.current_stream())
    lab.settings.latency = 0.05
    with other:
        y = x * 2
    x.record_stream(other)
    address = lab.BACKEND.allocator
    del x
    assert address.waiting
    torch.accelerator.synchronize()
    address.collect()
    assert not address.waiting
    assert y.cpu().tolist() == [2.0] * 5000


def test_files_keep_the_place_and_can_be_put_elsewhere():
    file = io.BytesIO()
    torch.save({"x": torch.arange(3.0).lab(), "y": torch.ones(1).lab()}, file)
    for location, device in (
        (None, "lab:0"),
        ("cpu", "cpu"),
        ({"lab:0": "cpu"}, "cpu"),
        (lambda s, _: s, "cpu"),
    ):
        file.seek(0)
        loaded = torch.load(file, map_location=location)
        assert str(loaded["x"].device) == device
        assert (loaded["x"].cpu().tolist(), loaded["y"].item()) == ([0.0, 1.0, 2.0], 1.0)


def test_a_kernel_that_fails_is_named_when_the_program_waits(lab):
    def fails():
        raise ZeroDivisionError("no")

    lab.BACKEND.launch("broken", fails)
    with pytest.raises(ZeroDivisionError) as caught:
        torch.accelerator.synchronize()
    assert "in the kernel 'broken'" in caught.value.__notes__[0]
    torch.accelerator.synchronize()


def test_a_forked_process_is_told_that_the_streams_are_gone():
    x = torch.ones(3).lab()
    torch.accelerator.synchronize()
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        said = "nothing"
        try:
            x * 2
        except RuntimeError as error:
            said = str(error)
        finally:
            os.write(writing, said.encode())
            os._exit(0)
    os.waitpid(child, 0)
    said = os.read(reading, 1000).decode()
    os.close(reading), os.close(writing)
    assert re.search(r"multiply was put into stream \d+, whose thread is gone: .*'spawn'", said)


@pytest.mark.parametrize("name", [3, "cpu", "meta"])
def test_an_accelerator_has_a_name_of_its_own(name, monkeypatch):
    monkeypatch.setattr(backend_registration, "RENAMED", [])
    assert backend_registration._privateuse1_backend_name() == "privateuseone"
    with pytest.raises(RuntimeError, match=f"{name!r} can't be the name of an accelerator"):
        backend_registration.rename_privateuse1_backend(name)
    assert torch.accelerator.current_accelerator() == torch.device("lab")


def test_what_contradicts_itself_is_refused(lab):
    from tensorlab.utils import generate_methods_for_privateuse1_backend, rename_privateuse1_backend
    from tensorlab.utils.backend_registration import (
        get_device_module,
        register_backend,
        register_kernels,
    )

    with pytest.raises(RuntimeError, match="the accelerator is named 'lab' already"):
        rename_privateuse1_backend("other")
    with pytest.raises(RuntimeError, match="Tensor has 'lab' already"):
        generate_methods_for_privateuse1_backend()
    generate_methods_for_privateuse1_backend(
        for_tensor=False, for_module=False, for_packed_sequence=False
    )
    with pytest.raises(RuntimeError, match="PackedSequence has 'lab' already"):
        generate_methods_for_privateuse1_backend(for_tensor=False, for_module=False)
    with pytest.raises(RuntimeError, match="tensorlab has 'lab' already"):
        backend_registration._register_device_module("lab", lab)
    assert backend_registration._privateuse1_backend_name() == "lab"
    with pytest.raises(NotImplementedError, match="leave for_storage out"):
        generate_methods_for_privateuse1_backend(for_storage=True)
    with pytest.raises(ValueError, match="'a b' can't be the name of a device"):
        register_backend("a b", None)
    with pytest.raises(RuntimeError, match="no device 'nowhere' has been registered"):
        register_kernels("nowhere", {})
    with pytest.raises(TypeError, match="an op is needed, such as ops.aten.mm"):
        register_kernels("lab", {"mm": None})
    with pytest.raises(RuntimeError, match="there is no module for 'xla'"):
        get_device_module("xla")
    assert get_device_module("cpu") is torch.cpu
    with pytest.raises(
        RuntimeError, match="memory of the cpu is pinned, and the tensor is on lab:0"
    ):
        torch.ones(1).lab().pin_memory()
