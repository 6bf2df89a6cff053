"""Windows along one to three axes, and the loops over planes that are split by them."""
from libc.stdint cimport int64_t
from tensorlab._core.layout cimport ssize
from tensorlab._core.tensor cimport TensorBase

cdef enum:
    MAX_AXES = 3
    FIRST = 0                   # columns of a table of windows: the first element,
    BEHIND = 1                  # the one after the last,
    COUNT = 2                   # and how many the mean divides by
    WINDOW_BLOCK = 128          # most windows that are taken side by side

cdef struct Axis:
    ssize size
    ssize out_size
    ssize step                  # from one element of a window to the next
    const int64_t* windows      # (out_size, 3)
    ssize next_plane            # from the windows of a plane to those of the next: 0 where all planes share them

cdef struct Planes:             # signals, images or volumes, one after another
    ssize planes
    ssize size                  # elements of a plane
    ssize out_size
    Axis slices                 # an image has one slice, a signal also one row
    Axis rows
    Axis columns
    double divisor              # of every mean, or 0 for the number of elements
    void* x
    void* out
    int64_t* indices
    void* loop                  # a planes_loop, of the type of x

cdef struct EvenWindows:        # alike and at one distance: rows from first_row to last_row, in them windows from first to last
    ssize first_row
    ssize last_row
    ssize first
    ssize last
    ssize rows                  # that are taken together

ctypedef void (*planes_loop)(Planes* p, ssize begin, ssize end, void* x) noexcept nogil

cdef tuple windows_of(tuple sizes, tuple kernels, tuple strides, tuple paddings, tuple dilations, bint ceil_mode,
                      bint counts_padding, str where)
cdef tuple splitting_windows(tuple sizes, tuple output_size)
cdef TensorBase int_table(ssize n)
cdef tuple lengths_of(tuple windows)
cdef tuple axis_sizes(TensorBase x, int axes)
cdef tuple ints_of(object given)
cdef tuple ints_beside(object kernel_size, object given)
cdef tuple ints_for_axes(object given, int axes, str where, str name)
cdef tuple strides_or_kernels(object stride, tuple kernels, str where)
cdef int check_axes(TensorBase x, int axes, str where) except -1
cdef int check_filled(TensorBase x, int axes, str where) except -1
cdef TensorBase result_of_sizes(int dtype, TensorBase like, tuple sizes)
cdef int describe(Planes* p, TensorBase x, tuple windows, tuple counts, bint per_plane) except -1
cdef void run_planes(Planes* p, void* loop) noexcept
cdef void find_even(const Planes* p, ssize plane, EvenWindows* even) noexcept nogil
cdef ssize rows_together(const EvenWindows* even, ssize i) noexcept nogil
