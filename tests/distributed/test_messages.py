"""Messages from rank to rank, and collectives of Python objects."""

import pytest

import tensorlab as tl
from tensorlab import distributed as dist


def test_messages_find_their_receiver_by_rank_and_tag():
    def program(rank):
        if rank == 0:
            dist.send(tl.tensor([1.0]), dst=2, tag=1)
            dist.send(tl.tensor([2.0]), dst=2, tag=2)
            return None
        if rank == 1:
            dist.send(tl.tensor([3.0]), dst=2, tag=1)
            return None
        got = [tl.empty(1) for _ in range(3)]
        assert dist.recv(got[0], src=0, tag=2) == 0
        assert dist.recv(got[1], src=1, tag=1) == 1
        work = dist.irecv(got[2], src=0, tag=1)
        work.wait()
        assert work.source_rank() == 0
        return [x.item() for x in got]

    assert dist.threads.spawn(program, nprocs=3)[2] == [2.0, 3.0, 1.0]


def test_a_message_of_any_rank_says_whose_it_is():
    def program(rank):
        if rank:
            dist.send(tl.tensor([float(rank)]), dst=0)
            return None
        x, seen = tl.empty(1), {}
        for _ in range(2):
            source = dist.recv(x)
            seen[source] = x.item()
        return seen

    assert dist.threads.spawn(program, nprocs=3)[0] == {1: 1.0, 2: 2.0}


def test_a_batch_of_messages_goes_round_a_ring():
    def program(rank):
        size = dist.get_world_size()
        x, y = tl.full((2, 2), float(rank)), tl.zeros(2, 2).t()
        ops = [
            dist.P2POp(dist.isend, x, (rank + 1) % size),
            dist.P2POp(dist.irecv, y, (rank - 1) % size),
        ]
        assert "isend of float32 [2, 2]" in repr(ops[0])
        for work in dist.batch_isend_irecv(ops):
            work.wait()
        return y[0, 0].item()

    assert dist.threads.spawn(program, nprocs=3) == [2.0, 0.0, 1.0]


@pytest.mark.parametrize("sent", [tl.ones(3), tl.ones(2).int()])
def test_a_message_that_does_not_fit_is_refused_where_it_arrives(sent):
    def program(rank):
        if rank == 0:
            return dist.send(sent, dst=1)
        with pytest.raises(dist.DistBackendError, match="both ends must agree"):
            dist.recv(tl.ones(2), src=0)
        return None

    dist.threads.spawn(program, nprocs=2)


def test_a_message_op_is_isend_or_irecv():
    def program(rank):
        with pytest.raises(ValueError, match="Invalid ``op``"):
            dist.P2POp(dist.all_reduce, tl.ones(1), 0)

    dist.threads.spawn(program, nprocs=1)


def test_objects_reach_whom_they_should():
    def program(rank):
        own = {"rank": rank, "text": "x" * 100 * rank}
        every = [None] * 3
        dist.all_gather_object(every, own)
        at_root = [None] * 3 if rank == 1 else None
        dist.gather_object(own, at_root, dst=1)
        shared = [rank, "a"] if rank == 2 else [None, None]
        dist.broadcast_object_list(shared, src=2)
        mine = [None]
        dist.scatter_object_list(mine, ["a", "b", "c"] if rank == 0 else None, src=0)
        return every, at_root, shared, mine

    results = dist.threads.spawn(program, nprocs=3)
    expected = [{"rank": r, "text": "x" * 100 * r} for r in range(3)]
    for rank, (every, at_root, shared, mine) in enumerate(results):
        assert every == expected
        assert at_root == (expected if rank == 1 else None)
        assert shared == [2, "a"]
        assert mine == ["abc"[rank]]


def test_objects_are_sent_from_one_rank_to_another():
    def program(rank):
        if rank == 0:
            dist.send_object_list([{"a": 1}, tl.ones(2)], dst=1)
            return None
        got = [None, None]
        assert dist.recv_object_list(got) == 0
        return got[0], got[1].tolist()

    assert dist.threads.spawn(program, nprocs=2)[1] == ({"a": 1}, [1.0, 1.0])


@pytest.mark.parametrize("call, text", [
    (lambda: dist.all_gather_object([None], 1), "expected a list of 2"),
    (lambda: dist.all_gather_object(3, 1), "a int"),
    (lambda: dist.scatter_object_list([], [1, 2]), "size at least 1"),
])  # fmt: skip
def test_lists_of_the_wrong_length_are_refused(call, text):
    def program(rank):
        with pytest.raises(ValueError, match=text):
            call()

    dist.threads.spawn(program, nprocs=2)
