"""Operations on lists of tensors, `_foreach_add` and others, as other packages' optimizers call them.

Here they are loops: an op on the CPU gains nothing from knowing the next one. They take what
PyTorch's take: one number or tensor for all, or a list with one for each; and those that write,
such as `_foreach_add_`, return the list that they wrote to. Lengths are compared before anything
is written.
"""

from collections.abc import Callable

from tensorlab._core.tensor import TensorBase
from tensorlab.errors import ShapeError
from tensorlab.ops.creation import full
from tensorlab.ops.norms import norm
from tensorlab.ops.pointwise.bounds import maximum, minimum
from tensorlab.ops.pointwise.powers import pow

UNARY = """
    abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg
    reciprocal round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc
"""
# The methods that take a second argument, and the names of this one below.
BINARY = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "div": "div",
    "clamp_max": "clamp_max",
    "clamp_min": "clamp_min",
    "maximum": "clamp_min",
    "minimum": "clamp_max",
    "pow": "pow",
}
# These share the gradient where both are equal, as clamps do not.
SHARING = {"_foreach_maximum": maximum, "_foreach_minimum": minimum}
SECOND = {"scalar", "scalars", "other", "exponent"}
FUNCTIONS: dict[str, Callable] = {}


# ------------------------------------------------------------------------------ arguments
def check_tensors(where, tensors, name="self"):
    if not isinstance(tensors, (list, tuple)):
        raise TypeError(
            f"{where}: argument {name!r} must be a list or tuple of Tensors, not {type(tensors).__name__}"
        )
    if not all(issubclass(kind, TensorBase) for kind in set(map(type, tensors))):
        i = next(i for i, x in enumerate(tensors) if not isinstance(x, TensorBase))
        raise TypeError(
            f"{where}: element {i} of {name!r} must be a Tensor, not {type(tensors[i]).__name__}"
        )
    if not tensors:
        raise ShapeError(f"{where}: the list of tensors is empty; give one at least")


def check_lists(where, tensors, **others):
    """Refuse lists of tensors that do not have the length of the first."""
    check_tensors(where, tensors)
    for name, one in others.items():
        check_tensors(where, one, name)
        check_length(where, tensors, one, name)


def check_length(where, tensors, one, name):
    if len(one) != len(tensors):
        raise ShapeError(
            f"{where}: there are {len(tensors)} tensors, and {len(one)} in {name!r}; give as many"
        )


def for_each(where, tensors, given, name):
    """What goes with each tensor: the elements of a list, or one number or tensor for all."""
    if isinstance(given, (list, tuple)):
        check_length(where, tensors, given, name)
        return given
    if isinstance(given, TensorBase):
        if given.ndim > 1 or (given.ndim == 1 and name == "other"):
            raise ShapeError(
                f"{where}: a tensor for all must have no dimensions, not shape {tuple(given.shape)}"
            )
        if given.ndim == 1:
            check_length(where, tensors, given, name)
            return given.tolist()
    return [given] * len(tensors)


def published(function):
    """Enter a function under its name."""
    FUNCTIONS[function.__name__] = function
    return function


def published_twice(make, name, *arguments):
    """Enter what returns new tensors, and what writes over those given."""
    for suffix in ("", "_"):
        function = make(f"_foreach_{name}{suffix}", *arguments, suffix)
        function.__name__ = function.__qualname__ = f"_foreach_{name}{suffix}"
        function.__doc__ = f"Call `{name}{suffix}` on each tensor of a list."
        published(function)


# ------------------------------------------------------------------------------ families
def unary(where, method, suffix):
    name = method + suffix

    def function(self):
        check_tensors(where, self)
        results = tuple([getattr(x, name)() for x in self])
        return self if suffix else results

    return function


def second_of(where, other, named):
    """The second argument, which has one of four names."""
    for name in SECOND & set(named):
        other = named.pop(name)
    if named:
        raise TypeError(f"{where}: argument {next(iter(named))!r} is unknown")
    if other is None:
        raise TypeError(f"{where}: a second argument is needed")
    return other


def binary(where, method, suffix):
    name = method + suffix

    def function(self, other=None, *, alpha=None, **named):
        other = second_of(where, other, named)
        if method == "pow" and not suffix and not isinstance(self, (list, tuple)):
            check_tensors(where, other, "exponent")  # 2 to the power of each
            return tuple([pow(self, x) for x in other])
        check_tensors(where, self)
        others = for_each(where, self, other, "other")
        options = {} if alpha is None else {"alpha": alpha}
        if options and not all(isinstance(y, TensorBase) for y in others):
            raise TypeError(f"{where}: alpha is a factor of tensors, and numbers are given")
        rows = zip(self, others, strict=True)
        if where in SHARING:
            return tuple([SHARING[where](x, beside(x, y)) for x, y in rows])
        results = tuple([getattr(x, name)(y, **options) for x, y in rows])
        return self if suffix else results

    return function


def beside(x, number):
    """A number as a tensor that changes the type of the result only if it is a fraction, and x whole."""
    if isinstance(number, TensorBase):
        return number
    is_whole = not (x.dtype.is_floating_point or x.dtype.is_complex)
    return full((), number, dtype=None if is_whole else x.dtype)


def ternary(where, method, suffix):
    """addcmul and addcdiv."""
    name = method + suffix

    def function(self, tensor1, tensor2, value=1, *, scalars=None):
        check_lists(where, self, tensor1=tensor1, tensor2=tensor2)
        values = for_each(where, self, value if scalars is None else scalars, "scalars")
        rows = zip(self, tensor1, tensor2, values, strict=True)
        results = tuple([getattr(x, name)(y, z, value=one) for x, y, z, one in rows])
        return self if suffix else results

    return function


def interpolation(where, method, suffix):
    name = method + suffix

    def function(self, tensors1, weight=None, *, weights=None):
        check_lists(where, self, tensors1=tensors1)
        shares = for_each(where, self, weight if weights is None else weights, "weight")
        rows = zip(self, tensors1, shares, strict=True)
        results = tuple([getattr(x, name)(end, share) for x, end, share in rows])
        return self if suffix else results

    return function


for name in UNARY.split():
    published_twice(unary, name, name)
for name, method in BINARY.items():
    published_twice(binary, name, method)
for name in ("addcdiv", "addcmul"):
    published_twice(ternary, name, name)
published_twice(interpolation, "lerp", "lerp")


# ------------------------------------------------------------------------------ those of one kind
@published
def _foreach_clone(self, *, memory_format=None):
    """Call `clone` on each tensor of a list."""
    check_tensors("_foreach_clone", self)
    options = {} if memory_format is None else {"memory_format": memory_format}
    return tuple([x.clone(**options) for x in self])


@published
def _foreach_copy_(self, src, non_blocking=False):
    """Copy each tensor of `src` to the one at its place in `self`."""
    check_lists("_foreach_copy_", self, src=src)
    for x, y in zip(self, src, strict=True):
        x.copy_(y, non_blocking)
    return self


@published
def _foreach_max(self):
    """Return the largest element of each tensor."""
    check_tensors("_foreach_max", self)
    return tuple([x.max() for x in self])


@published
def _foreach_mm(self, mat2):
    """Return the products of matrices at the same place."""
    check_lists("_foreach_mm", self, mat2=mat2)
    return tuple([x.mm(y) for x, y in zip(self, mat2, strict=True)])


@published
def _foreach_norm(self, ord=2, dtype=None):
    """Return the norm of each tensor, as a vector."""
    check_tensors("_foreach_norm", self)
    if isinstance(ord, str):
        raise TypeError(
            f"_foreach_norm: ord must be a number, not {ord!r}; it is a norm of vectors"
        )
    return tuple([norm(x, ord, dtype=dtype) for x in self])


@published
def _foreach_powsum(self, ord=2, dtype=None):
    """Return the sum of each tensor's absolute values to the power of `ord`."""
    check_tensors("_foreach_powsum", self)
    return tuple([x.abs().pow(ord).sum(dtype=dtype) for x in self])


@published
def _foreach_zero_(self):
    """Fill each tensor of a list with zeros."""
    check_tensors("_foreach_zero_", self)
    for x in self:
        x.zero_()
    return self


globals().update(FUNCTIONS)  # as if each had been defined here
