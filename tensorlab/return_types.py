"""What operations with several results return: tuples whose entries also have names."""

from tensorlab import _missing

__all__ = [
    "aminmax",
    "cummax",
    "cummin",
    "geqrf",
    "histogram",
    "histogramdd",
    "kthvalue",
    "linalg_cholesky_ex",
    "linalg_eig",
    "linalg_eigh",
    "linalg_inv_ex",
    "linalg_ldl_factor",
    "linalg_ldl_factor_ex",
    "linalg_lstsq",
    "linalg_lu",
    "linalg_lu_factor",
    "linalg_lu_factor_ex",
    "linalg_qr",
    "linalg_slogdet",
    "linalg_solve_ex",
    "linalg_svd",
    "lu_unpack",
    "max",
    "median",
    "min",
    "mode",
    "nanmedian",
    "qr",
    "slogdet",
    "sort",
    "svd",
    "topk",
    "triangular_solve",
]


def _result(name, *fields):
    """Make a tuple class with these field names, printed as PyTorch prints its own."""

    def represent(self):
        entries = ",\n".join(
            f"{field}={value!r}" for field, value in zip(fields, self, strict=False)
        )
        return f"tensorlab.return_types.{name}(\n{entries})"

    def make(cls, values):
        return tuple.__new__(cls, values)

    members = {field: property(lambda self, i=i: self[i]) for i, field in enumerate(fields)}
    values = tuple(range(len(fields)))
    doc = f"""The result of `{name}`: ({", ".join(fields)}), a tuple whose entries have names.

Examples
--------
>>> from tensorlab import return_types
>>> result = return_types.{name}({values})
>>> result[-1], result.{fields[-1]}
{(values[-1], values[-1])}
"""
    special = {
        "__new__": make,
        "__repr__": represent,
        "__slots__": (),
        "__doc__": doc,
        "__module__": __name__,
    }
    return type(name, (tuple,), {**members, **special})


aminmax = _result("aminmax", "min", "max")
cummax = _result("cummax", "values", "indices")
cummin = _result("cummin", "values", "indices")
geqrf = _result("geqrf", "a", "tau")
histogram = _result("histogram", "hist", "bin_edges")
histogramdd = _result("histogramdd", "hist", "bin_edges")
kthvalue = _result("kthvalue", "values", "indices")
linalg_cholesky_ex = _result("linalg_cholesky_ex", "L", "info")
linalg_eig = _result("linalg_eig", "eigenvalues", "eigenvectors")
linalg_eigh = _result("linalg_eigh", "eigenvalues", "eigenvectors")
linalg_inv_ex = _result("linalg_inv_ex", "inverse", "info")
linalg_ldl_factor = _result("linalg_ldl_factor", "LD", "pivots")
linalg_ldl_factor_ex = _result("linalg_ldl_factor_ex", "LD", "pivots", "info")
linalg_lstsq = _result("linalg_lstsq", "solution", "residuals", "rank", "singular_values")
linalg_lu = _result("linalg_lu", "P", "L", "U")
linalg_lu_factor = _result("linalg_lu_factor", "LU", "pivots")
linalg_lu_factor_ex = _result("linalg_lu_factor_ex", "LU", "pivots", "info")
linalg_qr = _result("linalg_qr", "Q", "R")
linalg_slogdet = _result("linalg_slogdet", "sign", "logabsdet")
linalg_solve_ex = _result("linalg_solve_ex", "result", "info")
linalg_svd = _result("linalg_svd", "U", "S", "Vh")
lu_unpack = _result("lu_unpack", "P", "L", "U")
max = _result("max", "values", "indices")
median = _result("median", "values", "indices")
min = _result("min", "values", "indices")
mode = _result("mode", "values", "indices")
nanmedian = _result("nanmedian", "values", "indices")
qr = _result("qr", "Q", "R")
slogdet = _result("slogdet", "sign", "logabsdet")
sort = _result("sort", "values", "indices")
svd = _result("svd", "U", "S", "V")
topk = _result("topk", "values", "indices")
triangular_solve = _result("triangular_solve", "solution", "cloned_coefficient")

__getattr__ = _missing.refusing(__name__)
