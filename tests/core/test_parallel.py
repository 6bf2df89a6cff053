"""One pool of threads: the same results with any number of threads, after forks, and in any company."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from tensorlab._core.loops.parallel import available_processors

import tensorlab as T
from tests.autograd.test_threads_and_forks import in_threads
from tests.oracle import require_torch

SECONDS = 120  # a child that takes longer hangs
COUNTS = (1, 2, 3, 4, 16)


@pytest.fixture(autouse=True)
def same_number_of_threads_afterwards():
    before = T.get_num_threads()
    yield
    T.set_num_threads(before)


def run_alone(program, *arguments):
    """Run a program in a fresh interpreter; it must end in time and well."""
    command = [sys.executable, "-c", textwrap.dedent(program), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    return done.stdout


# ---------------------------------------------------------------- any number of threads


@pytest.mark.parametrize("threads", COUNTS)
def test_every_element_is_written_once(threads):
    T.set_num_threads(threads)
    assert T.get_num_threads() == threads
    for n in (1, 65_536, 131_071, 262_145, 1_000_003):
        x = T.zeros(n)
        for _ in range(50):
            x.add_(1)
        assert (x == 50).all().item(), n


def products():
    rng = np.random.default_rng(0)

    def random(*shape, dtype="float32"):
        return T.from_numpy(rng.standard_normal(shape).astype(dtype))

    square, wide, tall = random(300, 300), random(40, 3000), random(3000, 40)
    yield "matmul", lambda: square @ square
    yield "transposed", lambda: square.t() @ square.t()
    yield "wide", lambda: square[:, :40] @ wide
    yield "tall", lambda: tall @ wide
    yield "inner", lambda: wide @ tall
    yield "float64", lambda: square.double() @ square.double()
    yield "int64", lambda: (square * 100).long() @ (square * 100).long()
    yield "matrix times vector", lambda: square @ square[0]
    yield "vector times matrix", lambda: square[0] @ square
    yield "dot", lambda: T.dot(tall.reshape(-1), wide.reshape(-1))
    batch = random(3, 5, 64, 48)
    yield "batch", lambda: batch @ batch.transpose(-1, -2)
    few = random(2, 300, 300)
    yield "few large products", lambda: square.expand(2, 300, 300) @ few


def loops():
    rng = np.random.default_rng(1)
    x = T.from_numpy(rng.standard_normal((300, 700)).astype("float32"))
    index = T.from_numpy(rng.integers(0, 300, (300, 700)))
    images = T.from_numpy(rng.standard_normal((6, 3, 40, 40)).astype("float32"))
    weight = T.from_numpy(rng.standard_normal((8, 3, 3, 3)).astype("float32"))
    F = T.nn.functional
    yield "exp", lambda: x.exp()
    yield "transposed copy", lambda: x.t().contiguous()
    yield "sum of rows", lambda: x.sum(1)
    yield "sum of columns", lambda: x.sum(0)
    yield "softmax", lambda: F.softmax(x, 1)
    yield "softmax of columns", lambda: F.softmax(x, 0)
    yield "cumsum", lambda: x.cumsum(0)
    yield "sort", lambda: x.sort(1)[1]
    yield "gather", lambda: x.gather(0, index)
    yield "rows", lambda: x[index[:, 0]]
    yield "layer_norm", lambda: F.layer_norm(x, (700,))
    yield "batch_norm", lambda: F.batch_norm(images, None, None, training=True)
    yield "max_pool2d", lambda: F.max_pool2d(images, 2)
    yield "conv2d", lambda: F.conv2d(images, weight, padding=1)
    yield "conv2d of one image", lambda: F.conv2d(images[:1], weight, padding=1)
    yield "conv_transpose2d", lambda: F.conv_transpose2d(images, weight.transpose(0, 1))


def results(run):
    """Return (threads, result) for each number of threads, first for one."""
    for threads in COUNTS:
        T.set_num_threads(threads)
        yield threads, run().numpy()


@pytest.mark.parametrize("name", dict(loops()))
def test_a_loop_gives_the_same_with_any_number_of_threads(name):
    (_, expected), *others = results(dict(loops())[name])
    for threads, result in others:
        np.testing.assert_array_equal(result, expected, err_msg=f"{threads} threads")


@pytest.mark.parametrize("name", dict(products()))
def test_a_product_gives_the_same_but_for_rounding_with_any_number_of_threads(name):
    (_, expected), *others = results(dict(products())[name])
    # a BLAS with wider registers adds up the 3000 products of "inner" in quite another order
    tolerance = 0 if expected.dtype.kind == "i" else 4e-6 * np.abs(expected).max()
    for threads, result in others:
        np.testing.assert_allclose(result, expected, 0, tolerance, err_msg=f"{threads} threads")


@pytest.mark.parametrize("threads", [2, 16])
def test_sums_over_everything_differ_by_rounding_only(threads):
    rng = np.random.default_rng(2)
    x = rng.standard_normal(1_000_000)
    images = rng.standard_normal((9, 4, 20, 20))
    T.set_num_threads(threads)
    np.testing.assert_allclose(T.from_numpy(x).sum().item(), x.sum(), rtol=1e-10)
    weight = T.ones(6, 4, 3, 3, dtype=T.float64, requires_grad=True)
    (grad,) = T.autograd.grad(T.conv2d(T.from_numpy(images), weight).sum(), [weight])
    T.set_num_threads(1)
    (expected,) = T.autograd.grad(T.conv2d(T.from_numpy(images), weight).sum(), [weight])
    np.testing.assert_allclose(grad.numpy(), expected.numpy(), rtol=1e-10)


def test_python_threads_compute_large_operations_at_once():
    T.set_num_threads(4)
    x = T.ones(200_000)
    y = T.ones(150, 150)

    def work(number):
        for _ in range(30):
            assert (x * number + 1 == number + 1).all().item()
            assert ((y * number) @ y == 150 * number).all().item()

    in_threads(8, work)


def test_a_bad_index_found_by_a_worker_raises_here():
    T.set_num_threads(4)
    index = T.zeros(400_000, dtype=T.int64)
    index[399_999] = 7
    with pytest.raises(IndexError, match="index 7 is out of range"):
        T.zeros(5)[index]
    with pytest.raises(RuntimeError, match="index 7 is out of range"):
        T.zeros(5).gather(0, index)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs processor affinity")
def test_only_processors_that_the_process_may_use_count():
    program = """
        import os
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        import tensorlab as T
        assert T.get_num_threads() == 1, T.get_num_threads()
    """
    run_alone(program)


def test_without_affinity_all_processors_count_and_at_least_one(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    assert available_processors() == 7
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert available_processors() == 1


# ---------------------------------------------------------------- first use


@pytest.mark.parametrize("attempt", range(3))
def test_the_first_products_of_a_process_may_come_from_many_threads_at_once(attempt):
    program = """
        import sys, threading
        import tensorlab as T
        sys.setswitchinterval(1e-6)
        barrier, errors = threading.Barrier(16), []
        def work():
            x = T.ones(64, 64)
            barrier.wait()
            try:
                assert (x @ x == 64).all().item()
            except BaseException as error:
                errors.append(error)
        threads = [threading.Thread(target=work) for _ in range(16)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        assert not errors, errors
    """
    run_alone(program)


def test_a_product_may_be_the_first_while_another_thread_imports_scipy():
    program = """
        import sys, threading
        import tensorlab as T
        sys.setswitchinterval(1e-6)
        barrier, errors = threading.Barrier(2), []
        def multiply():
            x = T.ones(64, 64)
            barrier.wait()
            try:
                assert (x @ x == 64).all().item()
            except BaseException as error:
                errors.append(error)
        def load():
            barrier.wait()
            import scipy.linalg
        threads = [threading.Thread(target=one) for one in (multiply, load)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        assert not errors, errors
        import scipy.linalg
        assert scipy.linalg.cython_blas.__pyx_capi__
    """
    run_alone(program)


# ---------------------------------------------------------------- in company

COMPANY = {
    "alone": "",
    "NumPy": "import numpy as np; np.ones((300, 300)) @ np.ones((300, 300))",
    "SciPy": "import scipy.linalg; scipy.linalg.inv([[2.0, 0.0], [0.0, 2.0]])",
    "scikit-learn": "from sklearn.cluster import KMeans; import numpy as np; "
    "KMeans(3, n_init=1).fit(np.random.default_rng(0).random((4000, 8)))",
    "PyTorch": "import torch; torch.ones(500, 500) @ torch.ones(500, 500); torch.ones(10**6).exp()",
}


@pytest.mark.parametrize(
    ("name", "order"),
    [
        *[(name, "before") for name in COMPANY],
        ("PyTorch", "after"),  # the one with threads of its own
        *[
            pytest.param(name, "after", marks=pytest.mark.nightly)
            for name in ("NumPy", "SciPy", "scikit-learn")
        ],
    ],
)
def test_it_works_with_other_libraries_imported_before_or_after(name, order):
    if name == "PyTorch":
        require_torch()
    if name == "scikit-learn":
        pytest.importorskip("sklearn")
    ours = """
import tensorlab as T
for threads in (T.get_num_threads(), 1, 2, 4, 16):
    T.set_num_threads(threads)
    for _ in range(5):
        assert (T.ones(300, 300) @ T.ones(300, 300) == 300).all().item()
        assert (T.ones(300_000).mul_(3) == 3).all().item()
        assert (T.ones(40, 64, 64) @ T.ones(40, 64, 64) == 64).all().item()
"""
    parts = [COMPANY[name], ours]
    parts = parts if order == "before" else parts[::-1]
    run_alone("\n".join([*parts, COMPANY[name], ours]))


def test_the_threads_of_blas_stay_as_the_program_wants_them():
    program = """
        import threading
        import scipy.linalg
        from threadpoolctl import ThreadpoolController
        import tensorlab as T
        def counts():
            return [library["num_threads"] for library in ThreadpoolController().select(user_api="blas").info()]
        before = counts()
        x = T.ones(200, 200)
        x @ x
        T.conv2d(T.ones(8, 3, 20, 20), T.ones(4, 3, 3, 3))
        assert counts() == before, (before, counts())
        T.set_num_threads(3)
        x @ x
        assert counts() == before, (before, counts())
        def many():
            for _ in range(200):
                x @ x
        threads = [threading.Thread(target=many) for _ in range(3)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        assert counts() == before, (before, counts())
        with ThreadpoolController().limit(limits=1, user_api="blas"):
            x @ x
            assert set(counts()) == {1}
    """
    run_alone(program)


# ---------------------------------------------------------------- forks

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")


@needs_fork
@pytest.mark.parametrize("first", ["", "x @ x", "import sklearn.cluster, scipy.linalg"])
def test_a_child_forked_after_threads_started_computes(first):
    program = """
        import multiprocessing
        import sys
        import tensorlab as T
        T.set_num_threads(4)
        x, y = T.ones(400, 400), T.ones(2_000_000)
        exec(sys.argv[1])
        (y * 2).sum()
        def work(results):
            good = (x @ x == 400).all().item() and (y * 2).sum().item() == 4_000_000
            good = good and (T.ones(40, 64, 64) @ T.ones(40, 64, 64) == 64).all().item()
            good = good and T.conv2d(T.ones(8, 3, 20, 20), T.ones(4, 3, 3, 3))[0, 0, 0, 0].item() == 27
            results.put(good)
        context = multiprocessing.get_context("fork")
        results = context.SimpleQueue()
        for _ in range(3):
            children = [context.Process(target=work, args=(results,)) for _ in range(3)]
            for child in children: child.start()
            assert all([results.get() for _ in children])
            for child in children: child.join()
            assert (x @ x == 400).all().item() and (y * 2).sum().item() == 4_000_000
    """
    run_alone(program, first)


@needs_fork
def test_a_child_forked_while_other_threads_compute_does_not_wait_for_them():
    program = """
        import os, threading
        import tensorlab as T
        T.set_num_threads(4)
        x, y = T.ones(300, 300), T.ones(1_000_000)
        stop = threading.Event()
        small = T.ones(40, 40)
        def compute():
            while not stop.is_set():
                x @ x
                y * 2
                for _ in range(100):
                    small @ small
        threads = [threading.Thread(target=compute) for _ in range(2)]
        for thread in threads: thread.start()
        for _ in range(40):
            child = os.fork()
            if child == 0:
                good = (x @ x == 300).all().item() and (y * 2 == 2).all().item()
                os._exit(0 if good else 1)
            assert os.waitpid(child, 0)[1] == 0
        stop.set()
        for thread in threads: thread.join()
    """
    run_alone(program)


@needs_fork
@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="counts threads in /proc")
def test_a_child_forked_before_threads_started_starts_its_own():
    program = """
        import os
        import tensorlab as T
        T.set_num_threads(2)
        def started():
            before = len(os.listdir("/proc/self/task"))
            assert (T.ones(2_000_000) * 2 == 2).all().item()
            return len(os.listdir("/proc/self/task")) - before
        def in_child(expected):
            assert started() == expected
            if expected == 1:
                fork(0)
        def fork(expected):
            child = os.fork()
            if child == 0:
                try:
                    in_child(expected)
                    os._exit(0)
                finally:
                    os._exit(1)
            assert os.waitpid(child, 0)[1] == 0
        fork(1)
        assert started() == 1
        fork(0)
    """
    run_alone(program)
