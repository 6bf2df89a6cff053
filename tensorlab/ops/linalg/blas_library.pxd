"""The functions of BLAS that we call. `load_blas` fills them in."""

ctypedef void (*gemm_function)(char*, char*, int*, int*, int*, void*, void*, int*, void*, int*, void*, void*,
                               int*) noexcept nogil
ctypedef void (*gemv_function)(char*, int*, int*, void*, void*, int*, void*, int*, void*, void*, int*) noexcept nogil
ctypedef float (*sdot_function)(int*, float*, int*, float*, int*) noexcept nogil
ctypedef double (*ddot_function)(int*, double*, int*, double*, int*) noexcept nogil

cdef gemm_function sgemm
cdef gemm_function dgemm
cdef gemm_function cgemm
cdef gemm_function zgemm
cdef gemv_function sgemv
cdef gemv_function dgemv
cdef gemv_function cgemv
cdef gemv_function zgemv
cdef sdot_function sdot
cdef ddot_function ddot

cdef object loading            # the lock under which functions are looked up
cdef int load_blas() except -1
cdef void* function_pointer(object module, str name) except NULL
cdef void hold_blas() noexcept
cdef void release_blas() noexcept
