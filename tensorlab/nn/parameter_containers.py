"""ParameterList and ParameterDict: parameters in a list or dict that are registered.

Other values are kept too, as plain attributes.  A tensor that is not a Parameter becomes one.
"""

import operator
from collections import OrderedDict
from collections.abc import Iterable, Mapping

from .._tensor import Tensor
from ..errors import what_was_meant
from .module import Module
from .parameter import Parameter

__all__ = ["ParameterDict", "ParameterList"]


def as_parameter(value):
    """Return a tensor as a Parameter, and anything else as it is."""
    is_plain = isinstance(value, Tensor) and not isinstance(value, Parameter)
    return Parameter(value) if is_plain else value


def line_of(key, value, kind_of_numbers):
    """Describe one entry, as in a repr."""
    if not isinstance(value, Tensor):
        return f"  ({key}): Object of type: {type(value).__name__}"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    size = "x".join(map(str, value.shape))
    return f"  ({key}): {kind} containing: [{kind_of_numbers(value)} of size {size}]"


class _Parameters(Module):
    def extra_repr(self):
        return "\n".join(line_of(*entry, self._kind_of_numbers) for entry in self._entries())

    def __call__(self, *args, **kwargs):
        raise RuntimeError(
            f"{type(self).__name__} should not be called; use its parameters in a forward"
        )


class ParameterList(_Parameters):
    """A list whose parameters are registered, under "0", "1", ...

    Parameters
    ----------
    values : iterable of Tensors, which become Parameters, or of other objects

    Raises
    ------
    TypeError
        If `values` is a Tensor or not iterable.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.nn.ParameterList([tensorlab.ones(2), tensorlab.zeros(1, 3)])
    ParameterList(
        (0): Parameter containing: [tensorlab.float32 of size 2]
        (1): Parameter containing: [tensorlab.float32 of size 1x3]
    )
    """

    def __init__(self, values=None):
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def _name_of(self, index):
        index = operator.index(index)
        if not -self._size <= index < self._size:
            raise IndexError(
                f"ParameterList: index {index} is out of range for {self._size} values"
            )
        return str(index % self._size)

    def _entries(self):
        return enumerate(self)

    @staticmethod
    def _kind_of_numbers(value):
        return value.dtype

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)([self[i] for i in range(*index.indices(self._size))])
        return getattr(self, self._name_of(index))

    def __setitem__(self, index, value):
        setattr(self, self._name_of(index), as_parameter(value))

    def __len__(self):
        return self._size

    def __iter__(self):
        return iter([self[i] for i in range(self._size)])

    def __iadd__(self, values):
        return self.extend(values)

    def append(self, value):
        """Add a value at the end; return self."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values):
        """Add each of the values at the end; return self."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(
                f"ParameterList.extend: should be called with an iterable, but got {type(values).__name__}"
                f"{what_was_meant(values)}"
            )
        for value in list(values):
            self.append(value)
        return self


class ParameterDict(_Parameters):
    """A dict of strings whose parameters are registered.

    Parameters
    ----------
    parameters : mapping of str, or iterable of pairs; Tensors become Parameters

    Raises
    ------
    TypeError
        If a key is not a string, or `parameters` is neither.

    Examples
    --------
    >>> import tensorlab
    >>> held = tensorlab.nn.ParameterDict({"gain": tensorlab.ones(2)})
    >>> held["gain"]
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    >>> [name for name, _ in held.named_parameters()]
    ['gain']
    """

    def __init__(self, parameters=None):
        super().__init__()
        self._keys = {}
        if parameters is not None:
            self.update(parameters)

    def _entries(self):
        return self.items()

    @staticmethod
    def _kind_of_numbers(value):
        return value.type()  # as PyTorch does in its dict, and not in its list

    def __getitem__(self, key):
        if checked(key) not in self._keys:
            raise KeyError(key)
        return getattr(self, key)

    def __setitem__(self, key, value):
        value = as_parameter(value)
        setattr(self, checked(key), value)
        self._keys[key] = None

    def __delitem__(self, key):
        del self._keys[key]
        delattr(self, key)

    def __len__(self):
        return len(self._keys)

    def __iter__(self):
        return iter(self._keys)

    def __reversed__(self):
        return reversed(list(self._keys))

    def __contains__(self, key):
        return key in self._keys

    def keys(self):
        """The keys, as of a dict."""
        return self._keys.keys()

    def values(self):
        """The values, in the order of the keys."""
        return [self[key] for key in self._keys]

    def items(self):
        """Pairs of key and value, in the order of the keys."""
        return [(key, self[key]) for key in self._keys]

    def copy(self):
        """Return a ParameterDict with the same parameters."""
        return ParameterDict(OrderedDict(self.items()))

    def get(self, key, default=None):
        """Return the value of a key, or `default`."""
        return self[key] if key in self._keys else default

    def setdefault(self, key, default=None):
        """Return the value of a key; if it has none, `default`, which is put in."""
        if key not in self._keys:
            self[key] = default
        return self[key]

    def pop(self, key):
        """Remove a key and return its value."""
        value = self[key]
        del self[key]
        return value

    def popitem(self):
        """Remove the last key and return it with its value."""
        key, _ = self._keys.popitem()
        value = getattr(self, key)
        delattr(self, key)
        return key, value

    def clear(self):
        """Remove everything."""
        for key in list(self._keys):
            del self[key]

    def fromkeys(self, keys, default=None):
        """Return a ParameterDict with these keys, all with one value."""
        return ParameterDict((key, default) for key in keys)

    def update(self, parameters):
        """Put in each pair of a mapping or an iterable, replacing what is there."""
        if isinstance(parameters, ParameterDict):
            parameters = OrderedDict(parameters.items())
        if not isinstance(parameters, Iterable):
            raise TypeError(
                "ParameterDict.update: should be called with an iterable of key/value pairs, but got "
                f"{type(parameters).__name__}"
            )
        if isinstance(parameters, OrderedDict):
            pairs = parameters.items()
        else:  # other mappings are sorted, as in PyTorch
            is_mapping = isinstance(parameters, Mapping)
            pairs = sorted(parameters.items()) if is_mapping else list(parameters)
        for i, pair in enumerate(pairs):
            if not isinstance(pair, Iterable):
                raise TypeError(
                    f"ParameterDict.update: sequence element #{i} should be Iterable; is {type(pair).__name__}"
                )
            if len(pair) != 2:
                raise ValueError(
                    f"ParameterDict.update: sequence element #{i} has length {len(pair)}; 2 is required"
                )
            self[pair[0]] = pair[1]

    def __or__(self, other):
        made = self.copy()
        made.update(other)
        return made

    def __ror__(self, other):
        made = other.copy()
        made.update(self.items())
        return made

    def __ior__(self, other):
        self.update(other)
        return self


def checked(key):
    """Return a key; raise unless it is a string."""
    if not isinstance(key, str):
        raise TypeError(
            f"ParameterDict: a key must be a string, but {key!r} is of type {type(key).__name__!r}"
        )
    return key
