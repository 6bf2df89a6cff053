"""Pruning: multiply a parameter by a mask of zeros and ones before each forward.

`l1_unstructured(layer, "weight", 0.3)` moves the parameter to `weight_orig`, keeps the mask as the
buffer `weight_mask`, and lets a forward pre-hook set `weight` to their product.  Pruning again combines
the masks: elements that are pruned stay so, and the amount counts among the others.  `remove` makes the
product the parameter for good.
"""

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable

from ...ops.creation import ones_like, zeros_like
from ...ops.joining import cat
from ...ops.random_factories import rand

__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]


# ------------------------------------------------------------ methods
class BasePruningMethod(ABC):
    """A way to choose which elements of a tensor are pruned.

    A subclass defines `compute_mask(t, default_mask)`, and `PRUNING_TYPE`: "unstructured" (single elements, chosen
    among those not pruned yet), "structured" (whole slices) or "global".

    Examples
    --------
    >>> from tensorlab import nn
    >>> class Negative(BasePruningMethod):
    ...     PRUNING_TYPE = "unstructured"
    ...     def compute_mask(self, t, default_mask):
    ...         return default_mask * (t > 0)
    ...
    >>> net = nn.Linear(8, 1)
    >>> _ = Negative.apply(net, "weight")
    >>> net.weight.min() >= 0
    tensor(True)
    """

    PRUNING_TYPE = "global"
    _tensor_name = None

    @abstractmethod
    def compute_mask(self, t, default_mask):
        """Return a mask of zeros and ones of the shape of `t`, the importance of the elements."""

    def __call__(self, module, inputs):
        setattr(module, self._tensor_name, self.apply_mask(module))

    def apply_mask(self, module):
        """Return the product of the original tensor and the mask of a pruned module."""
        if self._tensor_name is None:
            raise AssertionError(f"prune: module {module} has to be pruned first")
        original = getattr(module, f"{self._tensor_name}_orig")
        return getattr(module, f"{self._tensor_name}_mask").to(original.dtype) * original

    @classmethod
    def apply(cls, module, name, *args, importance_scores=None, **kwargs):
        """Prune a parameter of a module.

        Parameters
        ----------
        module : Module
        name : str, of a parameter
        *args, **kwargs : what the class is made with
        importance_scores : Tensor of the parameter's shape, which decides instead of the parameter

        Returns
        -------
        BasePruningMethod, the hook; a PruningContainer if the parameter was pruned before

        Raises
        ------
        AssertionError
            If the scores have another shape.
        """
        method, before = cls(*args, **kwargs), pruning_of(module, name)
        method._tensor_name = name
        tensor = getattr(module, name)
        if importance_scores is None:
            importance_scores = tensor
        elif importance_scores.shape != tensor.shape:
            raise AssertionError(
                f"prune: importance_scores should have the same shape as parameter {name} of {module}, "
                f"{tuple(tensor.shape)}, but they have {tuple(importance_scores.shape)}"
            )
        if before is None:
            mask = method.compute_mask(importance_scores, default_mask=ones_like(tensor))
            del module._parameters[name]
            module.register_parameter(f"{name}_orig", tensor)
        else:
            hook_id, old = before
            container = old if isinstance(old, PruningContainer) else PruningContainer(old)
            container.add_pruning_method(method)
            known = getattr(module, f"{name}_mask").detach().clone()
            try:
                mask = container.compute_mask(importance_scores, default_mask=known)
            except Exception:
                container._pruning_methods = container._pruning_methods[:-1]
                raise
            del module._forward_pre_hooks[hook_id]
            method = container
        module.register_buffer(f"{name}_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t, default_mask=None, importance_scores=None):
        """Return the pruned product of a tensor, no module being involved."""
        if importance_scores is None:
            importance_scores = t
        elif importance_scores.shape != t.shape:
            raise AssertionError(
                f"prune: importance_scores should have the same shape as tensor t, {tuple(t.shape)}, but they have "
                f"{tuple(importance_scores.shape)}"
            )
        known = ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(importance_scores, default_mask=known)

    def remove(self, module):
        """Make the pruned tensor the parameter for good: mask and original are dropped."""
        name = self._tensor_name
        pruned = self.apply_mask(module)
        original = getattr(module, f"{name}_orig")
        original.data = pruned.data
        delattr(module, f"{name}_orig")
        delattr(module, f"{name}_mask")
        setattr(module, name, original)


def pruning_of(module, name):
    """Return (id, hook) of the pruning of a parameter, or None."""
    for hook_id, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            return hook_id, hook
    return None


class PruningContainer(BasePruningMethod):
    """Several pruning methods of one parameter, one after the other.

    Examples
    --------
    >>> from tensorlab import nn
    >>> net = nn.Linear(8, 1)
    >>> _ = nn.utils.prune.random_unstructured(net, "weight", amount=2)
    >>> _ = nn.utils.prune.l1_unstructured(net, "weight", amount=3)
    >>> net.weight_mask.sum()
    tensor(3.)
    """

    def __init__(self, *methods):
        self._pruning_methods = ()
        if methods:
            self._tensor_name = methods[0]._tensor_name
        for method in methods:
            self.add_pruning_method(method)

    def add_pruning_method(self, method):
        """Add a method; raises TypeError or ValueError if it is none, or one of another parameter."""
        if not isinstance(method, BasePruningMethod):
            raise TypeError(
                f"add_pruning_method: {type(method)} is not a BasePruningMethod subclass"
            )
        if self._tensor_name != method._tensor_name:
            raise ValueError(
                "add_pruning_method: can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to this container, but found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self):
        return len(self._pruning_methods)

    def __iter__(self):
        return iter(self._pruning_methods)

    def __getitem__(self, index):
        return self._pruning_methods[index]

    def compute_mask(self, t, default_mask):
        """Return `default_mask` with what the newest method prunes besides."""
        method, mask = self._pruning_methods[-1], default_mask.to(t.dtype).clone()
        if method.PRUNING_TYPE == "global":
            return method.compute_mask(t, default_mask=mask)
        if method.PRUNING_TYPE == "unstructured":
            kept = mask == 1
            mask[kept] = method.compute_mask(t[kept], default_mask=mask[kept]).to(mask.dtype)
            return mask
        if method.PRUNING_TYPE == "structured":
            dim = method.dim % t.dim()
            others = [d for d in range(t.dim()) if d != dim]
            slices = (mask.sum(others) != 0).nonzero().flatten()
            part = method.compute_mask(t.index_select(dim, slices), mask.index_select(dim, slices))
            return mask.index_copy(dim, slices, part.to(mask.dtype))
        raise ValueError(f"prune: unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")


class Identity(BasePruningMethod):
    """Prune nothing, but have mask and original.

    Examples
    --------
    >>> from tensorlab import nn
    >>> net = nn.Linear(2, 1)
    >>> _ = Identity.apply(net, "weight")
    >>> net.weight_mask
    tensor([[1., 1.]])
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t, default_mask):
        return default_mask


class RandomUnstructured(BasePruningMethod):
    """Prune elements at random.

    Parameters
    ----------
    amount : int, how many; or float from 0 to 1, which share

    Examples
    --------
    >>> import tensorlab
    >>> RandomUnstructured(amount=0.25).prune(tensorlab.ones(8)).sum()
    tensor(6.)
    """

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount):
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def compute_mask(self, t, default_mask):
        number = number_to_prune(self.amount, t.numel())
        mask = default_mask.clone()
        if number:
            chosen = rand(t.shape, dtype=t.dtype).view(-1).topk(number).indices
            mask.view(-1)[chosen] = 0
        return mask


class L1Unstructured(BasePruningMethod):
    """Prune the elements of least absolute value.

    Parameters
    ----------
    amount : int, how many; or float from 0 to 1, which share

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.tensor([1.0, -4.0, 0.5, 3.0])
    >>> L1Unstructured(amount=2).prune(x)
    tensor([ 0., -4.,  0.,  3.])
    """

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount):
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def compute_mask(self, t, default_mask):
        number = number_to_prune(self.amount, t.numel())
        mask = default_mask.clone()
        mask.view(-1)[t.abs().flatten().topk(number, largest=False).indices] = 0
        return mask


class RandomStructured(BasePruningMethod):
    """Prune slices of a dimension at random.

    Parameters
    ----------
    amount : int, how many; or float from 0 to 1, which share
    dim : int

    Examples
    --------
    >>> import tensorlab
    >>> RandomStructured(amount=1, dim=0).prune(tensorlab.ones(3, 2)).sum(1).sort().values
    tensor([0., 2., 2.])
    """

    PRUNING_TYPE = "structured"

    def __init__(self, amount, dim=-1):
        _validate_pruning_amount_init(amount)
        self.amount, self.dim = amount, dim

    def compute_mask(self, t, default_mask):
        _validate_structured_pruning(t)
        _validate_pruning_dim(t, self.dim)
        size = t.shape[self.dim]
        number = number_to_prune(self.amount, size)
        if not number:
            return default_mask
        threshold = rand(size)  # the slices with the smallest of these numbers go
        return default_mask * mask_of_slices(t, self.dim, threshold.topk(size - number).indices)


class LnStructured(BasePruningMethod):
    """Prune the slices of a dimension that have the least norm.

    Parameters
    ----------
    amount : int, how many; or float from 0 to 1, which share
    n : int, float, inf or "fro", which norm
    dim : int

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.tensor([[1.0, 2.0], [0.1, 0.2], [3.0, 4.0]])
    >>> LnStructured(amount=1, n=2, dim=0).prune(x)
    tensor([[1., 2.],
            [0., 0.],
            [3., 4.]])
    """

    PRUNING_TYPE = "structured"

    def __init__(self, amount, n, dim=-1):
        _validate_pruning_amount_init(amount)
        self.amount, self.n, self.dim = amount, n, dim

    def compute_mask(self, t, default_mask):
        _validate_structured_pruning(t)
        _validate_pruning_dim(t, self.dim)
        size = t.shape[self.dim]
        number = number_to_prune(self.amount, size)
        norms = _compute_norm(t, self.n, self.dim)
        return default_mask * mask_of_slices(t, self.dim, norms.topk(size - number).indices)


class CustomFromMask(BasePruningMethod):
    """Prune by a mask that the program made.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import nn
    >>> net = nn.Linear(2, 1)
    >>> _ = CustomFromMask.apply(net, "weight", tensorlab.tensor([[1.0, 0.0]]))
    >>> net.weight_mask
    tensor([[1., 0.]])
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask):
        self.mask = mask

    def compute_mask(self, t, default_mask):
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"prune: the mask has shape {tuple(self.mask.shape)}, and the tensor {tuple(default_mask.shape)}; "
                "they must be equal"
            )
        return default_mask * self.mask.to(default_mask.dtype)


# ------------------------------------------------------------ amounts and slices
def _validate_pruning_amount_init(amount):
    """Raise unless this is a number of elements or a share of them."""
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"prune: amount is {amount!r}; expected an int or a float")
    if amount < 0 or (not isinstance(amount, numbers.Integral) and amount > 1):
        raise ValueError(
            f"prune: amount is {amount}; expected a float from 0 to 1, or an int from 0 up"
        )


def _validate_pruning_amount(amount, tensor_size):
    """Raise if `amount` is a number of elements, and there are not so many."""
    if isinstance(amount, numbers.Integral) and amount > tensor_size:
        raise ValueError(
            f"prune: amount is {amount}, which should be smaller than the number of parameters to "
            f"prune, {tensor_size}"
        )


def _compute_nparams_toprune(amount, tensor_size):
    """Return how many of `tensor_size` elements are pruned, given their number or their share."""
    return amount if isinstance(amount, numbers.Integral) else round(amount * tensor_size)


def number_to_prune(amount, tensor_size):
    """Return how many of `tensor_size` are pruned; raise ValueError if there are not so many."""
    _validate_pruning_amount(amount, tensor_size)
    return int(_compute_nparams_toprune(amount, tensor_size))


def _validate_structured_pruning(t):
    if t.dim() <= 1:
        raise ValueError(
            f"prune: structured pruning can only be applied to multidimensional tensors; found a {t.dim()}D tensor"
        )


def _validate_pruning_dim(t, dim):
    if not -t.dim() <= dim < t.dim():
        raise IndexError(f"prune: invalid dim {dim} for a tensor of shape {tuple(t.shape)}")


def _compute_norm(t, n, dim):
    """Return the n-norm of each slice of `dim`: a tensor of shape (t.shape[dim],)."""
    return t.norm(p=n, dim=[other for other in range(t.dim()) if other != dim % t.dim()])


def mask_of_slices(t, dim, kept):
    """Return a mask with ones in the slices of these indices."""
    mask = zeros_like(t)
    return mask.index_fill(dim, kept, 1)


# ------------------------------------------------------------ functions for users
def identity(module, name):
    """Give a parameter an original and a mask of ones; return the module.

    Examples
    --------
    >>> import tensorlab
    >>> layer = tensorlab.nn.Linear(2, 2)
    >>> with tensorlab.no_grad():
    ...     _ = layer.weight.copy_(tensorlab.tensor([[1.0, 2.0], [3.0, 4.0]]))
    >>> _ = identity(layer, "weight")
    >>> is_pruned(layer)
    True
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module, name, amount):
    """Prune `amount` elements (int) or this share of them (float) at random; return the module.

    Examples
    --------
    >>> import tensorlab
    >>> layer = tensorlab.nn.Linear(2, 2)
    >>> with tensorlab.no_grad():
    ...     _ = layer.weight.copy_(tensorlab.tensor([[1.0, 2.0], [3.0, 4.0]]))
    >>> _ = random_unstructured(layer, "weight", amount=2)
    >>> (layer.weight == 0).sum().item()
    2
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module, name, amount, importance_scores=None):
    """Prune the elements of least absolute value, or of least score; return the module.

    Examples
    --------
    >>> import tensorlab
    >>> layer = tensorlab.nn.Linear(4, 2)
    >>> layer = tensorlab.nn.utils.prune.l1_unstructured(layer, "weight", 3)
    >>> int((layer.weight == 0).sum()), list(dict(layer.named_buffers()))
    (3, ['weight_mask'])
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module, name, amount, dim):
    """Prune slices of a dimension at random; return the module.

    Examples
    --------
    >>> import tensorlab
    >>> layer = tensorlab.nn.Linear(2, 2)
    >>> with tensorlab.no_grad():
    ...     _ = layer.weight.copy_(tensorlab.tensor([[1.0, 2.0], [3.0, 4.0]]))
    >>> _ = random_structured(layer, "weight", amount=1, dim=0)
    >>> (layer.weight == 0).sum().item()
    2
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module, name, amount, n, dim, importance_scores=None):
    """Prune the slices of a dimension with the least n-norm; return the module.

    Examples
    --------
    >>> import tensorlab
    >>> layer = tensorlab.nn.Linear(2, 2)
    >>> with tensorlab.no_grad():
    ...     _ = layer.weight.copy_(tensorlab.tensor([[1.0, 2.0], [3.0, 4.0]]))
    >>> _ = ln_structured(layer, "weight", amount=1, n=2, dim=0)
    >>> layer.weight.detach()
    tensor([[0., 0.],
            [3., 4.]])
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module, name, mask):
    """Prune by a given mask; return the module.

    Examples
    --------
    >>> import tensorlab
    >>> layer = tensorlab.nn.Linear(2, 2)
    >>> with tensorlab.no_grad():
    ...     _ = layer.weight.copy_(tensorlab.tensor([[1.0, 2.0], [3.0, 4.0]]))
    >>> _ = custom_from_mask(layer, "weight", tensorlab.tensor([[1, 0], [0, 1]]))
    >>> layer.weight.detach()
    tensor([[1., 0.],
            [0., 4.]])
    """
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(parameters, pruning_method, importance_scores=None, **kwargs):
    """Prune the elements of several parameters together, so that they compete.

    Parameters
    ----------
    parameters : iterable of (Module, name)
    pruning_method : class of an unstructured method
    importance_scores : dict of (Module, name) and Tensor
    **kwargs : what the class is made with, such as `amount`

    Raises
    ------
    TypeError
        If the method is structured, `parameters` not iterable, or `importance_scores` no dict.
    ValueError
        If there are no parameters.

    Examples
    --------
    >>> import tensorlab
    >>> layer = tensorlab.nn.Linear(2, 2)
    >>> with tensorlab.no_grad():
    ...     _ = layer.weight.copy_(tensorlab.tensor([[1.0, 2.0], [3.0, 4.0]]))
    >>> global_unstructured([(layer, "weight")], L1Unstructured, amount=2)
    >>> layer.weight.detach()
    tensor([[0., 0.],
            [3., 4.]])
    """
    if not isinstance(parameters, Iterable):
        raise TypeError(
            f"global_unstructured: parameters is a {type(parameters).__name__}; expected pairs of a "
            "Module and the name of a parameter, in a list or another iterable"
        )
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError(
            f"global_unstructured: importance_scores is a {type(scores).__name__}; expected a dict "
            "of (Module, name) and Tensor"
        )
    parameters = list(parameters)
    if not parameters:
        raise ValueError(
            "global_unstructured: parameters is empty; give at least one pair of a Module and the "
            "name of a parameter"
        )
    importance = [scores.get((m, name), getattr(m, name)).reshape(-1) for m, name in parameters]
    masks = [getattr(m, f"{name}_mask", ones_like(getattr(m, name))) for m, name in parameters]
    method = PruningContainer()
    method._tensor_name = "temp"
    method.add_pruning_method(unstructured(pruning_method, kwargs))
    mask = method.compute_mask(cat(importance), cat([one.reshape(-1) for one in masks]))
    start = 0
    for module, name in parameters:
        tensor = getattr(module, name)
        part = mask[start : start + tensor.numel()].view_as(tensor)
        custom_from_mask(module, name, part)
        start += tensor.numel()


def unstructured(pruning_method, kwargs):
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'global_unstructured: only "unstructured" PRUNING_TYPE is supported for pruning_method, but '
            f"{pruning_method.__name__} is of type {method.PRUNING_TYPE!r}"
        )
    return method


def remove(module, name):
    """Make the pruned values of a parameter permanent; return the module.

    Raises
    ------
    ValueError
        If the parameter is not pruned.

    Examples
    --------
    >>> import tensorlab
    >>> layer = tensorlab.nn.Linear(2, 2)
    >>> with tensorlab.no_grad():
    ...     _ = layer.weight.copy_(tensorlab.tensor([[1.0, 2.0], [3.0, 4.0]]))
    >>> _ = remove(l1_unstructured(layer, "weight", amount=1), "weight")
    >>> layer.weight.detach()
    tensor([[0., 2.],
            [3., 4.]])
    """
    found = pruning_of(module, name)
    if found is None:
        raise ValueError(
            f"prune.remove: parameter {name!r} of module {module} has to be pruned before pruning can be removed"
        )
    hook_id, method = found
    method.remove(module)
    del module._forward_pre_hooks[hook_id]
    return module


def is_pruned(module):
    """Say whether a module, or one in it, has a pruned parameter.

    Examples
    --------
    >>> import tensorlab
    >>> layer = tensorlab.nn.Linear(2, 2)
    >>> with tensorlab.no_grad():
    ...     _ = layer.weight.copy_(tensorlab.tensor([[1.0, 2.0], [3.0, 4.0]]))
    >>> is_pruned(layer)
    False
    """
    return any(
        isinstance(hook, BasePruningMethod)
        for one in module.modules()
        for hook in one._forward_pre_hooks.values()
    )
