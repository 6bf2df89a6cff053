"""Groups of some of the ranks, and what a rank knows of itself."""

import datetime

import pytest

import tensorlab as tl
from tensorlab import distributed as dist
from tensorlab.distributed import coalescing
from tests.distributed.warned import spawn_and_hear

OUTSIDE = dist.GroupMember.NON_GROUP_MEMBER


def test_groups_have_their_own_order_and_their_own_calls():
    def program(rank):
        ascending = dist.new_group([2, 0])
        given = dist.new_group([2, 0], sort_ranks=False)
        x = tl.tensor([float(rank)])
        if rank == 1:
            assert ascending == given == OUTSIDE
            assert (dist.get_rank(ascending), dist.get_world_size(ascending)) == (-1, -1)
            dist.all_reduce(x, group=ascending)
            return x.item()
        assert ascending.ranks == (0, 2)
        assert given.ranks == (2, 0)
        assert dist.get_rank(given) == (1 if rank == 0 else 0)
        assert dist.get_process_group_ranks(given) == [2, 0]
        assert dist.get_group_rank(given, 2) == 0
        assert dist.get_global_rank(given, 1) == 0
        dist.broadcast(x, group=given, group_src=0)
        dist.all_reduce(x, group=ascending)
        return x.item()

    results, texts = spawn_and_hear(program, nprocs=3)
    assert results == [4.0, 1.0, 4.0]
    assert len(texts) == 1
    assert "not in the group" in texts[0]


def test_only_members_need_to_come_where_that_is_said():
    def program(rank):
        if rank == 0:
            return None
        group = dist.new_group([1, 2], use_local_synchronization=True)
        x = tl.ones(1)
        dist.all_reduce(x, group=group)
        return x.item()

    assert dist.threads.spawn(program, nprocs=3) == [None, 2.0, 2.0]


def test_subgroups_cut_the_ranks():
    def program(rank):
        own, every = dist.new_subgroups(2)
        assert [one is OUTSIDE or one is own for one in every] == [True, True]
        pair, _ = dist.new_subgroups_by_enumeration([[0, 3], [1, 2]])
        half = dist.split_group(split_ranks=[[0, 1, 2], [3]])
        return own.ranks, pair.ranks, half.ranks

    assert dist.threads.spawn(program, nprocs=4) == [
        ((0, 1), (0, 3), (0, 1, 2)),
        ((0, 1), (1, 2), (0, 1, 2)),
        ((2, 3), (1, 2), (0, 1, 2)),
        ((2, 3), (0, 3), (3,)),
    ]


def test_a_group_within_a_group_speaks_of_ranks_of_the_world():
    def program(rank):
        group = dist.new_group([1, 3])
        if group == OUTSIDE:
            return None
        inner = dist.split_group(group, [[0], [1]])
        return inner.ranks

    assert dist.threads.spawn(program, nprocs=4) == [None, (1,), None, (3,)]


def test_one_process_needs_no_other():
    assert not dist.is_initialized()
    dist.init_process_group("gloo", rank=0, world_size=1)
    try:
        x = tl.ones(2)
        dist.all_reduce(x)
        assert x.tolist() == [1.0, 1.0]
        assert dist.get_backend() == dist.Backend.GLOO
        assert dist.get_backend_config() == "cpu:gloo"
        assert dist.group.WORLD is dist.GroupMember.WORLD
        assert "rank 0 of 1" in repr(dist.group.WORLD)
        with pytest.raises(ValueError, match="twice"):
            dist.init_process_group("gloo", rank=0, world_size=1)
    finally:
        dist.destroy_process_group()
    assert dist.group.WORLD is None


def test_a_group_ends_alone_or_with_all_others():
    def program(rank):
        group = dist.new_group([0, 1])
        dist.destroy_process_group(group)
        with pytest.raises(ValueError, match="has been destroyed"):
            dist.destroy_process_group(group)
        dist.barrier()
        dist.destroy_process_group()
        return dist.is_initialized()

    assert dist.threads.spawn(program, nprocs=2) == [False, False]


@pytest.mark.parametrize("call, text", [
    (lambda: dist.get_rank(), "has not been initialized"),
    (lambda: dist.all_reduce(tl.ones(1)), "has not been initialized"),
    (lambda: dist.init_process_group("nccl"), "CUDA"),
    (lambda: dist.init_process_group("smoke signals"), "known are"),
    (lambda: dist.init_process_group("gloo", "env://", store=object()), "both init_method and store"),
    (lambda: dist.init_process_group("threads", world_size=4), "threads.spawn"),
    (lambda: dist.threads.spawn(print, nprocs=0), "at least 1"),
    (lambda: dist.get_default_backend_for_device("cuda"), "not registered"),
    (lambda: dist.Backend(3), "must be string"),
])  # fmt: skip
def test_what_a_process_without_a_group_hears(call, text):
    with pytest.raises(ValueError, match=text):
        call()


@pytest.mark.parametrize("ranks, text", [
    ([], "empty"), ([0, 0], "twice"), ([0, 9], "within the world_size"),
])  # fmt: skip
def test_a_list_of_ranks_that_makes_no_group_is_refused(ranks, text):
    def program(rank):
        with pytest.raises(ValueError, match=text):
            dist.new_group(ranks)

    dist.threads.spawn(program, nprocs=2)


@pytest.mark.parametrize(
    "timeout, kind", [("soon", TypeError), (0, ValueError), (-1.0, ValueError)]
)
def test_a_timeout_is_a_time(timeout, kind):
    with pytest.raises(kind, match="a timeout is"):
        dist.init_process_group("gloo", rank=0, world_size=1, timeout=timeout)


def test_a_rank_that_never_comes_is_named():
    def program(rank):
        if rank == 1:
            return None
        with pytest.raises(dist.DistBackendError, match="rank 1 is gone") as caught:
            dist.barrier(timeout=datetime.timedelta(seconds=60))
        return str(caught.value)

    assert "it has returned" in dist.threads.spawn(program, nprocs=2)[0]


def test_a_rank_that_is_late_is_named_with_where_it_stands():
    import threading

    release = threading.Event()

    def program(rank):
        dist.barrier()
        if rank == 1:
            release.wait(60)
            return None
        with pytest.raises(dist.DistBackendError, match=r"rank 1 did not come") as caught:
            dist.monitored_barrier(timeout=datetime.timedelta(seconds=0.05))
        release.set()
        return str(caught.value)

    text = dist.threads.spawn(program, nprocs=2)[0]
    assert "rank 0: waits" in text
    assert "rank 1: has called nothing more" in text


def test_the_failure_that_caused_the_others_is_what_is_raised():
    def program(rank):
        if rank == 2:
            raise KeyError("the cause")
        dist.barrier()

    with pytest.raises(
        dist.threads.RankFailed, match="rank 2 raised KeyError: 'the cause'"
    ) as caught:
        dist.threads.spawn(program, nprocs=3)
    assert caught.value.rank == 2
    assert isinstance(caught.value.__cause__, KeyError)


def test_ranks_draw_from_streams_of_their_own():
    def program(rank, seed_it):
        if seed_it:
            tl.manual_seed(rank)
        drawn = tl.rand(3).tolist()
        dist.barrier()
        state = tl.get_rng_state()
        again = tl.rand(2)
        tl.set_rng_state(state)
        assert tl.equal(tl.rand(2), again)
        return drawn

    tl.manual_seed(3)
    expected = tl.rand(3).tolist()
    tl.manual_seed(3)
    assert dist.threads.spawn(program, (False,), nprocs=3) == [expected] * 3
    assert tl.rand(3).tolist() == expected  # the caller's stream is where it was
    one, other = dist.threads.spawn(program, (True,), nprocs=2)
    tl.manual_seed(1)
    assert other == tl.rand(3).tolist() != one
    seeded = dist.threads.spawn(program, (False,), nprocs=2, seed=1)
    assert seeded == [other, other]


def test_a_program_may_make_the_group_itself():
    def program(rank):
        dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=5))
        assert dist.group.WORLD.timeout == 5
        return dist.get_rank()

    assert dist.threads.spawn(program, nprocs=2) == [0, 1]
    assert dist.threads.spawn(program, nprocs=2, init=False) == [0, 1]


def test_the_flight_recorder_keeps_the_last_calls():
    def program(rank):
        for _ in range(120):
            dist.barrier()
        x = tl.ones(2)
        dist.all_reduce(x)
        recorder = dist.group.WORLD.transport.recorder
        entries = recorder.entries()
        assert len(entries) == 100
        assert entries[-1]["what"] == "all_reduce(SUM) of float32 [2]"
        assert {entry["state"] for entry in entries} == {"done"}
        return recorder.table()

    assert "all_reduce(SUM) of float32 [2]" in dist.threads.spawn(program, nprocs=2)[0]


def test_a_transport_says_where_each_rank_stands():
    def program(rank):
        dist.barrier()
        return dist.group.WORLD.transport.standing()

    for standing in dist.threads.spawn(program, nprocs=2):
        assert sorted(standing) == [0, 1]
        assert all("barrier" in text or "is gone" in text for text in standing.values())


def test_many_tensors_travel_as_one_and_only_receivers_are_written():
    def program(rank):
        tensors = [tl.full((2,), float(rank)), tl.full((3,), rank), tl.full((1, 2), float(rank))]
        versions = [x._version for x in tensors]
        recorder = dist.group.WORLD.transport.recorder
        coalescing.broadcast_coalesced(dist.group.WORLD, tensors, 1)
        written = [x._version > before for x, before in zip(tensors, versions, strict=True)]
        return [x.tolist() for x in tensors], written, len(recorder.calls)

    values = [[1.0, 1.0], [1, 1, 1], [[1.0, 1.0]]]
    first, second = dist.threads.spawn(program, nprocs=2)
    assert first == (values, [True] * 3, 2)  # one call for each dtype
    assert second == (values, [False] * 3, 2)
