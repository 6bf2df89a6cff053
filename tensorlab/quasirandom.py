"""Quasi-random numbers: points that fill a cube more evenly than random ones, for integrals and searches."""

from tensorlab import _missing
from tensorlab._core.dtypes import BY_NAME, get_default_dtype
from tensorlab._core.interop.arrays import from_numpy
from tensorlab._core.random import Generator
from tensorlab.errors import ShapeError, UnsupportedDType
from tensorlab.ops.creation import zeros
from tensorlab.ops.random_factories import randint
from tensorlab.ops.ranges import arange

__all__ = ["SobolEngine"]

FLOAT64 = BY_NAME["float64"]


class SobolEngine:
    """A Sobol sequence of points in the unit cube, scrambled if you like.

    Point k is made of the bits of k: each one that is set in its Gray code turns over a pattern
    of bits, one of the *direction numbers* of a dimension. From one point to the next a single
    bit of the Gray code changes, so that a point costs one exclusive or.
    Source: Sobol 1967; direction numbers of Joe and Kuo 2008, which SciPy brings along;
    scrambling: Owen 1998.

    Parameters
    ----------
    dimension : int, from 1 to 21201
    scramble : bool, mix the bits of each dimension at random: the points stay as even, and
        differ from seed to seed
    seed : int, of the scrambling; without it, the default generator is used

    Raises
    ------
    ValueError
        If there are no direction numbers for the dimension.

    >>> from tensorlab.quasirandom import SobolEngine
    >>> SobolEngine(3).draw(3)
    tensor([[0.0000, 0.0000, 0.0000],
            [0.5000, 0.5000, 0.5000],
            [0.7500, 0.2500, 0.2500]])
    """

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension, scramble=False, seed=None):
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(
                f"SobolEngine: dimension is {dimension}; it must be from 1 to {self.MAXDIM}"
            )
        self.dimension, self.scramble, self.seed = dimension, scramble, seed
        self.sobolstate = direction_numbers(dimension, self.MAXBIT)
        self.shift = zeros(dimension, dtype=BY_NAME["int64"], device="cpu")
        if scramble:
            self._scramble()
        self.num_generated = 0

    def draw(self, n=1, out=None, dtype=None):
        """Return the next points.

        Parameters
        ----------
        n : int, how many, at least 1
        out : Tensor, resized and written to
        dtype : float32 or float64; the default dtype if not given

        Returns
        -------
        Tensor, shape (n, dimension), from 0 up to 1

        Raises
        ------
        ShapeError
            If `n` is below 1, or the sequence ends, after 2**30 points.
        UnsupportedDType
            If the dtype is another one.
        """
        dtype = get_default_dtype() if dtype is None else dtype
        if dtype not in (BY_NAME["float32"], FLOAT64):
            raise UnsupportedDType(
                f"SobolEngine.draw: dtype is {dtype}; draw float32 or float64 and convert the points"
            )
        points = from_numpy(self._next_points(n)).to(FLOAT64) * 2.0**-self.MAXBIT
        points = points.to(dtype)
        self.num_generated += n
        return points if out is None else out.resize_as_(points).copy_(points)

    def draw_base2(self, m, out=None, dtype=None):
        """Return the next 2**m points; drawn so, they stay as even as they can be.

        Raises
        ------
        ValueError
            If the number of all points would be no power of 2.
        """
        total = self.num_generated + 2**m
        if total & (total - 1):
            raise ValueError(
                f"SobolEngine: with {self.num_generated} points drawn before, 2**{m} more are {total} "
                "points, which is no power of 2, so that they are not balanced; use draw(n) if you "
                "want them anyhow"
            )
        return self.draw(2**m, out=out, dtype=dtype)

    def reset(self):
        """Go back to the first point, and return the engine."""
        self.num_generated = 0
        return self

    def fast_forward(self, n):
        """Skip n points, and return the engine."""
        self.num_generated += n
        return self

    def _next_points(self, n):
        import numpy as np

        first, last = self.num_generated, self.num_generated + n
        if n < 1:
            raise ShapeError(f"SobolEngine.draw: n is {n}; it must be at least 1")
        if last > 2**self.MAXBIT:
            raise ShapeError(f"SobolEngine.draw: the sequence ends after {2**self.MAXBIT} points")
        columns = self.sobolstate.numpy().T
        steps = np.arange(first + 1, last)
        changed_bits = np.bitwise_count((steps & -steps) - 1)  # in the Gray code
        points = np.empty((n, self.dimension), dtype=np.int64)
        gray = first ^ (first >> 1)
        bits = [k for k in range(self.MAXBIT) if gray >> k & 1]
        points[0] = np.bitwise_xor.reduce(columns[bits], axis=0, initial=0) ^ self.shift.numpy()
        points[1:] = columns[changed_bits]
        return np.bitwise_xor.accumulate(points, axis=0, out=points)

    def _scramble(self):
        """Multiply direction numbers by random triangular matrices of bits, and shift all points."""
        generator = None if self.seed is None else Generator().manual_seed(self.seed)
        bits, size = self.MAXBIT, self.dimension
        shift = randint(2, (size, bits), device="cpu", generator=generator)
        self.shift = (shift << arange(bits, device="cpu")).sum(-1)
        mixing = randint(2, (size, bits, bits), device="cpu", generator=generator).tril(-1)
        self.sobolstate = from_numpy(mixed(mixing.numpy(), self.sobolstate.numpy()))

    def __repr__(self):
        options = [f"dimension={self.dimension}"]
        if self.scramble:
            options.append("scramble=True")
        if self.seed is not None:
            options.append(f"seed={self.seed}")
        return f"{type(self).__name__}({', '.join(options)})"


def direction_numbers(dimension, bits):
    """Return those of SciPy as a tensor, shape (dimension, bits). SciPy's part takes a second to import."""
    from scipy.stats import qmc

    return from_numpy(qmc.Sobol(dimension, scramble=False, bits=bits)._sv.astype("int64"))


def mixed(mixing, numbers):
    """Multiply numbers, shape (dimension, bits), whose bits are vectors with the highest first, by matrices modulo 2.

    `mixing` is what stands below their diagonals of ones.
    """
    import numpy as np

    falling = np.arange(numbers.shape[1])[::-1]
    vectors = numbers[:, None, :] >> falling[:, None] & 1  # (dimension, bit, number)
    products = (mixing.astype("float32") @ vectors.astype("float32")).astype("int64") + vectors
    return ((products & 1) << falling[:, None]).sum(1)


__getattr__ = _missing.refusing(__name__)
