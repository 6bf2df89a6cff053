"""The small program of chapter 47: calls of real Python, recorded, guarded and replayed.

With `import torch` instead of `import tensorlab as torch`, it runs in PyTorch, too.
"""

import builtins
import inspect
import math
import types

import tensorlab as torch

PURE = "abs all any bool enumerate float int isinstance len max min pow range round sum zip"
KNOWN = [*(getattr(builtins, name) for name in PURE.split()), math, torch, torch.nn.functional]


class Refused(Exception):
    """The program does something that a replay might miss."""


class Unseen(Exception):
    """A call gave something that no recording has seen."""


class Slot(int):
    """Stands for a tensor in a recorded call: the number of a value."""


def exactly(value):
    """Return a key: equal keys mean that no program can tell the values, or layouts, apart."""
    if isinstance(value, torch.Tensor):
        return "tensor", tuple(value.shape), value.stride(), value.dtype, value.requires_grad
    if type(value) is float:
        return float, value.hex()
    if type(value) in (bool, int, str, torch.dtype) or value is None:
        return type(value), value
    if isinstance(value, (list, tuple)):
        return type(value), *map(exactly, value)
    if any(value is known for known in KNOWN):
        return "known", id(value)
    raise Refused(f"uses {getattr(value, '__name__', None) or f'a {type(value).__name__}'}")


def replace(value, change):
    """Return nested lists, tuples and dicts with `change` applied to what is in them."""
    if type(value) in (list, tuple):
        return type(value)(replace(one, change) for one in value)
    if type(value) is dict:
        return {key: replace(one, change) for key, one in value.items()}
    return change(value)


def tensors_in(value):
    """Return the tensors in nested lists and tuples, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    parts = value if isinstance(value, (list, tuple)) else ()
    return [x for one in parts for x in tensors_in(one)]


class Recorder(torch.overrides.TorchFunctionMode):
    """Sees each call while a program runs: `path` gets the call, and the key of what it gave."""

    def __init__(self, inputs, key):
        super().__init__()
        self.values, self.key, self.path, self.refusal = list(inputs), key, [], None
        self.grad_mode = torch.is_grad_enabled()

    def slot(self, value):
        """The number of a tensor that is known; a number or a string stays as it is."""
        for number, known in enumerate(self.values):
            if known is value:
                return Slot(number)
        if tensors_in(value):  # a tensor that nothing led to, or a named tuple of some
            raise Refused("uses a tensor that comes from elsewhere")
        return value

    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        try:
            call = func, replace(args, self.slot), replace(kwargs or {}, self.slot)
            self.path.append((call, self.key(result)))
            self.values += tensors_in(result)
            if torch.is_grad_enabled() is not self.grad_mode:
                raise Refused("changes grad mode")
        except Refused as error:
            self.refusal = self.refusal or str(error)
        return result


class Tree:
    """A call, and a subtree for each thing that it gave; at the end of a path, the result."""

    def __init__(self):
        self.call, self.children, self.result = None, {}, None

    def add(self, path, result):
        """Add a recording: like the others up to the first call that gave something else."""
        branch = self
        for call, seen in path:
            branch.call = call
            branch = branch.children.setdefault(seen, Tree())
        branch.result = result

    def run(self, values, key):
        """Make the calls, beginning with these inputs, and return the result."""
        branch = self

        def fill(one):
            return values[one] if type(one) is Slot else one

        while branch.call is not None:
            func, args, kwargs = branch.call
            value = func(*replace(args, fill), **replace(kwargs, fill))
            branch = branch.children.get(key(value))
            if branch is None:
                raise Unseen
            values += tensors_in(value)
        return replace(branch.result, fill)


class Compiled:
    """A function that records itself and replays. `outcomes` has a word for each call."""

    def __init__(self, function, key=exactly):
        self.function, self.key = function, key
        self.trees, self.outcomes, self.refusal = {}, [], None
        if any(isinstance(one, types.CodeType) for one in function.__code__.co_consts):
            self.refusal = "defines a function"  # whose names are not looked at

    def outside(self):
        """What the names in the code stand for now: {name: value}."""
        read = inspect.getclosurevars(self.function)
        return {**read.builtins, **read.globals, **read.nonlocals}

    def guards(self, given, outside):
        """A key: two calls with the same key do the same, up to the values of tensors."""
        tensors = tensors_in([given, *outside.values()])
        same = [[one is other for other in tensors].index(True) for one in tensors]
        read = [(name, self.key(value)) for name, value in sorted(outside.items())]
        return (*map(self.key, given), *read, *same, torch.is_grad_enabled())

    def __call__(self, *given):
        try:
            outside = self.outside()
            guards = self.guards(given, outside)
        except Refused as error:
            self.refusal = self.refusal or str(error)
        if self.refusal:
            self.outcomes.append("as Python")
            return self.function(*given)
        inputs = tensors_in([given, *outside.values()])
        if guards in self.trees:
            state = torch.get_rng_state()
            try:
                result = self.trees[guards].run(list(inputs), self.key)
            except Exception:  # Unseen, or an error that Python will raise again
                torch.set_rng_state(state)
            else:
                self.outcomes.append("replayed")
                return result
        return self.record(given, inputs, guards)

    def record(self, given, inputs, guards):
        """Run the Python, watch it, and keep what it did if that can be replayed."""
        recorder, versions = Recorder(inputs, self.key), [x._version for x in inputs]
        self.outcomes.append("recorded")
        with recorder:
            result = self.function(*given)
        try:
            self.key(result)
            template = replace(result, recorder.slot)
            if self.guards(given, self.outside()) != guards:
                raise Refused("changes what comes from outside")
            if versions != [x._version for x in inputs]:
                raise Refused("writes to a tensor that comes from outside")
            if recorder.refusal:
                raise Refused(recorder.refusal)
            self.trees.setdefault(guards, Tree()).add(recorder.path, template)
        except Refused as error:
            self.refusal, self.outcomes[-1] = str(error), "as Python"
        return result
