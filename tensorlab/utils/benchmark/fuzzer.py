"""Fuzzer: inputs of random shapes and layouts, the same for the same seed."""

import itertools
from math import log2, prod

import numpy as np

from tensorlab._core.dtypes import BY_NAME
from tensorlab._tensor import Tensor
from tensorlab.ops.random_factories import rand, randint
from tensorlab.random import manual_seed

__all__ = ["FuzzedParameter", "FuzzedTensor", "Fuzzer", "ParameterAlias"]

DISTRIBUTIONS = ("loguniform", "uniform")
TRIALS = 1000  # draws until the constraints have to be met


class FuzzedParameter:
    """A number that is drawn.

    Parameters
    ----------
    name : str, by which sizes of FuzzedTensors name it
    minval, maxval : the smallest and the largest value; not for a dict
    distribution : "loguniform": ints, as many from 1 to 10 as from 10 to 100; "uniform": ints,
        or floats if a bound is one; or a dict {value: probability}
    strict : bool; whether it keeps its value while others are drawn again to meet the constraints

    Raises
    ------
    AssertionError
        For another distribution, or for probabilities that are negative or do not sum to 1.
    ValueError
        For probabilities with bounds.

    Examples
    --------
    >>> from tensorlab.utils.benchmark import Fuzzer
    >>> size = FuzzedParameter("n", minval=1, maxval=8, distribution="uniform")
    >>> ((_, _, drawn),) = Fuzzer([size], [], seed=0).take(1)
    >>> 1 <= drawn["n"] <= 8
    True
    """

    def __init__(self, name, minval=None, maxval=None, distribution=None, strict=False):
        self._name, self._minval, self._maxval, self.strict = name, minval, maxval, strict
        self._distribution = distribution
        if isinstance(distribution, dict):
            self._check_probabilities()
        elif distribution not in DISTRIBUTIONS:
            raise AssertionError(
                f"FuzzedParameter: distribution is {distribution!r}; it must be one of "
                f"{', '.join(DISTRIBUTIONS)}, or a dict of probabilities"
            )

    def _check_probabilities(self):
        probabilities = list(self._distribution.values())
        if min(probabilities) < 0 or abs(sum(probabilities) - 1) > 1e-5:
            raise AssertionError(
                f"FuzzedParameter: the probabilities {probabilities} must not be negative and must sum to 1"
            )
        if self._minval is not None or self._maxval is not None:
            raise ValueError("FuzzedParameter: a dict of probabilities has no minval and no maxval")

    @property
    def name(self):
        return self._name

    def sample(self, state):
        """Draw a value with a numpy.random.RandomState."""
        if isinstance(self._distribution, dict):
            chances = tuple(self._distribution.values())
            return list(self._distribution)[state.choice(np.arange(len(chances)), p=chances)]
        if self._distribution == "loguniform":
            value = int(2 ** state.uniform(low=log2(self._minval), high=log2(self._maxval)))
            return min(max(value, self._minval), self._maxval)
        if isinstance(self._minval, int) and isinstance(self._maxval, int):
            return int(state.randint(low=self._minval, high=self._maxval + 1))
        return state.uniform(low=self._minval, high=self._maxval)


class ParameterAlias:
    """Stands for the value of another parameter, among the values of a dict of probabilities."""

    def __init__(self, alias_to):
        self.alias_to = alias_to

    def __repr__(self):
        return f"ParameterAlias[alias_to: {self.alias_to}]"


class FuzzedTensor:
    """A tensor that is made of drawn parameters.

    Parameters
    ----------
    name : str
    size : tuple of int, or names of parameters
    steps : tuple of the same; the tensor is every so many elements of a larger one
    probability_contiguous : float, how likely its dimensions lie in the usual order
    min_elements, max_elements, max_allocation_bytes : int, what is drawn again otherwise
    dim_parameter : str, the parameter that says how many of the sizes count
    roll_parameter : taken for PyTorch's sake
    dtype : dtype
    cuda : bool; refused if True, as there is no such device
    tensor_constructor : function(size, dtype, **parameters) that makes the tensor

    Examples
    --------
    >>> from tensorlab.utils.benchmark import FuzzedParameter, Fuzzer
    >>> size = FuzzedParameter("n", minval=2, maxval=8, distribution="uniform")
    >>> fuzzer = Fuzzer([size], [FuzzedTensor("x", size=("n", 3))], seed=0)
    >>> ((tensors, _, drawn),) = fuzzer.take(1)
    >>> tuple(tensors["x"].shape) == (drawn["n"], 3)
    True
    """

    def __init__(
        self,
        name,
        size,
        steps=None,
        probability_contiguous=0.5,
        min_elements=None,
        max_elements=None,
        max_allocation_bytes=None,
        dim_parameter=None,
        roll_parameter=None,
        dtype=BY_NAME["float32"],
        cuda=False,
        tensor_constructor=None,
    ):
        if cuda:
            raise RuntimeError(
                f"{type(self).__name__}: cuda=True, and there is no such device here"
            )
        self._name, self._size, self._steps = name, size, steps
        self._probability_contiguous = probability_contiguous
        self._min_elements, self._max_elements = min_elements, max_elements
        self._max_allocation_bytes = max_allocation_bytes
        self._dim_parameter, self._dtype = dim_parameter, dtype
        self._constructor = tensor_constructor or self.default_tensor_constructor

    @property
    def name(self):
        return self._name

    @staticmethod
    def default_tensor_constructor(size, dtype, **kwargs):
        """Numbers from 0 to 1, or whole ones from 1 to 126."""
        if dtype.is_floating_point or dtype.is_complex:
            return rand(size, dtype=dtype)
        return randint(1, 127, size, dtype=dtype)

    def _make_tensor(self, params, state):
        """(tensor, what is known of it)"""
        size, steps, allocated = self._sizes(params)
        raw: Tensor = self._constructor(size=allocated, dtype=self._dtype, **params)
        order = np.arange(len(size))
        if state.rand() > self._probability_contiguous:
            while len(size) > 1 and np.all(order == np.arange(len(size))):
                order = state.permutation(raw.dim())
            raw = raw.permute(tuple(map(int, order))).contiguous()
            raw = raw.permute(tuple(map(int, np.argsort(order))))
        tensor = raw[tuple(slice(0, n * step, step) for n, step in zip(size, steps, strict=True))]
        return tensor, {
            "numel": int(tensor.numel()),
            "order": order,
            "steps": steps,
            "is_contiguous": tensor.is_contiguous(),
            "dtype": str(self._dtype),
        }

    def _sizes(self, params):
        """(size, steps, size of the larger tensor)"""
        dim = len(self._size) if self._dim_parameter is None else params[self._dim_parameter]

        def resolved(values):
            found = tuple(params.get(one, one) for one in values)[:dim]
            return found + (1,) * (dim - len(found))

        size, steps = resolved(self._size), resolved(self._steps or ())
        return size, steps, tuple(n * step for n, step in zip(size, steps, strict=True))

    def satisfies_constraints(self, params):
        """Is the tensor of these parameters neither too small nor too large?"""
        size, _, allocated = self._sizes(params)
        numel = prod(map(int, size))
        nbytes = prod(map(int, allocated)) * self._dtype.itemsize
        limits = (
            (numel, self._max_elements),
            (nbytes, self._max_allocation_bytes),
        )
        if self._min_elements is not None and numel < self._min_elements:
            return False
        return all(most is None or value <= most for value, most in limits)


class Fuzzer:
    """Draws parameters, and makes tensors of them.

    Parameters
    ----------
    parameters : list of FuzzedParameter, or of lists of them
    tensors : list of FuzzedTensor, or of lists of them
    constraints : list of functions of a dict of parameters; what does not meet all of them is
        drawn again
    seed : int; a new one unless given

    Attributes
    ----------
    rejection_rate : float, the part of the draws that was drawn again

    Examples
    --------
    >>> fuzzer = Fuzzer([FuzzedParameter("n", 1, 9, "uniform")], [FuzzedTensor("x", ("n", 2))], seed=0)
    >>> [tuple(tensors["x"].shape) for tensors, properties, parameters in fuzzer.take(2)]
    [(6, 2), (5, 2)]
    """

    def __init__(self, parameters, tensors, constraints=None, seed=None):
        if seed is None:
            seed = int(np.random.RandomState().randint(0, 2**32 - 1, dtype=np.int64))
        self._seed = seed
        self._parameters = unpacked(parameters, FuzzedParameter)
        self._tensors = unpacked(tensors, FuzzedTensor)
        self._constraints = constraints or ()
        twice = {one.name for one in self._parameters} & {one.name for one in self._tensors}
        if twice:
            raise ValueError(f"Fuzzer: {sorted(twice)} are names of parameters and of tensors")
        self._rejections = self._drawn = 0

    def take(self, n):
        """Yield n times ({name: tensor}, {name: what is known of it}, {name: parameter})."""
        state = np.random.RandomState(self._seed)
        manual_seed(int(state.randint(low=0, high=2**63, dtype=np.int64)))
        for _ in range(n):
            params = self._draw(state)
            made = {one.name: one._make_tensor(params, state) for one in self._tensors}
            yield (
                {name: tensor for name, (tensor, _) in made.items()},
                {name: known for name, (_, known) in made.items()},
                params,
            )

    @property
    def rejection_rate(self):
        return self._rejections / self._drawn if self._drawn else 0.0

    def _draw(self, state):
        """Parameters that meet the constraints."""
        strict: dict = {}
        for _ in range(TRIALS):
            drawn: dict = {}
            for one in self._parameters:
                if one.strict and one.name in strict:
                    drawn[one.name] = strict[one.name]
                    continue
                drawn[one.name] = one.sample(state)
                if one.strict:
                    strict[one.name] = drawn[one.name]
            drawn = without_aliases(drawn)
            self._drawn += 1
            if all(meets(drawn) for meets in self._constraints) and all(
                one.satisfies_constraints(drawn) for one in self._tensors
            ):
                return drawn
            self._rejections += 1
        raise ValueError(f"Fuzzer: {TRIALS} draws met none of the constraints")


def unpacked(values, cls):
    """What is in a list, and in the lists in it."""
    return tuple(
        itertools.chain.from_iterable([[one] if isinstance(one, cls) else one for one in values])
    )


def without_aliases(params):
    """Parameters in which each alias is the value that it stands for."""
    params = dict(params)
    for _ in range(len(params) + 1):
        aliases = [name for name, value in params.items() if isinstance(value, ParameterAlias)]
        if not aliases:
            return params
        for name in aliases:
            params[name] = params[params[name].alias_to]
    raise ValueError(f"Fuzzer: the aliases {aliases} stand for each other, in a cycle")
