"""C memory: what an op and its derivatives allocate by malloc is freed again, however often they are called."""

import contextlib
import ctypes
import warnings

import pytest

import tensorlab
from tests.ops.every_sample import SAMPLES, as_tuple, tensors_of
from tests.ops.samples import is_floating

CALLS = 25
OPS = {}
for one in SAMPLES:
    OPS.setdefault(one.op, []).append(one)


class Mallinfo(ctypes.Structure):
    """The C library's `struct mallinfo2`."""

    names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = [(name, ctypes.c_size_t) for name in names.split()]


try:
    mallinfo = ctypes.CDLL(None).mallinfo2
    mallinfo.restype = Mallinfo
except (AttributeError, OSError, TypeError):
    mallinfo = None
counted = pytest.mark.skipif(mallinfo is None, reason="the C library does not tell")


def bytes_in_use():
    """What malloc has given away, without Python's small objects, which are not taken from there."""
    info = mallinfo()
    return info.uordblks + info.hblkhd


def growth(call):
    """Bytes that each of some calls leaves behind. Caches grow in a few rounds, a leak in all of them."""
    for _ in range(15):
        before = bytes_in_use()
        for _ in range(CALLS):
            call()
        grown = (bytes_in_use() - before) / CALLS
        if grown < 8:
            break
    return grown


def call_and_differentiate(sample):
    arrays = sample.arrays()
    tensors = [
        x.requires_grad_(bool(sample.derivatives) and is_floating(array))
        for x, array in zip(tensors_of(arrays), arrays, strict=True)
    ]
    results = as_tuple(sample.call(tensorlab, *tensors))
    outputs = [y for y in results if isinstance(y, tensorlab.Tensor) and y.requires_grad]
    if outputs:
        leaves = [x for x in tensors if x.requires_grad]
        grads = [tensorlab.ones_like(y) for y in outputs]
        tensorlab.autograd.grad(outputs, leaves, grads, allow_unused=True)


def call_all(samples):
    for sample in samples:
        call_and_differentiate(sample)


@counted
@pytest.mark.parametrize("op", OPS)
def test_a_call_and_its_derivative_leave_nothing_behind(op):
    """Once for all samples of an op: malloc takes up to ten milliseconds to say how much is in use."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if growth(lambda: call_all(OPS[op])) >= 8:
            grown = {sample: growth(lambda sample=sample: call_all([sample])) for sample in OPS[op]}
            pytest.fail(f"bytes that each call leaves behind: {grown}")


def test_a_leak_is_found(monkeypatch):
    kept = []
    monkeypatch.setattr(
        f"{__name__}.call_and_differentiate", lambda sample: kept.append(bytes(2000))
    )
    with pytest.raises(pytest.fail.Exception, match=r"add.*: 2\d\d\d"):
        test_a_call_and_its_derivative_leave_nothing_behind("add")


LARGE = {
    "a sum of all": lambda x: x.sum(),
    "a product of vectors": lambda x: x.flatten() @ x.flatten(),
    "an argmax of all": lambda x: x.argmax(),
    "a sort of columns": lambda x: x.sort(0),
    "a running sum of columns": lambda x: x.cumsum(0),
    "a convolution": lambda x: tensorlab.conv2d(x.view(1, 4, 300, 250), tensorlab.ones(2, 4, 3, 3)),
    "a convolution in panels": lambda x: differentiated_convolution(x.view(3, 4, 100, 250)),
}


def differentiated_convolution(x):
    x, weight = x.requires_grad_(), tensorlab.ones(9, 4, 3, 3, requires_grad=True)
    tensorlab.autograd.grad(tensorlab.conv2d(x, weight).sum(), (x, weight))


@counted
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", LARGE)
def test_a_large_call_leaves_nothing_behind_however_many_threads(name, threads):
    x = tensorlab.ones(1000, 300)
    before = tensorlab.get_num_threads()
    tensorlab.set_num_threads(threads)
    try:
        assert growth(lambda: LARGE[name](x)) < 8
    finally:
        tensorlab.set_num_threads(before)


@counted
@pytest.mark.parametrize("version", [None, (1, 0)])
def test_memory_that_is_lent_leaves_nothing_behind(version):
    x = tensorlab.ones(2, 3)

    def lend():
        tensorlab.from_dlpack(x.__dlpack__(max_version=version))
        x.__dlpack__(max_version=version)
        memoryview(x)
        with contextlib.suppress(BufferError):
            x.resize_(7, 7)

    assert growth(lend) < 8


@counted
@pytest.mark.parametrize("numbers", [4, 200_000], ids=["small", "large"])
def test_an_emptied_cache_gives_its_blocks_back_to_the_system(numbers):
    def fill_and_empty():
        kept = [tensorlab.empty(numbers) for _ in range(20)]
        del kept
        tensorlab.empty_cache()

    assert growth(fill_and_empty) < 8
