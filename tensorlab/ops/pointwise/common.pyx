"""What several families of pointwise ops share: functions in place, and questions to operands."""
from cpython.object cimport PyObject

from tensorlab._core.dispatch.call_pointer cimport Call, call_slot, set_call_slot
from tensorlab._core.dispatch.dispatch cimport run_binary_inplace, run_unary_inplace
from tensorlab._core.dispatch.numpy_aliases cimport own_names, translates_itself
from tensorlab._core.dispatch.op cimport COMPARE, Op
from tensorlab._core.dispatch.operands cimport comparable
from tensorlab._core.tensor cimport TensorBase

import warnings

from tensorlab.ops.creation import zeros_like


ctypedef PyObject* (*call)(PyObject*, PyObject**, size_t, PyObject*) noexcept       # Call, but errors are looked at

cdef extern from *:
    """
    #define tl_raise_it() (-1)
    """
    int raise_it "tl_raise_it"() except -1      # an error is set: Cython is told of it

cdef call call_closure              # one code unpacks the arguments of all compiled functions


# ---------------------------------------------------------------- derivatives that many ops share
def same_gradient(grad):
    """The gradient of an operand that is added, or that only loses a whole number: that of the result."""
    return grad


def zero_gradient(grad):
    """The gradient of an operand in which the result is constant, or constant but for its jumps."""
    return zeros_like(grad)


def no_derivative(str name, str param):
    """The error for a derivative that there is not: as in PyTorch, it comes when backward runs."""
    return NotImplementedError(f"{name}: the derivative with respect to {param!r} is not implemented; detach() it")


# ---------------------------------------------------------------- functions in place
def inplace_function(Op op, function, *, bint tensors_only=False):
    """The public function that writes over its first argument, such as `exp_` for the op EXP and its function `exp`.

    It has the name, the module and the signature that it would have if it were written beside `exp`. A second argument may be
    a number, unless `tensors_only`.
    """
    global call_closure
    if op.arity == 1:
        parameters = "input: TensorBase"

        def in_place(TensorBase input not None):
            return run_unary_inplace(op, input)
    elif op.dtype_rule == COMPARE and not tensors_only:
        parameters = "input: TensorBase, other"

        def in_place(TensorBase input not None, other):
            return run_binary_inplace(op, input, comparable(input, other))
    elif tensors_only:
        parameters = "input: TensorBase, other: TensorBase"

        def in_place(TensorBase input not None, TensorBase other not None):
            return run_binary_inplace(op, input, other)
    else:
        parameters = "input: TensorBase, other"

        def in_place(TensorBase input not None, other):
            return run_binary_inplace(op, input, other)

    in_place.__name__ = in_place.__qualname__ = function.__name__ + "_"
    in_place.__module__ = function.__module__
    in_place.__doc__ = f"{in_place.__name__}({parameters})\n\n{documentation(op, function.__name__, parameters)}"
    call_closure = <call>call_slot(in_place)
    set_call_slot(in_place, <Call>call_by_name)
    translates_itself.add(in_place)
    return in_place


cdef str documentation(Op op, str name, str parameters):
    """What the docstring of such a function says after its signature."""
    cdef bint has_other = "other" in parameters
    cdef bint is_whole = isinstance(op.scalar, dict) and set(op.scalar) <= {"whole", "integer", "bool"}
    how = " as ones and zeros" if op.dtype_rule == COMPARE else ""
    other = "" if not has_other else (
        "other : Tensor that broadcasts to the shape of `input`\n" if "other: TensorBase" in parameters
        else "other : Tensor that broadcasts to the shape of `input`, or number\n"
    )
    values = "[6, 4]" if is_whole else "[0.5, 2.0]"
    second = f"tensorlab.tensor({values})" if has_other else ""
    return f"""`{name}`, written over `input`{how}.

Parameters
----------
input : Tensor
{other}
Returns
-------
Tensor, `input` itself

Raises
------
RuntimeError
    If the result has another dtype or a larger shape than `input`, elements of `input` overlap, or it
    is a leaf that requires grad.

Examples
--------
>>> import tensorlab
>>> x = tensorlab.tensor({values})
>>> x.{name}_({second}) is x
True
"""


cdef PyObject* call_by_name(PyObject* function, PyObject** arguments, size_t flags, PyObject* names) except NULL:
    """What a call of such a function goes through: Cython's errors about arguments name the closure, ours the function."""
    cdef PyObject* result
    cdef tuple wanted
    if names == NULL:
        result = call_closure(function, arguments, flags, names)
    else:
        wanted = own_names(<tuple>names, <object>function)
        result = call_closure(function, arguments, flags, <PyObject*>wanted)
    if result == NULL:
        raise_by_name((<object>function).__name__)
    return result


cdef int raise_by_name(str name) except -1:
    """Raise the error of a call, under the name of the function."""
    try:
        raise_it()
    except TypeError as error:
        text = str(error)
        if not text.startswith("in_place() "):
            raise
        raise TypeError(name + text[len("in_place"):]) from None
    return 0


cdef int check_tensor(str where, str name, object x) except -1:
    """Raise unless x is a tensor."""
    if not isinstance(x, TensorBase):
        raise TypeError(f"{where}: argument {name!r} must be a Tensor, not {type(x).__name__}")
    return 0


cdef object old_order(str where, str name, object factor, object given):
    """The factor of a call in the order of old programs, which have it before the operands. It warns, as in PyTorch."""
    if isinstance(factor, TensorBase) and (<TensorBase>factor).ndim_ > 0:
        raise TypeError(f"{where}: one tensor too many; {name} is a number and must be given by name, as in {name}=2")
    if given != 1:
        raise TypeError(f"{where}: {name} is given twice, as {factor} and as {given}")
    warnings.warn(f"{where}: {name} stands before the operands, as in old programs; give it by name: {name}={factor}",
                  UserWarning, stacklevel=1)
    return factor
