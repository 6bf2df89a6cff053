"""What a recurrent cell does with its gates, for one row of a batch, and the gradients of that."""
from tensorlab._core.dtypes cimport real
from tensorlab._core.layout cimport ssize

cdef void lstm_row(real* gates, const real* bias, const real* cell, real* new_cell, real* out, ssize n) noexcept nogil
cdef void lstm_backward_row(const real* gates, const real* cell, const real* new_cell, const real* grad_out, real* grad_cell,
                            real* grad_gates, ssize n) noexcept nogil
cdef void hidden_row(const real* gates, const real* cell, real* out, ssize n) noexcept nogil
cdef void gru_row(real* gates, const real* recurrent, const real* bias, real* h, ssize n) noexcept nogil
cdef void gru_backward_row(const real* gates, const real* h, real* grad_h, real* grad_input, real* grad_recurrent,
                           ssize n) noexcept nogil
cdef void plain_row(real* out, const real* bias, bint is_relu, ssize n) noexcept nogil
cdef void plain_backward_row(const real* out, const real* grad_out, real* grad_sum, bint is_relu, ssize n) noexcept nogil
