"""An error names the function that was called, whatever further on would have refused the argument."""

import pytest

import tensorlab

INDEXED = {  # calls with something in the place of an index or a mask, with and without writing in place
    "gather": lambda f, x, i: f(x, 0, i),
    "index_select": lambda f, x, i: f(x, 0, i),
    "take": lambda f, x, i: f(x, i),
    "take_along_dim": lambda f, x, i: f(x, i, 0),
    "unravel_index": lambda f, x, i: f(i, (3,)),
    "masked_select": lambda f, x, i: f(x, i),
    "scatter": lambda f, x, i: f(x, 0, i, x),
    "scatter_add": lambda f, x, i: f(x, 0, i, x),
    "scatter_reduce": lambda f, x, i: f(x, 0, i, x, "sum"),
    "index_add": lambda f, x, i: f(x, 0, i, x),
    "index_copy": lambda f, x, i: f(x, 0, i, x),
    "index_fill": lambda f, x, i: f(x, 0, i, 2.0),
    "index_reduce": lambda f, x, i: f(x, 0, i, x, "prod"),
    "put": lambda f, x, i: f(x, i, x),
    "masked_fill": lambda f, x, i: f(x, i, 2.0),
    "masked_scatter": lambda f, x, i: f(x, i, x),
}
SOURCED = {  # the same for what is written
    "scatter_add": lambda f, x, s: f(x, 0, tensorlab.tensor([0]), s),
    "scatter_reduce": lambda f, x, s: f(x, 0, tensorlab.tensor([0]), s, "sum"),
    "index_add": lambda f, x, s: f(x, 0, tensorlab.tensor([0]), s),
    "index_copy": lambda f, x, s: f(x, 0, tensorlab.tensor([0]), s),
    "index_reduce": lambda f, x, s: f(x, 0, tensorlab.tensor([0]), s, "prod"),
    "put": lambda f, x, s: f(x, tensorlab.tensor([0]), s),
    "masked_scatter": lambda f, x, s: f(x, tensorlab.tensor([True, False, True]), s),
}


def functions(table):
    for name in table:
        yield name, name
        if hasattr(tensorlab.Tensor, name + "_"):
            yield name, name + "_"


@pytest.mark.parametrize("wrong", [[0, 1], None, 1.5, "text"], ids=str)
@pytest.mark.parametrize(
    ("table", "name", "called"),
    [
        *[(INDEXED, *names) for names in functions(INDEXED)],
        *[(SOURCED, *names) for names in functions(SOURCED)],
    ],
)
def test_what_is_no_tensor_is_refused_by_name(table, name, called, wrong):
    x = tensorlab.ones(3)
    function = getattr(tensorlab.Tensor, called, None) or getattr(tensorlab, called)
    with pytest.raises(TypeError, match=f"^{called}: "):
        table[name](function, x, wrong)
    assert x.tolist() == [1.0, 1.0, 1.0]
    assert x._version == 0


PARTS = {  # copies with a part replaced
    "select_scatter": lambda f, x: f(x, tensorlab.tensor(1.0), 0, 0),
    "slice_scatter": lambda f, x: f(x, tensorlab.ones(1), 0, 0, 1),
    "diagonal_scatter": lambda f, x: f(x, tensorlab.ones(1)),
    "as_strided_scatter": lambda f, x: f(x, tensorlab.ones(1), (1,), (1,)),
    "narrow_copy": lambda f, x: f(x, 0, 0, 1),
    "nonzero_static": lambda f, x: f(x, size=1),
    "put": lambda f, x: f(x, tensorlab.tensor([0]), tensorlab.ones(1)),
}


@pytest.mark.parametrize("wrong", [[0.0, 1.0], None, "text"], ids=str)
@pytest.mark.parametrize("name", PARTS)
def test_a_copy_is_made_of_a_tensor(name, wrong):
    with pytest.raises(TypeError, match=f"^{name}: "):
        PARTS[name](getattr(tensorlab, name), wrong)


def test_nothing_is_put_into_a_tensor_without_elements():
    for called in ("put", "put_"):
        with pytest.raises(IndexError, match=f"^{called}: the tensor has no element"):
            getattr(tensorlab.zeros(0), called)(tensorlab.tensor([0]), tensorlab.ones(1))


@pytest.mark.parametrize(
    ("sorter", "error"),
    [
        ([0, 1, 2], RuntimeError),
        (tensorlab.tensor([0, 1, 2]).int(), RuntimeError),
        (tensorlab.tensor([0, 1]), RuntimeError),
        (tensorlab.tensor([0, 1, 3]), IndexError),
        (tensorlab.tensor([0, -1, 2]), IndexError),
    ],
)
def test_a_sorter_holds_the_places_of_a_row(sorter, error):
    rows = tensorlab.tensor([1.0, 2.0, 3.0])
    with pytest.raises(error, match=r"^searchsorted: "):
        tensorlab.searchsorted(rows, tensorlab.tensor([2.5]), sorter=sorter)


def test_the_edges_of_a_histogram_have_the_type_of_the_tensor():
    x, edges = tensorlab.rand(9), tensorlab.tensor([0.0, 0.5, 1.0])
    with pytest.raises(RuntimeError, match=r"^histogram: the edges have type tensorlab\.float64"):
        tensorlab.histogram(x, edges.double())
    with pytest.raises(RuntimeError, match=r"^histogram: "):
        tensorlab.histogram(x, edges, weight=x.double())
