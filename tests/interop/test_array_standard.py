"""SciPy and scikit-learn in their array API modes, which they read from the environment when they are imported."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
START = """
import numpy as np
import tensorlab

def compare(call, *tensors):
    found = call(*tensors)
    wanted = np.asarray(call(*(x.numpy() for x in tensors)))
    if wanted.ndim > 0:
        assert isinstance(found, tensorlab.Tensor), type(found)
    np.testing.assert_allclose(abs(np.asarray(found)), abs(wanted), rtol=1e-8, atol=1e-10)

tensorlab.manual_seed(0)
x = tensorlab.randn(30, 4, dtype=tensorlab.float64)
classes = (x[:, 0] + x[:, 1] > 0).long()
"""
SCIPY = [
    "scipy.special.logsumexp(x, axis=1)",
    "scipy.special.erf(x)",
    "scipy.stats.zscore(x)",
    "scipy.stats.ttest_ind(x[:9], x[9:]).statistic",
    "scipy.fft.fft(x)",
    "scipy.fft.dct(x)",
    "scipy.signal.hilbert(x, axis=0)",
    "scipy.cluster.vq.whiten(x)",
    "scipy.integrate.trapezoid(x)",
    "scipy.ndimage.gaussian_filter(x, 1.0)",
    "scipy.optimize.rosen(x)",
]
SCIKIT_LEARN = [
    "preprocessing.StandardScaler().fit_transform(x)",
    "preprocessing.MinMaxScaler().fit_transform(x)",
    "decomposition.PCA(2, svd_solver='full').fit_transform(x)",
    "linear_model.Ridge(solver='svd').fit(x, x[:, 0]).coef_",
    "discriminant_analysis.LinearDiscriminantAnalysis().fit(x, classes).predict(x)",
    "metrics.pairwise.cosine_similarity(x)",
    "metrics.r2_score(x[:, 0], x[:, 1])",
]


def run(program):
    """Run a program in a process whose libraries take arrays of any kind."""
    done = subprocess.run(
        [sys.executable, "-c", START + program],
        env={**os.environ, "PYTHONPATH": str(ROOT), "SCIPY_ARRAY_API": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_scipy_computes_with_tensors():
    modules = sorted({call.rpartition("(")[0].split("(")[0].rpartition(".")[0] for call in SCIPY})
    calls = [f"compare(lambda x: {call}, x)" for call in SCIPY]
    run("\n".join([*(f"import {module}" for module in modules), *calls]))


def test_scikit_learn_computes_with_tensors():
    pytest.importorskip("sklearn", reason="comes with `make test`")
    modules = "decomposition discriminant_analysis linear_model metrics preprocessing"
    calls = [f"    compare(lambda x, classes: {call}, x, classes)" for call in SCIKIT_LEARN]
    imports = f"import sklearn\nfrom sklearn import {', '.join(modules.split())}"
    run("\n".join([imports, "with sklearn.config_context(array_api_dispatch=True):", *calls]))
