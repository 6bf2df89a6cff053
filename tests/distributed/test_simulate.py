"""The simulator: its formulas against sums of messages, and its limits."""

import itertools

import pytest

from tensorlab import nn, optim, randn
from tensorlab.distributed import simulate
from tensorlab.distributed.simulate import Cluster, Link, TrainingStep

LINK = Link(2e-6, 1e9)
STEP = TrainingStep((1e-3,) * 4, (2e-3,) * 4, (4_000_000,) * 4, 100_000, 5e-4)


@pytest.mark.parametrize("ranks", [2, 3, 8, 64])
def test_collectives_cost_what_their_messages_cost(ranks):
    cluster, n = Cluster(ranks, LINK), 8_000_000
    rounds = (ranks - 1).bit_length()
    assert simulate.all_reduce(n, cluster) == pytest.approx(
        2 * (ranks - 1) * LINK.seconds(n / ranks)
    )
    assert simulate.all_reduce(n, cluster, "tree") == pytest.approx(2 * rounds * LINK.seconds(n))
    assert simulate.all_reduce(n, cluster, "recursive_doubling") == pytest.approx(
        rounds * LINK.seconds(n)
    )
    assert simulate.broadcast(n, cluster) == pytest.approx(rounds * LINK.seconds(n))
    both = simulate.reduce_scatter(n, cluster) + simulate.all_gather(n, cluster)
    assert simulate.all_reduce(n, cluster) == pytest.approx(both)


def test_a_hierarchy_sends_less_over_the_slow_links():
    cluster = Cluster(64, Link(1e-6, 1e11), per_node=8, between=Link(1e-5, 1e9))
    assert cluster.nodes == 8
    flat, layered = (simulate.all_reduce(1e9, cluster, way) for way in ("ring", "hierarchical"))
    assert layered < flat / 4


def test_one_rank_waits_for_no_one():
    alone = Cluster(1, LINK)
    for predict in (
        simulate.data_parallel,
        simulate.sharded_data_parallel,
        simulate.tensor_parallel,
    ):
        assert predict(STEP, alone).seconds == pytest.approx(STEP.seconds)
    assert simulate.pipeline_parallel(STEP, alone).seconds == pytest.approx(STEP.seconds)
    assert simulate.broadcast(1, alone) == simulate.all_gather(1, alone) == 0


def test_overlap_hides_communication_up_to_the_last_bucket():
    cluster = Cluster(4, Link(0.0, 4e9))
    apart = simulate.data_parallel(STEP, cluster, bucket_bytes=1, overlap=False)
    together = simulate.data_parallel(STEP, cluster, bucket_bytes=1)
    cost = simulate.all_reduce(4_000_000, cluster)
    assert cost < STEP.backward[0]
    assert apart.waiting == pytest.approx(4 * cost)
    assert together.waiting == pytest.approx(cost)  # the first layer's gradient comes last
    whole = simulate.data_parallel(STEP, cluster, bucket_bytes=1 << 30)
    assert whole.waiting == pytest.approx(4 * cost)


def test_sharding_gathers_twice_unless_parameters_are_kept():
    cluster = Cluster(8, Link(1e-6, 1e9))
    shards = simulate.sharded_data_parallel(STEP, cluster)
    keeps = simulate.sharded_data_parallel(STEP, cluster, reshard_after_forward=False)
    assert keeps.seconds < shards.seconds
    gathers = [what for _, what, *_ in shards.entries if what.startswith("gather")]
    assert len(gathers) == 4 + 3  # the last layer is still there when backward begins


def test_lanes_never_do_two_things_at_once():
    for predict in (
        simulate.data_parallel,
        simulate.sharded_data_parallel,
        simulate.tensor_parallel,
    ):
        for lane in (0, 1):
            spans = sorted(e[2:] for e in predict(STEP, Cluster(8, LINK)).entries if e[0] == lane)
            pairs = itertools.pairwise(spans)
            assert all(end <= start + 1e-12 for (_, end), (start, _) in pairs)


def test_a_pipeline_of_many_microbatches_approaches_its_share():
    free = Cluster(4, Link(0.0, 1e30))
    seconds = [simulate.pipeline_parallel(STEP, free, microbatches=m).seconds for m in (4, 16, 256)]
    assert seconds == sorted(seconds, reverse=True)
    assert seconds[-1] == pytest.approx(STEP.seconds / 4, rel=0.02)


def test_a_link_is_found_again_from_what_it_would_take():
    sizes = [1e3, 1e5, 1e7]
    seconds = [simulate.all_reduce(n, Cluster(4, LINK)) for n in sizes]
    found = simulate.fit_link(sizes, seconds, 4)
    assert found.latency == pytest.approx(LINK.latency)
    assert found.bandwidth == pytest.approx(LINK.bandwidth)


def test_a_step_is_measured_layer_by_layer():
    layers = [nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)]
    optimizer = optim.SGD([p for layer in layers for p in layer.parameters()], lr=0.1)
    step = simulate.measure_step(
        layers, randn(16, 4), lambda y: y.sum(), optimizer=optimizer, repeats=2
    )
    assert step.parameter_bytes == (160, 0, 72)
    assert step.activation_bytes == 16 * 8 * 4
    assert len(step.forward) == len(step.backward) == 3
    assert min(*step.forward, *step.backward, step.optimizer) > 0


@pytest.mark.parametrize("call, text", [
    (lambda: Cluster(0, LINK), "at least 1"),
    (lambda: Cluster(9, LINK, per_node=4), "expected a divisor"),
    (lambda: simulate.all_reduce(1, Cluster(2, LINK), "magic"), "expected one of ring"),
])  # fmt: skip
def test_what_makes_no_cluster_is_refused(call, text):
    with pytest.raises(ValueError, match=text):
        call()


def test_the_next_layer_is_gathered_while_one_computes_also_in_backward():
    cost = simulate.all_gather(4_000_000, Cluster(8, LINK))
    link = Link(0.0, 4e9)  # a gather takes less than half of a layer's backward
    assert simulate.all_gather(4_000_000, Cluster(8, link)) < STEP.backward[0] / 2 < cost
    waiting = simulate.sharded_data_parallel(STEP, Cluster(8, link)).waiting
    ends = 2 * simulate.all_gather(4_000_000, Cluster(8, link))
    assert waiting == pytest.approx(ends)  # the first gather and the last reduction
