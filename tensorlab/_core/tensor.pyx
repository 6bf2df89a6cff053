"""TensorBase: what a tensor is. A layout (sizes, strides, a first element) over a storage, and a version counter.

Sizes and strides sit inside the object, because a block of their own would cost 11 ns for each tensor. What a tensor can do is
listed in tensorlab/_tensor.py, whose class `Tensor` inherits this one; kernels make results of that class, which is
handed down once through `set_tensor_class`.
"""
cimport cython
from cpython.buffer cimport PyBUF_FORMAT, PyBUF_STRIDES, PyBUF_WRITABLE
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM
from cpython.weakref cimport PyWeakref_NewRef

from libc.stdlib cimport free, malloc

import gc
from operator import index as operator_index

cimport tensorlab._core.state.modes as modes
from tensorlab._core.dtypes cimport FLOAT32, dtype_code, dtype_object, item_size, real_dtype
from tensorlab._core.layout cimport (
    MAX_NDIM, contiguous_strides, dense_strides, count_elements, extent, is_canonical,
    is_contiguous, is_dense, read_sizes, shape_text, ssize
)
from tensorlab._core.state.devices cimport device_name
from tensorlab._core.state.modes cimport active_layers, thread_state
from tensorlab._core.storage cimport (
    BORROWED, Storage, empty_storage, fetched, new_storage, pending_storage, refuse_shell, send,
    storage_on
)

from tensorlab._pitfalls import pointed
from tensorlab.errors import AllocationError, DeviceError, NoDataError, ShapeError

cdef extern from *:
    """
    #define tl_make(base, cls, nothing) (((PyTypeObject*)(base))->tp_new((PyTypeObject*)(cls), nothing, NULL))
    """
    object tl_make(object base, object cls, tuple nothing)      # cls() without the cost of a Python call

cdef ssize MAX_ELEMENTS = <ssize>1 << 56    # of 16 bytes each: more than any address space has
cdef tuple NOTHING = ()
cdef long live_count = 0


def live_tensors():
    """How many tensors exist now, those that the autograd graph holds included.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.live_tensors() > 0
    True
    """
    return live_count


@cython.final
@cython.freelist(256)
@cython.auto_pickle(False)
cdef class VersionCounter:
    """Counts in-place operations. A tensor, its views and its detached aliases share one."""


cdef object tuple_new = tuple.__new__


class Size(tuple):
    """The shape of a tensor: a tuple of ints that knows its product.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.zeros(2, 3).shape
    tensorlab.Size([2, 3])
    >>> tensorlab.Size([2, 3]).numel(), tensorlab.Size([2, 3]) == (2, 3)
    (6, True)
    """

    __slots__ = ()

    def __new__(cls, sizes=()):
        cdef tuple given = tuple(sizes)
        for i, size in enumerate(given):
            if not hasattr(size, "__index__"):
                raise TypeError(f"Size: takes ints, and item {i} is a {type(size).__name__}, {size!r}")
        return tuple_new(cls, [operator_index(size) for size in given])

    def numel(self):
        """The product of the sizes.

        >>> import tensorlab
        >>> tensorlab.zeros(2, 3).shape.numel()
        6
        """
        n = 1
        for size in self:
            n *= size
        return n

    def __getitem__(self, index):
        got = tuple.__getitem__(self, index)
        return Size(got) if isinstance(index, slice) else got

    def __add__(self, other):
        return Size(tuple.__add__(self, other)) if isinstance(other, tuple) else NotImplemented

    def __radd__(self, other):
        return Size(tuple.__add__(other, self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, times):
        return Size(tuple.__mul__(self, times))

    __rmul__ = __mul__

    def __repr__(self):
        return f"tensorlab.Size({list(self)})"

    def __reduce__(self):
        return Size, (tuple(self),)

cdef object size_class = Size


cdef object make_size(int ndim, const ssize* sizes):
    cdef tuple numbers = PyTuple_New(ndim)
    cdef object n
    cdef int i
    for i in range(ndim):
        n = sizes[i]
        Py_INCREF(n)
        PyTuple_SET_ITEM(numbers, i, n)
    return tuple_new(size_class, numbers)


# ---------------------------------------------------------------- TensorBase
cdef struct Loan:                       # what a buffer needs when the tensor has other memory
    ssize sizes[MAX_NDIM]
    ssize strides[MAX_NDIM]             # in bytes
    PyObject* storage                   # a reference: it keeps the memory


cdef class TensorBase:
    """The layout half of a tensor. Use `tensorlab.Tensor`, which inherits it."""

    def __cinit__(self):
        global live_count
        live_count += 1
        self.storage_ = empty_storage           # until a factory fills it: a 1-d tensor without elements
        self.dtype_ = FLOAT32
        self.ndim_ = 1
        self.strides[0] = 1
        self.is_contiguous_ = True
        if foreign_classes and type(self) is not tensor_class:
            note_keys(self)

    def __dealloc__(self):
        global live_count
        live_count -= 1
        set_keys(self, 0)

    @property
    def shape(self):
        """Size, one int for each dimension.

        Examples
        --------
        >>> import tensorlab
        >>> tensorlab.zeros(2, 3).shape, tensorlab.tensor(5).shape
        (tensorlab.Size([2, 3]), tensorlab.Size([]))
        """
        if self.shape_ is None:
            self.shape_ = make_size(self.ndim_, self.sizes)
        return self.shape_

    @property
    def ndim(self):
        """Number of dimensions.

        Examples
        --------
        >>> import tensorlab
        >>> tensorlab.zeros(2, 3).ndim, tensorlab.tensor(5).ndim
        (2, 0)
        """
        return self.ndim_

    @property
    def dtype(self):
        """The type of the elements.

        Examples
        --------
        >>> import tensorlab
        >>> tensorlab.tensor([1, 2]).dtype, tensorlab.tensor([1.0, 2.0]).dtype
        (tensorlab.int64, tensorlab.float32)
        """
        return dtype_object(self.dtype_)

    @property
    def is_meta(self):
        """True on the device "meta": a shape, a dtype and strides, and no data.

        Examples
        --------
        >>> import tensorlab
        >>> x = tensorlab.empty(1000, 1000, 1000, device="meta")
        >>> x.is_meta, x.nbytes
        (True, 4000000000)
        """
        return is_meta(self)

    @property
    def itemsize(self):
        """Bytes of one element.

        Examples
        --------
        >>> import tensorlab
        >>> tensorlab.zeros(3).itemsize, tensorlab.arange(3).itemsize
        (4, 8)
        """
        return item_size[self.dtype_]

    @property
    def nbytes(self):
        """Bytes of all elements: numel() * itemsize, however they are laid out.

        Examples
        --------
        >>> import tensorlab
        >>> tensorlab.zeros(2, 3).nbytes, tensorlab.zeros(1).expand(2, 3).nbytes
        (24, 24)
        """
        return self.numel_ * item_size[self.dtype_]

    def __len__(self):
        if self.ndim_ == 0:
            raise pointed(TypeError("len: a 0-d tensor has no length; use numel(), or item() for its value"))
        return self.sizes[0]

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        cdef int i, size = item_size[self.dtype_]
        cdef bytes letter = dtype_object(self.dtype_).letter
        cdef Loan* loan
        if self.wants_grad or self.node is not None:
            raise BufferError("buffer: a tensor that requires grad cannot be exported; export its detach()")
        if is_meta(self):
            raise BufferError("buffer: a tensor on the device 'meta' has no data to be exported")
        if self.storage_.device >= SHELL:
            raise BufferError(f"buffer: a {type(self).__name__} has no memory of its own; export what it holds")
        if self.storage_.device != ON_CPU:
            raise BufferError(f"buffer: the tensor is on {device_name(self.storage_.device)!r}; export its to('cpu')")
        if self.keys & LAZY:
            raise BufferError("buffer: the memory holds the tensor's conjugate or negative; export its "
                              "resolve_conj().resolve_neg()")
        if flags & PyBUF_FORMAT and letter is None:
            raise BufferError(f"buffer: {dtype_object(self.dtype_).name} has no format code; export float() or view(int16)")
        if active_layers:
            tell_of_lending(self, "a buffer")
        self.storage_.own()
        if flags & PyBUF_WRITABLE and self.storage_.guard:
            raise BufferError("buffer: the tensor's memory is read-only")
        if not self.is_contiguous_ and not flags & PyBUF_STRIDES:
            raise BufferError("buffer: the tensor is not contiguous; export its contiguous()")
        loan = <Loan*>malloc(sizeof(Loan))
        if loan == NULL:
            raise MemoryError()
        for i in range(self.ndim_):
            loan.sizes[i] = self.sizes[i]
            loan.strides[i] = self.strides[i] * size
        loan.storage = <PyObject*>self.storage_
        Py_INCREF(self.storage_)
        buffer.buf = self.data_
        buffer.obj = self
        buffer.len = self.numel_ * size
        buffer.itemsize = size
        buffer.readonly = self.storage_.guard
        buffer.ndim = self.ndim_
        buffer.format = <char*>letter if flags & PyBUF_FORMAT else NULL
        buffer.shape = loan.sizes
        buffer.strides = loan.strides
        buffer.suboffsets = NULL
        buffer.internal = loan
        self.storage_.exports += 1

    def __releasebuffer__(self, Py_buffer* buffer):
        cdef Loan* loan = <Loan*>buffer.internal
        cdef Storage storage = <Storage>loan.storage
        storage.exports -= 1
        Py_DECREF(storage)
        free(loan)

    @property
    def output_nr(self):
        """Which output of `grad_fn` this tensor is.

        Examples
        --------
        >>> import tensorlab
        >>> x = tensorlab.arange(4.0, requires_grad=True)
        >>> [part.output_nr for part in x.split(2)]
        [0, 1]
        """
        return self.output_number

    @property
    def _version(self):
        """How many in-place operations have written to this tensor, its views and its detached aliases."""
        if self.counter is None:
            raise RuntimeError("_version: inference tensors do not track versions; clone outside inference_mode")
        return self.counter.value


cdef object tell_of_lending = None

def set_lending(function):
    """Call `function(tensor, how)` when memory is lent while layers are active; arrays.pyx, which calls ops, hands it down."""
    global tell_of_lending
    tell_of_lending = function


# ---------------------------------------------------------------- making tensors
tensor_class = TensorBase

def set_tensor_class(cls):
    """Make results of this class from now on; tensorlab/_tensor.py calls it once."""
    global tensor_class
    if not (isinstance(cls, type) and issubclass(cls, TensorBase)):
        raise TypeError(f"set_tensor_class: results are tensors, and {cls!r} is no class of tensors")
    tensor_class = cls


cdef tuple foreign_classes = ()          # those with a layer of their own


cdef int note_keys(TensorBase x) except -1:
    """Give a tensor the keys of its class, so that calls need not look at classes."""
    if x.keys & FOREIGN:
        return 0
    for cls in foreign_classes:
        if cls in type(x).__mro__:          # issubclass would ask abstract classes as well
            return set_keys(x, x.keys | FOREIGN)
    return 0


cdef int set_keys(TensorBase x, int keys) noexcept:
    """Change what calls have to know of x; `active_layers` counts tensors with something to know."""
    modes.active_layers += (keys != 0) - (x.keys != 0)
    x.keys = keys
    return 0


cdef int put_into_box(TensorBase x, object box) except -1:
    """Make x what a transform shows of another tensor, or an ordinary one again: None."""
    x.box = box
    return set_keys(x, x.keys | BOXED if box is not None else x.keys & ~BOXED)


cdef int set_lazy_bits(TensorBase x, int bits) except -1:
    """Let the memory of x hold what it shows (0), the conjugate (CONJ), the negative (NEG), or both."""
    return set_keys(x, x.keys & ~LAZY | bits)


cdef int add_foreign_class(object cls) except -1:
    """Let calls see the tensors of a class, those that exist already included."""
    global foreign_classes
    if cls not in foreign_classes:
        foreign_classes += (cls,)
        for x in gc.get_objects():
            if isinstance(x, TensorBase) and cls in type(x).__mro__:
                note_keys(<TensorBase>x)
    return 0


cdef TensorBase blank_tensor():
    """A tensor that was kept, or a new one; the caller fills its fields, its counter among them."""
    return take_tensor() if kept else <TensorBase>tl_make(TensorBase, tensor_class, NOTHING)


cdef TensorBase new_tensor():
    """The same, with a counter of its own."""
    cdef TensorBase x = blank_tensor()
    if thread_state().inference:
        x.counter = None
    elif x.counter is None:
        x.counter = VersionCounter.__new__(VersionCounter)
    return x


cdef int set_layout(TensorBase x, int ndim, const ssize* sizes, const ssize* strides) except -1:
    """Give x a shape and strides (row-major if `strides` is NULL); its first element stays."""
    cdef int i
    x.numel_ = count_elements(ndim, sizes)
    x.ndim_ = ndim
    if x.shape_ is not None:
        x.shape_ = None
    for i in range(ndim):
        x.sizes[i] = sizes[i]
    if strides == NULL:
        contiguous_strides(ndim, sizes, x.strides)
        x.is_contiguous_ = True
    else:
        for i in range(ndim):
            x.strides[i] = strides[i]
        x.is_contiguous_ = is_contiguous(ndim, sizes, strides)
    return 0


cdef TensorBase empty_tensor(int dtype, int ndim, const ssize* sizes):
    """A new row-major tensor; its values are whatever was there."""
    cdef TensorBase x = new_tensor()
    x.dtype_ = dtype
    set_layout(x, ndim, sizes, NULL)
    x.storage_ = new_storage(bytes_of(x, x.numel_))
    x.data_ = x.storage_.address
    return x


cdef ssize bytes_of(TensorBase x, ssize count) except -1:
    """How many bytes so many elements of x's take; an error if no machine has them."""
    if count < 0 or count > MAX_ELEMENTS:
        raise AllocationError(f"a tensor of shape {shape_text(x.ndim_, x.sizes)} with strides {shape_text(x.ndim_, x.strides)} "
                              f"and {dtype_object(x.dtype_)} does not fit in memory")
    return count * item_size[x.dtype_]


cdef TensorBase empty_strided_tensor(int dtype, int ndim, const ssize* sizes, const ssize* strides):
    """A new tensor with these strides, over just as much memory as they reach."""
    cdef TensorBase x
    if is_contiguous(ndim, sizes, strides) and is_canonical(ndim, sizes, strides):
        return empty_tensor(dtype, ndim, sizes)
    x = pending_tensor(ON_CPU, dtype, ndim, sizes, strides)
    give_memory(x)
    return x


cdef int refuse_meta() except -1:
    raise NoDataError("not implemented for meta tensors: the operation needs values, and on the device 'meta' there are "
                      "shapes and no data")


cdef int refuse_memory(TensorBase x) except -1 with gil:
    if is_meta(x):
        refuse_meta()
    if x.keys & LAZY:
        raise NotImplementedError("the memory of this tensor holds its conjugate or its negative, and it was to be read as it "
                                  "is; use tensor.resolve_conj().resolve_neg()")
    if x.storage_.device & SHELL:
        refuse_shell()
    raise DeviceError(f"a kernel of the cpu was given a tensor on {device_name(x.storage_.device)!r}; all tensors of a call must "
                      f"be on one device: move them with to()")


# ---------------------------------------------------------------- results: first a layout, then memory
cdef TensorBase pending_tensor(int device, int dtype, int ndim, const ssize* sizes, const ssize* strides):
    """A new tensor for which no memory has been taken yet, row-major if `strides` is NULL: what an op infers."""
    cdef TensorBase x = new_tensor()
    x.dtype_ = dtype
    set_layout(x, ndim, sizes, strides)
    x.storage_ = pending_storage(device)
    return x


cdef TensorBase result_beside(TensorBase x, int dtype, int ndim, const ssize* sizes, const ssize* strides=NULL):
    """Such a result on x's device."""
    return pending_tensor(x.storage_.device, dtype, ndim, sizes, strides)


def new_result(TensorBase x not None, size=None, dtype=None):
    """What the `infer` of an op that is written in Python returns: a result beside x.

    Its shape and type are those of x, unless others are given.
    """
    cdef ssize[MAX_NDIM] sizes
    cdef int ndim, i, code = dtype_code(dtype, x.dtype_)
    if size is None:
        return result_like(x, code)
    ndim = read_sizes(size, sizes, "new_result")
    for i in range(ndim):
        if sizes[i] < 0:
            raise ShapeError(f"new_result: size {sizes[i]} in {shape_text(ndim, sizes)} is negative; sizes must be at least 0")
    return result_beside(x, code, ndim, sizes)


cdef TensorBase result_like(TensorBase x, int dtype):
    """Such a result of x's shape that keeps x's order of dimensions."""
    cdef ssize[MAX_NDIM] strides
    return result_beside(x, dtype, x.ndim_, x.sizes, order_of(x, strides))


cdef int give_memory(TensorBase x) except -1:
    """Take memory for a result that has none yet: as much as its strides reach."""
    cdef ssize reach = x.numel_ if x.is_contiguous_ else extent(x.ndim_, x.sizes, x.strides)
    x.storage_ = storage_on(x.storage_.device, bytes_of(x, reach))
    x.data_ = x.storage_.address
    return 0


cdef TensorBase tensor_on(int device, int dtype, int ndim, const ssize* sizes, const ssize* strides):
    """A new tensor on a device; `strides` may be NULL."""
    cdef TensorBase x
    if device == ON_CPU:
        return empty_tensor(dtype, ndim, sizes) if strides == NULL else empty_strided_tensor(dtype, ndim, sizes, strides)
    x = pending_tensor(device, dtype, ndim, sizes, strides)
    give_memory(x)
    return x


cdef TensorBase empty_beside(TensorBase x, int dtype, int ndim, const ssize* sizes, const ssize* strides=NULL):
    """A new tensor on x's device, row-major unless `strides` are given."""
    return tensor_on(x.storage_.device, dtype, ndim, sizes, strides)


cdef TensorBase empty_like(TensorBase x, int dtype):
    """A new tensor of x's shape on its device that keeps x's order of dimensions."""
    cdef ssize[MAX_NDIM] strides
    return tensor_on(x.storage_.device, dtype, x.ndim_, x.sizes, order_of(x, strides))


cdef const ssize* order_of(TensorBase x, ssize* strides) noexcept:
    """Strides of a tensor of x's shape whose dimensions lie in the order of x's; NULL for row-major ones.

    They are x's own if these leave no gaps; else they are written to `strides`.
    """
    cdef const ssize* operand = x.strides
    if x.is_contiguous_ and is_canonical(x.ndim_, x.sizes, x.strides):
        return NULL
    if is_dense(x.ndim_, x.sizes, x.strides):
        return x.strides
    dense_strides(x.ndim_, x.sizes, 1, &operand, strides)
    return strides


cdef TensorBase staged(TensorBase x):
    """A tensor on the cpu with x's layout, over a copy of the bytes of x's storage, which is on another device."""
    cdef TensorBase stage = pending_tensor(ON_CPU, x.dtype_, x.ndim_, x.sizes, x.strides)
    stage.storage_ = fetched(x.storage_)
    stage.data_ = stage.storage_.address + offset_of(x) * item_size[x.dtype_]
    return stage


cdef int unstage(TensorBase x, TensorBase stage) except -1:
    """Write what has been changed in `staged(x)` back to x's device."""
    return send(x.storage_, stage.storage_)


cdef TensorBase alias(TensorBase x):
    """Another tensor over the same elements and the same version counter, unknown to autograd."""
    cdef TensorBase out = alias_as(x, x.ndim_, x.sizes, x.strides, x.data_)
    out.forms = x.forms
    if x.keys & BOXED:
        put_into_box(out, x.box)
    return out


cdef TensorBase parts_of(TensorBase x):
    """A complex tensor as real numbers, with a last dimension for the real and the imaginary part, unknown to autograd."""
    cdef ssize[MAX_NDIM] sizes, strides
    cdef TensorBase out
    cdef int i
    if x.ndim_ == MAX_NDIM:
        raise ShapeError(f"a complex tensor may have {MAX_NDIM - 1} dimensions here, and this one has {MAX_NDIM}")
    for i in range(x.ndim_):
        sizes[i], strides[i] = x.sizes[i], 2 * x.strides[i]
    sizes[x.ndim_], strides[x.ndim_] = 2, 1
    out = alias_as(x, x.ndim_ + 1, sizes, strides, x.data_)
    out.dtype_ = real_dtype(x.dtype_)
    return out


cdef TensorBase alias_as(TensorBase x, int ndim, const ssize* sizes, const ssize* strides,
                         char* data):
    """Another layout over x's storage, sharing its version counter, unknown to autograd."""
    cdef TensorBase out = blank_tensor()
    out.counter = x.counter
    out.dtype_ = x.dtype_
    set_layout(out, ndim, sizes, strides)
    out.storage_ = x.storage_
    out.data_ = data
    if x.storage_.guard == BORROWED:
        note_borrower(out)
    if x.keys & LAZY:
        set_lazy_bits(out, x.keys & LAZY)
    return out


cdef int note_borrower(TensorBase x) except -1:
    """x looks at memory that is borrowed: let it learn the new address when that is copied."""
    x.storage_.owner.tensors.append(PyWeakref_NewRef(x, None))
    return 0


cdef int check_writable(TensorBase x, str where) except -1:
    """Before a write: raise if x's memory must not be written, and end sharing it with a lazy clone. It may move."""
    if x.storage_.guard:
        x.storage_.check_writable(where)
    return 0
