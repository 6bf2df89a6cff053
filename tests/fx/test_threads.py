"""A trace replaces methods of Module for a while; other threads go on as if it didn't."""

import threading

import tensorlab as tl
from tensorlab import fx, nn


class Slow(nn.Module):
    """Waits in the middle of its forward."""

    def __init__(self, entered, leave):
        super().__init__()
        self.inner = nn.Linear(2, 2)
        self.entered, self.leave = entered, leave

    def forward(self, x):
        x = self.inner(x)
        self.entered.set()
        self.leave.wait(60)
        return x + 1


def test_modules_that_another_thread_calls_are_no_part_of_a_trace():
    entered, leave, graphs = threading.Event(), threading.Event(), []
    slow = Slow(entered, leave)
    thread = threading.Thread(target=lambda: graphs.append(fx.symbolic_trace(slow)))
    thread.start()
    entered.wait(60)
    other = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    assert other(tl.ones(1, 2)).shape == (1, 3)
    leave.set()
    thread.join()
    assert [node.op for node in graphs[0].graph.nodes] == [
        "placeholder",
        "call_module",
        "call_function",
        "output",
    ]


def test_traces_of_several_threads_come_one_after_the_other():
    before = nn.Module.__call__, nn.Module.__getattribute__
    results = []

    def trace():
        for _ in range(10):
            traced = fx.symbolic_trace(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
            results.append(len(traced.graph.nodes))

    threads = [threading.Thread(target=trace) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [4] * 40
    assert (nn.Module.__call__, nn.Module.__getattribute__) == before
