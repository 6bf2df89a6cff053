"""Reading x[...]: one pass over what stands between the brackets.

Each item takes dimensions of x and makes dimensions of the result:

    int, 0-d integer tensor         takes 1, makes none: the data pointer moves
    slice                           takes 1, makes 1
    None                            takes none, makes 1 of size 1
    Ellipsis                        takes and makes everything that the other items leave over
    tensor, list, array             takes 1 (a mask: as many as it has), makes what `index` makes of it
    True, False                     takes none, makes 1 of size 1, which `index` keeps or empties

The first four give a view: a new data pointer, sizes and strides. For the others the view keeps their dimensions, and a list
says which tensor indexes which dimension of the view; advanced.pyx does the rest.

A list of fewer than 32 items, one of which is a slice, None, Ellipsis, a sequence or a tensor, is read as a tuple. That is an
old rule of NumPy's, which PyTorch keeps.
"""
from cpython.list cimport PyList_CheckExact
from cpython.long cimport PyLong_AsSsize_t, PyLong_CheckExact
from cpython.number cimport PyIndex_Check, PyNumber_Index
from cpython.object cimport PyObject
from cpython.slice cimport PySlice_Check
from cpython.tuple cimport PyTuple_CheckExact, PyTuple_GET_ITEM, PyTuple_GET_SIZE

from tensorlab._core.dtypes cimport BOOL, INEXACT, INT16, INT64, INT8, NO_DTYPE, UINT8, is_differentiable, is_in, item_size
from tensorlab._core.graph.graph cimport ndim_of, should_record
from tensorlab._core.interop.exchange cimport tensor_from, value_of
from tensorlab._core.layout cimport MAX_NDIM, shape_text, ssize
from tensorlab._core.tensor cimport BOXED, TensorBase, alias_as, empty_tensor, memory_of

import warnings

from tensorlab._core.dispatch.levels import has_batch
from tensorlab.errors import GradientError, IndexOutOfRange, ShapeError

cdef extern from "Python.h":
    ctypedef struct PySliceObject:
        PyObject* start
        PyObject* stop
        PyObject* step
    int PySlice_Unpack(object given, Py_ssize_t* start, Py_ssize_t* stop, Py_ssize_t* step) except -1
    Py_ssize_t PySlice_AdjustIndices(Py_ssize_t length, Py_ssize_t* start, Py_ssize_t* stop, Py_ssize_t step)

cdef enum:
    LONGEST_TUPLE_LIST = 31


# ---------------------------------------------------------------- one item
cdef inline int take_int(TensorBase x, int dim, ssize i, char** data) except -1:
    """Move `data` to index i of dimension `dim`."""
    cdef ssize n = x.sizes[dim]
    if i < -n or i >= n:
        raise IndexOutOfRange(f"index: {i} is out of range for dimension {dim}, which has size "
                              f"{n}; valid are {-n} to {n - 1}")
    data[0] += (i + n if i < 0 else i) * x.strides[dim] * item_size[x.dtype_]
    return 0


cdef int take_slice(TensorBase x, int dim, object index, Subscript* out, ssize* size,
                    ssize* stride) except -1:
    """Size and stride of a slice of dimension `dim`."""
    cdef Py_ssize_t start, stop, step
    PySlice_Unpack(index, &start, &stop, &step)
    if step <= 0:
        raise ValueError(f"index: the slice {index} has step {step}; steps must be greater "
                         "than 0 (use flip to reverse)")
    # a start of -n counts as cutting, too, as in PyTorch
    if start != 0 or step != 1 or stop < x.sizes[dim]:
        out.is_whole = False
        out.last = SLICE
    size[0] = PySlice_AdjustIndices(x.sizes[dim], &start, &stop, step)
    stride[0] = x.strides[dim] * step
    out.data += start * x.strides[dim] * item_size[x.dtype_]
    return 0


cdef int read_int(TensorBase x, ssize i, Subscript* out) except -1:
    """x[i]"""
    cdef int d
    if x.ndim_ == 0:
        raise IndexOutOfRange("index: a 0-d tensor has nothing to index; use item() for its value")
    out.data = x.data_
    take_int(x, 0, i, &out.data)
    out.ndim = x.ndim_ - 1
    out.last = SELECT
    out.is_whole = False
    for d in range(out.ndim):
        out.sizes[d] = x.sizes[d + 1]
        out.strides[d] = x.strides[d + 1]
    return 0


cdef int read_slice(TensorBase x, object index, Subscript* out) except -1:
    """x[start:stop:step]"""
    cdef int d
    if x.ndim_ == 0:
        raise IndexOutOfRange("index: a 0-d tensor cannot be sliced; use item() for its value")
    out.data = x.data_
    out.is_whole = True
    take_slice(x, 0, index, out, out.sizes, out.strides)
    out.ndim = x.ndim_
    out.last = SLICE            # x[:] is a slice, but x[:,] is an alias
    for d in range(1, out.ndim):
        out.sizes[d] = x.sizes[d]
        out.strides[d] = x.strides[d]
    return 0


# ---------------------------------------------------------------- items that become tensors
cdef TensorBase index_tensor(object item):
    """A tensor from a list, an array or another sequence: bools make a mask, other numbers are read as ints."""
    cdef TensorBase out
    if isinstance(item, str):
        raise TypeError("index: a str is no index")
    if isinstance(item, dict) or not hasattr(item, "__getitem__") or getattr(item, "ndim", 1) == 0:
        raise IndexOutOfRange(f"index: {type(item).__name__} is no index; use ints, slices, None, Ellipsis, bools, "
                              f"or tensors, arrays and lists of ints or bools")
    out = tensor_from(item, NO_DTYPE)
    if out.dtype_ != BOOL and out.dtype_ != INT64:
        out = tensor_from(item, INT64)
    return out


cdef bint is_like_tuple(list items):
    """Is a list meant as a tuple of indices? See the top of this file."""
    if len(items) > LONGEST_TUPLE_LIST:
        return False
    for item in items:
        if item is None or item is Ellipsis or isinstance(item, (slice, TensorBase, list, tuple, range)) or (
                hasattr(item, "__getitem__") and not isinstance(item, str) and getattr(item, "ndim", 1) > 0):
            return True
    return False


cdef inline bint is_mask(TensorBase x) noexcept:
    return x.dtype_ == BOOL or x.dtype_ == UINT8


cdef int warn_of_bytes() except -1:
    warnings.warn("index: a uint8 tensor is read as a mask; this is deprecated: convert it with .bool()", UserWarning)
    return 0


cdef tuple prepare(object index):
    """The items as a tuple in which everything is an int, a slice, None, Ellipsis, a bool or a tensor of at least one dimension
    (or a 0-d mask, or an int that differs from example to example)."""
    cdef list items
    cdef Py_ssize_t i
    cdef object item
    cdef TensorBase x
    if isinstance(index, tuple):
        items = list(<tuple>index)
    elif PyList_CheckExact(index) and is_like_tuple(<list>index):
        items = list(<list>index)
    else:
        items = [index]
    for i in range(len(items)):
        item = items[i]
        if PyLong_CheckExact(item) or item is None or item is Ellipsis or isinstance(item, (bool, slice)):
            continue
        if not isinstance(item, TensorBase):
            if PyIndex_Check(item) and getattr(item, "ndim", 0) == 0:
                items[i] = PyNumber_Index(item)
                continue
            item = index_tensor(item)
        x = <TensorBase>item
        if is_in(x.dtype_, INEXACT) or (x.ndim_ > 0 and (x.dtype_ == INT8 or x.dtype_ == INT16)):
            raise IndexOutOfRange(f"index: a tensor of type {x.dtype} is no index; convert it to int64 (positions) or bool (a "
                                  f"mask)")
        items[i] = x if x.ndim_ > 0 or is_mask(x) or (x.keys & BOXED and has_batch(x)) else value_of(x)
    return tuple(items)


# ---------------------------------------------------------------- the whole subscript
cdef inline bint is_plain_part(PyObject* part) noexcept:
    return <object>part is None or PyLong_CheckExact(<object>part)


cdef inline bint is_plain_slice(object item) noexcept:
    return (is_plain_part((<PySliceObject*>item).start) and is_plain_part((<PySliceObject*>item).stop)
            and is_plain_part((<PySliceObject*>item).step))


cdef inline bint is_plain(object item) noexcept:
    return (PyLong_CheckExact(item) or item is None or item is Ellipsis
            or (PySlice_Check(item) and is_plain_slice(item)))


cdef object plain_part(object part):
    return PyNumber_Index(part) if part is not None and PyIndex_Check(part) else part


cdef object plain_item(object item):
    """A slice of plain ints; an `__index__` may do anything, so it is called before a tensor is looked at."""
    if not PySlice_Check(item) or is_plain_slice(item):
        return item
    return slice(plain_part(item.start), plain_part(item.stop), plain_part(item.step))


cdef object plain_subscript(object index):
    """A subscript that the caller cannot change afterwards: an int, a slice, or a tuple as `prepare` describes it."""
    if PyLong_CheckExact(index):
        return index
    if PySlice_Check(index):
        return index if is_plain_slice(index) else plain_item(index)
    if PyTuple_CheckExact(index):
        for item in <tuple>index:
            if not is_plain(item):
                break
        else:
            return index
    return tuple([plain_item(item) for item in prepare(index)])


cdef list read_subscript(TensorBase x, object index, Subscript* out):
    """Read a plain subscript. The view goes to `out`; returned are the tensors among the items (read_items), or None."""
    if PyLong_CheckExact(index):
        read_int(x, as_position(index), out)
        return None
    if PySlice_Check(index):
        read_slice(x, index, out)
        return None
    return read_items(x, <tuple>index, out)


cdef list read_items(TensorBase x, tuple items, Subscript* out):
    """Read a plain subscript. The view goes to `out`. Returned are the index tensors as `index` takes them: an entry for each
    dimension of the view up to the last that is indexed (one for all dimensions of a mask), or None if there are none."""
    cdef object item
    cdef Py_ssize_t i, n
    cdef int takes = 0, dim = 0, made = 0, hidden = 0    # hidden: dimensions of masks beyond the first of each
    cdef list found = None
    n = PyTuple_GET_SIZE(items)
    for i in range(n):
        item = <object>PyTuple_GET_ITEM(items, i)
        if isinstance(item, TensorBase):
            takes += (<TensorBase>item).ndim_ if is_mask(<TensorBase>item) else 1
        else:
            takes += not (item is None or item is Ellipsis or isinstance(item, bool))
    if takes > x.ndim_:
        raise IndexOutOfRange(f"index: {takes} dimensions are indexed, but the tensor of shape {shape_text(x.ndim_, x.sizes)} "
                              f"has {x.ndim_}")
    out.data = x.data_
    out.last = ALIAS
    out.is_whole = True
    for i in range(n):
        item = <object>PyTuple_GET_ITEM(items, i)
        if PyLong_CheckExact(item):
            if not out.is_whole:
                check_history(x)
            take_int(x, dim, as_position(item), &out.data)
            dim += 1
            out.last = SELECT
            out.is_whole = False
        elif PySlice_Check(item):
            take_slice(x, dim, item, out, &out.sizes[made], &out.strides[made])
            dim += 1
            made += 1
        elif item is Ellipsis:
            made = keep_dims(x, &dim, x.ndim_ - takes, out, made)
            takes = x.ndim_                             # a second one finds nothing left over
        elif item is None or not isinstance(item, TensorBase):
            made = new_dim(x, dim, out, made)
            out.last = UNSQUEEZE
            if item is not None:
                found = place(found, made - hidden - 1, mask_of(item))
        elif is_mask(<TensorBase>item):
            if (<TensorBase>item).dtype_ == UINT8:
                warn_of_bytes()
            if (<TensorBase>item).ndim_ == 0:
                made = new_dim(x, dim, out, made)
                out.last = UNSQUEEZE
                found = place(found, made - hidden - 1, mask_of(bool(value_of(<TensorBase>item))))
            else:
                check_mask(x, dim, <TensorBase>item)
                found = place(found, made - hidden, item)
                made = keep_dims(x, &dim, (<TensorBase>item).ndim_, out, made)
                hidden += (<TensorBase>item).ndim_ - 1
        else:
            found = place(found, made - hidden, item)
            made = keep_dims(x, &dim, 1, out, made)
    out.ndim = keep_dims(x, &dim, x.ndim_ - dim, out, made)
    return found


cdef int check_history(TensorBase x) except -1:
    """PyTorch takes the items one by one: before it finds a later one wrong it would have recorded the earlier ones."""
    ndim_of(x)
    if not is_differentiable(x.dtype_) and should_record(x):
        raise GradientError(f"index: the tensor requires grad, but is of {x.dtype}, and integers have no gradient (a tensor that "
                            f"requires grad was written into it); detach it first")
    return 0


cdef ssize as_position(object item) except? -1:
    try:
        return PyLong_AsSsize_t(item)
    except OverflowError:
        raise ValueError(f"index: {item} does not fit in 64 bits") from None


cdef int check_room(int ndim) except -1:
    if ndim > MAX_NDIM:
        raise ShapeError(f"index: the result would have more than {MAX_NDIM} dimensions")
    return 0


cdef int new_dim(TensorBase x, int dim, Subscript* out, int made) except -1:
    """A dimension of size 1 before dimension `dim` of x."""
    check_room(made + 1 + x.ndim_ - dim)
    out.is_whole = False
    out.sizes[made] = 1
    out.strides[made] = x.sizes[dim] * x.strides[dim] if dim < x.ndim_ else 1
    return made + 1


cdef int keep_dims(TensorBase x, int* dim, int n, Subscript* out, int made) noexcept:
    cdef int d
    for d in range(n):
        out.sizes[made + d] = x.sizes[dim[0] + d]
        out.strides[made + d] = x.strides[dim[0] + d]
    dim[0] += n
    return made + n


cdef list place(list found, int position, object tensor):
    """Enter a tensor at a position of the list, with None for what is skipped."""
    if found is None:
        found = []
    while len(found) < position:
        found.append(None)
    found.append(tensor)
    return found


cdef TensorBase mask_of(bint keep):
    """What indexes the dimension that True or False makes: [0] or []."""
    cdef ssize n = keep
    cdef TensorBase out = empty_tensor(INT64, 1, &n)
    if keep:
        (<ssize*>memory_of(out))[0] = 0
    return out


cdef int check_mask(TensorBase x, int dim, TensorBase mask) except -1:
    cdef int d
    ndim_of(x)                          # what is wrong with x's history comes first
    for d in range(mask.ndim_):
        if mask.sizes[d] != x.sizes[dim + d]:
            raise IndexOutOfRange(f"index: the mask of shape {shape_text(mask.ndim_, mask.sizes)} does not fit the dimensions "
                                  f"from {dim} on of a tensor of shape {shape_text(x.ndim_, x.sizes)}: size {mask.sizes[d]} "
                                  f"meets {x.sizes[dim + d]}")
    return 0


# ---------------------------------------------------------------- views
cdef TensorBase view_of(TensorBase x, Subscript* subscript):
    """An alias of x with the layout of the subscript, unknown to autograd."""
    return alias_as(x, subscript.ndim, subscript.sizes, subscript.strides, subscript.data)
