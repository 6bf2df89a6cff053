"""Decompositions of views: as the few that code generation sees through. They keep every bit."""

from tensorlab.compiler.passes.rewriting import form


@form("t")
def t(make, x):
    return make.op("permute", x, tuple(range(x.meta["val"].ndim))[::-1])


@form("transpose")
def transpose(make, x, dim0, dim1):
    dims = list(range(x.meta["val"].ndim))
    if dims:
        dims[dim0], dims[dim1] = dims[dim1], dims[dim0]
    return make.op("permute", x, tuple(dims))


form("data")(lambda make, x: make.op("detach", x))


@form("getitem_alias", "getitem_select", "getitem_slice", "getitem_unsqueeze")
def indexed(make, x, index):
    """x[index] as a chain of select, slice and unsqueeze."""
    index, dim = list(index), 0
    named = sum(one is not None and one is not Ellipsis for one in index)
    if Ellipsis in index:
        at = index.index(Ellipsis)
        index[at : at + 1] = [slice(None)] * (x.meta["val"].ndim - named)
    for one in index:
        if one is None:
            x = make.op("unsqueeze", x, dim)
        elif isinstance(one, slice):
            size = x.meta["val"].shape[dim]
            if one != slice(None):
                places = range(size)[one]
                x = make.op("slice", x, dim, places.start, places.stop, places.step)
        else:
            x = make.op("select", x, dim, one)
            continue
        dim += 1
    return x
