"""as_subclass, and what a class that inherits Tensor does with calls unless it says otherwise.

The results of ops are plain tensors; the default hook turns them into the class of the argument, by as_subclass.
"""
from tensorlab._core.dispatch.dispatch cimport run_2
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dispatch.subclass cimport subclass_of
from tensorlab._core.tensor cimport TensorBase, tensor_class

from tensorlab._core.dispatch.overrides import DisableTorchFunctionSubclass


# ---------------------------------------------------------------- as_subclass
cdef Op AS_SUBCLASS = Op("as_subclass(Tensor(a) x, Class cls) -> Tensor(a)",
                         aten=None, node="AliasBackward0")

@AS_SUBCLASS.derivative("x")
def as_subclass_derivative(grad):
    return grad

@AS_SUBCLASS.infer
def as_subclass_infer(TensorBase x, cls):
    if not (isinstance(cls, type) and issubclass(cls, TensorBase)):
        raise TypeError(f"as_subclass: the class is {cls!r}; expected one that inherits tensorlab.Tensor")
    return subclass_of(x, cls, False)

def as_subclass(TensorBase self not None, cls):
    """The same elements as a tensor of class `cls`: a view, through which gradients flow back.

    Raises
    ------
    TypeError
        If `cls` does not inherit Tensor.

    >>> import tensorlab
    >>> class Named(tensorlab.Tensor):
    ...     pass
    >>> type((tensorlab.ones(2).as_subclass(Named) + 1).sum()).__name__
    'Named'
    """
    return run_2(AS_SUBCLASS, self, cls)


# ---------------------------------------------------------------- the default hook
cdef set plain_results = set()          # functions whose results are not turned into the class


def keep_plain(function):
    """Let the default hook hand on the results of this function as they are (`.grad`, `._base`)."""
    plain_results.add(function)


def default_tensor_function(cls, function, types, args=(), kwargs=None):
    """`__tensor_function__` of Tensor: run the function and let its results be of class `cls`.

    Parameters
    ----------
    function : the public function that was called, such as `tensorlab.add`
    types : tuple of the argument classes that have a hook
    args, kwargs : its arguments

    Returns
    -------
    what the function returns, its tensors (also those in tuples and lists) of class `cls`; NotImplemented if `cls` does
    not inherit all of `types`: then the class of another argument answers
    """
    for kind in types:
        if not issubclass(cls, kind):
            return NotImplemented
    with DisableTorchFunctionSubclass():
        result = function(*args, **(kwargs or {}))
        return result if function in plain_results else converted(result, cls)


cdef object converted(object result, object cls):
    if cls is tensor_class:
        return result
    if isinstance(result, TensorBase):
        return result if isinstance(result, cls) else as_subclass(result, cls)
    if isinstance(result, (tuple, list)):
        for one in result:
            if isinstance(one, (TensorBase, tuple, list)):
                return type(result)([converted(one, cls) for one in result])
    return result
