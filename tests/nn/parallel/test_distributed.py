"""Data parallel training gives what one process gives on the whole batch."""

import pytest

import tensorlab as tl
from tensorlab import distributed as dist
from tensorlab import nn
from tensorlab.distributed.algorithms.ddp_comm_hooks import (
    debugging_hooks,
    default_hooks,
    powerSGD_hook,
)
from tensorlab.distributed.algorithms.join import Join
from tensorlab.nn.parallel import DistributedDataParallel as DDP
from tensorlab.nn.parallel.distributed import _MixedPrecision
from tensorlab.utils.checkpoint import checkpoint
from tests.distributed.warned import spawn_and_hear

X = tl.randn(16, 6, generator=tl.Generator().manual_seed(1))
Y = tl.randn(16, 4, generator=tl.Generator().manual_seed(2))


def model():
    tl.manual_seed(0)
    return nn.Sequential(
        nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 32), nn.GELU(), nn.Linear(32, 4)
    )


def share(rank, x):
    each = len(x) // dist.get_world_size()
    return x[rank * each : (rank + 1) * each]


def step(module, optimizer, x, y):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(module(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()


def alone(steps=4):
    module = model()
    optimizer = tl.optim.Adam(module.parameters(), lr=0.01)
    for _ in range(steps):
        step(module, optimizer, X, Y)
    return [p.detach() for p in module.parameters()]


def assert_near(first, second, tolerance=1e-6):
    for a, b in zip(first, second, strict=True):
        assert tl.allclose(a, b, rtol=0, atol=tolerance), (a - b).abs().max()


OPTIONS = [
    {}, {"gradient_as_bucket_view": True}, {"find_unused_parameters": True}, {"static_graph": True},
    {"bucket_cap_mb": 1e-4}, {"bucket_cap_mb": 1e-4, "gradient_as_bucket_view": True},
    {"bucket_cap_mb": 1e-4, "static_graph": True},
    {"bucket_cap_mb": 1e-4, "find_unused_parameters": True},
]  # fmt: skip


@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_weights_are_those_of_one_process(size, options):
    def program(rank):
        module = model()
        if rank:
            for p in module.parameters():  # rank 0's are what counts
                nn.init.zeros_(p)
        ddp = DDP(module, **options)
        optimizer = tl.optim.Adam(ddp.parameters(), lr=0.01)
        for _ in range(4):
            step(ddp, optimizer, share(rank, X), share(rank, Y))
        return [p.detach() for p in module.parameters()]

    results = dist.threads.spawn(program, nprocs=size)
    assert_near(results[0], alone(), 0 if size == 1 else 1e-6)
    for other in results[1:]:
        assert all(tl.equal(a, b) for a, b in zip(results[0], other, strict=True))


def test_buckets_follow_the_order_in_which_gradients_come():
    class Crossed(nn.Module):
        """Uses its layers in another order than it names them."""

        def __init__(self):
            super().__init__()
            self.last, self.first = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x):
            return self.last(self.first(x))

    def program(rank):
        ddp = DDP(Crossed(), bucket_cap_mb=1e-5)
        before = [bucket.places for bucket in ddp.reducer.buckets]
        for _ in range(2):
            ddp(tl.ones(1, 4)).sum().backward()
        names = [[ddp.reducer.names[place] for place in b.places] for b in ddp.reducer.buckets]
        return before, [name.partition(".")[0] for bucket in names for name in bucket]

    for before, after in dist.threads.spawn(program, nprocs=2):
        assert before == [[3], [2], [1], [0]]
        assert after == ["last", "last", "first", "first"]


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.both, self.one, self.none = nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2)

    def forward(self, x, takes_one):
        return self.both(x) + (self.one(x) if takes_one else 0)


def test_a_parameter_that_some_ranks_use_is_averaged_and_one_that_none_uses_stays():
    def program(rank):
        ddp = DDP(Branches(), find_unused_parameters=True)
        for _ in range(2):
            ddp.zero_grad()
            ddp(tl.ones(1, 2), rank == 0).sum().backward()
        return {name: p.grad for name, p in ddp.module.named_parameters()}

    for grads in dist.threads.spawn(program, nprocs=2):
        assert grads["both.bias"].tolist() == [1.0, 1.0]
        assert grads["one.bias"].tolist() == [0.5, 0.5]
        assert grads["none.bias"] is None


def test_a_parameter_without_a_gradient_is_named_in_the_next_pass():
    def program(rank):
        ddp = DDP(Branches())
        ddp(tl.ones(1, 2), True).sum().backward()
        with pytest.raises(RuntimeError, match="Expected to have finished reduction") as caught:
            ddp(tl.ones(1, 2), True)
        return str(caught.value)

    for text in dist.threads.spawn(program, nprocs=2):
        assert "none.weight, none.bias" in text
        assert "both" not in text


def test_a_static_graph_needs_no_search_for_unused_parameters():
    def program(rank):
        ddp = DDP(Branches(), static_graph=True)
        for _ in range(3):
            ddp.zero_grad()
            ddp(tl.full((1, 2), rank + 1.0), True).sum().backward()
        return {name: p.grad for name, p in ddp.module.named_parameters()}

    for grads in dist.threads.spawn(program, nprocs=2):
        assert grads["one.weight"].tolist() == [[1.5, 1.5], [1.5, 1.5]]
        assert grads["none.weight"] is None


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpointed_layers(reentrant):
    class Checkpointed(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(6, 6), nn.Linear(6, 4)

        def forward(self, x):
            for _ in range(2):  # the layer is used twice
                x = checkpoint(self.first, x, use_reentrant=reentrant)
            return self.second(x)

    def program(rank):
        tl.manual_seed(0)
        module = Checkpointed()
        ddp = DDP(module, static_graph=reentrant)
        for _ in range(2):
            ddp.zero_grad()
            x = share(rank, X).clone().requires_grad_()
            nn.functional.mse_loss(ddp(x), share(rank, Y)).backward()
        return [p.grad for p in module.parameters()]

    one, two = dist.threads.spawn(program, nprocs=1)[0], dist.threads.spawn(program, nprocs=2)
    assert_near(two[0], one)
    assert_near(two[1], one)


class Twice(nn.Module):
    """Uses a layer twice, each time in a checkpoint."""

    def __init__(self, has_more):
        super().__init__()
        self.more, self.layer = nn.Linear(2, 2), nn.Linear(2, 2)
        self.more.requires_grad_(has_more)

    def forward(self, x):
        for _ in range(2):
            x = checkpoint(self.layer, x, use_reentrant=True)
        return x


def test_a_reentrant_checkpoint_without_a_static_graph_is_refused_while_others_are_missing():
    def program(rank):
        loss = DDP(Twice(True))(tl.ones(1, 2, requires_grad=True)).sum()
        with pytest.raises(RuntimeError, match="mark a variable ready only once"):
            loss.backward()

    dist.threads.spawn(program, nprocs=2)


def test_a_gradient_that_comes_after_it_was_averaged_is_warned_of():
    def checkpointed(rank):
        DDP(Twice(False))(tl.ones(1, 2, requires_grad=True)).sum().backward()

    def twice(rank):
        y = DDP(nn.Linear(1, 1, bias=False))(tl.full((1, 1), float(rank)))
        for _ in range(3):  # which is said once
            y.backward(retain_graph=True)

    for program in (checkpointed, twice):
        _, texts = spawn_and_hear(program)
        assert len(texts) == 2
        assert all("drift apart" in text and "before each backward" in text for text in texts)


def test_shared_parameters_are_reduced_once():
    def program(rank):
        module = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
        module[1].weight = module[0].weight
        ddp = DDP(module)
        ddp(tl.full((1, 3), rank + 1.0)).sum().backward()
        local = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
        local[1].weight = local[0].weight
        local.load_state_dict(module.state_dict())
        for r in range(2):
            (local(tl.full((1, 3), r + 1.0)).sum() / 2).backward()
        return [p.grad for p in module.parameters()], [p.grad for p in local.parameters()]

    for ours, expected in dist.threads.spawn(program, nprocs=2):
        assert_near(ours, expected)


def test_gradients_add_up_without_talking_where_forward_was_in_no_sync():
    def program(rank):
        ddp = DDP(nn.Linear(1, 1, bias=False))
        weight = ddp.module.weight
        x = tl.full((1, 1), rank + 1.0)
        with ddp.no_sync():
            outside = ddp(x)
        outside.backward()  # forward was inside, which is what counts
        local = weight.grad.item()
        ddp(x).backward()
        return local, weight.grad.item()

    assert dist.threads.spawn(program, nprocs=2) == [(1.0, 3.0), (2.0, 3.0)]


def test_buffers_come_from_rank_0_unless_they_are_kept():
    def program(rank, keeps):
        ddp = DDP(nn.BatchNorm1d(2), broadcast_buffers=not keeps)
        for _ in range(2):
            ddp(tl.full((4, 2), float(rank)) + tl.arange(8.0).reshape(4, 2)).sum().backward()
        ddp.eval()
        ddp(tl.ones(1, 2))
        return ddp.module.running_mean.tolist()

    one, other = dist.threads.spawn(program, (False,), nprocs=2)
    assert one == other
    one, other = dist.threads.spawn(program, (True,), nprocs=2)
    assert one != other


@pytest.mark.parametrize(
    "options", [{}, {"forward_sync_buffers": False}, {"broadcast_buffers": False}]
)
def test_evaluation_takes_over_buffers_once_and_then_needs_no_other_rank(options):
    def program(rank):
        ddp = DDP(nn.BatchNorm1d(2), **options)
        recorder = dist.group.WORLD.transport.recorder
        ddp(tl.randn(4, 2)).sum().backward()
        recorder.calls.clear()
        with tl.no_grad():
            for _ in range(3):
                ddp.eval()(tl.ones(1, 2))
        return [call.kind for call in recorder.calls]

    expected = [] if options else ["broadcast"] * 2  # floating buffers, and the count
    assert dist.threads.spawn(program, nprocs=2) == [expected] * 2


def test_sparse_gradients_are_averaged():
    def program(rank):
        tl.manual_seed(0)
        module = nn.Sequential(nn.Embedding(5, 2, sparse=True), nn.Linear(2, 1))
        ddp = DDP(module)
        ddp(tl.tensor([rank, rank + 1])).sum().backward()
        grad = module[0].weight.grad
        assert grad.is_sparse
        return grad.to_dense(), module[1].weight.detach()

    for grad, weight in dist.threads.spawn(program, nprocs=2):
        expected = tl.zeros(5, 2)
        for row in (0, 1, 1, 2):
            expected[row] += weight[0] / 2
        assert tl.allclose(grad, expected)


@pytest.mark.parametrize("hook, tolerance", [
    (default_hooks.allreduce_hook, 1e-7),
    (default_hooks.fp16_compress_hook, 1e-3),
    (default_hooks.bf16_compress_hook, 1e-2),
    (default_hooks.fp16_compress_wrapper(default_hooks.allreduce_hook), 1e-3),
    (default_hooks.bf16_compress_wrapper(default_hooks.allreduce_hook), 1e-2),
])  # fmt: skip
def test_hooks_average(hook, tolerance):
    def program(rank, uses_hook):
        ddp = DDP(model())
        if uses_hook:
            ddp.register_comm_hook(None, hook)
        for _ in range(2):
            ddp.zero_grad()
            nn.functional.mse_loss(ddp(share(rank, X)), share(rank, Y)).backward()
        return [p.grad for p in ddp.parameters()]

    expected = dist.threads.spawn(program, (False,), nprocs=2)[0]
    first, second = dist.threads.spawn(program, (True,), nprocs=2)
    assert all(tl.equal(a, b) for a, b in zip(first, second, strict=True))
    assert_near(first, expected, tolerance)


def test_no_communication_leaves_each_rank_its_own_gradient():
    def program(rank):
        ddp = DDP(nn.Linear(1, 1, bias=False))
        ddp.register_comm_hook(None, debugging_hooks.noop_hook)
        ddp(tl.full((1, 1), float(rank))).backward()
        with pytest.raises(RuntimeError, match="only be called once"):
            ddp.register_comm_hook(None, debugging_hooks.noop_hook)
        with pytest.raises(TypeError, match="must be callable"):
            ddp.register_comm_hook(None, 3)
        return ddp.module.weight.grad.item()

    assert dist.threads.spawn(program, nprocs=2) == [0.0, 1.0]


@pytest.mark.parametrize("hook", [powerSGD_hook.powerSGD_hook, powerSGD_hook.batched_powerSGD_hook])
def test_power_iteration_finds_a_gradient_of_low_rank_and_remembers_what_it_misses(hook):
    def program(rank):
        tl.manual_seed(0)
        ddp = DDP(nn.Linear(30, 30, bias=False))
        state = powerSGD_hook.PowerSGDState(
            None, matrix_approximation_rank=2, start_powerSGD_iter=2
        )
        ddp.register_comm_hook(state, hook)
        sent, total = tl.zeros(30, 30), tl.zeros(30, 30)
        for number in range(30):
            ddp.zero_grad()
            x = tl.randn(3, 30, generator=tl.Generator().manual_seed(10 * number + rank))
            ddp(x).pow(2).sum().backward()
            exact = tl.autograd.grad(ddp.module(x).pow(2).sum(), ddp.module.weight)[0] / 2
            dist.all_reduce(exact)
            sent += ddp.module.weight.grad
            total += exact
        return (sent - total).norm().item(), total.norm().item(), state.sent / state.would_be

    for missed, norm, ratio in dist.threads.spawn(program, nprocs=2):
        assert missed < 0.5 * norm  # what is missing so far is only in the memory
        assert ratio == (4 / 30 if hook is powerSGD_hook.powerSGD_hook else ratio)


def test_power_iteration_begins_after_the_second_pass():
    with pytest.raises(ValueError, match="start_powerSGD_iter"):
        powerSGD_hook.PowerSGDState(None, start_powerSGD_iter=1)


@pytest.mark.parametrize(
    "options", [{}, {"find_unused_parameters": True}, {"bucket_cap_mb": 1e-5}], ids=str
)
@pytest.mark.parametrize("by_initial", [True, False])
def test_uneven_batches_end_with_equal_models(options, by_initial):
    def program(rank):
        tl.manual_seed(0)
        ddp = DDP(nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1)), **options)
        optimizer = tl.optim.SGD(ddp.parameters(), lr=0.1)
        with ddp.join(divide_by_initial_world_size=by_initial):
            for number in range(2 + 2 * rank):
                optimizer.zero_grad()
                ddp(tl.randn(4, 3, generator=tl.Generator().manual_seed(number))).sum().backward()
                optimizer.step()
        return [x.clone() for x in ddp.module.state_dict().values()]

    first, *others = dist.threads.spawn(program, nprocs=3)
    for other in others:
        assert all(tl.equal(a, b) for a, b in zip(first, other, strict=True))


def test_what_a_rank_alone_computes_is_divided_by_all_or_by_those_that_train():
    def program(rank, by_initial):
        ddp = DDP(nn.Linear(1, 1, bias=False))
        with ddp.join(divide_by_initial_world_size=by_initial):
            for _ in range(1 + rank):
                ddp.zero_grad()
                ddp(tl.ones(1, 1)).backward()
        return ddp.module.weight.grad.item()

    assert dist.threads.spawn(program, (True,), nprocs=2)[1] == 0.5
    assert dist.threads.spawn(program, (False,), nprocs=2)[1] == 1.0


def test_all_ranks_may_stop_as_soon_as_one_has_nothing_left():
    def train(rank, done):
        ddp = DDP(nn.Linear(1, 1))
        with ddp.join(throw_on_early_termination=True):
            for number in range(2 + rank):
                ddp(tl.ones(1, 1)).sum().backward()
                done.append(number)

    def program(rank):
        done = []
        with pytest.raises(RuntimeError, match="exhausted"):
            train(rank, done)
        return len(done)

    assert dist.threads.spawn(program, nprocs=2) == [2, 2]


def test_joining_needs_something_that_joins():
    with pytest.raises(ValueError, match="at least one joinable"):
        Join([])


@pytest.mark.parametrize("make, kind, text", [
    (lambda r: nn.Linear(2, 2 + r), RuntimeError, r"weight is .*float32 \[2, 2\] on rank 0"),
    (lambda r: nn.Sequential(*[nn.Linear(2, 2) for _ in range(1 + r)]), RuntimeError, "Rank 0 has 2 params"),
    (lambda r: nn.ReLU(), RuntimeError, "is not needed when a module doesn't have any parameters"),
    (lambda r: 3, TypeError, "expected a Module"),
])  # fmt: skip
def test_models_that_can_not_be_trained_together_are_refused(make, kind, text):
    def program(rank):
        with pytest.raises(kind, match=text):
            DDP(make(rank))

    dist.threads.spawn(program, nprocs=2)


# ---------------------------------------------------------------- mixed precision
HALF = tl.bfloat16


def small_gradients(rank, ranks):
    """What a rank's gradients are if everything is converted by hand."""
    module = model()
    small = {name: p.to(HALF) for name, p in module.named_parameters()}
    x, y = (one.chunk(ranks)[rank] for one in (X, Y))
    out = tl.func.functional_call(module, small, (x.to(HALF),))
    assert out.dtype is HALF
    return tl.autograd.grad(nn.functional.mse_loss(out.float(), y), list(module.parameters()))


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("travels_in", [tl.float32, None, tl.float64])
def test_forward_and_backward_in_a_small_dtype(options, travels_in):
    expected = [
        sum(pair) / 2 for pair in zip(*[small_gradients(r, 2) for r in range(2)], strict=True)
    ]

    def program(rank):
        policy = _MixedPrecision(HALF, travels_in)
        ddp = DDP(model(), mixed_precision=policy, **options)
        for _ in range(2):  # the buckets are made anew after the first pass
            ddp.zero_grad()
            out = ddp(share(rank, X))
            assert out.dtype is HALF
            nn.functional.mse_loss(out.float(), share(rank, Y)).backward()
        assert {one.dtype for one in ddp.state_dict().values()} == {tl.float32}
        return [p.grad for p in ddp.parameters()]

    for gradients in dist.threads.spawn(program, nprocs=2):
        assert {one.dtype for one in gradients} == {tl.float32}
        assert_near(gradients, expected, 1e-6 if travels_in else 4e-3)
        largest = max((a - b).abs().max().item() for a, b in zip(gradients, expected, strict=True))
        assert travels_in or largest > 1e-6  # it did travel in 8 bits


def test_buffers_in_a_dtype_of_their_own_and_shared_weights():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.norm, self.last = nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 4)
            self.last.weight = self.first.weight

        def forward(self, x, *, also):
            assert self.last.weight is self.first.weight
            assert self.first.weight.dtype is also.dtype is HALF
            return self.last(self.norm(self.first(x))) + also

    def program(rank):
        ddp = DDP(Tied(), mixed_precision=_MixedPrecision(HALF, buffer_dtype=HALF))
        ddp(tl.randn(8, 4), also=tl.ones(4)).sum().backward()
        found = {name: str(one.dtype) for name, one in ddp.module.named_buffers()}
        assert ddp.module.last.weight is ddp.module.first.weight
        return found, str(ddp.module.first.weight.grad.dtype)

    dtypes = {"norm.running_mean": str(HALF), "norm.running_var": str(HALF)}
    dtypes["norm.num_batches_tracked"] = str(tl.int64)
    assert dist.threads.spawn(program, nprocs=2) == [(dtypes, str(tl.float32))] * 2


def test_a_rank_that_is_done_shadows_small_gradients():
    def program(rank):
        tl.manual_seed(0)
        ddp = DDP(nn.Linear(2, 1), mixed_precision=_MixedPrecision(HALF))
        with ddp.join():
            for i in range(1 + rank):
                ddp(tl.ones(1, 2) * (1 + 2 * i)).sum().backward()
        return ddp.module.weight.grad.tolist()

    # 1 at both ranks; then 1 + 3 at the second, and zeros of the first
    assert dist.threads.spawn(program, nprocs=2)[1] == [[2.0, 2.0]]


def test_what_is_not_here_is_refused():
    def program(rank):
        layer = nn.Linear(1, 1)
        with pytest.raises(RuntimeError, match="leave device_ids out"):
            DDP(layer, device_ids=[0])
        with pytest.raises(NotImplementedError, match="leave delay_all_reduce_named_params"):
            DDP(layer, bucket_cap_mb_list=[1])
        with pytest.raises(TypeError, match=r"mixed_precision is a object; expected .*_MixedPrec"):
            DDP(layer, mixed_precision=object())
        ddp = DDP(layer, device_ids=["cpu"])
        assert list(ddp.state_dict()) == ["module.weight", "module.bias"]
        with pytest.raises(RuntimeError, match="can't be pickled"):
            tl.save(ddp, "nowhere")

    dist.threads.spawn(program, nprocs=1)


def test_the_model_needs_a_process_group():
    with pytest.raises(ValueError, match="has not been initialized"):
        DDP(nn.Linear(1, 1))
