"""The iterator of all indexing by tensors: elements of x selected by positions, on one side, and another tensor on the other."""
from libc.stdint cimport int64_t, uint8_t

from tensorlab._core.dtypes cimport summand
from tensorlab._core.graph.graph cimport grad_fn_of, needs_grad
from tensorlab._core.layout cimport MAX_NDIM, ssize
from tensorlab._core.state.modes cimport thread_state
from tensorlab._core.tensor cimport TensorBase

ctypedef void (*index_loop)(void* x, void* flat, const ssize* offsets, ssize count, ssize index_stride, ssize run,
                            ssize run_stride) noexcept nogil

cdef struct IndexIterator:
    # what is selected: the offset of position i in x is the sum over the indices of index[k][i] * stride[k]
    int indices
    const int64_t* index[MAX_NDIM]
    ssize[MAX_NDIM] bound       # size of the indexed dimension
    ssize[MAX_NDIM] stride
    ssize n                     # positions
    # the dimensions that are not indexed: an innermost run, contiguous in x, and a loop over the others
    int ndim
    ssize[MAX_NDIM] sizes
    ssize[MAX_NDIM] x_strides
    ssize[MAX_NDIM] flat_strides
    ssize run
    ssize run_stride            # of the other side: 1, or 0 if it is broadcast there
    ssize index_stride          # of the other side, from one position to the next

cdef enum:
    TAKE = 0                    # flat = x
    PUT = 1                     # x = flat
    ADD = 2                     # x += flat

cdef index_loop loop_for(int mode, int dtype, str where) except NULL
cdef void add_kept_dim(IndexIterator* iter, ssize size, ssize x_stride, ssize flat_stride) noexcept nogil
cdef void end_kept_dims(IndexIterator* iter) noexcept nogil
cdef int check_positions(IndexIterator* iter, str where) except -1
cdef int for_each_index(IndexIterator* iter, int mode, TensorBase x, TensorBase flat, str where) except -1
cpdef TensorBase apart_from(TensorBase x, TensorBase y, str where, str what)
cdef TensorBase as_row(TensorBase x)
cdef bint must_be_widened(int mode, TensorBase x) noexcept
cdef TensorBase widened(TensorBase x)

cdef struct bool_element:
    uint8_t value

ctypedef fused element:         # of any type that is added in; half types are widened before
    summand
    bool_element

cdef inline void add_to(element* to, const element* more) noexcept nogil:
    """Add to an element. The sum of two bools is true if one of them is."""
    if element is bool_element:
        to.value |= more.value
    else:
        to[0] += more[0]

cdef inline int refresh(TensorBase x) except -1:
    """Bring a stale view up to date. A view that cannot be is a worse error than a bad index, so it is found first."""
    if x.base is not None and thread_state().grad_enabled and needs_grad(x):
        grad_fn_of(x)
    return 0

cdef inline int check_tensor(str where, str name, object x) except -1:
    """Raise unless x is a tensor. Public functions ask: `infer` and kernels take tensors for granted."""
    if not isinstance(x, TensorBase):
        raise TypeError(f"{where}: argument {name!r} must be a Tensor, not {type(x).__name__}")
    return 0


cdef extern from *:
    void prefetch "__builtin_prefetch"(const void* address) noexcept nogil

cdef inline void fetch_early(const void* row, size_t nbytes) noexcept nogil:
    """Ask for the first cache lines of a row that comes soon: positions jump about, and the processor cannot guess them."""
    cdef size_t i
    for i in range(0, min(nbytes, <size_t>512), 64):
        prefetch(<const char*>row + i)
