"""Module: a function with state, made of other such functions.

Assign a Parameter, a Buffer or a Module to an attribute and it is registered: the module can then
list it, save it, convert it and train it.  Registration is only a list of *names*; the values are
ordinary attributes in the instance's `__dict__`:

    model.__dict__          {"weight": Parameter, "mean": Tensor, "act": Module, "training": True}
    model._parameter_names  {"weight": True}
    model._buffer_names     {"mean": True}       the value says: saved by `state_dict`?
    model._module_names     {"act": True}

So there is one place where a value is, and `self.weight` in a forward costs what any attribute
costs (docs/decisions/0010-module-attributes.md).  `_parameters`, `_buffers` and `_modules`, which
programs written for PyTorch use, are live views of the registered attributes.

What `state_dict` and `load_state_dict` do is in state.py, what hooks do in hooks.py and
backward_hooks.py; modules that find out their sizes by themselves are in lazy.py.
"""

import importlib
from collections import OrderedDict
from collections.abc import MutableMapping

from .. import _missing
from .._core.device import check_device, device
from .._pitfalls import pointed
from .._tensor import Tensor
from ..errors import what_was_meant
from ..ops.creation import empty, empty_like
from .hooks import Hooked, no_hooks, registered
from .parameter import Buffer, Parameter, clear_gradients, is_lazy
from .state import HOOKS, Stateful

__all__ = ["Module"]

REGISTRIES = ("_parameter_names", "_buffer_names", "_module_names")
WORDS = dict(zip(REGISTRIES, ("parameter", "buffer", "module"), strict=True))


class RegisteredAttributes(MutableMapping):
    """Live view of the attributes registered under one kind, as a dict name -> value."""

    def __init__(self, attributes, names):
        self.attributes = attributes
        self.names = names

    def __getitem__(self, name):
        if name not in self.names:
            raise KeyError(name)
        return self.attributes[name]

    def __setitem__(self, name, value):
        self.names.setdefault(name, True)
        self.attributes[name] = value

    def __delitem__(self, name):
        del self.names[name]
        del self.attributes[name]

    def __iter__(self):
        return iter(self.names)

    def __len__(self):
        return len(self.names)

    def __repr__(self):
        return repr(dict(self))


class Module(Hooked, Stateful):
    """Base class of layers, models and losses.

    A subclass calls `super().__init__()`, assigns its parts to attributes, and defines `forward`;
    `module(x)` then calls `forward(x)` and the hooks around it.  State that is not a tensor is
    saved and loaded with the rest if the subclass defines `get_extra_state()` and
    `set_extra_state(extra)`.

    Attributes
    ----------
    training : bool, set by `train` and `eval`; read by layers such as Dropout

    Examples
    --------
    >>> import tensorlab
    >>> class Affine(Module):
    ...     def __init__(self, size):
    ...         super().__init__()
    ...         self.scale = tensorlab.nn.Parameter(tensorlab.ones(size))
    ...         self.shift = tensorlab.nn.Parameter(tensorlab.zeros(size))
    ...
    ...     def forward(self, x):
    ...         return x * self.scale + self.shift
    >>> model = Affine(3)
    >>> model(tensorlab.tensor([1.0, 2.0, 3.0])).tolist()
    [1.0, 2.0, 3.0]
    >>> [name for name, _ in model.named_parameters()]
    ['scale', 'shift']
    """

    training: bool
    dump_patches = False
    _version = 1  # of the layout of the state dict, for subclasses that change theirs

    def __init__(self):
        attributes = self.__dict__
        attributes["training"] = True
        attributes["_parameter_names"] = {}
        attributes["_buffer_names"] = {}
        attributes["_module_names"] = {}
        attributes.update(no_hooks())
        for name in HOOKS:
            attributes[name] = OrderedDict()

    # ------------------------------------------------------------ calling
    def forward(self, *args, **kwargs):
        """Compute the result; every subclass defines its own.

        Examples
        --------
        >>> import tensorlab
        >>> class Double(tensorlab.nn.Module):
        ...     def forward(self, x):
        ...         return 2 * x
        >>> Double()(tensorlab.ones(2))  # a call runs hooks, too; forward alone does not
        tensor([2., 2.])
        """
        raise pointed(
            NotImplementedError(
                f"{type(self).__name__}: has no forward; define forward(self, ...) in the class"
            )
        )

    def compile(
        self,
        *,
        fullgraph=False,
        dynamic=None,
        backend="tensorlab",
        mode=None,
        options=None,
        disable=False,
    ):
        """Make calls of this module compiled ones: `tensorlab.compile` with these arguments, in place.

        A copy of the module, and what is pickled of it, is not compiled.

        Examples
        --------
        >>> import tensorlab
        >>> from tensorlab import nn
        >>> net = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
        >>> net.compile(backend="eager")  # calls as before, from now on through the compiler
        >>> net(tensorlab.ones(1, 4)).shape
        tensorlab.Size([1, 4])
        """
        compiler = importlib.import_module("tensorlab.compiler")  # it lies above: on demand
        compiler.compile_in_place(
            self,
            fullgraph=fullgraph,
            dynamic=dynamic,
            backend=backend,
            mode=mode,
            options=options,
            disable=disable,
        )

    # ------------------------------------------------------------ registration
    @property
    def _non_persistent_buffers_set(self):
        return {name for name, is_persistent in self._buffer_names.items() if not is_persistent}

    @property
    def _parameters(self):
        return RegisteredAttributes(self.__dict__, self._parameter_names)

    @property
    def _buffers(self):
        return RegisteredAttributes(self.__dict__, self._buffer_names)

    @property
    def _modules(self):
        return RegisteredAttributes(self.__dict__, self._module_names)

    def register_parameter(self, name, param):
        """Register a Parameter, or with None the place of one that this module does without.

        Raises
        ------
        KeyError
            If the name is empty, has a dot, or is an attribute already.
        TypeError
            If `param` is not a Parameter.

        Examples
        --------
        >>> import tensorlab
        >>> layer = tensorlab.nn.Module()
        >>> layer.register_parameter("scale", tensorlab.nn.Parameter(tensorlab.ones(2)))
        >>> [name for name, _ in layer.named_parameters()]
        ['scale']
        """
        self._check_name("register_parameter", name, "_parameter_names")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"register_parameter: {name!r} is of type {type(param).__name__}; expected a "
                "Parameter or None, wrap it as nn.Parameter(x)"
            )
        self._register("_parameter_names", name, param)

    def register_buffer(self, name, tensor, persistent=True):
        """Register a tensor that is part of the state but not learned.

        Raises KeyError and TypeError as `register_parameter` does.

        Examples
        --------
        >>> import tensorlab
        >>> module = tensorlab.nn.Module()
        >>> module.register_buffer("mean", tensorlab.zeros(2))
        >>> list(module.state_dict()), list(module.parameters())
        (['mean'], [])
        """
        self._check_name("register_buffer", name, "_buffer_names")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"register_buffer: {name!r} is of type {type(tensor).__name__}; expected a Tensor "
                "or None"
            )
        self._register("_buffer_names", name, tensor, persistent)

    def add_module(self, name, module):
        """Register a submodule under a name.

        Raises KeyError and TypeError as `register_parameter` does.

        Examples
        --------
        >>> import tensorlab
        >>> module = tensorlab.nn.Module()
        >>> module.add_module("act", tensorlab.nn.ReLU())
        >>> module.act
        ReLU()
        """
        self._check_name("add_module", name, "_module_names")
        if module is not None and not isinstance(module, Module):
            raise TypeError(
                f"add_module: {name!r} is of type {type(module).__name__}; expected a Module "
                f"or None{what_was_meant(module)}"
            )
        self._register("_module_names", name, module)

    register_module = add_module

    def _check_name(self, operation, name, kind):
        """Raise unless `name` can be registered as an attribute of this kind."""
        if not isinstance(name, str):
            raise TypeError(f"{operation}: the name is {name!r}; expected a string")
        if "." in name or not name:
            # state_dict joins names by dots: a dot inside one could not be told apart.
            raise KeyError(f"{operation}: the name {name!r} must not be empty nor contain a dot")
        if name not in self._names(kind, operation) and hasattr(self, name):
            raise KeyError(f"{operation}: attribute {name!r} exists already; choose another name")

    def _names(self, kind, operation):
        """Return one of the registries; a module made without `super().__init__()` has none."""
        try:
            return self.__dict__[kind]
        except KeyError:
            raise pointed(
                AttributeError(
                    f"{type(self).__name__}: cannot {operation} before Module.__init__() was called; "
                    "begin __init__ with super().__init__()"
                )
            ) from None

    def _register(self, kind, name, value, persistent=True):
        """Store a value as an attribute of this kind, and of no other."""
        attributes = self.__dict__
        if value is not None:
            value = registered(WORDS[kind], self, name, value)
        for other in REGISTRIES:
            if other != kind:
                attributes[other].pop(name, None)
        attributes[kind][name] = persistent
        attributes[name] = value

    def __setattr__(self, name, value):
        attributes = self.__dict__
        if isinstance(value, Parameter):
            self._names("_parameter_names", "assign a parameter")
            self._register("_parameter_names", name, value)
        elif isinstance(value, Module):
            self._names("_module_names", "assign a module")
            self._register("_module_names", name, value)
        elif isinstance(value, Buffer):
            self._names("_buffer_names", "assign a buffer")
            self._register("_buffer_names", name, value, value.persistent)
        elif name in attributes.get("_parameter_names", ()):
            self._replace(name, value, "parameter", "a Parameter")
        elif name in attributes.get("_module_names", ()):
            self._replace(name, value, "child module", "a Module")
        elif name in attributes.get("_buffer_names", ()):
            self._replace(name, value, "buffer", "a Tensor", Tensor)
        else:
            super().__setattr__(name, value)

    def _replace(self, name, value, kind, expected, classes=()):
        """Give a registered name a value of another class than its own: None or `classes`."""
        if value is not None and not isinstance(value, classes):
            raise pointed(
                TypeError(
                    f"{type(self).__name__}.{name}: cannot assign a {type(value).__name__} as {kind}; "
                    f"expected {expected} or None. To register something else, del the attribute first"
                )
            )
        self.__dict__[name] = value

    def __delattr__(self, name):
        super().__delattr__(name)
        for kind in REGISTRIES:
            self.__dict__.get(kind, {}).pop(name, None)

    def __getstate__(self):
        state = self.__dict__.copy()
        state.pop(
            "_compiled_call_impl", None
        )  # generated code belongs to this module in this process
        return state

    def __setstate__(self, attributes):
        # A shallow copy shares values, not registries: what is added to one is not in the other.
        self.__dict__.update(attributes)
        for kind in REGISTRIES:
            self.__dict__[kind] = dict(attributes[kind])

    def __dir__(self):
        # Sequential's children "0", "1", ... are attributes, but no one can write model.0
        return sorted(
            name
            for name in super().__dir__()
            if not name[0].isdigit() and not _missing.is_missing(self, name)
        )

    # ------------------------------------------------------------ iterating
    def named_children(self):
        """Yield (name, module) of each direct submodule, each module once.

        Examples
        --------
        >>> from tensorlab import nn
        >>> model = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
        >>> list(model.named_children())
        [('0', Linear(in_features=2, out_features=3, bias=True)), ('1', ReLU())]
        """
        seen = set()
        for name in self._module_names:
            module = self.__dict__[name]
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self):
        """Yield each direct submodule once.

        Examples
        --------
        >>> import tensorlab
        >>> from tensorlab import nn
        >>> model = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
        >>> [type(one).__name__ for one in model.children()]
        ['Linear', 'ReLU']
        """
        for _, module in self.named_children():
            yield module

    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        """Yield (dotted name, module) of this module and all below, parents first.

        Examples
        --------
        >>> import tensorlab
        >>> from tensorlab import nn
        >>> model = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
        >>> [name for name, _ in model.named_modules()]  # the module itself has no name
        ['', '0', '1']
        """
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name in self._module_names:
            module = self.__dict__[name]
            if module is not None:
                inner = f"{prefix}.{name}" if prefix else name
                yield from module.named_modules(memo, inner, remove_duplicate)

    def modules(self):
        """Yield this module and all below, each once, parents first.

        Examples
        --------
        >>> import tensorlab
        >>> from tensorlab import nn
        >>> model = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
        >>> [type(one).__name__ for one in model.modules()]
        ['Sequential', 'Linear', 'ReLU']
        """
        for _, module in self.named_modules():
            yield module

    def _named_members(self, kind, prefix, recurse, remove_duplicate):
        """Yield (dotted name, value) of the registered parameters or buffers."""
        seen = set()
        if recurse:
            owners = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
        else:
            owners = [(prefix, self)]
        for owner_name, owner in owners:
            attributes = owner.__dict__
            for name in attributes[kind]:
                value = attributes[name]
                if value is None or (remove_duplicate and id(value) in seen):
                    continue
                seen.add(id(value))
                yield (f"{owner_name}.{name}" if owner_name else name), value

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        """Yield (dotted name, parameter); one that is shared comes once, by its first name.

        Examples
        --------
        >>> import tensorlab
        >>> from tensorlab import nn
        >>> model = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
        >>> [name for name, _ in model.named_parameters()]
        ['0.weight', '0.bias']
        """
        return self._named_members("_parameter_names", prefix, recurse, remove_duplicate)

    def parameters(self, recurse=True):
        """Yield each parameter once, those of submodules too unless `recurse` is False.

        Parameters
        ----------
        recurse : bool, whether those of submodules come, too

        Examples
        --------
        >>> import tensorlab
        >>> from tensorlab import nn
        >>> model = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
        >>> [tuple(one.shape) for one in model.parameters()]
        [(3, 2), (3,)]
        """
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
        """Yield (dotted name, buffer).

        Examples
        --------
        >>> from tensorlab import nn
        >>> [name for name, _ in nn.BatchNorm1d(3).named_buffers()]
        ['running_mean', 'running_var', 'num_batches_tracked']
        """
        return self._named_members("_buffer_names", prefix, recurse, remove_duplicate)

    def buffers(self, recurse=True):
        """Yield each buffer once.

        Examples
        --------
        >>> from tensorlab import nn
        >>> [tuple(one.shape) for one in nn.BatchNorm1d(3).buffers()]
        [(3,), (3,), ()]
        """
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def get_submodule(self, target):
        """Return the submodule of a dotted name; "" is this module.

        Raises
        ------
        AttributeError
            If there is none of that name, or if what has the name is not a module.

        Examples
        --------
        >>> from tensorlab import nn
        >>> model = nn.Sequential(nn.Sequential(nn.Linear(2, 3), nn.ReLU()))
        >>> model.get_submodule("0.1")
        ReLU()
        """
        module = self
        for name in target.split(".") if target else ():
            module = module._get_registered(name, "_module_names", "a Module")
        return module

    def set_submodule(self, target, module, strict=False):
        """Put a module in the place of a dotted name.

        Parameters
        ----------
        target : str, not empty
        module : Module
        strict : bool, whether there must be a module of that name already

        Raises
        ------
        ValueError
            If the name is empty, or `module` is not a Module.
        AttributeError
            If the module that should hold it does not exist, or with `strict` it itself.

        Examples
        --------
        >>> from tensorlab import nn
        >>> model = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
        >>> model.set_submodule("1", nn.Tanh())
        >>> model[1]
        Tanh()
        """
        if not target:
            raise ValueError("set_submodule: the name is empty; expected that of a submodule")
        if not isinstance(module, Module):
            raise ValueError(
                f"set_submodule: module is a {type(module).__name__}; expected a Module"
            )
        owner, _, name = target.rpartition(".")
        parent = self.get_submodule(owner)
        if strict or hasattr(parent, name):
            parent._get_registered(name, "_module_names", "a Module")
        setattr(parent, name, module)

    def get_parameter(self, target):
        """Return the parameter of a dotted name; raises as `get_submodule` does.

        Examples
        --------
        >>> from tensorlab import nn
        >>> tuple(nn.Sequential(nn.Linear(2, 3)).get_parameter("0.weight").shape)
        (3, 2)
        """
        owner, _, name = target.rpartition(".")
        return self.get_submodule(owner)._get_registered(name, "_parameter_names", "a Parameter")

    def get_buffer(self, target):
        """Return the buffer of a dotted name; raises as `get_submodule` does.

        Examples
        --------
        >>> from tensorlab import nn
        >>> net = nn.Sequential(nn.BatchNorm1d(2))
        >>> net.get_buffer("0.running_mean")
        tensor([0., 0.])
        """
        owner, _, name = target.rpartition(".")
        return self.get_submodule(owner)._get_registered(name, "_buffer_names", "a buffer")

    def _get_registered(self, name, kind, expected):
        if name in self.__dict__[kind]:
            return self.__dict__[name]
        problem = "is not " + expected if hasattr(self, name) else "does not exist"
        raise AttributeError(f"{type(self).__name__}: attribute {name!r} {problem}")

    # ------------------------------------------------------------ modes and gradients
    def train(self, mode=True):
        """Set training mode here and below; return self.

        Examples
        --------
        >>> import tensorlab
        >>> layer = tensorlab.nn.Dropout().eval()
        >>> layer.train().training
        True
        """
        if not isinstance(mode, bool):
            raise ValueError(f"train: mode is {mode!r}; expected True or False")
        self.training = mode
        for module in self.children():
            module.train(mode)  # by the child's own method, which may keep parts of it frozen
        return self

    def eval(self):
        """Set evaluation mode: `train(False)`.

        Examples
        --------
        >>> import tensorlab
        >>> tensorlab.nn.Dropout().eval()(tensorlab.ones(3))
        tensor([1., 1., 1.])
        """
        return self.train(False)

    def requires_grad_(self, requires_grad=True):
        """Say whether autograd records operations on the parameters; return self.

        Examples
        --------
        >>> from tensorlab import nn
        >>> frozen = nn.Linear(2, 3).requires_grad_(False)
        >>> frozen.weight.requires_grad
        False
        """
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def share_memory(self):
        """Move parameters, gradients and buffers into shared memory, in place; return self.

        Processes that are forked from now on, or that the module is sent to, train these very numbers.

        Examples
        --------
        >>> from tensorlab import nn
        >>> nn.Linear(2, 2).share_memory().weight.is_shared()
        True
        """
        for tensor in (*self.parameters(), *self.buffers()):
            tensor.share_memory_()
            if tensor.grad is not None:
                tensor.grad.share_memory_()
        return self

    def zero_grad(self, set_to_none=True):
        """Forget the gradients of all parameters, or with `set_to_none=False` fill them with 0.

        Examples
        --------
        >>> import tensorlab
        >>> from tensorlab import nn
        >>> model = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
        >>> model(tensorlab.ones(1, 2)).sum().backward()
        >>> model.zero_grad()
        >>> model[0].weight.grad is None
        True
        """
        clear_gradients(self.parameters(), set_to_none)

    # ------------------------------------------------------------ conversion
    def apply(self, fn):
        """Call `fn(module)` for every module, children before parents; return self.

        Examples
        --------
        >>> import tensorlab
        >>> from tensorlab import nn
        >>> model = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
        >>> def start(module):
        ...     if isinstance(module, nn.Linear):
        ...         nn.init.zeros_(module.bias)
        >>> model.apply(start)[0].bias.detach()
        tensor([0., 0., 0.])
        """
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, fn, recurse=True):
        """Replace the data of each parameter, gradient and buffer by `fn` of it; return self."""
        for module in self.children() if recurse else ():
            module._apply(fn)
        attributes = self.__dict__
        for name in self._parameter_names:
            parameter = attributes[name]
            if parameter is None:
                continue
            changed = fn(parameter.data)
            if changed.device != parameter.device:  # a tensor stays where it is
                attributes[name] = Parameter(changed, parameter.requires_grad)
                if parameter.grad is not None:
                    attributes[name].grad = fn(parameter.grad)
                continue
            # The Parameter object stays: optimizers and other modules may hold it.
            parameter.data = changed
            if parameter.grad is not None:
                parameter.grad.data = fn(parameter.grad.data)
        for name in self._buffer_names:
            buffer = attributes[name]
            if is_lazy(buffer):
                buffer.data = fn(buffer.data)
            elif buffer is not None:
                attributes[name] = fn(buffer)
        return self

    def to(self, *args, **kwargs):
        """Convert or move parameters and buffers as `Tensor.to` does, integers keeping their dtype.

        Raises
        ------
        TypeError
            If the dtype is neither floating nor complex.

        Examples
        --------
        >>> import tensorlab
        >>> layer = tensorlab.nn.BatchNorm1d(3).to(tensorlab.float64)
        >>> layer.weight.dtype, layer.num_batches_tracked.dtype
        (tensorlab.float64, tensorlab.int64)
        """
        target = empty(0, device="cpu").to(*args, **kwargs).dtype
        place = kwargs.get(
            "device", args[0] if args and isinstance(args[0], (str, device)) else None
        )
        if args and isinstance(args[0], Tensor):
            place = args[0].device
        if not (target.is_floating_point or target.is_complex):
            raise TypeError(
                f"to: a module takes floating and complex dtypes, but {target} was given"
            )

        def convert(tensor):
            if tensor.is_floating_point() or tensor.is_complex():
                return tensor.to(*args, **kwargs)
            return tensor if place is None else tensor.to(place)

        return self._apply(convert)

    def to_empty(self, *, device, recurse=True):
        """Give parameters and buffers memory on `device`, without values: those on "meta" have none to move.

        Parameters
        ----------
        device : "cpu" or "meta"
        recurse : bool, whether the modules inside are included

        Returns
        -------
        Module
            Itself. Its parameters are new objects if they were on another device.

        Examples
        --------
        >>> import tensorlab
        >>> with tensorlab.device("meta"):
        ...     layer = tensorlab.nn.Linear(2, 3)
        >>> layer.to_empty(device="cpu").weight.device
        device(type='cpu')
        """
        return self._apply(lambda tensor: empty_like(tensor, device=device), recurse)

    def float(self):
        """Convert floating parameters and buffers to float32.

        Examples
        --------
        >>> from tensorlab import nn
        >>> nn.Linear(2, 3).double().float().weight.dtype
        tensorlab.float32
        """
        return self._apply(lambda tensor: tensor.float() if tensor.is_floating_point() else tensor)

    def double(self):
        """Convert floating parameters and buffers to float64.

        Examples
        --------
        >>> from tensorlab import nn
        >>> nn.Linear(2, 3).double().weight.dtype
        tensorlab.float64
        """
        return self._apply(lambda tensor: tensor.double() if tensor.is_floating_point() else tensor)

    def half(self):
        """Convert floating parameters and buffers to float16.

        Examples
        --------
        >>> from tensorlab import nn
        >>> nn.Linear(2, 3).half().weight.dtype
        tensorlab.float16
        """
        return self._apply(lambda tensor: tensor.half() if tensor.is_floating_point() else tensor)

    def bfloat16(self):
        """Convert floating parameters and buffers to bfloat16.

        Examples
        --------
        >>> from tensorlab import nn
        >>> nn.Linear(2, 2).bfloat16().weight.dtype
        tensorlab.bfloat16
        """
        return self._apply(
            lambda tensor: tensor.bfloat16() if tensor.is_floating_point() else tensor
        )

    def type(self, dst_type):
        """Convert all parameters and buffers to a dtype, integers too.

        Examples
        --------
        >>> import tensorlab
        >>> from tensorlab import nn
        >>> nn.Linear(2, 2).type(tensorlab.float64).weight.dtype
        tensorlab.float64
        """
        return self._apply(lambda tensor: tensor.type(dst_type))

    def cpu(self):
        """Move parameters and buffers to the processor's memory, where they are already unless on "meta".

        Examples
        --------
        >>> from tensorlab import nn
        >>> net = nn.Linear(2, 2)
        >>> net.cpu() is net
        True
        """
        return self._apply(lambda tensor: tensor.cpu())

    def cuda(self, device=None):
        """Raise DeviceError: there is no such device.

        Examples
        --------
        >>> import tensorlab
        >>> from tensorlab import nn
        >>> net = nn.Linear(2, 2)
        >>> net = net.cuda() if tensorlab.cuda.is_available() else net
        """
        check_device("cuda", f"{type(self).__name__}.cuda")

    # ------------------------------------------------------------ text
    def _get_name(self):
        return type(self).__name__

    def extra_repr(self):
        """Return what stands between the parentheses, such as `in_features=2`; for subclasses.

        Examples
        --------
        >>> from tensorlab import nn
        >>> nn.Linear(2, 3).extra_repr()
        'in_features=2, out_features=3, bias=True'
        """
        return ""

    def __repr__(self):
        extra = self.extra_repr()
        children = [
            f"({name}): " + indent_after_first(repr(module))
            for name, module in self._modules.items()
        ]
        return self._get_name() + in_parentheses(extra, children)

    def _repr_html_(self):
        from tensorlab import _display

        return _display.module(self)


_missing.explain_missing_attributes(Module, "nn.Module", "ipu mtia xpu")


def indent_after_first(text):
    """Indent all lines but the first by two columns."""
    return text.replace("\n", "\n  ")


MOST_COPIES = 100_000  # more layers than any model has; a larger number is a mistake, and would fill the memory


def check_copies(where, name, number):
    """Raise unless a module can be made or copied so many times.

    Raises TypeError if the number is not an int, and ValueError if it is above MOST_COPIES.
    """
    if not isinstance(number, int):
        raise TypeError(f"{where}: {name} is of type {type(number).__name__}; expected an int")
    if number > MOST_COPIES:
        raise ValueError(f"{where}: {name} is {number}; expected at most {MOST_COPIES}")


def in_parentheses(extra, children):
    """Write `(extra)` on one line, or with children all of it on lines of their own."""
    lines = extra.split("\n") if extra else []
    if len(lines) <= 1 and not children:
        return f"({extra})"
    return "(\n  " + "\n  ".join(lines + children) + "\n)"
