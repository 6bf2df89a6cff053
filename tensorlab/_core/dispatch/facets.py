"""Facets: what a transformation, the compiler or a device needs to know of an op, besides how it is computed.

A facet is declared once, in the module that asks for it or in one above, and each op says its own: in its
declaration, or, where that is a function that needs what is built on the ops, in a file beside.

    decomposition = Facet("decomposition")
    checks_values = Facet("checks_values", False)

    cdef Op INDEX = Op("index(Tensor x, Tensor?[] indices) -> Tensor", checks_values=True)

    @decomposition("softmax")
    def softmax(make, x, dim, dtype): ...

    decomposition.of(op)

An op that says nothing has the default. Where a function derives it from the rest of the
declaration, a new op need not be mentioned anywhere. The form in place (`index_fill_`) has
facets of its own; what both share is that of `op.functional or op`.
"""

REGISTRY: dict = {}  # name: Op
FACETS: dict = {}  # name: Facet


class Facet(dict):
    """One kind of thing to know of ops. Called with names of ops, it is a decorator that gives them a function.

    Parameters
    ----------
    name : str, the keyword of a declaration and the key of `op.facets`
    default : what an op has that says nothing, or a function that derives it from the op; it is
        asked once

    Raises
    ------
    ValueError
        If there is one of that name.
    """

    def __init__(self, name, default=None) -> None:
        if name in FACETS:
            raise ValueError(f"Facet: {name} is declared twice")
        super().__init__()  # op: what it has, of those that have been asked about
        self.name, self.default = name, default
        FACETS[name] = self

    def __call__(self, *names):
        def give(value):
            for name in names:
                self.give(name, value)
            return value

        return give

    def give(self, name, value):
        """Give an op its own.

        Raises
        ------
        ValueError
            If there is no such op, or if it has one.
        """
        if name not in REGISTRY:
            raise ValueError(f"Facet {self.name}: no op is called {name!r}")
        if self.name in REGISTRY[name].facets:
            raise ValueError(f"Facet {self.name}: {name} has one already")
        REGISTRY[name].facets[self.name] = self[REGISTRY[name]] = value

    of = dict.__getitem__  # facet.of(op), in C: the compiler asks thousands of times for a program

    def __missing__(self, op):
        if self.name in op.facets:
            value = op.facets[self.name]
        else:
            value = self.default(op) if callable(self.default) else self.default
        return self.setdefault(op, value)

    def __repr__(self):
        return f"<Facet {self.name}>"


# ---------------------------------------------------------------- what declarations say
# Python sees elements, or sizes that depend on them: what it does next may depend on them, too.
reads_values = Facet("reads_values", False)
# Some values make no sense, and the kernel raises: an index that is out of range, a probability above 1.
checks_values = Facet("checks_values", False)
# It shows a tensor's memory without its history.
forgets_history = Facet("forgets_history", False)
# Writes to it aren't counted as writes to its argument.
counts_apart = Facet("counts_apart", False)
# It counts from the beginning of the storage, so that it matters where in there its argument begins.
counts_from_storage = Facet("counts_from_storage", False)
# A number for every element of the result, or the name of the parameter that is one.
fills_with = Facet("fills_with")
# Each element of the result is that of the first argument, perhaps in another type.
is_copy = Facet("is_copy", False)
# What is written is converted first: to integers, it has no gradient.
converts = Facet("converts", False)
# A function that says where the kernel and the fake of a program's op stand, for messages.
sources = Facet("sources", lambda op: lambda: ("an op of tensorlab",) * 2)
# The result has elements of the first argument and no others, in other places or several times.
rearranges = Facet("rearranges", False)
# The gradient depends on no value of the input, and still leads there: the second derivative is
# zeros, not missing. So it is with PyTorch's pooling and padding, whose gradients can be
# penalised like any other's.
zero_curvature = Facet("zero_curvature", False)
# PyTorch's arithmetic, alone among its functions, also takes numbers only, and answers with a 0-d tensor.
takes_numbers_only = Facet("takes_numbers_only", False)
