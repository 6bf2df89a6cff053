"""Modules that hold modules: Sequential, ModuleList, ModuleDict.

A plain Python list or dict of modules would hide them from `parameters()` and `state_dict()`;
these register what they hold.  Lists register item i under the name "i".
"""

import operator
import warnings
from collections.abc import Iterable, Mapping

from ..errors import what_was_meant
from .module import Module, check_copies, in_parentheses, indent_after_first

__all__ = ["Container", "ModuleDict", "ModuleList", "Sequential"]


class _NumberedModules(Module):
    """What Sequential and ModuleList share: a list of modules registered as "0", "1", ..."""

    def _items(self):
        """Return the modules as a plain list."""
        attributes = self.__dict__
        return [attributes[name] for name in self._module_names]

    def _replace_all(self, modules):
        """Register these modules in this order and no others."""
        for name in list(self._module_names):
            delattr(self, name)
        for i, module in enumerate(modules):
            self.add_module(str(i), module)

    def _name_of(self, index):
        """Return the name of the module at `index`, which may count from the end."""
        index = operator.index(index)
        if not -len(self) <= index < len(self):
            raise IndexError(
                f"{type(self).__name__}: index {index} is out of range for {len(self)} modules"
            )
        return list(self._module_names)[index]

    def __len__(self):
        return len(self._module_names)

    def __iter__(self):
        return iter(self._items())

    def __getitem__(self, index):
        if isinstance(index, slice):
            return self._sliced(index)
        return self.__dict__[self._name_of(index)]

    def _sliced(self, index):
        """Return a container of the same class with some of the modules."""
        return type(self)(self._items()[index])

    def __setitem__(self, index, module):
        setattr(self, self._name_of(index), module)

    def __delitem__(self, index):
        modules = self._items()
        del modules[index]
        self._replace_all(modules)

    def append(self, module):
        """Add a module at the end; return self."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules):
        """Add each of the modules at the end; return self."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                f"{self._get_name()}: modules is of type {type(modules).__name__}; expected an iterable "
                f"of Modules, such as a list{what_was_meant(modules)}"
            )
        for module in list(modules):
            self.append(module)
        return self

    def insert(self, index, module):
        """Insert a module before the one at `index`; return self."""
        modules = self._items()
        modules.insert(operator.index(index), module)
        self._replace_all(modules)
        return self

    def pop(self, index):
        """Remove the module at `index` and return it."""
        module = self[index]
        del self[index]
        return module

    def __iadd__(self, modules):
        return self.extend(modules)

    def __reversed__(self):
        return reversed(self._items())


class Sequential(_NumberedModules):
    """Call modules one after the other, each on what the one before returned.

    Parameters
    ----------
    *modules : Modules, or one dict of names and Modules

    Examples
    --------
    >>> from tensorlab import nn
    >>> nn.Sequential(nn.Linear(4, 8), nn.ReLU())
    Sequential(
      (0): Linear(in_features=4, out_features=8, bias=True)
      (1): ReLU()
    )
    """

    def __init__(self, *modules):
        super().__init__()
        if len(modules) == 1 and isinstance(modules[0], Mapping):
            named = modules[0].items()
        else:
            named = ((str(i), module) for i, module in enumerate(modules))
        for name, module in named:
            self.add_module(name, module)

    def forward(self, input):
        attributes = self.__dict__
        for name in self._module_names:
            input = attributes[name](input)
        return input

    def _sliced(self, index):
        names = list(self._module_names)[index]
        return type(self)({name: self.__dict__[name] for name in names})

    def insert(self, index, module):
        """Insert a module before the one at `index`; return self.

        Raises
        ------
        IndexError
            If the index is not from -len(self) to len(self).
        AssertionError
            If it is not a Module.
        """
        if not isinstance(module, Module):
            raise AssertionError(
                f"Sequential.insert: module should be of type: {Module}, not {type(module)}"
            )
        if not -len(self) <= operator.index(index) <= len(self):
            raise IndexError(
                f"Sequential.insert: index {index} is out of range for {len(self)} modules"
            )
        return super().insert(index, module)

    def __add__(self, other):
        if not isinstance(other, Sequential):
            return NotImplemented
        return Sequential(*self, *other)

    def __iadd__(self, other):
        if not isinstance(other, Sequential):
            raise ValueError(
                f"Sequential +=: only a Sequential can be added, not a {type(other).__name__}"
            )
        return self.extend(other)

    def __mul__(self, times):
        check_times(times)
        return Sequential(*(self._items() * times))

    __rmul__ = __mul__

    def __imul__(self, times):
        check_times(times)
        return self.extend(self._items() * (times - 1))


def check_times(times):
    """Raise unless a Sequential can be repeated so many times."""
    if not isinstance(times, int):
        raise TypeError(
            f"unsupported operand type(s) for *: {Sequential} and {type(times)}; expected an int"
        )
    if times <= 0:
        raise ValueError(
            f"Non-positive multiplication factor {times} for {Sequential}; expected 1 or more"
        )
    check_copies("Sequential", "the factor", times)


class ModuleList(_NumberedModules):
    """A list whose modules are registered.

    Parameters
    ----------
    modules : iterable of Modules

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import nn
    >>> layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))
    >>> len(list(layers.parameters()))
    6
    >>> layers[-1]
    Linear(in_features=4, out_features=4, bias=True)
    """

    def __init__(self, modules=()):
        super().__init__()
        self.extend(modules or ())

    def __add__(self, other):
        return ModuleList([*self, *other])

    def __repr__(self):
        """Write runs of modules that look the same as one line, such as (0-3): 4 x Linear(...)."""
        runs = []  # [first index, last index, text]
        for i, module in enumerate(self):
            text = repr(module)
            if runs and runs[-1][2] == text:
                runs[-1][1] = i
            else:
                runs.append([i, i, text])
        children = [
            f"({first}): {indent_after_first(text)}"
            if first == last
            else f"({first}-{last}): {last - first + 1} x {indent_after_first(text)}"
            for first, last, text in runs
        ]
        return self._get_name() + in_parentheses(self.extra_repr(), children)


class ModuleDict(Module):
    """A dict of strings and modules whose modules are registered.

    Parameters
    ----------
    modules : dict of str and Module, or iterable of such pairs

    Raises
    ------
    KeyError
        If a name is an attribute of modules, such as "train", or has a dot.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import nn
    >>> choices = nn.ModuleDict({"relu": nn.ReLU(), "tanh": nn.Tanh()})
    >>> choices["relu"](tensorlab.tensor([-1.0, 1.0]))
    tensor([0., 1.])
    """

    def __init__(self, modules=()):
        super().__init__()
        self.update(modules or ())

    def __getitem__(self, name):
        if name not in self._module_names:
            raise KeyError(name)
        return self.__dict__[name]

    def __setitem__(self, name, module):
        self.add_module(name, module)

    def __delitem__(self, name):
        del self._modules[name]

    def __len__(self):
        return len(self._module_names)

    def __iter__(self):
        return iter(self._module_names)

    def __contains__(self, name):
        return name in self._module_names

    def keys(self):
        """The names, as of a dict."""
        return self._modules.keys()

    def values(self):
        """The modules, as of a dict."""
        return self._modules.values()

    def items(self):
        """Pairs of name and module, as of a dict."""
        return self._modules.items()

    def update(self, modules):
        """Register each of the modules under its name."""
        for name, module in dict(modules).items():
            self[name] = module

    def pop(self, name):
        """Remove the module of that name and return it."""
        module = self[name]
        del self[name]
        return module

    def clear(self):
        """Remove all modules."""
        self._modules.clear()


class Container(Module):
    """A module that holds the modules given by name; deprecated, with a FutureWarning: subclass Module.

    Examples
    --------
    >>> import warnings
    >>> from tensorlab import nn
    >>> with warnings.catch_warnings(action="ignore"):  # write a class from Module
    ...     net = Container(first=nn.Linear(2, 1))
    ...
    >>> net.first.weight.shape
    tensorlab.Size([1, 2])
    """

    def __init__(self, **kwargs):
        warnings.warn(
            "nn.Container is deprecated; nn.Module does everything that it did, so subclass that",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__()
        for name, module in kwargs.items():
            self.add_module(name, module)
