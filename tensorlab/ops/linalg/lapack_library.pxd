"""The functions of LAPACK that we call. `load_lapack` fills the table.

Fortran takes every argument by address, so one type serves a function for all types of elements: there is a column of
the table for each of them.
"""

cdef enum:
    # columns: the letter that LAPACK puts before the name
    S = 0                       # float32
    D = 1                       # float64
    C = 2                       # complex64
    Z = 3                       # complex128
    COLUMNS = 4

cdef enum:
    # rows
    GETRF = 0                   # LU with partial pivoting
    GETRS                       # solve with it
    GETRI                       # invert with it
    POTRF                       # Cholesky
    POTRS                       # solve with it
    POTRI                       # invert with it
    TRSM                        # solve with a triangle; of BLAS
    GEQRF                       # QR, Q as reflections
    ORGQR                       # reflections multiplied to a matrix
    ORMQR                       # a matrix times reflections
    SYEVD                       # eigenvalues and -vectors of a symmetric matrix
    GESDD                       # singular values and vectors, by divide and conquer
    GESVD                       # the same by QR iteration
    GEEV                        # eigenvalues and -vectors of any matrix
    SYTRF                       # L D L^T with pivots
    SYTRS                       # solve with it
    HETRF                       # L D L^H with pivots
    HETRS
    GELS                        # least squares by QR
    GELSY                       # by QR with pivots
    GELSD                       # by the singular values, divide and conquer
    GELSS                       # by the singular values
    ROUTINES

cdef void* lapack[ROUTINES][COLUMNS]

ctypedef void (*getrf_function)(int* m, int* n, void* a, int* lda, int* pivots, int* info) noexcept nogil
ctypedef void (*getrs_function)(char* trans, int* n, int* nrhs, void* a, int* lda, int* pivots, void* b, int* ldb,
                                int* info) noexcept nogil
ctypedef void (*getri_function)(int* n, void* a, int* lda, int* pivots, void* work, int* lwork, int* info) noexcept nogil
ctypedef void (*potrf_function)(char* uplo, int* n, void* a, int* lda, int* info) noexcept nogil
ctypedef void (*potrs_function)(char* uplo, int* n, int* nrhs, void* a, int* lda, void* b, int* ldb,
                                int* info) noexcept nogil
ctypedef void (*trsm_function)(char* side, char* uplo, char* trans, char* diag, int* m, int* n, void* alpha, void* a,
                               int* lda, void* b, int* ldb) noexcept nogil
ctypedef void (*geqrf_function)(int* m, int* n, void* a, int* lda, void* tau, void* work, int* lwork,
                                int* info) noexcept nogil
ctypedef void (*orgqr_function)(int* m, int* n, int* k, void* a, int* lda, void* tau, void* work, int* lwork,
                                int* info) noexcept nogil
ctypedef void (*ormqr_function)(char* side, char* trans, int* m, int* n, int* k, void* a, int* lda, void* tau, void* c,
                                int* ldc, void* work, int* lwork, int* info) noexcept nogil
ctypedef void (*syevd_function)(char* job, char* uplo, int* n, void* a, int* lda, void* w, void* work, int* lwork,
                                int* iwork, int* liwork, int* info) noexcept nogil
ctypedef void (*heevd_function)(char* job, char* uplo, int* n, void* a, int* lda, void* w, void* work, int* lwork,
                                void* rwork, int* lrwork, int* iwork, int* liwork, int* info) noexcept nogil
ctypedef void (*gesdd_function)(char* job, int* m, int* n, void* a, int* lda, void* s, void* u, int* ldu, void* vh,
                                int* ldvh, void* work, int* lwork, int* iwork, int* info) noexcept nogil
ctypedef void (*complex_gesdd_function)(char* job, int* m, int* n, void* a, int* lda, void* s, void* u, int* ldu,
                                        void* vh, int* ldvh, void* work, int* lwork, void* rwork, int* iwork,
                                        int* info) noexcept nogil
ctypedef void (*gesvd_function)(char* job_u, char* job_vh, int* m, int* n, void* a, int* lda, void* s, void* u,
                                int* ldu, void* vh, int* ldvh, void* work, int* lwork, int* info) noexcept nogil
ctypedef void (*complex_gesvd_function)(char* job_u, char* job_vh, int* m, int* n, void* a, int* lda, void* s,
                                        void* u, int* ldu, void* vh, int* ldvh, void* work, int* lwork, void* rwork,
                                        int* info) noexcept nogil
ctypedef void (*geev_function)(char* job_left, char* job_right, int* n, void* a, int* lda, void* real, void* imag,
                               void* left, int* ldl, void* right, int* ldr, void* work, int* lwork,
                               int* info) noexcept nogil
ctypedef void (*complex_geev_function)(char* job_left, char* job_right, int* n, void* a, int* lda, void* w, void* left,
                                       int* ldl, void* right, int* ldr, void* work, int* lwork, void* rwork,
                                       int* info) noexcept nogil
ctypedef void (*sytrf_function)(char* uplo, int* n, void* a, int* lda, int* pivots, void* work, int* lwork,
                                int* info) noexcept nogil
ctypedef void (*gels_function)(char* trans, int* m, int* n, int* nrhs, void* a, int* lda, void* b, int* ldb,
                               void* work, int* lwork, int* info) noexcept nogil
ctypedef void (*gelsy_function)(int* m, int* n, int* nrhs, void* a, int* lda, void* b, int* ldb, int* jpvt,
                                void* rcond, int* rank, void* work, int* lwork, int* info) noexcept nogil
ctypedef void (*complex_gelsy_function)(int* m, int* n, int* nrhs, void* a, int* lda, void* b, int* ldb, int* jpvt,
                                        void* rcond, int* rank, void* work, int* lwork, void* rwork,
                                        int* info) noexcept nogil
ctypedef void (*gelsd_function)(int* m, int* n, int* nrhs, void* a, int* lda, void* b, int* ldb, void* s,
                                void* rcond, int* rank, void* work, int* lwork, int* iwork, int* info) noexcept nogil
ctypedef void (*complex_gelsd_function)(int* m, int* n, int* nrhs, void* a, int* lda, void* b, int* ldb, void* s,
                                        void* rcond, int* rank, void* work, int* lwork, void* rwork, int* iwork,
                                        int* info) noexcept nogil
ctypedef void (*gelss_function)(int* m, int* n, int* nrhs, void* a, int* lda, void* b, int* ldb, void* s,
                                void* rcond, int* rank, void* work, int* lwork, int* info) noexcept nogil
ctypedef void (*complex_gelss_function)(int* m, int* n, int* nrhs, void* a, int* lda, void* b, int* ldb, void* s,
                                        void* rcond, int* rank, void* work, int* lwork, void* rwork,
                                        int* info) noexcept nogil

cdef int load_lapack() except -1
