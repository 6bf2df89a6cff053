"""TensorBase: a layout over a storage, with a version counter and the fields that autograd uses."""
from cpython.object cimport PyObject
from tensorlab._core.dtypes cimport item_size
from tensorlab._core.layout cimport MAX_NDIM, ssize
from tensorlab._core.state.devices cimport ON_CPU, ON_META, SHELL
from tensorlab._core.state.modes cimport active_layers, entered_layers
from tensorlab._core.storage cimport Storage

cdef enum:
    # How a view came to be, which decides whether an in-place op on it can be recorded (see graph.pyx)
    VIEW_DEFAULT = 0
    VIEW_NO_GRAD = 1            # made under no_grad
    VIEW_MULTI_OUTPUT = 2       # one of several made at once (unbind, split, chunk)
    VIEW_IN_FUNCTION = 3        # returned by a custom autograd Function
    VIEW_INFERENCE = 4          # made under inference_mode
    # keys: what a call has to know of an operand before it takes a short way
    FOREIGN = 1                 # its class has a layer of its own (layers.pyx)
    BOXED = 2                   # a transform has put another tensor into it (levels.pyx)
    CONJ = 4                    # its memory holds the conjugate of what it shows (lazy_bits.pyx),
    NEG = 8                     # or the negative
    LAZY = CONJ | NEG

cdef class VersionCounter:
    cdef unsigned long value    # in-place operations so far
    cdef str written_at         # the line of the last one, if it ran in anomaly mode

cdef class TensorBase:
    # --- where the elements are
    cdef Storage storage_
    cdef char* data_            # the first element: storage_.address + offset * item size
    cdef ssize numel_
    cdef unsigned char dtype_
    cdef unsigned char ndim_
    cdef unsigned char keys         # FOREIGN, BOXED, ...; 0: then it is what it seems
    cdef bint is_contiguous_
    cdef ssize[MAX_NDIM] sizes
    cdef ssize[MAX_NDIM] strides
    cdef object shape_          # the Size returned last, or None
    # --- what autograd knows (graph.pyx reads and writes these)
    cdef VersionCounter counter     # shared with views and detached aliases; None for inference tensors
    cdef bint wants_grad         # a leaf's own flag
    cdef bint retains_grad_
    cdef unsigned char creation     # VIEW_...
    cdef int output_number      # which output of `node` this tensor is
    cdef object node            # the Node that made it, or None; read it through graph.grad_fn_of
    cdef object gradient        # .grad
    cdef TensorBase base        # the tensor this is a differentiable view of, or None
    cdef unsigned int forms     # how often `x.data = y` has given it another shape or type
    cdef unsigned long view_version     # counter value when `node` was last right for this view
    cdef PyObject* accumulator  # borrowed: the AccumulateGrad node of a leaf while one lives
    cdef list hooks             # of a leaf: (key, function)
    cdef object box             # what a transform has put into it (a Box of levels.pyx), or None
    cdef dict after_hooks       # of a leaf: key: function, called when a gradient has been added to .grad

cdef inline ssize offset_of(TensorBase x) noexcept:
    """Elements from the start of the storage to the first element (of an empty storage, too: its address is 0)."""
    return (<ssize>x.data_ - <ssize>x.storage_.address) // item_size[x.dtype_]

cdef inline bint is_meta(TensorBase x) noexcept nogil:
    """Is x on the device "meta", with a layout and no memory?"""
    return x.storage_.device == ON_META

cdef inline int place_of(TensorBase x) noexcept nogil:
    """The code of the device that x says it is on; `x.storage_.device` is another code if x is a shell without memory."""
    return x.storage_.device & ~SHELL

cdef inline bint takes_part(TensorBase x) noexcept:
    """Do layers take part in a call with x? Where there are none at all, this is the test of one int."""
    return active_layers != 0 and (entered_layers != 0 or x.keys != 0)

cdef inline char* memory_of(TensorBase x) except? NULL nogil:
    """The first element, to be read or written: what every kernel asks for. A tensor without memory here refuses."""
    if x.storage_.device != ON_CPU or x.keys & LAZY:
        refuse_memory(x)
    return x.data_

cdef int refuse_memory(TensorBase x) except -1 with gil
cdef object tensor_class
cdef int add_foreign_class(object cls) except -1
cdef int set_keys(TensorBase x, int keys) noexcept
cdef int put_into_box(TensorBase x, object box) except -1
cdef int set_lazy_bits(TensorBase x, int bits) except -1
cdef long live_count
cdef int kept                           # how many tensors tensor_pool.pyx keeps
cdef TensorBase (*take_tensor)()        # which gives one of them
cdef TensorBase blank_tensor()
cdef TensorBase new_tensor()
cdef TensorBase empty_tensor(int dtype, int ndim, const ssize* sizes)
cdef TensorBase empty_strided_tensor(int dtype, int ndim, const ssize* sizes, const ssize* strides)
cdef TensorBase pending_tensor(int device, int dtype, int ndim, const ssize* sizes, const ssize* strides)
cdef TensorBase result_beside(TensorBase x, int dtype, int ndim, const ssize* sizes, const ssize* strides=*)
cdef TensorBase result_like(TensorBase x, int dtype)
cdef int give_memory(TensorBase x) except -1
cdef TensorBase staged(TensorBase x)
cdef int unstage(TensorBase x, TensorBase stage) except -1
cdef TensorBase tensor_on(int device, int dtype, int ndim, const ssize* sizes, const ssize* strides)
cdef TensorBase empty_like(TensorBase x, int dtype)
cdef TensorBase empty_beside(TensorBase x, int dtype, int ndim, const ssize* sizes, const ssize* strides=*)
cdef TensorBase alias(TensorBase x)
cdef TensorBase parts_of(TensorBase x)
cdef TensorBase alias_as(TensorBase x, int ndim, const ssize* sizes, const ssize* strides, char* data)
cdef int set_layout(TensorBase x, int ndim, const ssize* sizes, const ssize* strides) except -1
cdef object make_size(int ndim, const ssize* sizes)
cdef int note_borrower(TensorBase x) except -1
cdef int check_writable(TensorBase x, str where) except -1
