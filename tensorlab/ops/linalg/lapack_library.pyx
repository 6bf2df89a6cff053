"""SciPy's LAPACK: found when it is first needed, like its BLAS, on which it is built (blas_library.pyx).

LAPACK calls that BLAS for its products, so a caller of LAPACK holds BLAS to one thread meanwhile.
"""
from tensorlab.ops.linalg.blas_library cimport function_pointer, load_blas, loading

from tensorlab.ops.linalg.blas_library import find_module

cdef bint is_loaded = False

# Row: the name for real numbers and the name for complex ones, or None where LAPACK has none.
NAMES = {
    GETRF: ("getrf", "getrf"),
    GETRS: ("getrs", "getrs"),
    GETRI: ("getri", "getri"),
    POTRF: ("potrf", "potrf"),
    POTRS: ("potrs", "potrs"),
    POTRI: ("potri", "potri"),
    TRSM: ("trsm", "trsm"),
    GEQRF: ("geqrf", "geqrf"),
    ORGQR: ("orgqr", "ungqr"),
    ORMQR: ("ormqr", "unmqr"),
    SYEVD: ("syevd", "heevd"),
    GESDD: ("gesdd", "gesdd"),
    GESVD: ("gesvd", "gesvd"),
    GEEV: ("geev", "geev"),
    SYTRF: ("sytrf", "sytrf"),
    SYTRS: ("sytrs", "sytrs"),
    HETRF: ("sytrf", "hetrf"),
    HETRS: ("sytrs", "hetrs"),
    GELS: ("gels", "gels"),
    GELSY: ("gelsy", "gelsy"),
    GELSD: ("gelsd", "gelsd"),
    GELSS: ("gelss", "gelss"),
}


cdef int load_lapack() except -1:
    """Look the functions up, once."""
    global is_loaded
    cdef int row, column
    if is_loaded:
        return 0
    with loading:
        load_blas()
        of_lapack, of_blas = find_module("cython_lapack"), find_module("cython_blas")
        for row, (real, complex_) in NAMES.items():
            for column, letter in enumerate("sdcz"):
                name = letter + (real if column < C else complex_)
                lapack[row][column] = function_pointer(of_blas if row == TRSM else of_lapack, name)
        is_loaded = True
    return 0
