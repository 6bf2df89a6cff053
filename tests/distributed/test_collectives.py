"""Every collective against what it should compute, on ranks that are threads."""

import numpy as np
import pytest

import tensorlab as tl
from tensorlab import distributed as dist

REAL = [tl.float32, tl.float64, tl.float16, tl.bfloat16]
WHOLE = [tl.int8, tl.uint8, tl.int16, tl.int32, tl.int64]
TYPES = [*REAL, *WHOLE, tl.complex64, tl.complex128, tl.bool]


def values(rank, shape, dtype):
    """Return small numbers that differ by rank, and whose sums are exact in every dtype."""
    numbers = tl.arange(int(np.prod(shape))).reshape(shape) % 3 + rank % 2
    if dtype.is_complex:
        return tl.complex((numbers + 1).double(), numbers.double() * 2).to(dtype)
    return (numbers % 2 if dtype == tl.bool else numbers).to(dtype)


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_each_collective_brings_the_values_that_it_promises(size, dtype):
    def program(rank):
        every = [values(r, (2, 3), dtype) for r in range(size)]
        own, root = every[rank].clone(), size - 1
        got = {}
        got["broadcast"] = own.clone(), every[root]
        dist.broadcast(got["broadcast"][0], src=root)
        parts = [tl.empty_like(own) for _ in range(size)]
        dist.all_gather(parts, own)
        got["all_gather"] = tl.stack(parts), tl.stack(every)
        joined = tl.empty(2 * size, 3, dtype=dtype)
        dist.all_gather_into_tensor(joined, own)
        got["all_gather_into_tensor"] = joined, tl.cat(every)
        parts = [tl.empty_like(own) for _ in range(size)] if rank == root else None
        dist.gather(own, parts, dst=root)
        if rank == root:
            got["gather"] = tl.stack(parts), tl.stack(every)
        mine = tl.empty_like(own)
        dist.scatter(mine, every[::-1] if rank == root else None, src=root)
        got["scatter"] = mine, every[::-1][rank]
        sent = [every[(rank + r) % size] for r in range(size)]
        parts = [tl.empty_like(own) for _ in range(size)]
        dist.all_to_all(parts, sent)
        got["all_to_all"] = (
            tl.stack(parts),
            tl.stack([every[(r + rank) % size] for r in range(size)]),
        )
        return got

    for got in dist.threads.spawn(program, nprocs=size):
        for name, (result, expected) in got.items():
            assert tl.equal(result, expected), name


def reduction(op, every):
    """Return what NumPy makes of the values of all ranks."""
    stacked = np.stack(
        [x.to(tl.complex128 if x.is_complex() else tl.float64).numpy() for x in every]
    )
    whole = stacked.real.astype(np.int64) if op.name.startswith("B") else stacked
    return {
        "SUM": lambda: stacked.sum(0),
        "AVG": lambda: stacked.sum(0) / len(every),
        "PRODUCT": lambda: stacked.prod(0),
        "MIN": lambda: stacked.min(0),
        "MAX": lambda: stacked.max(0),
        "BAND": lambda: np.bitwise_and.reduce(whole),
        "BOR": lambda: np.bitwise_or.reduce(whole),
        "BXOR": lambda: np.bitwise_xor.reduce(whole),
    }[op.name]()


OPS = [op for op in dist.ReduceOp.RedOpType if op.name != "PREMUL_SUM"]
CASES = [
    (op, dtype)
    for op in OPS
    for dtype in [*REAL, *WHOLE, tl.complex64]
    if not (op.name.startswith("B") and dtype not in WHOLE)
    and not (op.name not in ("SUM", "AVG") and dtype.is_complex)
    and not (op.name == "AVG" and dtype in WHOLE)
]


@pytest.mark.parametrize("op, dtype", CASES, ids=lambda x: getattr(x, "name", str(x)))
def test_each_reduction_is_that_of_numpy(op, dtype):
    size = 4

    def program(rank):
        every = [values(r, (3,), dtype) for r in range(size)]
        everywhere, at_root = every[rank].clone(), every[rank].clone()
        dist.all_reduce(everywhere, op)
        dist.reduce(at_root, 1, op)
        mine = tl.empty(3, dtype=dtype)
        dist.reduce_scatter(mine, [x.clone() for x in every], op)
        flat = tl.empty(3, dtype=dtype)
        dist.reduce_scatter_tensor(flat, tl.cat([every[rank]] * size), op)
        return everywhere, at_root, mine, flat

    every = [values(r, (3,), dtype) for r in range(size)]
    expected = tl.from_numpy(np.asarray(reduction(op, every))).to(dtype)
    results = dist.threads.spawn(program, nprocs=size)
    for rank, (everywhere, at_root, mine, flat) in enumerate(results):
        assert tl.equal(everywhere, expected)
        assert tl.equal(flat, expected)
        assert tl.equal(at_root, expected if rank == 1 else every[rank])
        scattered = tl.from_numpy(np.asarray(reduction(op, [every[rank]] * size))).to(dtype)
        assert tl.equal(mine, scattered)


def test_a_factor_comes_before_the_sum():
    def program(rank):
        x = tl.full((2,), rank + 1.0)
        dist.all_reduce(x, dist.ReduceOp(dist.ReduceOp.PREMUL_SUM, 0.5))
        return x.tolist()

    assert dist.threads.spawn(program, nprocs=3) == [[3.0, 3.0]] * 3


def test_bools_are_or_and_and():
    def program(rank):
        x = tl.tensor([rank == 0, True, False])
        both = [x.clone() for _ in range(4)]
        for one, op in zip(both, ("SUM", "MAX", "PRODUCT", "MIN"), strict=True):
            dist.all_reduce(one, getattr(dist.ReduceOp, op))
        return [one.tolist() for one in both]

    any_, all_ = [True, True, False], [False, True, False]
    assert dist.threads.spawn(program, nprocs=2) == [[any_, any_, all_, all_]] * 2


@pytest.mark.parametrize("make", [
    lambda x: x.t(), lambda x: x[::2], lambda x: x[:, 1:2], lambda x: x.flip(0).expand(4, 4),
    lambda x: x[:0], lambda x: x[0, 0],
])  # fmt: skip
def test_tensors_of_any_strides_are_read_and_written(make):
    def program(rank):
        base = tl.arange(16.0).reshape(4, 4) + rank
        x = make(base)
        before, untouched = x.clone(), base.clone()
        dist.all_reduce(x)
        y = make(tl.zeros(4, 4))
        dist.broadcast(y, src=0)
        joined = tl.empty(2, *reversed(x.shape)).permute(0, *range(x.dim(), 0, -1))
        dist.all_gather_into_tensor(joined, before)
        return before, x, joined, untouched, base

    (first, total, joined, old, new), (second, *_) = dist.threads.spawn(program, nprocs=2)
    assert tl.equal(total, first + second)
    assert tl.equal(joined, tl.stack([first, second]))
    assert tl.equal(old.clone(), old)
    changed = (new != old).sum()
    assert changed <= total.numel()


def test_parts_of_unequal_size_are_exchanged():
    def program(rank):
        sizes = [1, 3, 2]
        x = tl.full((sizes[rank],), float(rank))
        parts = [tl.empty(n) for n in sizes]
        dist.all_gather(parts, x)
        sent = tl.arange(6.0) + 10 * rank
        got = tl.empty(3 * sizes[rank])
        dist.all_to_all_single(got, sent, [sizes[rank]] * 3, sizes)
        return tl.cat(parts).tolist(), got.tolist()

    results = dist.threads.spawn(program, nprocs=3)
    assert [parts for parts, _ in results] == [[0.0, 1.0, 1.0, 1.0, 2.0, 2.0]] * 3
    assert [got for _, got in results] == [
        [0.0, 10.0, 20.0],
        [1.0, 2.0, 3.0, 11.0, 12.0, 13.0, 21.0, 22.0, 23.0],
        [4.0, 5.0, 14.0, 15.0, 24.0, 25.0],
    ]


def test_calls_may_overlap_and_end_in_any_order():
    def program(rank):
        tensors = [tl.full((3,), float(rank + i)) for i in range(5)]
        works = [dist.all_reduce(x, async_op=True) for x in tensors]
        futures = [work.get_future() for work in works]
        for work in reversed(works):
            assert work.wait()
        assert all(work.is_completed() and work.is_success() for work in works)
        for future, work in zip(futures, works, strict=True):
            assert future.value()[0] is work.result()[0]
        return [x[0].item() for x in tensors]

    assert dist.threads.spawn(program, nprocs=2) == [[1.0, 3.0, 5.0, 7.0, 9.0]] * 2


def test_several_tensors_go_in_one_call():
    def program(rank):
        tensors = [tl.ones(2) * rank, tl.ones(3)]
        dist.all_reduce_coalesced(tensors)
        outputs = [[tl.empty(2), tl.empty(3)] for _ in range(2)]
        dist.all_gather_coalesced(outputs, [tl.ones(2) * rank, tl.zeros(3)])
        return [x.tolist() for x in tensors], [[x.tolist() for x in part] for part in outputs]

    reduced, gathered = dist.threads.spawn(program, nprocs=2)[1]
    assert reduced == [[1.0, 1.0], [2.0, 2.0, 2.0]]
    assert gathered == [[[0.0, 0.0], [0.0, 0.0, 0.0]], [[1.0, 1.0], [0.0, 0.0, 0.0]]]


def test_a_write_is_counted_so_that_autograd_notices():
    def program(rank):
        x = tl.ones(2, requires_grad=True)
        y = x * 2
        loss = (y * y).sum()
        dist.all_reduce(y)
        with pytest.raises(RuntimeError, match="version"):
            loss.backward()

    dist.threads.spawn(program, nprocs=2)


WRONG = [
    (lambda: dist.all_reduce([1]), TypeError, "Expected parameter `tensor` of type Tensor"),
    (lambda: dist.all_reduce(tl.ones(2), op="sum"), TypeError, "expected a member of ReduceOp"),
    (lambda: dist.all_reduce(tl.ones(2), dist.ReduceOp.BAND), RuntimeError, "bits of integers"),
    (lambda: dist.all_reduce(tl.ones(2, dtype=tl.complex64), dist.ReduceOp.MAX), ValueError, "complex"),
    (lambda: dist.all_reduce(tl.ones(2, device="meta")), RuntimeError, "is on meta"),
    (lambda: dist.all_gather([tl.ones(2)], tl.ones(2)), ValueError, "has 1 tensors, and the group 2"),
    (lambda: dist.all_gather([tl.ones(2).int()] * 2, tl.ones(2)), RuntimeError, "one dtype"),
    (lambda: dist.all_gather([tl.ones(3)] * 2, tl.ones(2)), RuntimeError, "expected 3"),
    (lambda: dist.all_gather_into_tensor(tl.ones(5), tl.ones(2)), RuntimeError, "expected 4"),
    (lambda: dist.broadcast(tl.ones(2)), ValueError, "Must specify src or group_src"),
    (lambda: dist.broadcast(tl.ones(2), src=7), ValueError, "not part of group"),
    (lambda: dist.gather(tl.ones(2), [tl.ones(2)] * 2, dst=1 - dist.get_rank()), ValueError, "NOT be"),
    (lambda: dist.reduce_scatter(tl.ones(2), tl.ones(4)), TypeError, "expected a list of tensors"),
    (lambda: dist.all_to_all_single(tl.ones(3), tl.ones(3)), ValueError, "can't be cut into 2"),
    (lambda: dist.all_to_all_single(tl.ones(3), tl.ones(3), [1, 1], [1, 2]), ValueError, "sum is"),
    (lambda: dist.send(tl.ones(1), dst=dist.get_rank()), ValueError, "should not be the same"),
    (lambda: dist.batch_isend_irecv([]), ValueError, "Invalid ``p2p_op_list``"),
    (lambda: dist.ReduceOp(dist.ReduceOp.PREMUL_SUM), ValueError, "factor"),
]  # fmt: skip


@pytest.mark.parametrize("call, kind, text", WRONG)
def test_bad_arguments_are_refused_before_anything_is_sent(call, kind, text):
    def program(rank):
        with pytest.raises(kind, match=text):
            call()
        x = tl.ones(1)  # the ranks still understand each other
        dist.all_reduce(x)
        return x.item()

    assert dist.threads.spawn(program, nprocs=2) == [2.0, 2.0]


@pytest.mark.parametrize("other", [
    lambda: dist.all_reduce(tl.ones(3)),
    lambda: dist.all_reduce(tl.ones(2).double()),
    lambda: dist.all_reduce(tl.ones(2), dist.ReduceOp.MAX),
    lambda: dist.broadcast(tl.ones(2), src=0),
    lambda: dist.barrier(),
])  # fmt: skip
def test_ranks_that_call_different_things_all_hear_what_each_has_called(other):
    def program(rank):
        with pytest.raises(dist.DistBackendError, match="don't agree on call 1") as caught:
            dist.all_reduce(tl.ones(2)) if rank != 1 else other()
        return str(caught.value)

    for text in dist.threads.spawn(program, nprocs=3):
        assert "ranks 0, 2: all_reduce(SUM) of float32 [2]" in text
        assert "rank 1: " in text
