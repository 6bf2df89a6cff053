"""Facets: what an op says of itself, what follows from it, and what is refused. A new op needs none."""

import pytest
from tensorlab._core.dispatch.op import REGISTRY, Op
from tensorlab._core.tensor import new_result

import tensorlab as torch
from tensorlab import compiler
from tensorlab._core.dispatch.facets import FACETS, Facet, checks_values, fills_with, reads_values


@pytest.fixture
def columns():
    """A facet that a package might add, derived for ops that make one tensor of one."""
    yield Facet(
        "columns", lambda op: "by element" if op.is_pointwise and op.arity == 1 else "unknown"
    )
    del FACETS["columns"]
    REGISTRY["cumsum"].facets.pop("columns", None)


@pytest.fixture
def doubled():
    """An op in Python that mentions no facet."""
    op = Op("doubled(Tensor x) -> Tensor")
    op.infer(lambda x: new_result(x))
    op.kernel(lambda out, x: out.copy_(x * 2))
    op.derivative("x")(lambda grad: grad * 2)
    yield op
    del REGISTRY["doubled"]


def test_a_facet_is_what_is_declared_else_the_default_or_what_is_derived(columns):
    assert columns.of(REGISTRY["tanh"]) == "by element"
    assert columns.of(REGISTRY["cumsum"]) == "unknown"

    @columns("cumsum")
    def rule(x, dim):
        return dim + 1

    assert columns.of(REGISTRY["cumsum"]) is rule
    assert REGISTRY["cumsum"].facets["columns"] is rule
    assert checks_values.of(REGISTRY["gather"])
    assert checks_values.of(REGISTRY["tanh"]) is False
    assert fills_with.of(REGISTRY["new_full"]) == "fill_value"


def test_declarations_take_facets_as_keywords(columns):
    op = Op("rolled(Tensor x) -> Tensor", columns="by hand", reads_values=True)
    try:
        assert columns.of(op) == "by hand"
        assert op.facets == {"columns": "by hand", "reads_values": True}
    finally:
        del REGISTRY["rolled"]


def test_a_default_is_derived_once():
    asked = []
    facet = Facet("arity_of", lambda op: asked.append(op.name) or op.arity)
    try:
        assert [facet.of(REGISTRY["add"]), facet.of(REGISTRY["add"])] == [2, 2]
        assert asked == ["add"]
    finally:
        del FACETS["arity_of"]


def test_a_form_in_place_has_facets_of_its_own():
    torch.zeros(2).index_fill_(0, torch.tensor([0]), 1.0)
    twin = REGISTRY["index_fill_"]
    assert twin.functional is REGISTRY["index_fill"]
    assert twin.facets == {}


def test_what_is_wrong_is_refused_where_it_is_declared(columns):
    with pytest.raises(ValueError, match="Facet columns: no op is called 'cumsun'"):
        columns("cumsun")(lambda: None)
    columns("cumsum")(lambda: None)
    with pytest.raises(ValueError, match="Facet columns: cumsum has one already"):
        columns("cumsum")(lambda: None)
    with pytest.raises(ValueError, match="Facet: columns is declared twice"):
        Facet("columns")
    with pytest.raises(TypeError, match="Op rolled: 'batchin' is neither an argument of Op nor"):
        Op("rolled(Tensor x) -> Tensor", batchin=1)
    assert "rolled" not in REGISTRY


def test_what_reads_values_gives_no_tensor_and_nothing_else_gives_none():
    without = {
        name
        for name, op in REGISTRY.items()
        if not any(kind.word == "Tensor" for _, kind in op.signature.results)
    }
    assert without == {name for name, op in REGISTRY.items() if reads_values.of(op)} | {"lend"}


def test_a_number_that_fills_is_a_parameter_that_the_op_has():
    for op in REGISTRY.values():
        number = fills_with.of(op)
        assert number in (None, 0, 1) or op.signature.parameters[op.params.index(number)]


# ------------------------------------------------------------------------------------------------ no facet at all
@pytest.mark.filterwarnings("ignore:compile. there is no C compiler")  # a wheel's tests run without
@pytest.mark.parametrize("options", [{}, {"without": ()}, {"code": False}], ids=str)
def test_an_op_without_facets_is_compiled_as_a_call(doubled, options):
    assert doubled.facets == {}

    def function(x):
        return doubled(x.exp() + 1).sin().sum(1)

    compiled = torch.compile(function, options=options)
    x = torch.linspace(-1, 1, 12).view(3, 4)
    for _ in range(3):
        assert compiled(x).allclose(function(x))
    assert compiled.compiled.counts["replayed"] == 2
    x.requires_grad_()
    for _ in range(3):
        (expected,) = torch.autograd.grad(function(x).sum(), x)
        (found,) = torch.autograd.grad(compiled(x).sum(), x)
        assert found.allclose(expected)


@pytest.fixture
def views():
    """Views in Python that mention no facet: the first half of the rows, and both halves."""
    upper, halves = Op("upper(Tensor(a) x) -> Tensor(a)"), Op("halves(Tensor(a) x) -> Tensor(a)[]")
    upper.infer(lambda x: REGISTRY["slice"](x, 0, 0, len(x) // 2, 1))
    halves.infer(lambda x: REGISTRY["split"](x, len(x) // 2))
    yield upper, halves
    del REGISTRY["upper"], REGISTRY["halves"]


@pytest.mark.parametrize("options", [{}, {"without": ()}, {"code": False}], ids=str)
def test_a_view_without_facets_is_read_and_written_in_compiled_code(views, options):
    upper, halves = views

    def reads(x):
        first, second = halves(x * 2)
        return upper(x.exp()).sin() + first - second.exp()

    def writes(x):
        y = x * 1.5
        upper(y).mul_(2)
        return y

    x = torch.linspace(-1, 1, 12).view(4, 3)
    for function in (reads, writes):
        compiled = torch.compile(function, options=options)
        for _ in range(3):
            assert compiled(x).allclose(function(x))
        assert compiled.compiled.counts["replayed"] == 2


def test_a_write_to_one_of_several_views_without_facets_runs_as_python(views):
    def function(x):
        y = x * 1.5
        views[1](y)[0].mul_(2)
        return y

    compiled, x = torch.compile(function), torch.ones(4, 3)
    with pytest.warns(UserWarning, match="it writes to one of the views that halves gives"):
        assert compiled(x).equal(function(x))
    assert compiled(x).equal(function(x))


def test_an_op_without_facets_is_written_and_read_through_views_in_compiled_code(doubled):
    def function(x):
        y = doubled(x)
        y[1:].mul_(3)
        return y, doubled(y.t())

    compiled = torch.compile(function)
    x = torch.arange(6.0).view(2, 3)
    for _ in range(3):
        for found, expected in zip(compiled(x), function(x), strict=True):
            assert found.equal(expected)


def test_a_pointwise_op_without_facets_is_part_of_a_kernel():
    ops = [op for op in REGISTRY.values() if op.is_pointwise and not op.facets and op.scalar]
    assert len(ops) > 100
    assert REGISTRY["silu"] in ops
    explained = compiler.explain(lambda x: torch.nn.functional.silu(x * 2) + 1)(torch.ones(100))
    assert "silu" in str(explained)
