"""Ops while another thread rewrites the tensor that says where they read or write.

`python -m tests.ops.racing_indices 0.3 "index: gather"` runs one for so many seconds. The result means nothing, and
the op may raise; it must not read or write outside its tensors. Not a test file: test_racing_indices.py starts it.
"""
# ruff: noqa: B008 - what the calls work on is made once, when the table's function makes the call

import sys
import threading
import time

import tensorlab as T

SIZE, N = 1000, 200_000


def zeros(*shape, dtype=T.float32):
    return T.zeros(shape, dtype=dtype)


def backward_of(function, x):
    x.grad = None
    function(x).sum().backward()


# name: function of the racing index, which gives the call that is repeated
BY_INDEX = {
    "gather": lambda i: lambda x=zeros(SIZE): x.gather(0, i),
    "gather rows": lambda i: lambda x=zeros(SIZE, 200): x.gather(0, i.view(-1, 200)),
    "take_along_dim": lambda i: lambda x=zeros(SIZE): T.take_along_dim(x, i, 0),
    "scatter_": lambda i: lambda x=zeros(SIZE), y=zeros(N): x.scatter_(0, i, y),
    "scatter_ number": lambda i: lambda x=zeros(SIZE): x.scatter_(0, i, 1.0),
    "scatter_ strided": lambda i: lambda x=zeros(SIZE, 2)[:, 0], y=zeros(N): x.scatter_(0, i, y),
    "scatter_add_": lambda i: lambda x=zeros(SIZE), y=zeros(N): x.scatter_add_(0, i, y),
    "scatter_add_ half": lambda i: (
        lambda x=zeros(SIZE, dtype=T.float16), y=zeros(N, dtype=T.float16): x.scatter_add_(0, i, y)
    ),
    "scatter_add_ bool": lambda i: (
        lambda x=zeros(SIZE, dtype=T.bool), y=zeros(N, dtype=T.bool): x.scatter_add_(0, i, y)
    ),
    "scatter_add_ columns": lambda i: (
        lambda x=zeros(200, SIZE), y=zeros(200, SIZE): x.scatter_add_(1, i.view(200, -1), y)
    ),
    **{
        f"scatter_reduce {how}": lambda i, how=how: (
            lambda x=zeros(SIZE), y=zeros(N): x.scatter_reduce(0, i, y, how)
        )
        for how in ("sum", "prod", "mean", "amax", "amin")
    },
    "index_reduce": lambda i: lambda x=zeros(SIZE), y=zeros(N): x.index_reduce(0, i, y, "amax"),
    "index_select": lambda i: lambda x=zeros(SIZE): x.index_select(0, i),
    "index_add_": lambda i: lambda x=zeros(SIZE), y=zeros(N): x.index_add_(0, i, y),
    "index_add_ rows": lambda i: lambda x=zeros(SIZE, 16), y=zeros(N, 16): x.index_add_(0, i, y),
    "index_copy_": lambda i: lambda x=zeros(SIZE), y=zeros(N): x.index_copy_(0, i, y),
    "index_fill_": lambda i: lambda x=zeros(SIZE): x.index_fill_(0, i, 1.0),
    "take": lambda i: lambda x=zeros(SIZE): x.take(i),
    "put_": lambda i: lambda x=zeros(SIZE), y=zeros(N): x.put_(i, y),
    "index": lambda i: lambda x=zeros(SIZE): x[i],
    "index_put_": lambda i: lambda x=zeros(SIZE), y=zeros(N): x.index_put_((i,), y),
    "index_put_ accumulate": lambda i: (
        lambda x=zeros(SIZE), y=zeros(N): x.index_put_((i,), y, accumulate=True)
    ),
    "embedding": lambda i: lambda w=zeros(SIZE, 4): T.nn.functional.embedding(i, w),
    "embedding backward": lambda i: (
        lambda w=zeros(SIZE, 4).requires_grad_(): backward_of(
            lambda w: T.nn.functional.embedding(i, w, scale_grad_by_freq=True), w
        )
    ),
    **{
        f"embedding_bag {mode}": lambda i, mode=mode: (
            lambda w=zeros(SIZE, 4).requires_grad_(): backward_of(
                lambda w: T.nn.functional.embedding_bag(i.view(-1, 20), w, mode=mode), w
            )
        )
        for mode in ("sum", "mean", "max")
    },
    "embedding_bag offsets": lambda i: (
        lambda w=zeros(SIZE, 4), z=zeros(N, dtype=T.int64): T.nn.functional.embedding_bag(
            z, w, i, mode="sum"
        )
    ),
    "gather backward": lambda i: (
        lambda x=zeros(SIZE).requires_grad_(): backward_of(lambda x: x.gather(0, i), x)
    ),
    "index backward": lambda i: (
        lambda x=zeros(SIZE).requires_grad_(): backward_of(lambda x: x[i], x)
    ),
    "one_hot": lambda i: lambda: T.nn.functional.one_hot(i[:20000], SIZE),
    "one_hot largest": lambda i: lambda: T.nn.functional.one_hot(i[:200]),
    "bincount": lambda i: lambda: T.bincount(i, minlength=SIZE),
    "nll_loss": lambda i: (
        lambda x=zeros(N, 3).requires_grad_(): backward_of(
            lambda x: T.nn.functional.nll_loss(x, i), x
        )
    ),
    "cross_entropy": lambda i: (
        lambda x=zeros(N, 3).requires_grad_(): backward_of(
            lambda x: T.nn.functional.cross_entropy(x, i), x
        )
    ),
    "searchsorted": lambda i: lambda x=zeros(N), y=zeros(50000): T.searchsorted(x, y, sorter=i),
    "repeat_interleave": lambda i: lambda x=zeros(N): x.repeat_interleave(i),
    **{
        name: lambda i, name=name: lambda: getattr(T, name)(i)
        for name in ("sort", "argsort", "median", "unique", "max", "nonzero", "mode")
    },
    "cummax": lambda i: lambda: i.cummax(0),
    "topk": lambda i: lambda: i.topk(50),
    "kthvalue": lambda i: lambda: i.kthvalue(1000),
}

# the same for a racing mask
BY_MASK = {
    "nonzero": lambda m: lambda: m.nonzero(),
    "nonzero of a matrix": lambda m: lambda: m.view(-1, 100).nonzero(),
    "masked_select": lambda m: lambda x=zeros(N): x.masked_select(m),
    "masked_scatter_": lambda m: lambda x=zeros(N), y=zeros(N): x.masked_scatter_(m, y),
    "masked_fill_": lambda m: lambda x=zeros(N): x.masked_fill_(m, 1.0),
    "read": lambda m: lambda x=zeros(N): x[m],
    "write a number": lambda m: lambda x=zeros(N): x.__setitem__(m, 1.0),
    "write": lambda m: lambda x=zeros(N), y=zeros(N): x.__setitem__(m, y[: int(m.sum())]),
    "strided": lambda m: lambda x=zeros(N, 2)[:, 0]: x[m],
    "where": lambda m: lambda x=zeros(N): T.where(m, x, x),
}


def rewrite(array, values, stop):
    while not stop.is_set():
        for value in values:
            array[:] = value
            array[-3:] = value


def run(name, seconds):
    kind, _, op = name.partition(": ")
    if kind == "index":
        # few classes, and out of range in both directions
        racing, values, make = T.zeros(N, dtype=T.int64), (0, 2, 1 << 40, 1, -(1 << 45)), BY_INDEX
        if op == "repeat_interleave":
            values = (0, 1, 3, 0)
    else:
        racing, values, make = T.zeros(N, dtype=T.bool), (False, True), BY_MASK
    call, stop = make[op](racing), threading.Event()
    array = racing.numpy()
    threads = [threading.Thread(target=rewrite, args=(array, values, stop)) for _ in range(2)]
    for thread in threads:
        thread.start()
    raised, returned, end = 0, 0, time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            try:
                call()
                returned += 1
            except (RuntimeError, IndexError, ValueError, MemoryError):
                raised += 1
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    print(f"{name}: returned {returned}, raised {raised}", flush=True)


if __name__ == "__main__":
    for name in sys.argv[2:]:
        run(name, float(sys.argv[1]))
    print("done", flush=True)
