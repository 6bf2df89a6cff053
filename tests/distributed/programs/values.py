"""Every collective, with every dtype and with sizes around every limit, against NumPy."""

import functools
import itertools

import numpy as np

import tensorlab as torch
import tensorlab.distributed as dist
from tensorlab.distributed import ReduceOp

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
COMPLEX = (torch.complex64, torch.complex128)
SIGNED = (torch.int8, torch.int16, torch.int32, torch.int64)
UNSIGNED = (torch.uint8, torch.uint16, torch.uint32, torch.uint64)
INTEGERS = SIGNED + UNSIGNED
ALL = FLOATS + COMPLEX + INTEGERS + (torch.bool,)
SIZES = (0, 1, 7, 257, 20_011)  # on a card; beyond one; reduced whole; in parts

OPS = {
    ReduceOp.SUM: np.add,
    ReduceOp.PRODUCT: np.multiply,
    ReduceOp.MIN: np.minimum,
    ReduceOp.MAX: np.maximum,
    ReduceOp.BAND: np.bitwise_and,
    ReduceOp.BOR: np.bitwise_or,
    ReduceOp.BXOR: np.bitwise_xor,
}


def allowed(op, dtype):
    if dtype in COMPLEX:
        return op in (ReduceOp.SUM, ReduceOp.AVG)
    if dtype in FLOATS:
        return op not in (ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR)
    return op != ReduceOp.AVG or dtype != torch.bool


@functools.cache
def values_of(rank, size, dtype, seed=0):
    """Return small whole numbers that every dtype can hold, as an array of the widest kind."""
    draws = np.random.default_rng([rank, size, seed]).integers(0, 3, size)
    if dtype == torch.bool:
        return draws > 0
    if dtype in COMPLEX:
        return draws + 1j * draws[::-1]
    return draws.astype(float if dtype in FLOATS else np.int64)


def tensor_of(array, dtype):
    return torch.from_numpy(np.array(array)).to(dtype)


def array_of(x):
    return (x.float() if x.dtype in (torch.float16, torch.bfloat16) else x).numpy()


def check(got, expected, *what):
    assert got.dtype == what[1], what
    expected = np.asarray(expected)
    same = np.array_equal(array_of(got), expected)
    if (
        ReduceOp.AVG in what and got.dtype not in INTEGERS
    ):  # a division of NumPy's rounds as it likes
        same = np.allclose(got.to(torch.complex128).numpy(), expected, rtol=1e-15, atol=0)
    assert same, (what, got.tolist()[:5], expected.tolist()[:5])


def reduced(op, arrays):
    if arrays[0].dtype == bool:
        op = {ReduceOp.SUM: ReduceOp.BOR, ReduceOp.PRODUCT: ReduceOp.BAND}.get(op, op)
    total = arrays[0]
    for other in arrays[1:]:
        total = OPS[ReduceOp.SUM if op == ReduceOp.AVG else op](total, other)
    if op == ReduceOp.AVG:
        total = total / len(arrays) if arrays[0].dtype.kind in "fc" else total // len(arrays)
    return total


def reductions(rank, count):
    for dtype, size, op in itertools.product(ALL, SIZES, (*OPS, ReduceOp.AVG)):
        if not allowed(op, dtype):
            continue
        arrays = [values_of(each, size, dtype) for each in range(count)]
        expected = array_of(tensor_of(reduced(op, arrays), dtype))
        x = tensor_of(arrays[rank], dtype)
        dist.all_reduce(x, op)
        check(x, expected, "all_reduce", dtype, size, op)
        root = size % count
        x = tensor_of(arrays[rank], dtype)
        dist.reduce(x, root, op)
        check(x, expected if rank == root else arrays[rank], "reduce", dtype, size, op)
        parts = [
            [values_of(each, size, dtype, 1 + part) for part in range(count)]
            for each in range(count)
        ]
        out = torch.empty(size, dtype=dtype)
        dist.reduce_scatter(out, [tensor_of(part, dtype) for part in parts[rank]], op)
        column = tensor_of(reduced(op, [parts[each][rank] for each in range(count)]), dtype)
        check(out, array_of(column), "reduce_scatter", dtype, size, op)


def premultiplied(rank, count):
    for size in SIZES:
        x = torch.full((size,), float(rank + 1))
        dist.all_reduce(x, ReduceOp(ReduceOp.PREMUL_SUM, 0.5))
        check(x, [0.25 * count * (count + 1)] * size, "premul", torch.float32, size)


def copies(rank, count):
    for dtype, size in itertools.product(ALL, SIZES):
        arrays = [values_of(each, size, dtype) for each in range(count)]
        own, root = tensor_of(arrays[rank], dtype), (size + 1) % count
        x = own.clone()
        dist.broadcast(x, root)
        check(x, arrays[root], "broadcast", dtype, size)
        outs = [torch.empty(size, dtype=dtype) for _ in range(count)]
        dist.all_gather(outs, own)
        for each, out in enumerate(outs):
            check(out, arrays[each], "all_gather", dtype, size)
        whole = torch.empty(size * count, dtype=dtype)
        dist.all_gather_into_tensor(whole, own)
        check(whole, np.concatenate(arrays), "all_gather_into_tensor", dtype, size)
        outs = [torch.empty(size, dtype=dtype) for _ in range(count)] if rank == root else None
        dist.gather(own, outs, root)
        for each, out in enumerate(outs or ()):
            check(out, arrays[each], "gather", dtype, size)
        given = [tensor_of(each, dtype) for each in arrays] if rank == root else None
        x = torch.empty(size, dtype=dtype)
        dist.scatter(x, given, root)
        check(x, arrays[rank], "scatter", dtype, size)
        given = [tensor_of(values_of(rank, size, dtype, target), dtype) for target in range(count)]
        outs = [torch.empty(size, dtype=dtype) for _ in range(count)]
        dist.all_to_all(outs, given)
        for each, out in enumerate(outs):
            check(out, values_of(each, size, dtype, rank), "all_to_all", dtype, size)


def uneven(rank, count):
    """Parts of different sizes, which only some collectives take."""
    for unit in (3, 4000):
        sizes = [unit * (each + 1) for each in range(count)]
        outs = [torch.empty(size) for size in sizes]
        dist.all_gather(outs, torch.full((sizes[rank],), float(rank)))
        for each, out in enumerate(outs):
            check(out, [float(each)] * sizes[each], "uneven all_gather", torch.float32)
        sent = torch.cat(
            [torch.full((unit * (target + 1),), float(rank)) for target in range(count)]
        )
        got = torch.empty(unit * (rank + 1) * count)
        dist.all_to_all_single(
            got, sent, [unit * (rank + 1)] * count, [unit * (target + 1) for target in range(count)]
        )
        expected = np.repeat(np.arange(count, dtype=float), unit * (rank + 1))
        check(got, expected, "uneven all_to_all_single", torch.float32)


def strided(rank, count):
    x = torch.zeros(40, 60)
    x += rank
    part = x.t()[::2, ::3]
    dist.all_reduce(part)
    total = float(sum(range(count)))
    assert (part == total).all()
    assert (x[1, 1].item(), x[0, 0].item()) == (rank, total)
    scalar = torch.tensor(1.5)
    dist.all_reduce(scalar)
    assert (scalar.item(), scalar.shape) == (1.5 * count, ())


def messages(rank, count):
    after, before = (rank + 1) % count, (rank - 1) % count
    for dtype, size in itertools.product((torch.float32, torch.bfloat16, torch.bool), SIZES):
        array = values_of(rank, size, dtype)
        x = torch.empty(size, dtype=dtype)
        sending = dist.isend(tensor_of(array, dtype), after, tag=size % 7)
        dist.recv(x, before, tag=size % 7)
        sending.wait()
        check(x, values_of(before, size, dtype), "send", dtype, size)
    # Several at once, in the order of their tags; and from anyone.
    sent = [torch.full((5000,), float(10 * rank + tag)) for tag in range(4)]
    works = [dist.isend(x, after, tag=tag) for tag, x in enumerate(sent)]
    got = [torch.empty(5000) for _ in sent]
    works += [dist.irecv(got[tag], before, tag=tag) for tag in (3, 1, 0, 2)]
    for work in works:
        work.wait()
    assert [x[-1].item() for x in got] == [10.0 * before + tag for tag in range(4)]
    same = [torch.empty(5000) for _ in range(3)]
    works = [dist.irecv(x, before, tag=9) for x in same]
    works += [dist.isend(torch.full((5000,), float(turn)), after, tag=9) for turn in range(3)]
    for work in works:
        work.wait()
    assert [x[0].item() for x in same] == [0.0, 1.0, 2.0]  # in the order in which they were sent
    dist.barrier()
    if rank == 0:
        seen = {dist.recv(torch.empty(2), None, tag=5) for _ in range(count - 1)}
        assert seen == set(range(1, count))
    else:
        dist.send(torch.ones(2), 0, tag=5)
    dist.barrier()


def groups(rank, count):
    """Groups within the world, whose calls overlap."""
    everyone = dist.new_group(list(range(count)))
    low, high = dist.new_group([0]), dist.new_group(list(range(1, count)))
    x, y = torch.ones(3000), torch.ones(3000)
    # Two groups may be called in different orders by different ranks.
    calls = [lambda: dist.all_reduce(x, group=everyone, async_op=True),
             lambda: dist.all_reduce(y, async_op=True)]  # fmt: skip
    works = [call() for call in (calls if rank % 2 else calls[::-1])]
    for work in works:
        work.wait()
    assert x[0] == y[0] == count
    own = low if rank == 0 else high
    z = torch.ones(2)
    dist.all_reduce(z, group=own)
    assert z[0] == (1 if rank == 0 else count - 1)
    dist.destroy_process_group(own)
    dist.barrier()


def waiting(rank, count):
    """Works that are waited for late, out of order, or not at all."""
    tensors = [torch.full((size,), float(rank)) for size in (10, 5000, 300_000)]
    works = [dist.all_reduce(x, async_op=True) for x in tensors]
    for work in reversed(works):
        assert [work.wait(), work.is_completed(), work.is_success()] == [True] * 3
    total = float(sum(range(count)))
    assert all((x == total).all() for x in tensors)
    x = torch.ones(1000)
    future = dist.all_reduce(x, async_op=True).get_future()
    doubled = future.then(lambda done: 2 * done.value()[0])
    assert doubled.wait()[0] == 2 * count
    for _ in range(50):
        dist.all_reduce(torch.ones(2000), async_op=True)  # no one waits
    dist.barrier()


def main():
    dist.init_process_group("mpi")
    rank, count = dist.get_rank(), dist.get_world_size()
    cases = (reductions, premultiplied, copies, uneven, strided, waiting)
    for case in (*cases, messages, groups) if count > 1 else cases:
        case(rank, count)
    dist.barrier()
    dist.destroy_process_group()
    print("all is well")


if __name__ == "__main__":
    main()
