"""im2col: what a convolution's kernel sees at each place, as the columns of a matrix, or as lines of a padded copy."""
from tensorlab._core.dtypes cimport number, real
from tensorlab._core.layout cimport ssize

cdef enum:                      # which of a convolution's three tensors is the result
    FORWARD = 0
    BY_INPUT = 1
    BY_WEIGHT = 2

cdef struct Geometry:           # of a convolution over three dimensions; fewer have size 1 in front
    ssize batch
    ssize groups
    ssize in_channels           # of one group
    ssize out_channels          # of one group
    ssize[3] sizes              # of the input,
    ssize[3] kernel
    ssize[3] out                # and of the output
    ssize[3] stride
    ssize[3] padding            # before the first element; what lies behind the last one follows from `out`
    ssize[3] dilation
    const void* bias            # where each channel of the output begins: a number for each, or NULL for zeros

cdef struct Wide:               # a plane with its padding, dealt out into phases
    ssize[3] size               # of a phase: depth, rows and columns
    ssize[3] phases             # that taps look at, the first of `stride` in each dimension
    ssize phase                 # elements of a phase,
    ssize plane                 # and of all phases
    ssize reach                 # from the first tap of a phase to its last
    ssize places                # from the first place of the output to its last

cdef void start_sums(number* out, Geometry* geometry, ssize first, ssize last, ssize places) noexcept nogil
cdef void start_image(number* x, number* out, Geometry* geometry, int mode, ssize group) noexcept nogil
cdef ssize image_count(Geometry* geometry) noexcept nogil
cdef ssize multiplications(Geometry* geometry) noexcept nogil
cdef ssize column_size(Geometry* geometry) noexcept nogil
cdef ssize plane_size(const ssize* sizes) noexcept nogil
cdef void mirror(Geometry* geometry) noexcept nogil
cdef void im2col(number* columns, const number* x, Geometry* geometry, ssize first, ssize last) noexcept nogil
cdef void col2im(number* x, const number* columns, Geometry* geometry, ssize first, ssize last) noexcept nogil
cdef bint is_small(double elements, Geometry* geometry) noexcept nogil
cdef bint is_copy_small(Geometry* geometry) noexcept nogil
cdef void measure(Wide* wide, Geometry* geometry) noexcept nogil
cdef ssize find_tap(Wide* wide, Geometry* geometry, ssize tap, ssize* phase) noexcept nogil
cdef void list_places(ssize* at, Geometry* geometry, Wide* wide, ssize factor) noexcept nogil
cdef void list_weights(ssize* at, Geometry* geometry, Wide* wide, bint channels_last) noexcept nogil
cdef void copy_planes(real* lines, real* planes, ssize count, const ssize* sizes, const ssize* stride,
                      const ssize* padding, Wide* wide) noexcept nogil
cdef void add_phases(real* plane, const real* line, const ssize* sizes, const ssize* stride, const ssize* padding,
                     Wide* wide) noexcept nogil
cdef const ssize* out_sizes(Geometry* geometry, int mode) noexcept nogil
cdef ssize copy_extent(Geometry* geometry, int mode, int d, ssize* lead) noexcept nogil
cdef ssize list_rows(ssize* at, ssize* out_at, Geometry* geometry, int mode, const ssize* wide, const ssize* lead,
                     const ssize* phase) noexcept nogil
cdef ssize list_taps(ssize* at, ssize* tap_at, Geometry* geometry, int mode, const ssize* wide,
                     const ssize* phase) noexcept nogil
