"""How an op is called by PyTorch's schema, and how `__torch_dispatch__` is told of a call: the fast half of overloads.py."""
cimport cython

from tensorlab._core.dispatch.op cimport Op

from tensorlab._core.dispatch.overrides import call_override, is_interception_enabled, overloaded_arguments

MISSING = object()              # of a parameter: it has no default


@cython.binding(False)
cdef class OverloadCall:
    """One op, with the parameters of its schema.

    Attributes
    ----------
    op : Op, the record
    parameters : tuple of Parameter, those of the schema
    index : dict, name of a parameter, there or in the op: its place
    """

    cdef readonly Op op
    cdef readonly tuple parameters
    cdef readonly dict index
    cdef readonly list defaults         # of each parameter, MISSING where it has none
    cdef list places                    # where the value of each of the op's parameters stands among those of the schema
    cdef list fixed                     # the places of those that have one value here
    cdef bint is_direct                 # they are the same, in the same order
    cdef int positional                 # how many may be given by position

    def __cinit__(self, Op op not None, *others):
        parsed = op.aten_signature or op.signature
        public = op.public_names if op.aten else {}
        own = [one.name for one in op.signature.parameters]
        names = [one.name for one in parsed.parameters]
        self.op, self.parameters = op, parsed.parameters
        self.index = {name: k for k, name in enumerate(names)}
        self.places = [self.index[public.get(name, name)] for name in own]
        for name, k in zip(own, self.places):
            self.index.setdefault(name, k)
        self.fixed = [k for k in range(len(names)) if k not in set(self.places)]
        self.is_direct = self.places == list(range(len(names)))
        self.positional = sum([not one.is_keyword_only for one in parsed.parameters])
        self.defaults = [MISSING if one.default is ... else one.default for one in parsed.parameters]

    def __call__(self, *args, **kwargs):
        if is_interception_enabled():
            found = hooked(args, kwargs)
            if found:
                return call_override(self, found, args, kwargs)
        if not kwargs and self.is_direct and len(args) <= self.positional:
            return self.op(*args)
        return self.op(*self.bind(args, kwargs))

    def bind(self, tuple args, dict kwargs):
        """The values for the op's parameters, in order, from arguments as the schema names them."""
        cdef Py_ssize_t k, given = len(args)
        cdef list values
        if given > self.positional:
            raise TypeError(f"{self.name()}: {given} arguments were given by position, and it takes {self.positional}: "
                            f"{self._schema}")
        values = [*args, *self.defaults[given:]]
        for name, value in kwargs.items():
            k = self.index.get(name, -1)
            if k < given:
                known = "is unknown" if k < 0 else "is given twice"
                raise TypeError(f"{self.name()}: the argument {name!r} {known}: {self._schema}")
            values[k] = value
        for k in range(len(values)):
            if values[k] is MISSING:
                raise TypeError(f"{self.name()}: the argument {self.parameters[k].name!r} is missing: {self._schema}")
        for k in self.fixed:
            if not is_default(values[k], self.defaults[k]):
                raise NotImplementedError(f"{self.name()}: {self.parameters[k].name} is {values[k]!r}; this op of tensorlab has "
                                          f"only {self.defaults[k]!r}. Call the public function instead")
        return values if self.is_direct else [values[k] for k in self.places]

    def call_of(self, tuple arguments):
        """(args, kwargs) of a call, without defaults at the end, as `__torch_dispatch__` is told."""
        cdef int end = self.positional, k
        cdef list values
        cdef dict kwargs = {}
        if self.is_direct:
            if end == len(arguments) and (end == 0 or self.defaults[end - 1] is MISSING):
                return arguments, kwargs
            values = list(arguments)
        else:
            values = list(self.defaults)
            for k in range(len(arguments)):
                values[self.places[k]] = arguments[k]
        for k in range(end, len(values)):
            if not is_default(values[k], self.defaults[k]):
                kwargs[self.parameters[k].name] = values[k]
        while end > 0 and is_default(values[end - 1], self.defaults[end - 1]):
            end -= 1
        return tuple(values[:end]), kwargs


def hooked(tuple args, dict kwargs):
    """The arguments whose classes want to handle a call themselves (overrides.pyx), such as what fx traces with."""
    cdef list values = []
    for one in (*args, *kwargs.values()):
        if isinstance(one, (list, tuple)):
            values += one
        else:
            values.append(one)
    return overloaded_arguments(values)


cdef bint is_default(object value, object default) except -1:
    """Is a value the default? Tensors are never asked whether they are equal."""
    return value is default or (type(value) is type(default) and value == default)
