"""What operations with several results return: tuples whose entries also have names."""

from tensorlab import _missing

__all__ = [
    "aminmax",
    "cummax",
    "cummin",
    "histogram",
    "histogramdd",
    "kthvalue",
    "max",
    "median",
    "min",
    "mode",
    "nanmedian",
    "sort",
    "topk",
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
    doc = f"The result of `{name}`: ({', '.join(fields)})."
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
histogram = _result("histogram", "hist", "bin_edges")
histogramdd = _result("histogramdd", "hist", "bin_edges")
kthvalue = _result("kthvalue", "values", "indices")
max = _result("max", "values", "indices")
median = _result("median", "values", "indices")
min = _result("min", "values", "indices")
mode = _result("mode", "values", "indices")
nanmedian = _result("nanmedian", "values", "indices")
sort = _result("sort", "values", "indices")
topk = _result("topk", "values", "indices")

__getattr__ = _missing.refusing(__name__)
