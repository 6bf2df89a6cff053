"""What a package says when a name is missing: what is meant instead, or where it is planned.

Packages that are planned, and their names, are in `_planned`: programs can import them. What is
known of all other names is in `_missing_names`.

`refuse(package, name)` makes the error; a package calls it from its `__getattr__`, which Python asks only for
names that are not there. A class has a `MissingAttribute` for each name instead: with a `__getattr__` Python reads
every attribute of its instances the long way: 3 % of forward and backward of a small layer.
"""

import importlib
import inspect
import sys

# Where else a name is looked for that a package doesn't have.
HOMES = (
    "nn",
    "nn.functional",
    "",
    "optim",
    "optim.lr_scheduler",
    "utils.data",
    "autograd",
    "special",
    "linalg",
)
SIMILAR = 0.75  # how much of two names must agree for one to be a guess at the other


def refuse(package, name):
    """Return the AttributeError for a name that `package`, a dotted name, does not have.

    >>> print(refuse("tensorlab", "parse_schema"))
    tensorlab has no 'parse_schema' yet; it is planned with chapter 40, custom-ops. Until then, ...
    >>> print(refuse("tensorlab", "zero_like"))
    tensorlab has no 'zero_like'; did you mean 'zeros_like'?
    >>> print(refuse("tensorlab", "Linear"))
    tensorlab has no 'Linear'; did you mean tensorlab.nn.Linear?
    """
    if name.startswith("__"):
        return AttributeError(f"module {package!r} has no attribute {name!r}")
    reason = what_is_known(f"{package}.{name}".partition(".")[2])
    if reason:
        return AttributeError(f"{package} has no {name!r}{reason}")
    if is_module(package, name):
        return AttributeError(f"{package} has no {name!r} until you import {package}.{name}")
    return AttributeError(f"{package} has no {name!r}{guess(package, name)}")


def guess(package, name):
    """Return "; did you mean ...?" with the name that is most likely meant, or "" if none is near."""
    elsewhere = home_of(package, name)
    if elsewhere:
        return f"; did you mean {elsewhere}.{name}?"
    near = nearest(name, public_names(sys.modules[package]))
    return f"; did you mean {near!r}?" if near else ""


def public_names(module):
    """Return the names of a module that programs use, without the modules that it has imported."""
    return getattr(module, "__all__", None) or [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and not inspect.ismodule(value)
    ]


def home_of(package, name):
    """Return the package, of those that programs use most, that has a public name of this spelling; or None."""
    for home in HOMES:
        other = f"tensorlab.{home}".rstrip(".")
        if name[
            0
        ].isupper():  # a class; for another name, which may be a question, nothing is imported
            importlib.import_module(other)
        if other != package and name in getattr(sys.modules.get(other), "__all__", ()):
            return other
    return None


def nearest(name, known):
    """Return the name of `known` that is nearest to `name`, or None. Upper or lower case makes little difference.

    >>> nearest("LINAER", ["Linear", "linear_map", "Bilinear"])
    'Linear'
    """
    import difflib

    small = difflib.get_close_matches(
        name.lower(), [one.lower() for one in known], n=1, cutoff=SIMILAR
    )
    spelled = [one for one in known if one.lower() in small]
    return max(
        spelled, key=lambda one: difflib.SequenceMatcher(None, name, one).ratio(), default=None
    )


def refusing(package):
    """Return a `__getattr__` for a module that needs nothing else from it."""

    def __getattr__(name):
        raise refuse(package, name)

    return __getattr__


def is_module(package, name):
    """Whether a package has a module of this name that is not imported with it."""
    import importlib.util

    has_modules = hasattr(sys.modules[package], "__path__")
    return has_modules and importlib.util.find_spec(f"{package}.{name}") is not None


class MissingAttribute:
    """An attribute that raises AttributeError, and says why; one that an instance is given takes its place."""

    def __init__(self, declared, name):
        self.declared, self.name = declared, name

    def __get__(self, instance, owner):
        whose = (
            f"type object {owner.__name__!r}" if instance is None else f"{owner.__name__!r} object"
        )
        reason = what_is_known(f"{self.declared}.{self.name}")
        raise AttributeError(f"{whose} has no attribute {self.name!r}{reason}")


def is_missing(thing, name):
    """True if everything that `thing` has for a name is a MissingAttribute."""
    return isinstance(inspect.getattr_static(thing, name, None), MissingAttribute)


def explain_missing_attributes(cls, declared, names):
    """Let a class say what the tables have for `names` under `declared`, its dotted name, that PyTorch's class has."""
    for name in names.split():
        setattr(cls, name, MissingAttribute(declared, name))


def what_is_known(name):
    """Say how a dotted name without `tensorlab.` is planned or why it is not; "" if nothing is known."""
    from tensorlab._missing_names import by_dotted_name

    table = by_dotted_name()
    covering = [
        key
        for key in table
        if (name.startswith(key[:-1]) if key.endswith("*") else f"{name}.".startswith(f"{key}."))
    ]
    return table[max(covering, key=len)] if covering else ""
