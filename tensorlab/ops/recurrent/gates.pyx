"""What a recurrent cell does with its gates, for one row of a batch, and the gradients of that.

A row of gates holds its kinds one after the other, each as wide as the hidden state, so that a loop over the state reads and
writes lines only, and is vectorised. The products with the weights have been added up before.

    LSTM    i | f | g | o       c' = f c + i g,  h' = o tanh(c')                      i, f, o sigmoids, g a tanh
    GRU     r | z | n | w       h' = n + z (h - n),  n = tanh(... + r w)              w is the recurrent part of n
    plain   h'                  h' = tanh(...) or relu(...)

Gates are kept as they are after the sigmoid or tanh, whose slope is s (1 - s) or 1 - t t. Sources: Hochreiter and Schmidhuber
1997, "Long short-term memory"; Gers et al. 2000, "Learning to forget"; Cho et al. 2014, "Learning phrase representations
using RNN encoder-decoder"; Elman 1990, "Finding structure in time".
"""
from libc.string cimport memcpy

cimport tensorlab._core.loops.tl_math as tl_math

cdef enum:
    LANES = 64                  # elements at a time, in arrays of which the compiler knows that they do not overlap


cdef inline void add_lines(real* out, const real* x, const real* y, ssize n) noexcept nogil:
    cdef ssize k
    for k in range(n):
        out[k] = x[k] + y[k]


# ---------------------------------------------------------------- LSTM
cdef void lstm_row(real* gates, const real* bias, const real* cell, real* new_cell, real* out, ssize n) noexcept nogil:
    """Turn sums into gates, in place, and write c' and h'."""
    cdef real[LANES] i
    cdef real[LANES] f
    cdef real[LANES] g
    cdef real[LANES] o
    cdef real[LANES] c
    cdef real[LANES] h
    cdef ssize k, m, at = 0
    while at < n:
        m = min(n - at, <ssize>LANES)
        add_lines(i, gates + at, bias + at, m)
        add_lines(f, gates + n + at, bias + n + at, m)
        add_lines(g, gates + 2 * n + at, bias + 2 * n + at, m)
        add_lines(o, gates + 3 * n + at, bias + 3 * n + at, m)
        memcpy(c, cell + at, m * sizeof(real))
        for k in range(m):
            i[k] = tl_math.sigmoid(i[k])
            f[k] = tl_math.sigmoid(f[k])
            g[k] = tl_math.tanh(g[k])
            o[k] = tl_math.sigmoid(o[k])
            c[k] = f[k] * c[k] + i[k] * g[k]
            h[k] = o[k] * tl_math.tanh(c[k])
        memcpy(gates + at, i, m * sizeof(real))
        memcpy(gates + n + at, f, m * sizeof(real))
        memcpy(gates + 2 * n + at, g, m * sizeof(real))
        memcpy(gates + 3 * n + at, o, m * sizeof(real))
        memcpy(new_cell + at, c, m * sizeof(real))
        memcpy(out + at, h, m * sizeof(real))
        at += LANES


cdef void lstm_backward_row(const real* gates, const real* cell, const real* new_cell, const real* grad_out, real* grad_cell,
                            real* grad_gates, ssize n) noexcept nogil:
    """The gradients of the sums; `grad_cell` becomes the gradient of c from that of c'."""
    cdef real[LANES] d_i
    cdef real[LANES] d_f
    cdef real[LANES] d_g
    cdef real[LANES] d_o
    cdef real[LANES] d_c
    cdef ssize k, m, at = 0
    cdef real i, f, g, o, t, grad
    while at < n:
        m = min(n - at, <ssize>LANES)
        for k in range(m):
            i, f, g, o = gates[at + k], gates[n + at + k], gates[2 * n + at + k], gates[3 * n + at + k]
            t = tl_math.tanh(new_cell[at + k])
            grad = grad_cell[at + k] + grad_out[at + k] * o * (1 - t * t)
            d_i[k] = grad * g * (i * (1 - i))
            d_f[k] = grad * cell[at + k] * (f * (1 - f))
            d_g[k] = grad * i * (1 - g * g)
            d_o[k] = grad_out[at + k] * t * (o * (1 - o))
            d_c[k] = grad * f
        memcpy(grad_gates + at, d_i, m * sizeof(real))
        memcpy(grad_gates + n + at, d_f, m * sizeof(real))
        memcpy(grad_gates + 2 * n + at, d_g, m * sizeof(real))
        memcpy(grad_gates + 3 * n + at, d_o, m * sizeof(real))
        memcpy(grad_cell + at, d_c, m * sizeof(real))
        at += LANES


cdef void hidden_row(const real* gates, const real* cell, real* out, ssize n) noexcept nogil:
    """h' of gates and c'."""
    cdef ssize k
    for k in range(n):
        out[k] = gates[k + 3 * n] * tl_math.tanh(cell[k])


# ---------------------------------------------------------------- GRU
cdef void gru_row(real* gates, const real* recurrent, const real* bias, real* h, ssize n) noexcept nogil:
    """Turn the sums of the input into gates, in place, and h into h'. `bias` has four parts, as the gates have."""
    cdef real[LANES] r
    cdef real[LANES] z
    cdef real[LANES] w
    cdef real[LANES] new
    cdef real[LANES] state
    cdef ssize k, m, at = 0
    while at < n:
        m = min(n - at, <ssize>LANES)
        add_lines(r, gates + at, bias + at, m)
        add_lines(z, gates + n + at, bias + n + at, m)
        add_lines(new, gates + 2 * n + at, bias + 2 * n + at, m)
        add_lines(w, recurrent + 2 * n + at, bias + 3 * n + at, m)
        memcpy(state, h + at, m * sizeof(real))
        for k in range(m):
            r[k] = tl_math.sigmoid(r[k] + recurrent[at + k])
            z[k] = tl_math.sigmoid(z[k] + recurrent[n + at + k])
            new[k] = tl_math.tanh(new[k] + r[k] * w[k])
            state[k] = new[k] + z[k] * (state[k] - new[k])
        memcpy(gates + at, r, m * sizeof(real))
        memcpy(gates + n + at, z, m * sizeof(real))
        memcpy(gates + 2 * n + at, new, m * sizeof(real))
        memcpy(gates + 3 * n + at, w, m * sizeof(real))
        memcpy(h + at, state, m * sizeof(real))
        at += LANES


cdef void gru_backward_row(const real* gates, const real* h, real* grad_h, real* grad_input, real* grad_recurrent,
                           ssize n) noexcept nogil:
    """The gradients of the sums of the input and of the recurrent part; `grad_h`, of h', becomes what goes to h directly."""
    cdef real[LANES] d_r
    cdef real[LANES] d_z
    cdef real[LANES] d_new
    cdef real[LANES] d_w
    cdef real[LANES] d_h
    cdef ssize k, m, at = 0
    cdef real r, z, new, grad
    while at < n:
        m = min(n - at, <ssize>LANES)
        for k in range(m):
            r, z, new, grad = gates[at + k], gates[n + at + k], gates[2 * n + at + k], grad_h[at + k]
            d_new[k] = grad * (1 - z) * (1 - new * new)
            d_r[k] = d_new[k] * gates[3 * n + at + k] * (r * (1 - r))
            d_z[k] = grad * (h[at + k] - new) * (z * (1 - z))
            d_w[k] = d_new[k] * r
            d_h[k] = grad * z
        memcpy(grad_input + at, d_r, m * sizeof(real))
        memcpy(grad_input + n + at, d_z, m * sizeof(real))
        memcpy(grad_input + 2 * n + at, d_new, m * sizeof(real))
        memcpy(grad_recurrent + at, d_r, m * sizeof(real))
        memcpy(grad_recurrent + n + at, d_z, m * sizeof(real))
        memcpy(grad_recurrent + 2 * n + at, d_w, m * sizeof(real))
        memcpy(grad_h + at, d_h, m * sizeof(real))
        at += LANES


# ---------------------------------------------------------------- plain
cdef void plain_row(real* out, const real* bias, bint is_relu, ssize n) noexcept nogil:
    """Turn sums into h', in place. nan stays nan in relu, too."""
    cdef ssize k
    cdef real x
    if is_relu:
        for k in range(n):
            x = out[k] + bias[k]
            out[k] = <real>0 if x <= 0 else x
    else:
        for k in range(n):
            out[k] = tl_math.tanh(out[k] + bias[k])


cdef void plain_backward_row(const real* out, const real* grad_out, real* grad_sum, bint is_relu, ssize n) noexcept nogil:
    """The gradient of the sums."""
    cdef ssize k
    if is_relu:
        for k in range(n):
            grad_sum[k] = <real>0 if out[k] <= 0 else grad_out[k]
    else:
        for k in range(n):
            grad_sum[k] = grad_out[k] * (1 - out[k] * out[k])
