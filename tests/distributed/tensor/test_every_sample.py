"""Every op of the package on DTensors: the same results and gradients, however the tensors are cut."""

import warnings

import numpy as np
import pytest

import tensorlab as torch
from tensorlab import distributed as dist
from tensorlab.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from tensorlab.distributed.tensor.experimental import implicit_replication
from tests.core.test_wrapped_samples import NO_WRAPPERS, gradients, inputs_of, results_of
from tests.ops.every_sample import SAMPLES, one_of_each_op

KEEPS_ITS_SHAPE = {"transpose_", "t_", "squeeze_", "unsqueeze_"}
WRITES_TO_A_VIEW = {"fill_diagonal_", "put", "put replace"}
CHOSEN = [
    one for one in SAMPLES if one.name not in {*NO_WRAPPERS, *KEEPS_ITS_SHAPE, *WRITES_TO_A_VIEW}
]


def first(x, number):
    return Shard(0) if x.dim() else Replicate()


def mixed(x, number):
    return Shard((number + 1) % x.dim()) if x.dim() else Replicate()


def expected_of(sample):
    """Return results and gradients of plain tensors, or None where the sample has no floats."""
    inputs = inputs_of(sample)
    results = results_of(sample.call, inputs)
    return [*results, *gradients(results, inputs)]


def found_of(sample, mesh, placement):
    cut = [
        distribute_tensor(x.detach(), mesh, [placement(x, number)], src_data_rank=None)
        for number, x in enumerate(inputs_of(sample))
    ]
    for one, x in zip(cut, inputs_of(sample), strict=True):
        one.requires_grad_(x.requires_grad)
    with implicit_replication():
        results = results_of(sample.call, cut)
        return [*results, *gradients(results, cut)]


@pytest.mark.parametrize(
    ("samples", "placement", "ranks"),
    [
        pytest.param(CHOSEN, first, 2, id="in rows"),
        pytest.param(one_of_each_op(CHOSEN), mixed, 3, id="one of each op, mixed"),
        pytest.param(CHOSEN, mixed, 3, id="mixed", marks=pytest.mark.nightly),
    ],
)
def test_results_and_gradients_are_those_of_plain_tensors(samples, placement, ranks):
    expected = {one.name: expected_of(one) for one in samples}

    def run(rank):
        mesh = dist.init_device_mesh("cpu", (ranks,))
        for sample in samples:
            found = found_of(sample, mesh, placement)
            for one, other in zip(found, expected[sample.name], strict=True):
                if not isinstance(other, torch.Tensor):
                    assert one == other, sample.name
                    continue
                one = one.full_tensor() if isinstance(one, DTensor) else one
                assert one.dtype == other.dtype, sample.name
                np.testing.assert_allclose(
                    one.detach().numpy(), other.detach().numpy(), 1e-4, 1e-5, err_msg=sample.name
                )

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dist.threads.spawn(run, nprocs=ranks, timeout=20)


def test_a_write_to_a_view_that_had_to_be_a_copy_is_refused():
    def run(rank):
        mesh = dist.init_device_mesh("cpu", (2,))
        x = distribute_tensor(torch.zeros(4, 4), mesh, [Shard(0)])
        x[:, 1].fill_(2)  # a view of each part
        assert x.full_tensor()[:, 1].tolist() == [2.0] * 4
        with pytest.raises(RuntimeError, match="the view had to be a copy"):
            x[0].fill_(1)
        with pytest.raises(RuntimeError, match="the view had to be a copy"):
            x[0][1:].fill_(1)
        total = torch.zeros(())
        total += x.sum()
        assert total.item() == 8
        with pytest.raises(RuntimeError, match="keeps its shape"):
            x.t_()

    dist.threads.spawn(run, nprocs=2)
