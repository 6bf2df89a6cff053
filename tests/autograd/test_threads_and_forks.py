"""Backward passes in several threads at once, and in processes forked meanwhile."""

import os
import signal
import sys
import threading
import time
import warnings

import tensorlab as T
from tests.autograd.programs import leaf


# ---------------------------------------------------------------- several threads
def in_threads(count, work):
    errors = []

    def guarded(number):
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(count)]
    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(switch)
    assert not errors, errors[0]


def test_8_threads_times_1000_passes_into_one_leaf_sum_exactly():
    x = leaf(T, 1.0, 2.0, 3.0)

    def work(number):
        for _ in range(1000):
            (x * (number + 1)).sum().backward()

    in_threads(8, work)
    assert x.grad.tolist() == [1000.0 * 36] * 3


def test_threads_may_share_a_graph_that_is_retained():
    x = leaf(T, 1.0, 2.0)
    y = (x * x * 3).sum()

    def work(number):
        for _ in range(100):
            y.backward(retain_graph=True)

    in_threads(8, work)
    assert x.grad.tolist() == [800 * 6.0, 800 * 12.0]


def test_threads_that_race_for_a_graph_that_is_freed_fail_cleanly():
    for _ in range(30):
        x = T.ones(200, requires_grad=True)
        y = x
        for _ in range(30):
            y = (y * x).tanh()
        y = y.sum()
        failed = []

        def work(number, y=y, failed=failed):
            try:
                y.backward()
            except RuntimeError as error:
                failed.append(str(error))

        in_threads(4, work)
        assert len(failed) <= 3
        assert all("retain_graph=True" in message for message in failed)


def test_big_gradients_from_several_threads_sum_exactly():
    x = T.ones(300_000, requires_grad=True)  # long enough for kernels to let other threads run

    def work(number):
        for _ in range(10):
            (x * 1).sum().backward()

    in_threads(6, work)
    assert x.grad.min().item() == x.grad.max().item() == 60


def test_a_slow_first_gradient_is_not_lost_to_another_thread():
    class Slow(T.Tensor):
        """Lets other threads run while it is copied."""

        def new_empty_strided(self, *args, **kwargs):
            time.sleep(0.01)
            return super().new_empty_strided(*args, **kwargs)

    class Give(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            given.append(T.ones(2).as_subclass(Slow))  # held here, so .grad must become a copy
            return given[-1]

    given = []
    x = T.zeros(2, requires_grad=True)
    in_threads(4, lambda number: Give.apply(x).sum().backward())
    assert x.grad.tolist() == [4.0, 4.0]


# ---------------------------------------------------------------- forked processes
class Waits(T.Tensor):
    """A gradient to which nothing is added before `go` is set; `began` says that adding has begun."""

    began, go = threading.Event(), threading.Event()

    def add_(self, other):
        self.began.set()
        assert self.go.wait(60)
        return super().add_(other)


def status_of_child(work, seconds=30):
    """Fork, do the work there, and return the child's exit status; None if it had to be stopped."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # there are threads; that is the point
        child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException:
            os._exit(1)
    for _ in range(seconds * 100):
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return status
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def gradient_is_right():
    x = T.ones(2, requires_grad=True)
    with T.enable_grad():  # backward, in which one of the children begins, has switched it off
        for _ in range(2):
            (x * 2).sum().backward()
    assert x.grad.tolist() == [4.0, 4.0]


def test_a_child_forked_while_another_thread_adds_a_gradient_does_not_wait_for_it():
    Waits.began.clear()
    Waits.go.clear()
    x = T.ones(2, requires_grad=True)
    x.grad = T.zeros(2).as_subclass(Waits)
    thread = threading.Thread(target=(x * 3).sum().backward)
    thread.start()
    assert Waits.began.wait(60)
    try:
        assert status_of_child(gradient_is_right) == 0
    finally:
        Waits.go.set()
        thread.join()
    assert x.grad.as_subclass(T.Tensor).tolist() == [3.0, 3.0]


def test_a_child_forked_by_the_thread_that_adds_a_gradient_goes_on_with_it():
    class Forks(T.Tensor):
        def add_(self, other):
            statuses.append(status_of_child(gradient_is_right))
            return super().add_(other)

    statuses = []
    x = T.ones(2, requires_grad=True)
    x.grad = T.zeros(2).as_subclass(Forks)
    (x * 3).sum().backward()
    assert statuses == [0]
    assert x.grad.as_subclass(T.Tensor).tolist() == [3.0, 3.0]
    gradient_is_right()
