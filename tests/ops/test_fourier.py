"""Two ways to SciPy's transforms: its compiled module, and its public functions where that module is elsewhere."""

import numpy as np
import pytest
from tensorlab.ops.fourier import PublicTransforms

import tensorlab as M

compiled = pytest.importorskip("scipy.fft._pocketfft.pypocketfft")
RNG = np.random.default_rng(0)
REAL = RNG.standard_normal((3, 6, 5))
COMPLEX = REAL + 1j * RNG.standard_normal((3, 6, 5))


@pytest.mark.parametrize("axes", [(2,), (1,), (0, 2), (2, 1)])
@pytest.mark.parametrize("factor", [0, 1, 2])
@pytest.mark.parametrize("forward", [True, False])
def test_public_functions_give_what_the_compiled_ones_do(forward, factor, axes):
    last = axes[-1]
    half = [size if axis != last else size // 2 + 1 for axis, size in enumerate(REAL.shape)]
    calls = [("c2c", COMPLEX, (), COMPLEX.shape, complex)]
    if forward:
        calls += [("c2c", REAL, (), REAL.shape, complex), ("r2c", REAL, (), half, complex)]
    else:
        size = 2 * REAL.shape[last] - 1
        sizes = (*REAL.shape[:last], size, *REAL.shape[last + 1 :])
        calls += [("c2r", COMPLEX, (size,), sizes, float)]
    for name, x, last_size, shape, dtype in calls:
        results = []
        for module in (compiled, PublicTransforms()):
            results.append(np.full(shape, np.nan, dtype))
            getattr(module, name)(x, axes, *last_size, forward, factor, results[-1], 1)
        np.testing.assert_allclose(*results, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("shape", [(4,), (5,), (1,), (2,), (4, 6), (3, 4, 2)])
def test_imaginary_parts_of_numbers_that_stand_for_themselves_are_not_minus_zero(shape):
    x = np.random.default_rng(0).normal(size=shape).astype("f4")
    ours, theirs = M.fft.fftn(M.from_numpy(x)).numpy(), np.fft.fftn(x)
    assert (np.signbit(ours.imag) == np.signbit(theirs.imag)).all()
