"""Recordings are made while other threads go on: their random numbers are neither repeated nor lost."""

import itertools
import sys
import threading

import pytest

import tensorlab as torch

pytestmark = pytest.mark.usefixtures("fresh")


def test_numbers_that_another_thread_draws_while_one_compiles_come_once():
    drawn, is_done = [], threading.Event()

    def draw():
        while not is_done.is_set():
            drawn.append(torch.rand(()).item())

    other = threading.Thread(target=draw)
    other.start()
    try:
        for rate in itertools.count():  # until there are enough, however busy the machine is
            if rate >= 6 and len(drawn) > 100:
                break
            compiled = torch.compile(lambda x, rate=rate: (x * rate).tanh() + 0.5 * x.sin())
            compiled(torch.ones(rate + 1))
    finally:
        is_done.set()
        other.join()
    # of so many floats below 1 with 24 bits, a few are equal by chance
    repeated = len(drawn) - len(set(drawn))
    assert repeated < 5 + len(drawn) ** 2 / 2**24


def test_a_backend_draws_aside():
    def backend(module, inputs):
        torch.rand(3)
        barrier.wait()  # the other thread draws here
        barrier.wait()
        torch.rand(3)
        return module.forward

    def compile_and_call():
        torch.compile(lambda x: x + 1, backend=backend)(torch.ones(2))

    barrier = threading.Barrier(2)
    torch.manual_seed(5)
    expected = torch.rand(9).tolist()
    torch.manual_seed(5)
    before = torch.rand(3).tolist()
    other = threading.Thread(target=compile_and_call)
    other.start()
    barrier.wait()
    inside = torch.rand(3).tolist()
    barrier.wait()
    other.join()
    assert before + inside + torch.rand(3).tolist() == expected


def test_second_derivatives_draw_aside():
    @torch.compile
    def program(x):
        return (torch.nn.functional.dropout(x, 0.5) ** 3).sum()

    x = torch.linspace(1, 2, 8).requires_grad_()
    for _ in range(2):
        torch.manual_seed(3)
        out = program(x)
        after = torch.get_rng_state()
        (grad,) = torch.autograd.grad(out, x, create_graph=True)
        assert torch.equal(torch.get_rng_state(), after)
        torch.manual_seed(3)
        kept = torch.nn.functional.dropout(torch.ones(8), 0.5)
        assert torch.allclose(grad, 3 * kept**3 * x**2)
        (second,) = torch.autograd.grad(grad.sum(), x)
        assert torch.allclose(second, 6 * kept**3 * x)


@pytest.mark.filterwarnings("ignore:compile")
def test_a_replay_that_is_taken_back_takes_back_no_numbers_of_another_thread():
    @torch.compile
    def program(x, n):
        y = torch.rand(4)
        z = (x.tanh() * 2).sin().exp() + x
        return z * 2 if n.item() > 1e9 else z + y[0]

    drawn, is_done = [], threading.Event()

    def draw():
        while not is_done.is_set():
            drawn.append(torch.rand((), dtype=torch.float64).item())

    x, interval = torch.ones(200_000), sys.getswitchinterval()
    other = threading.Thread(target=draw)
    sys.setswitchinterval(1e-5)
    other.start()
    try:
        for i in itertools.count():  # each meets a value that no recording has seen
            if i >= 100 and len(drawn) > 100:
                break
            program(x, torch.tensor(float(i)))
    finally:
        is_done.set()
        other.join()
        sys.setswitchinterval(interval)
    assert len(drawn) == len(set(drawn))


def test_a_replay_that_is_taken_back_draws_the_same_again():
    def program(x):
        y = torch.rand(4)
        return y * 2 if x.item() > 1 else y * 3

    compiled = torch.compile(program)
    torch.manual_seed(3)
    expected = [program(torch.tensor(value)) for value in (0.0, 2.0, 1.5, -1.0)]
    torch.manual_seed(3)
    found = [compiled(torch.tensor(value)) for value in (0.0, 2.0, 1.5, -1.0)]
    assert all(torch.equal(one, other) for one, other in zip(found, expected, strict=True))
