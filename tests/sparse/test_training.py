"""Sparse gradients of tables, optimizers on them, and a graph network, against PyTorch."""

import numpy as np
import pytest

import tensorlab
from tests.oracle import require_torch
from tests.sparse.both import name_of

pytestmark = pytest.mark.filterwarnings("ignore:Sparse")  # PyTorch's, that they are in beta
OPTIMIZERS = {
    "SGD": {},
    "SGD with momentum": {"momentum": 0.9},
    "SGD with dampening": {"momentum": 0.9, "dampening": 0.5},
    "SGD with Nesterov": {"momentum": 0.9, "nesterov": True},
    "SGD that climbs": {"maximize": True},
    "Adagrad": {"lr_decay": 0.1},
    "Adagrad that climbs": {"maximize": True},
    "SparseAdam": {},
}
TABLES = [
    ("Embedding", {}),
    ("Embedding", {"padding_idx": 2}),
    ("Embedding", {"max_norm": 1.0}),
    ("EmbeddingBag", {"mode": "sum"}),
    ("EmbeddingBag", {"mode": "mean"}),
    ("EmbeddingBag", {"mode": "sum", "padding_idx": 1}),
    ("EmbeddingBag", {"mode": "mean", "padding_idx": 1}),
]


def trained(package, kind, options, name, settings, steps=4):
    """A table after some steps, and its last gradient."""
    table = getattr(package.nn, kind)(8, 3, sparse=True, **options)
    with package.no_grad():
        table.weight.copy_((package.arange(24.0).reshape(8, 3) / 10).sin())
    optimizer = getattr(package.optim, name.split()[0])(
        list(table.parameters()), lr=0.01, **settings
    )
    for step in range(steps):
        optimizer.zero_grad()
        out = table(package.tensor([[1, 2, 1], [step, 5, 2]]))
        (out * out * package.arange(1.0, 4.0)).sum().backward()
        optimizer.step()
    return table.weight


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize(("kind", "options"), TABLES)
def test_tables_learn_from_sparse_gradients_as_in_pytorch(kind, options, name):
    torch = require_torch()
    mine, theirs = (
        trained(package, kind, options, name, OPTIMIZERS[name]) for package in (tensorlab, torch)
    )
    assert name_of(mine.grad.layout) == name_of(theirs.grad.layout) == "sparse_coo"
    assert mine.grad._indices().tolist() == theirs.grad._indices().tolist()
    np.testing.assert_allclose(
        mine.grad._values().numpy(), theirs.grad._values().numpy(), rtol=1e-5, atol=1e-6
    )
    np.testing.assert_allclose(mine.detach().numpy(), theirs.detach().numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", ["Embedding", "EmbeddingBag"])
def test_the_sparse_gradient_is_the_dense_one(kind):
    def gradient(sparse):
        table = getattr(tensorlab.nn, kind)(6, 3, sparse=sparse)
        with tensorlab.no_grad():
            table.weight.copy_(tensorlab.arange(18.0).view(6, 3))
        (table(tensorlab.tensor([[0, 5, 0], [2, 2, 2]])) ** 2).sum().backward()
        return table.weight.grad.to_dense().numpy()

    np.testing.assert_allclose(gradient(True), gradient(False), rtol=1e-6)


def test_factors_of_a_bag_have_a_gradient_too():
    torch = require_torch()
    results = []
    for package in (tensorlab, torch):
        weight = package.arange(12.0).view(4, 3).requires_grad_()
        factors = package.tensor([0.5, 1.0, 2.0, 3.0], requires_grad=True)
        out = package.nn.functional.embedding_bag(
            package.tensor([0, 1, 1, 3]),
            weight,
            package.tensor([0, 3]),
            mode="sum",
            sparse=True,
            per_sample_weights=factors,
        )
        (out * out).sum().backward()
        results.append((weight.grad.to_dense().tolist(), factors.grad.tolist()))
    assert results[0] == results[1]


def test_gradients_add_up_whether_sparse_or_dense():
    torch = require_torch()
    found = []
    for package in (tensorlab, torch):
        weight = package.arange(12.0).view(4, 3).requires_grad_()
        found.append([])
        for sparse in (True, True, False, True):
            out = package.nn.functional.embedding(package.tensor([0, 1]), weight, sparse=sparse)
            out.sum().backward()
            found[-1].append((name_of(weight.grad.layout), weight.grad.to_dense().tolist()))
        weight.grad = None
        out = package.nn.functional.embedding(package.tensor([0, 1]), weight, sparse=True)
        (out.sum() + (weight * weight).sum()).backward()
        found[-1].append(weight.grad.to_dense().tolist())
    assert found[0] == found[1]


def test_what_sparse_gradients_do_not_go_with():
    def table(**options):
        made = tensorlab.nn.Embedding(4, 2, sparse=True, **options)
        return made, lambda: made(tensorlab.tensor([0, 1])).sum().backward()

    _, backward = table(scale_grad_by_freq=True)
    with pytest.raises(RuntimeError, match="scale_grad_by_freq not supported with sparse"):
        backward()
    made, backward = table()
    backward()
    for name in ("Adam", "AdamW", "RMSprop", "Adadelta", "Adamax", "NAdam", "RAdam", "Rprop"):
        before = made.weight.tolist()
        with pytest.raises(RuntimeError, match="does not support sparse gradients"):
            getattr(tensorlab.optim, name)(made.parameters()).step()
        assert made.weight.tolist() == before
    for name in ("SGD", "Adagrad"):
        with pytest.raises(RuntimeError, match="weight_decay option is not compatible"):
            getattr(tensorlab.optim, name)(made.parameters(), weight_decay=0.1).step()
        assert made.weight.tolist() == before


def test_clipping_scales_sparse_gradients_too():
    """PyTorch 2.13 raises NotImplementedError here."""

    def clipped(sparse):
        weight = tensorlab.arange(6.0).view(3, 2).requires_grad_()
        out = tensorlab.nn.functional.embedding(tensorlab.tensor([1, 1]), weight, sparse=sparse)
        (out**2).sum().backward()
        norm = tensorlab.nn.utils.clip_grad_norm_([weight], 1.0)
        return norm.item(), weight.grad.to_dense().tolist()

    assert clipped(True) == clipped(False)


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr"])
def test_a_graph_network_learns_as_in_pytorch(layout):
    torch = require_torch()
    losses = []
    for package in (tensorlab, torch):
        ends = package.tensor([[0, 1, 2, 3, 4, 5, 0], [1, 2, 3, 4, 5, 0, 3]])
        both = package.cat([ends, ends.flip(0)], 1)
        graph = package.sparse_coo_tensor(both, package.ones(14), (6, 6)).coalesce()
        graph = graph.to_sparse(layout=getattr(package, layout))
        first = (package.arange(24.0).reshape(6, 4) / 5).cos().requires_grad_()
        second = (package.arange(8.0).reshape(4, 2) / 3).sin().requires_grad_()
        wanted = package.tensor([0, 0, 0, 1, 1, 1])
        optimizer = package.optim.Adam([first, second], lr=0.05)
        losses.append([])
        for _ in range(20):
            hidden = package.relu(package.sparse.mm(graph, package.eye(6) @ first))
            loss = package.nn.functional.cross_entropy(graph @ (hidden @ second), wanted)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses[-1].append(loss.item())
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-4)


def test_the_weights_of_a_graph_learn():
    """A sparse leaf: its gradient is held where it holds elements, and SGD changes these."""
    torch = require_torch()
    results = []
    for package in (tensorlab, torch):
        graph = package.sparse_coo_tensor([[0, 1, 2], [1, 2, 0]], [1.0, 2.0, 3.0], (3, 3))
        graph = graph.coalesce().requires_grad_()
        for _ in range(3):
            graph.grad = None
            out = package.sparse.mm(graph, package.arange(6.0).view(3, 2))
            (out * out).sum().backward()
            assert graph.grad.is_sparse
            assert graph.grad._nnz() == 3
            with package.no_grad():
                graph.sub_(graph.grad * 0.01)
        results.append(graph.detach().to_dense().numpy())
    np.testing.assert_allclose(*results, rtol=1e-5)


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr"])
def test_a_module_may_have_sparse_buffers_and_parameters(layout):
    graph = tensorlab.eye(2).to_sparse(layout=getattr(tensorlab, layout))
    model = tensorlab.nn.Module()
    model.register_buffer("graph", graph * 2)
    model.weight = tensorlab.nn.Parameter(graph)
    assert [name for name, _ in model.named_parameters()] == ["weight"]
    state = {name: one.clone() for name, one in model.state_dict().items()}
    with tensorlab.no_grad():
        model.graph.mul_(3)
        model.weight.mul_(3)
    model.load_state_dict(state)
    assert model.graph.to_dense().tolist() == [[2.0, 0.0], [0.0, 2.0]]
    assert model.double().graph.dtype == tensorlab.float64
    assert model.weight.layout == graph.layout
    optimizer = tensorlab.optim.SGD(model.parameters(), lr=0.1)
    out = tensorlab.sparse.mm(model.weight, tensorlab.ones(2, 2, dtype=tensorlab.float64))
    (out**2).sum().backward()
    optimizer.step()
    np.testing.assert_allclose(model.weight.detach().to_dense().numpy(), 0.6 * np.eye(2), rtol=1e-6)


def test_compile_leaves_a_function_with_a_sparse_tensor_as_it_is():
    graph = tensorlab.sparse_coo_tensor([[0, 1, 2], [1, 2, 0]], [1.0, 2.0, 3.0], (3, 3)).coalesce()

    def loss(weight):
        return tensorlab.relu(tensorlab.spmm(graph, weight.sin())).square().mean()

    weight = tensorlab.arange(6.0).view(3, 2)
    with pytest.warns(UserWarning, match="runs as Python.*SparseCooTensor"):
        assert tensorlab.compile(loss)(weight).item() == loss(weight).item()
