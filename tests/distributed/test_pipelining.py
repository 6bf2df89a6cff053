"""Pipelines: gradients of one process, in every order of microbatches."""

import pytest

import tensorlab as tl
from tensorlab import distributed as dist
from tensorlab import nn
from tensorlab.distributed import pipelining
from tensorlab.distributed.pipelining import (
    PipelineStage,
    Schedule1F1B,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
    ScheduleLoopedBFS,
    SplitPoint,
    microbatch,
    orders,
    pipe_split,
    pipeline,
    timelines,
)

LAYERS = 8
X = tl.randn(16, 6, generator=tl.Generator().manual_seed(1))
Y = tl.randn(16, 6, generator=tl.Generator().manual_seed(2))


def layers():
    tl.manual_seed(3)
    return [nn.Sequential(nn.Linear(6, 6), nn.Tanh()) for _ in range(LAYERS)]


def alone():
    model = nn.Sequential(*layers())
    loss = nn.functional.mse_loss(model(X), Y)
    loss.backward()
    return [p.grad for p in model.parameters()], loss.item(), model(X).detach()


@pytest.mark.parametrize("kind, each", [
    (ScheduleGPipe, 1), (Schedule1F1B, 1), (ScheduleInterleaved1F1B, 2), (ScheduleLoopedBFS, 2),
])  # fmt: skip
@pytest.mark.parametrize("size, count", [(1, 4), (2, 4), (4, 8), (4, 4)])
def test_gradients_losses_and_outputs_are_those_of_one_process(kind, each, size, count):
    grads, loss, output = alone()

    def program(rank):
        stages, per = size * each, LAYERS // (size * each)
        every = layers()
        own = [
            PipelineStage(nn.Sequential(*every[per * s : per * (s + 1)]), s, stages)
            for s in range(rank, stages, size)
        ]
        schedule = kind(own[0] if each == 1 else own, count, loss_fn=nn.functional.mse_loss)
        losses = []
        given = (X,) if rank == 0 else ()
        target = {"target": Y, "losses": losses} if rank == size - 1 else {}
        for _ in range(2):  # a second step uses the shapes of the first
            for stage in own:
                stage.submod.zero_grad()
            result = schedule.step(*given, **target)
        for stage in own:
            expected = grads[2 * per * stage.stage_index : 2 * per * (stage.stage_index + 1)]
            for p, grad in zip(stage.submod.parameters(), expected, strict=True):
                assert tl.allclose(p.grad, grad, atol=1e-7)
        if rank != size - 1:
            assert result is None
            schedule.eval(*given)
            return None
        assert sum(x.item() for x in losses) / count == pytest.approx(loss, abs=1e-6)
        assert tl.allclose(result, output, atol=1e-6)
        assert tl.equal(schedule.eval(*given, target=Y), result)
        return "checked"

    assert dist.threads.spawn(program, nprocs=size)[-1] == "checked"


@pytest.mark.parametrize("order", [
    orders.gpipe, orders.one_forward_one_backward,
    lambda *a: orders.interleaved(*a, 2), lambda *a: orders.looped_bfs(*a, 2),
])  # fmt: skip
@pytest.mark.parametrize("ranks, count", [(1, 3), (2, 6), (4, 8), (4, 20), (3, 9)])
def test_each_microbatch_goes_once_forward_and_once_backward_through_each_stage(
    order, ranks, count
):
    every = [order(rank, ranks, count) for rank in range(ranks)]
    assert len({len(one) for one in every}) == 1
    for actions in every:
        assert len(set(actions)) == len(actions)
        for kind, stage, m in actions:
            if kind == "B":
                assert actions.index(("F", stage, m)) < actions.index(("B", stage, m))
    entries = timelines.lay_out(every)  # which refuses orders that wait for each other
    assert len(entries) == sum(len(one) for one in every)


def test_the_bubble_is_what_the_papers_say():
    ranks, count = 4, 12

    def bubble(order):
        return timelines.bubble(timelines.lay_out([order(r, ranks, count) for r in range(ranks)]))

    expected = (ranks - 1) / (count + ranks - 1)
    assert bubble(orders.gpipe) == pytest.approx(expected)
    assert bubble(orders.one_forward_one_backward) == pytest.approx(expected)
    halved = (ranks - 1) / 2 / (count + (ranks - 1) / 2)
    assert bubble(lambda *a: orders.interleaved(*a, 2)) == pytest.approx(halved)


def test_one_forward_one_backward_keeps_fewer_microbatches():
    def most(actions):
        kept = peak = 0
        for kind, *_ in actions:
            kept += 1 if kind == "F" else -1
            peak = max(peak, kept)
        return peak

    assert [most(orders.gpipe(r, 4, 12)) for r in range(4)] == [12] * 4
    assert [most(orders.one_forward_one_backward(r, 4, 12)) for r in range(4)] == [4, 3, 2, 1]


def test_orders_that_wait_for_each_other_are_refused():
    F, B = (lambda kind: lambda s, m: orders.Action(kind, s, m))("F"), None
    assert B is None
    with pytest.raises(ValueError, match="wait for each other: 1F0"):
        timelines.lay_out([[], [F(1, 0)]])


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x):
        x = self.a(x).relu()
        pipe_split()
        return self.c(self.b(x) + x)


@pytest.mark.parametrize("spec, stages", [
    (None, 2), ({"c": SplitPoint.BEGINNING}, 3), ({"c": SplitPoint.END}, 2),
])  # fmt: skip
def test_a_model_is_cut_where_it_says_and_computes_the_same(spec, stages):
    model, x = Model(), tl.ones(4, 3)
    pipe = pipeline(model, (x,), split_spec=spec)
    assert pipe.num_stages == stages
    assert tl.equal(pipe(x), model(x))
    y = x
    for number in range(stages):
        y = pipe.get_stage_module(number)(y)
    assert tl.equal(y, model(x))
    assert "stages" in repr(pipe)


def test_a_pipe_trains():
    def program(rank):
        tl.manual_seed(0)
        model = Model()
        pipe = pipeline(model, (tl.ones(1, 3),))
        stage = pipe.build_stage(rank)
        schedule = Schedule1F1B(stage, 2, loss_fn=nn.functional.mse_loss)
        x, y = tl.ones(4, 3), tl.zeros(4, 3)
        schedule.step(*((x,) if rank == 0 else ()), **({"target": y} if rank else {}))
        nn.functional.mse_loss(Model.forward(model, x), y)
        return {name: p.grad for name, p in stage.submod.named_parameters()}

    first, second = dist.threads.spawn(program, nprocs=2)
    assert len(first) == 2
    assert len(second) == 4
    assert all(grad is not None for grad in [*first.values(), *second.values()])


class Skips(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x):
        first = self.a(x)
        return self.c(self.b(first)) + first


@pytest.mark.parametrize("call, kind, text", [
    (lambda: pipeline(Model(), split_spec={"z": SplitPoint.END}), ValueError, "'z' is no submodule"),
    (lambda: pipeline(Model(), split_policy=print), NotImplementedError, "split_spec"),
    (lambda: pipeline(Skips(), split_spec={"b": SplitPoint.BEGINNING, "c": SplitPoint.BEGINNING}),
     RuntimeError, "only to the next one"),
    (lambda: pipeline(Model()).get_stage_module(5), ValueError, "Invalid stage index 5"),
    (lambda: PipelineStage(nn.Linear(1, 1), 5, 2), ValueError, "out of range"),
    (lambda: ScheduleGPipe(PipelineStage(nn.Linear(1, 1), 0, 1), 0), ValueError, "at least 1"),
    (lambda: ScheduleGPipe(PipelineStage(nn.Linear(1, 1), 0, 2), 1), ValueError, "2 a rank"),
    (lambda: ScheduleGPipe(PipelineStage(nn.Linear(1, 1), 0, 1), 4).step(tl.ones(2, 1)), ValueError,
     "into 4 microbatches"),
    (lambda: ScheduleGPipe(PipelineStage(nn.Linear(1, 1), 0, 1), 1, loss_fn=print).step(tl.ones(2, 1)),
     ValueError, "gives target="),
    (lambda: orders.interleaved(0, 4, 11, 2), ValueError, "multiple of"),
])  # fmt: skip
def test_what_makes_no_pipeline_is_refused(call, kind, text):
    def program(rank):
        with pytest.raises(kind, match=text):
            call()

    dist.threads.spawn(program, nprocs=1)


def test_a_stage_belongs_to_one_rank():
    def program(rank):
        with pytest.raises(RuntimeError, match="runs on rank"):
            PipelineStage(nn.Linear(1, 1), 1 - rank, 2)

    dist.threads.spawn(program, nprocs=2)


def test_batches_are_cut_and_joined_along_the_dims_that_are_named():
    spec = microbatch.TensorChunkSpec
    args, kwargs = microbatch.split_args_kwargs_into_chunks(
        (tl.arange(8).reshape(2, 4), "same"),
        {"mask": tl.arange(4)},
        2,
        (spec(1), None),
        {"mask": spec(0)},
    )
    assert [one[0].tolist() for one in args] == [[[0, 1], [4, 5]], [[2, 3], [6, 7]]]
    assert [one[1] for one in args] == ["same", "same"]
    assert [one["mask"].tolist() for one in kwargs] == [[0, 1], [2, 3]]
    joined = microbatch.merge_chunks([one[0] for one in args], spec(1))
    assert joined.tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
    with pytest.raises(ValueError, match="the chunk spec has 1 entries"):
        microbatch.split_args_kwargs_into_chunks((tl.ones(2), tl.ones(2)), {}, 2, (spec(0),))
    assert pipelining.__all__ == sorted(pipelining.__all__)
