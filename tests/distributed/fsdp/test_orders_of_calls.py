"""fully_shard where forward and backward don't come one after the other, once each."""

import pytest

import tensorlab as torch
from tensorlab import distributed as dist
from tests.distributed import networks, plans
from tests.distributed.networks import whole


def gradients(model):
    return {
        name: None if one.grad is None else whole(one.grad)
        for name, one in model.named_parameters()
    }


def two_forwards(model, x, loss_of):
    other = x.flip(0)
    (loss_of(model(x), x) + 2 * loss_of(model(other), other)).backward()
    return gradients(model)


def two_backwards(model, x, loss_of):
    loss = loss_of(model(x), x)
    loss.backward(retain_graph=True)
    loss.backward()
    return gradients(model)


def a_frozen_block(model, x, loss_of):
    for one in model.blocks[0].parameters():
        one.requires_grad_(False)
    loss_of(model(x), x).backward()
    return gradients(model)


def forwards_in_vain(model, x, loss_of):
    model(x)
    loss_of(model(x), x).backward()
    with torch.no_grad():
        model(x)
    loss_of(model(x), x).backward()
    return gradients(model)


def gradients_that_are_returned(model, x, loss_of):
    """PyTorch gives them to `.grad` alone."""
    names = [name for name, _ in model.named_parameters()]
    found = torch.autograd.grad(loss_of(model(x), x), list(model.parameters()))
    return {name: whole(one) for name, one in zip(names, found, strict=True)}


def a_part_that_is_not_used(model, x, loss_of):
    model.blocks[1].forward = lambda x: x
    loss_of(model(x), x).backward()
    found = gradients(model)
    assert found["blocks.1.norm_1.weight"] is None
    return found


def a_result_that_is_written_to(model, x, loss_of):
    """PyTorch warns that its hook would be lost; here what backward keeps gathers by itself."""
    out = model(x)
    out += 1
    loss_of(out * out, x).backward()
    return gradients(model)


CALLS = [
    *(two_forwards, two_backwards, a_frozen_block, forwards_in_vain),
    *(gradients_that_are_returned, a_part_that_is_not_used, a_result_that_is_written_to),
]


@pytest.mark.parametrize("reshards", [None, False])
@pytest.mark.parametrize("call", CALLS)
def test_gradients_are_those_of_one_process(call, reshards):
    def run(rank):
        model, x, loss_of = networks.gpt_case()
        plans.shard(model, reshard_after_forward=reshards)
        return call(model, x.chunk(2)[rank], loss_of)

    expected = call(*networks.gpt_case())
    for found in dist.threads.spawn(run, nprocs=2, timeout=20):
        assert list(found) == list(expected)
        for name, one in expected.items():
            assert (found[name] is None) == (one is None)
            assert one is None or (found[name] - one).abs().max() < 1e-12


def test_ranks_that_do_different_things_hear_of_it():
    def half_a_step(rank):
        model = plans.shard(networks.MLP())
        out = model(torch.ones(1, 6)).sum()
        if rank == 0:
            out.backward()

    def another_part(rank):
        model = plans.shard(networks.MLP())
        model(torch.ones(1, 6)) if rank == 0 else model.up(torch.ones(1, 6))

    failed = dist.threads.RankFailed
    with pytest.raises(failed, match=r"rank 1 is gone \(it has returned\)"):
        dist.threads.spawn(half_a_step, nprocs=2, timeout=5)
    with pytest.raises(failed, match="don't agree on call"):
        dist.threads.spawn(another_part, nprocs=2, timeout=5)


def test_hooks_may_keep_gradients():
    """Then `.grad` is a copy, of this rank's part as well."""

    def run(rank):
        model, x, loss_of = networks.mlp_case()
        plans.shard(model)
        kept = {}
        for name, p in model.named_parameters():
            p.register_hook(lambda grad, name=name: kept.update({name: grad}))
        loss_of(model(x), x).backward()
        for name, p in model.named_parameters():
            grad = kept[name]
            assert p.grad is not grad
            assert p.grad.placements == p.placements
            assert torch.equal(p.grad.to_local(), grad.to_local())
        return gradients(model)

    plain, x, loss_of = networks.mlp_case()
    loss_of(plain(x), x).backward()
    for found in dist.threads.spawn(run, nprocs=2, timeout=30):
        for name, grad in gradients(plain).items():
            torch.testing.assert_close(found[name], grad)
