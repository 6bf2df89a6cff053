"""Products with a matrix that is laid out in panels once and used many times."""
from tensorlab._core.dtypes cimport real
from tensorlab._core.layout cimport ssize

cdef ssize panel_elements(ssize rows, ssize columns, ssize itemsize) noexcept nogil
cdef void put_row(real* panels, ssize rows, ssize columns, ssize i, const real* row) noexcept nogil
cdef void pack_rows(real* panels, const real* b, ssize rows, ssize columns) noexcept nogil
cdef void pack_columns(real* panels, const real* b, ssize rows, ssize columns) noexcept nogil
cdef void multiply_panels(real* out, ssize out_stride, const real* a, ssize a_row, ssize a_column, const real* panels, ssize m,
                          ssize k, ssize n, bint adds) noexcept nogil
cdef void multiply_shared(real* out, ssize out_stride, const real* a, ssize a_row, ssize a_column, const real* panels, ssize m,
                          ssize k, ssize n, bint adds) noexcept nogil
