"""Work that is split over threads gives what one thread gives, with parts of unequal size."""

import numpy as np
import pytest
import scipy.special

import tensorlab

F = tensorlab.nn.functional


def normal(*shape, dtype="float64"):
    values = np.random.default_rng(0).standard_normal(shape)
    return tensorlab.from_numpy(values.astype(dtype)).requires_grad_()


OPS = {
    "layer_norm": lambda: (F.layer_norm, normal(301, 331), (331,), normal(331), normal(331)),
    "group_norm": lambda: (F.group_norm, normal(7, 6, 29, 31), 3, normal(6), normal(6)),
    "batch_norm": lambda: (
        lambda x, w, b: F.batch_norm(x, None, None, w, b, True),
        *(normal(7, 6, 29, 31), normal(6), normal(6)),
    ),
    "conv2d": lambda: (F.conv2d, normal(7, 4, 19, 17), normal(6, 4, 3, 3), normal(6)),
    "conv2d groups": lambda: (
        lambda x, w: F.conv2d(x, w, groups=2),
        *(normal(7, 4, 29, 27), normal(6, 2, 3, 3)),
    ),
    "conv2d of two images": lambda: (F.conv2d, normal(2, 4, 29, 27), normal(6, 4, 3, 3)),
    "conv2d of three images": lambda: (F.conv2d, normal(3, 4, 29, 27), normal(6, 4, 3, 3)),
    "conv1d": lambda: (F.conv1d, normal(7, 5, 301), normal(9, 5, 7)),
    "max_pool2d": lambda: (lambda x: F.max_pool2d(x, 3, 2, 1), normal(7, 5, 37, 41)),
    "avg_pool2d": lambda: (lambda x: F.avg_pool2d(x, 3, 2, 1), normal(7, 5, 37, 41)),
    "softmax": lambda: (lambda x: x.softmax(1), normal(301, 331)),
    "log_softmax across": lambda: (lambda x: x.log_softmax(0), normal(301, 331)),
    "cross_entropy": lambda: (
        F.cross_entropy,
        normal(3001, 37),
        tensorlab.arange(3001) % 37,
    ),
    "cumsum": lambda: (lambda x: x.cumsum(1), normal(301, 331)),
    "cumprod across": lambda: (lambda x: x.cumprod(0), normal(301, 331)),
    "sort": lambda: (lambda x: x.sort(1)[0], normal(301, 331)),
    "median": lambda: (lambda x: x.median(1)[0], normal(301, 331)),
    "sum": lambda: (lambda x: x.sum(1), normal(301, 331)),
    "sum across": lambda: (lambda x: x.sum(0), normal(301, 331)),
    "var": lambda: (lambda x: x.var(1), normal(301, 331)),
    "amax": lambda: (lambda x: x.amax(0), normal(301, 331)),
    "exp": lambda: (lambda x: x.exp(), normal(301, 331)),
    "add transposed": lambda: (lambda x, y: x + y.t(), normal(301, 331), normal(331, 301)),
    "index_select": lambda: (lambda x: x[tensorlab.arange(300, 0, -1)], normal(301, 331)),
    "lookups of few rows": lambda: (lambda x: x[tensorlab.arange(1000) % 7], normal(7, 331)),
    "index_add": lambda: (
        lambda x, y: x.index_add(0, tensorlab.arange(1000) % 7, y),
        *(normal(7, 331), normal(1000, 331)),
    ),
    "index_put of few places": lambda: (
        lambda x, y: x.index_put((tensorlab.arange(200_001) % 5,), y, accumulate=True),
        *(normal(5), normal(200_001)),
    ),
    "scatter_add": lambda: (
        lambda x, y: x.scatter_add(0, tensorlab.arange(301 * 331).view(301, 331) % 7, y),
        *(normal(7, 331), normal(301, 331)),
    ),
    "scatter_add along the last": lambda: (
        lambda x, y: x.scatter_add(1, tensorlab.arange(301 * 331).view(301, 331) % 7, y),
        *(normal(301, 7), normal(301, 331)),
    ),
    "index_select of outer slices": lambda: (
        lambda x: x.transpose(0, 1).index_select(1, tensorlab.tensor([2, 0, 1])),
        normal(3, 70_000, 2),
    ),
    "index_add to outer slices": lambda: (
        lambda x, y: x.transpose(0, 1).index_add(1, tensorlab.tensor([2, 0, 1]), y),
        *(normal(3, 40_000, 3), normal(40_000, 3, 3)),
    ),
    "gather": lambda: (
        lambda x: x.gather(1, tensorlab.arange(301 * 331).view(301, 331) % 331),
        normal(301, 331),
    ),
}


@pytest.fixture
def threads():
    before = tensorlab.get_num_threads()
    yield tensorlab.set_num_threads
    tensorlab.set_num_threads(before)


@pytest.mark.parametrize("name", OPS)
def test_several_threads_give_what_one_gives(name, threads):
    def run(n):
        threads(n)
        function, *arguments = OPS[name]()
        out = function(*arguments)
        out.backward(tensorlab.ones_like(out) * 0.5 + out.detach() * 0.25)
        return [out.numpy(force=True)] + [
            one.grad.numpy(force=True)
            for one in arguments
            if isinstance(one, tensorlab.Tensor) and one.requires_grad
        ]

    whole = run(1)
    for n in (2, 3):
        for split, alone in zip(run(n), whole, strict=True):
            np.testing.assert_allclose(split, alone, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(
    "name", [name for name in OPS if "norm" in name or "conv" in name or "softmax" in name]
)
def test_several_threads_give_what_one_gives_in_float32(name, threads):
    """Loops of floats have their own branches where partial results are added up."""
    results = []
    for n in (1, 2, 3):
        threads(n)
        function, *arguments = OPS[name]()
        tensors = [
            x.detach().float().requires_grad_() if isinstance(x, tensorlab.Tensor) else x
            for x in arguments
        ]
        out = function(*tensors)
        out.backward(tensorlab.ones_like(out) * 0.5 + out.detach() * 0.25)
        grads = [x.grad for x in tensors if isinstance(x, tensorlab.Tensor)]
        results.append([out.detach(), *grads])
    for split in results[1:]:
        for one, alone in zip(split, results[0], strict=True):
            scale = alone.abs().max().item()
            np.testing.assert_allclose(one.numpy(), alone.numpy(), rtol=1e-4, atol=1e-5 * scale)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_of_long_slices_across_memory(name, dtype, threads):
    """Each part of a slice has a largest element of its own, which may be far from that of the slice."""
    x = np.random.default_rng(0).standard_normal((1543, 11)) * 4
    x[:512, 0] += 200  # far from what follows
    x[512:, 1] += 60
    x[:1024, 2] = -np.inf
    x[700, 3] = -np.inf
    x[:, 4] = -np.inf
    x[1, 5] = np.inf
    x[1542, 6] = np.nan
    x[:, 7] = np.finfo(dtype).min
    x = x.astype(dtype)
    threads(1)
    out = getattr(tensorlab, name)(tensorlab.tensor(x), 0).numpy()
    with np.errstate(invalid="ignore"):
        expected = getattr(scipy.special, name)(x.astype("float64"), 0)
    expected[:, [4, 5, 6]] = np.nan
    rtol = 1e-5 if dtype == "float32" else 1e-12
    np.testing.assert_allclose(out, expected, rtol=rtol, atol=1e-37)
    for n in (2, 3):
        threads(n)
        shared = getattr(tensorlab, name)(tensorlab.tensor(x), 0).numpy()
        np.testing.assert_array_equal(shared.view(f"i{x.itemsize}"), out.view(f"i{x.itemsize}"))


FOLDS = {
    "sum": lambda x: x.sum(),
    "sum of columns": lambda x: x.reshape(-1, 3).sum(0),
    "sum of rows": lambda x: x.reshape(3, -1).sum(1),
    "mean": lambda x: x.mean(),
    "var": lambda x: x.var(),
    "std of columns": lambda x: x.reshape(-1, 3).std(0),
    "amax": lambda x: x.amax(),
    "amin of columns": lambda x: x.reshape(-1, 3).amin(0),
    "argmax": lambda x: x.argmax(),
    "prod": lambda x: (1 + x / 1000).prod(),
    "logsumexp": lambda x: x.logsumexp(0),
    "norm": lambda x: x.norm(),
    "norm of columns": lambda x: x.reshape(-1, 3).norm(dim=0),
    "any": lambda x: (x > 4).any(),
    "all of columns": lambda x: (x > -4).reshape(-1, 3).all(0),
    "count_nonzero": lambda x: x.count_nonzero(),
    "nansum": lambda x: x.masked_fill(x > 1, np.nan).nansum(),
    "median": lambda x: x.median(),
}


@pytest.mark.parametrize("name", FOLDS)
def test_folds_that_are_shared_out_give_what_one_thread_gives(name, threads):
    """Each thread folds a part in the type of the totals, whatever the type of the result."""
    values = normal(3 * 2**17).detach()
    for dtype in ("float64", "float32", "float16", "bfloat16", "int32"):
        if dtype == "int32" and name in (
            "mean",
            "var",
            "std of columns",
            "prod",
            "logsumexp",
            "nansum",
        ):
            continue
        x = (
            (3 * values).to(getattr(tensorlab, dtype))
            if dtype == "int32"
            else values.to(getattr(tensorlab, dtype))
        )
        if dtype == "int32" and "norm" in name:
            continue
        results = []
        for n in (1, 2, 3):
            threads(n)
            results.append(FOLDS[name](x).double().tolist())
        tolerance = {"float64": 1e-10, "float32": 1e-4, "int32": 0}.get(dtype, 1e-2)
        for split in results[1:]:
            np.testing.assert_allclose(split, results[0], rtol=tolerance, atol=30 * tolerance)


def test_windows_that_overlap_are_written_one_element_after_the_other(threads):
    """However long the rows and however many threads: as in a loop over the elements."""
    threads(2)
    for rows, columns in ((3, 4), (40, 3), (70, 200), (200, 70), (300, 300)):
        x = tensorlab.zeros(rows + columns, dtype=tensorlab.int64)
        x.as_strided((rows, columns), (1, 1)).add_(1)
        expected = np.zeros(rows + columns, int)
        for i in range(rows):
            expected[i : i + columns] += 1
        assert x.tolist() == expected.tolist()
        x.as_strided((columns, rows), (1, 1)).t().add_(tensorlab.ones(rows, 1).long())
        assert x.tolist() == (2 * expected).tolist()
