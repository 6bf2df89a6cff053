"""Libraries that were not written for tensorlab take its tensors."""

import numpy as np
import pytest

import tensorlab


# ---------------------------------------------------------------- SciPy, scikit-learn, matplotlib
def test_scipy_takes_tensors():
    from scipy import optimize, sparse, spatial, stats

    x = tensorlab.tensor([1.0, 2.0, 4.0, 8.0])
    assert stats.pearsonr(x, 2 * x).statistic == pytest.approx(1.0)
    assert spatial.distance.euclidean(x, x + 1) == pytest.approx(2.0)
    assert sparse.csr_matrix(tensorlab.eye(3)).nnz == 3
    start = x[:2].double()
    found = optimize.minimize(lambda p: float(((tensorlab.tensor(p) - 3) ** 2).sum()), start)
    assert found.x == pytest.approx([3.0, 3.0], abs=1e-3)


def test_scikit_learn_takes_tensors():
    linear_model = pytest.importorskip("sklearn.linear_model")
    metrics = pytest.importorskip("sklearn.metrics")
    tensorlab.manual_seed(0)
    x = tensorlab.randn(50, 3)
    y = x @ tensorlab.tensor([1.0, -2.0, 0.5])
    model = linear_model.LinearRegression().fit(x, y)
    assert model.coef_ == pytest.approx([1.0, -2.0, 0.5], abs=1e-5)
    assert metrics.r2_score(y, model.predict(x)) == pytest.approx(1.0)
    assert metrics.accuracy_score(y > 0, y > 0) == 1.0


def test_matplotlib_draws_tensors():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from matplotlib import pyplot

    x = tensorlab.linspace(0, 1, 20)
    figure, axes = pyplot.subplots(2, 3)
    (line,) = axes[0, 0].plot(x, x**2)
    assert line.get_ydata() == pytest.approx(np.linspace(0, 1, 20) ** 2, abs=1e-6)
    axes[0, 1].scatter(x, x, c=x, s=x)
    counts, *_ = axes[0, 2].hist(x, bins=4)
    assert counts.sum() == 20
    image = axes[1, 0].imshow(tensorlab.eye(4))
    assert image.get_array().shape == (4, 4)
    axes[1, 1].bar(tensorlab.arange(3), tensorlab.tensor([1.0, 2.0, 3.0]))
    axes[1, 2].errorbar(x, x, yerr=x)
    axes[1, 2].fill_between(x, x, x + 1)
    axes[1, 2].axvline(x[3])
    figure.canvas.draw()
    pyplot.close(figure)


# ---------------------------------------------------------------- einops
@pytest.mark.parametrize("through", ["array_api", "backend"])
def test_einops_takes_tensors(through):
    einops = pytest.importorskip("einops")
    if through == "array_api":
        einops = pytest.importorskip("einops.array_api")
    else:
        pytest.importorskip("tensorlab.utils.einops_backend")
    x = tensorlab.arange(24.0).reshape(2, 3, 4).requires_grad_()
    array = x.detach().numpy()
    assert einops.rearrange(x, "a b c -> b (a c)").tolist() == (
        array.transpose(1, 0, 2).reshape(3, 8).tolist()
    )
    for name in ("sum", "mean", "max", "min", "prod"):
        reduced = einops.reduce(x, "a b c -> b", name)
        assert reduced.tolist() == getattr(array, name)(axis=(0, 2)).tolist()
    assert tuple(einops.repeat(x, "a b c -> a b c n", n=2).shape) == (2, 3, 4, 2)
    packed, shapes = einops.pack([x, x[:, 0]], "a * c")
    assert tuple(packed.shape) == (2, 4, 4)
    assert [tuple(one.shape) for one in einops.unpack(packed, shapes, "a * c")] == [
        (2, 3, 4),
        (2, 4),
    ]
    einops.reduce(x, "a b c -> b", "sum").sum().backward()
    assert x.grad.tolist() == np.ones((2, 3, 4)).tolist()
