"""A product of matrices, row by row: the inner loop runs over a row of y, so it reads memory in order."""

def matmul(float[:, ::1] x, float[:, ::1] y, float[:, :] out):
    """out = x @ y, without Python's lock: other streams go on meanwhile."""
    cdef Py_ssize_t i, j, k
    cdef float factor
    with nogil:
        for i in range(x.shape[0]):
            for j in range(y.shape[1]):
                out[i, j] = 0
            for k in range(x.shape[1]):
                factor = x[i, k]
                for j in range(y.shape[1]):
                    out[i, j] += factor * y[k, j]
