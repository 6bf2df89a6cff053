"""Ops of a program's own: what they take part in, and what is refused."""

import copy
import pickle
import re
from collections.abc import Sequence

import numpy as np
import pytest
from tensorlab._core.state.devices import register_device

import tensorlab as torch
from tensorlab import Tensor, fx, library
from tensorlab.autograd import gradcheck, gradgradcheck
from tensorlab.errors import NoDataError
from tensorlab.library import Library, _scoped_library, custom_op, opcheck
from tensorlab.library.definitions import DEFINITIONS
from tensorlab.utils._python_dispatch import TorchDispatchMode


@pytest.fixture(autouse=True)
def ops_of_this_test():
    """What a test defines is gone after it."""
    before = set(DEFINITIONS)
    yield
    for name in set(DEFINITIONS) - before:
        DEFINITIONS[name].remove()


def make_sine(name="test::sine"):
    @custom_op(name, mutates_args=())
    def sine(x: Tensor, factor: float = 1.0) -> Tensor:
        return torch.from_numpy(np.sin(x.numpy() * factor))

    @sine.register_fake
    def _(x, factor=1.0):
        return torch.empty_like(x)

    def setup_context(ctx, inputs, output):
        x, ctx.factor = inputs
        ctx.save_for_backward(x)

    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * ctx.factor * (x * ctx.factor).cos(), None

    sine.register_autograd(backward, setup_context=setup_context)
    return sine


def make_mixed():
    """Lists of tensors in and out, several results, an argument by name."""

    @custom_op("test::mixed", mutates_args=())
    def mixed(
        xs: Sequence[Tensor], w: Tensor, *, scale: float = 2.0
    ) -> tuple[Tensor, list[Tensor]]:
        return sum(x.sum() for x in xs) * scale, [x * w for x in xs]

    @mixed.register_fake
    def _(xs, w, *, scale=2.0):
        return w.new_empty(()), [torch.empty_like(x) for x in xs]

    def setup_context(ctx, inputs, keyword_only_inputs, output):
        xs, w = inputs
        ctx.save_for_backward(*xs, w)
        ctx.scale = keyword_only_inputs["scale"]

    def backward(ctx, grad, grads):
        *xs, w = ctx.saved_tensors
        assert ctx.needs_input_grad == ([True] * len(xs), True)
        return [grad * ctx.scale + one * w for one in grads], sum(
            (one * x).sum() for one, x in zip(grads, xs, strict=True)
        )

    mixed.register_autograd(backward, setup_context=setup_context)
    return mixed


class Bytes:
    """The memory of a device."""

    def allocate(self, nbytes):
        return np.zeros(nbytes, dtype=np.uint8)

    def read(self, memory):
        return memory

    def write(self, memory, data):
        memory[: len(data)] = np.frombuffer(data, dtype=np.uint8)


def doubles(*size):
    return torch.rand(size, dtype=torch.float64).requires_grad_()


# ---------------------------------------------------------------- taking part
def test_values_gradients_and_higher_orders():
    sine = make_sine()
    x = doubles(3)
    np.testing.assert_allclose(sine(x, factor=2.0).detach(), np.sin(2 * x.detach().numpy()))
    assert gradcheck(sine, (x, 0.5))
    assert gradgradcheck(sine, (x, 0.5))


def test_lists_several_results_and_names():
    mixed = make_mixed()
    x, y, w = doubles(2), doubles(3), doubles()

    def call(x, y, w):
        total, scaled = mixed([x, y], w, scale=3.0)
        return (total, *scaled)

    assert gradcheck(call, (x, y, w))
    total, scaled = mixed([x, y], w)
    assert isinstance(scaled, list)
    assert total.item() == pytest.approx(2 * (x.sum() + y.sum()).item())


@pytest.mark.parametrize("make", [make_sine, make_mixed])
def test_opcheck_finds_nothing(make):
    op = make()
    args = (doubles(3), 0.5) if make is make_sine else ([doubles(2), doubles(2)], doubles())
    assert set(opcheck(op, args).values()) == {"SUCCESS"}


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 1), (2, 1)])
def test_strides_that_no_element_depends_on_are_not_compared(shape):
    @custom_op("test::strided", mutates_args=())
    def strided(x: Tensor) -> Tensor:
        return torch.empty_strided(
            x.shape, (7, 5) if x.shape[0] < 2 or not x.numel() else (1, 5)
        ).fill_(2)

    strided.register_fake(lambda x: x.new_empty(x.shape))
    assert set(opcheck(strided, (torch.ones(shape),)).values()) == {"SUCCESS"}


@pytest.mark.filterwarnings("error")
def test_compiled_it_is_one_step_with_its_gradient():
    sine = make_sine()

    def f(x):
        return (sine(x * 2) * 3).sum()

    compiled = torch.compile(f, fullgraph=True)
    x = doubles(4)
    for _ in range(2):
        (got,) = torch.autograd.grad(compiled(x), x)
        (expected,) = torch.autograd.grad(f(x), x)
        torch.testing.assert_close(got, expected)


def test_compiled_its_results_may_be_lists():
    mixed = make_mixed()

    def f(x, w):
        total, (first, second) = mixed([x, x * 2], w, scale=3.0)
        return total * first + second

    x, w = doubles(3), doubles()
    compiled = torch.compile(f, fullgraph=True)
    for _ in range(2):
        expected, got = f(x, w), compiled(x, w)
        torch.testing.assert_close(got, expected)
        for one, other in zip(
            torch.autograd.grad(got.sum(), (x, w)),
            torch.autograd.grad(expected.sum(), (x, w)),
            strict=True,
        ):
            torch.testing.assert_close(one, other)


@pytest.mark.parametrize(
    ("results", "kernel", "use"),
    [
        ("(int, Tensor)", lambda x: (3, x.clone()), lambda n, y: y * n),
        ("(Tensor?, Tensor)", lambda x: (None, x.clone()), lambda none, y: y + (none is None)),
        ("(Tensor[], Tensor[])", lambda x: ([], [x + 1, x * 2]), lambda empty, ys: ys[0] - ys[1]),
    ],
)
def test_compiled_its_results_may_be_no_tensors(results, kernel, use):
    with _scoped_library("test", "FRAGMENT") as lib:
        lib.define(f"several(Tensor x) -> {results}")
        lib.impl("several", kernel, "CompositeExplicitAutograd")
        library.register_fake("test::several", kernel)
        several = torch.ops.test.several.default
        compiled = torch.compile(lambda x: use(*several(x)), fullgraph=True)
        for x in torch.ones(3), torch.zeros(3):
            assert compiled(x).tolist() == use(*kernel(x)).tolist()


@pytest.mark.parametrize(
    ("fake", "said"),
    [
        (
            lambda x: x.new_empty(x.shape),
            r"\(3, 6\), \(6, 1\), tensorlab.float32",
        ),  # it read past the end
        (lambda x: x.new_empty(1, 3).T, r"\(3, 1\), \(1, 1\), tensorlab.float32"),
        (
            lambda x: x.new_empty((3, 2), dtype=torch.float64),
            r"\(3, 2\), \(2, 1\), tensorlab.float64",
        ),
        (lambda x: x.new_empty(2, 3).T, r"\(3, 2\), \(1, 3\), tensorlab.float32"),
    ],
)
def test_a_fake_that_lies_is_found_when_its_op_is_compiled(fake, said):
    @custom_op("test::first_columns", mutates_args=())
    def first_columns(x: Tensor) -> Tensor:
        return torch.from_numpy(x.numpy()[:, :2].copy())

    first_columns.register_fake(fake)
    with pytest.raises(
        RuntimeError,
        match=rf"test::first_columns: its kernel(.|\n)*its fake said \({said}(.|\n)*"
        r"the kernel does, first_columns \(.*:\d+\)",
    ):
        torch.compile(lambda x: first_columns(x) * 2 + 1)(torch.ones(3, 6))


def test_modes_meta_fx_pickle_and_copies_know_it():
    class Names(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            told.append(str(func))
            return func(*args, **kwargs)

    told = []
    sine = make_sine()
    with Names():
        y = sine(doubles(2))
    assert told[-1] == "test.sine.default"
    assert y.grad_fn.name() == "GeneratedBackwardFor_test_sine_defaultBackward"
    assert sine(torch.empty(2, 3, device="meta")).shape == (2, 3)
    graph = fx.symbolic_trace(lambda x: torch.ops.test.sine(x) + 1)
    assert torch.ops.test.sine in [node.target for node in graph.graph.nodes]
    x = torch.rand(3)
    torch.testing.assert_close(graph(x), sine(x) + 1)
    overload = torch.ops.test.sine.default
    assert pickle.loads(pickle.dumps(overload)) is overload
    assert copy.deepcopy(overload) is overload
    assert overload is sine._opoverload


def test_nothing_is_recorded_inside_a_kernel():
    @custom_op("test::inside", mutates_args=())
    def inside(x: Tensor) -> Tensor:
        assert not torch.is_grad_enabled()
        return x.exp() * 2

    x = torch.ones(2, requires_grad=True)
    y = inside(x)
    with pytest.raises(
        RuntimeError, match="test::inside: backward needs the derivative of this op, and none"
    ):
        y.sum().backward()
    with torch.no_grad():
        assert not inside(x).requires_grad


def test_each_device_has_its_function():
    @custom_op("test::there", mutates_args=(), device_types="cpu")
    def there(x: Tensor) -> Tensor:
        return x + 1

    assert there(torch.ones(1)).item() == 2.0
    with pytest.raises(NotImplementedError, match="test::there: the op has no fake"):
        there(torch.ones(1, device="meta"))
    with pytest.raises(RuntimeError, match="there is a kernel for cpu already"):
        there.register_kernel("cpu")(lambda x: x + 2)
    with _scoped_library("test", "FRAGMENT") as lib:
        lib.define("nowhere(Tensor x) -> Tensor")
        with pytest.raises(NotImplementedError, match=r"no kernel for cpu \(it has: none at all\)"):
            torch.ops.test.nowhere(torch.ones(1))


def test_a_device_may_be_younger_than_the_op():
    @custom_op("test::here", mutates_args=(), device_types="cpu")
    def here(x: Tensor) -> Tensor:
        return x + 1

    @custom_op("test::anywhere", mutates_args=())
    def anywhere(x: Tensor) -> Tensor:
        return x * 3

    register_device("younger", Bytes())
    x = torch.ones(2).to("younger")
    assert anywhere(x).cpu().tolist() == [3.0, 3.0]
    assert anywhere(x).device.type == "younger"
    with pytest.raises(NotImplementedError, match=r"no kernel for younger \(it has: cpu\)"):
        here(x)
    here.register_kernel("younger", lambda x: x + 2)
    assert here(x).cpu().tolist() == [3.0, 3.0]
    assert here(torch.ones(2)).tolist() == [2.0, 2.0]


def test_an_op_that_writes_counts_the_write_and_is_compiled_rightly():
    @custom_op("test::add_to", mutates_args=("out",))
    def add_to(x: Tensor, out: Tensor) -> None:
        out.numpy()[:] += x.numpy()

    x, out = torch.ones(3), torch.zeros(3)
    saved = torch.ones(3, requires_grad=True) * out
    assert add_to(x, out) is None
    assert (out.tolist(), out._version) == ([1.0] * 3, 1)
    with pytest.raises(RuntimeError, match="an in-place operation changed it"):
        saved.sum().backward()
    with pytest.raises(RuntimeError, match="writes to 'out', which requires grad"):
        add_to(x, torch.ones(3, requires_grad=True))
    with pytest.raises(
        RuntimeError,
        match="register_autograd is for ops that return new tensors, and this one writes to out",
    ):
        add_to.register_autograd(lambda ctx, grad: None)
    with pytest.warns(UserWarning, match="runs as Python"):
        doubled = torch.compile(lambda x, out: (add_to(x, out), out * 2)[1])(x, out)
    assert doubled.tolist() == [4.0] * 3


def test_a_rule_for_one_mode_or_class():
    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **kwargs)

    sine = make_sine()
    sine.register_torch_dispatch(
        Mode, lambda mode, func, types, args, kwargs: func(*args, **kwargs) + 100
    )
    with Mode():
        assert sine(torch.zeros(1)).item() == 100.0
    assert sine(torch.zeros(1)).item() == 0.0


# ---------------------------------------------------------------- Library
def test_a_library_defines_and_takes_away():
    lib = Library("test_lib", "DEF")
    assert lib.define("twice(Tensor x, *, int n=2) -> Tensor") == "test_lib::twice"
    lib.impl("twice", lambda x, *, n=2: x * n, "CompositeExplicitAutograd")
    twice = torch.ops.test_lib.twice
    assert twice(torch.ones(1), n=5).item() == 5.0
    assert repr(twice.default._schema) == "test_lib::twice(Tensor x, *, int n=2) -> Tensor"
    with pytest.raises(RuntimeError, match="has an owner already, defined at .*test_custom_ops"):
        Library("test_lib", "DEF")
    lib._destroy()
    with pytest.raises(AttributeError, match="ops.test_lib has no op 'twice'"):
        _ = torch.ops.test_lib.twice
    Library("test_lib", "DEF")._destroy()


def test_a_composite_is_differentiated_through_and_autograd_may_be_given():
    with _scoped_library("test", "FRAGMENT") as lib:
        lib.define("square(Tensor x) -> Tensor")
        lib.impl("square", lambda x: x * x, "CompositeImplicitAutograd")
        x = doubles(2)
        assert gradcheck(torch.ops.test.square, (x,))

        class Cube(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return torch.ops.test.cube(x)

            @staticmethod
            def backward(ctx, grad):
                return 3 * ctx.saved_tensors[0] ** 2 * grad

        lib.define("cube(Tensor x) -> Tensor")
        lib.impl("cube", lambda x: x**3, "CPU")
        lib.impl("cube", Cube.apply, "Autograd")
        assert gradcheck(torch.ops.test.cube, (x,))


def test_a_kernel_may_be_switched_off_for_a_block():
    @custom_op("test::two", mutates_args=())
    def two(x: Tensor) -> Tensor:
        return x + 2

    x = torch.zeros(1)
    two.register_kernel("cpu", lambda x: x + 3)
    assert two(x).item() == 3.0
    with two.set_kernel_enabled("cpu", False):
        assert two(x).item() == 2.0
        with two.set_kernel_enabled("cpu"):
            assert two(x).item() == 3.0
        assert two(x).item() == 2.0
    assert two(x).item() == 3.0
    assert library.get_kernel("test::two", "CUDA")(x).item() == 2.0
    with _scoped_library("test", "FRAGMENT") as lib:
        lib.define("bare(Tensor x) -> Tensor")
        with pytest.raises(NotImplementedError, match="test::bare: the op has no kernel for cuda"):
            library.get_kernel("test::bare", "CUDA")


def test_a_function_without_a_key_is_made_of_ops_that_autograd_follows():
    x = torch.ones(2, requires_grad=True)
    with _scoped_library("test", "FRAGMENT") as lib:
        lib.define("scaled(Tensor x, *, float by) -> Tensor")
        lib.impl("scaled", lambda x, by: x * by)
        scaled = torch.ops.test.scaled
        assert torch.autograd.grad(scaled(x, by=3.0).sum(), x)[0].tolist() == [3.0, 3.0]
        assert scaled(x.detach().to("meta"), by=3.0).is_meta
        lib.impl("scaled", lambda x, by: x * by + 1, "CPU")
        assert scaled(x, by=3.0).tolist() == [4.0, 4.0]  # a device's own function comes first


def test_older_forms_with_a_library_are_decorators():
    with _scoped_library("test", "FRAGMENT") as lib:

        @library.define(lib, "thrice(Tensor x) -> Tensor")
        def thrice(x):
            return x * 3

        assert torch.ops.test.thrice(torch.ones(1)).item() == 3.0

        @library.impl(lib, "thrice", "CPU")
        def on_cpu(x):
            return x * 30

        assert torch.ops.test.thrice(torch.ones(1)).item() == 30.0
    assert (thrice(2), on_cpu(2)) == (6, 60)


def test_functions_do_what_the_library_does():
    library.define("test::half", "(Tensor x) -> Tensor")
    library.impl("test::half", "cpu", lambda x: x / 2)
    library.register_fake("test::half", torch.empty_like)
    library.register_autograd("test::half", lambda ctx, grad: grad / 2)
    x = doubles(2)
    assert gradcheck(torch.ops.test.half, (x,))
    assert torch.ops.test.half(x.detach().to("meta")).shape == (2,)
    assert library.get_kernel("test::half", "CPU")(torch.ones(1)).item() == 0.5


# ---------------------------------------------------------------- promises that are not kept
def returns(name, value):
    @custom_op(name, mutates_args=())
    def op(x: Tensor) -> Tensor:
        return value(x)

    return op


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (
            lambda x: x,
            RuntimeError,
            "result 0 shares its memory with the argument 'x'.*return a clone",
        ),
        (
            lambda x: x.view(-1)[1:],
            RuntimeError,
            "result 0 shares its memory with the argument 'x'",
        ),
        (lambda x: 3, TypeError, r"result 0 must be Tensor, and op \(.*\) returned 3 \(int\)"),
        (lambda x: None, TypeError, "result 0 must be Tensor, and op .* returned None"),
        (lambda x: (x + 1, x), TypeError, "result 0 must be Tensor"),
    ],
)
def test_a_kernel_that_breaks_its_schema_is_named(value, error, message):
    op = returns("test::broken", value)
    with pytest.raises(error, match=f"test::broken: {message}"):
        op(torch.ones(3))


@pytest.mark.parametrize(
    ("results", "value", "message"),
    [
        ("int", lambda x: 1.5, r"result 0 must be int, and <lambda> \(.*:\d+\) returned 1.5"),
        ("Tensor[]", lambda x: x + 1, r"result 0 must be Tensor\[\], and .* returned tensor"),
        ("Tensor[]", lambda x: [x + 1, None], r"result 0 must be Tensor\[\], .* returned \[ten"),
        ("(Tensor, Tensor)", lambda x: x + 1, "the schema has 2 results, and .* returned tensor"),
        ("(Tensor, Tensor)", lambda x: (x + 1, 2), "result 1 must be Tensor, and .* returned 2"),
        ("(Tensor, Tensor)", lambda x: (x + 1,) * 3, "the schema has 2 results, and .* returned 3"),
        ("(Tensor, Tensor)", lambda x: (x + 1).split(1), "result 1 shares its memory with another"),
        ("Tensor[]", lambda x: (x + 1).split(1), "result 0 shares its memory with another result"),
        ("()", lambda x: x, "the schema has no results, and .* returned tensor"),
    ],
)
def test_a_kernel_returns_what_its_schema_has(results, value, message):
    with _scoped_library("test", "FRAGMENT") as lib:
        lib.define(f"form(Tensor x) -> {results}")
        lib.impl("form", value, "CompositeExplicitAutograd")
        with pytest.raises((TypeError, RuntimeError), match=f"test::form: {message}.*test::form"):
            torch.ops.test.form(torch.ones(2))


def test_optional_items_of_a_list_may_be_missing():
    with _scoped_library("test", "FRAGMENT") as lib:
        lib.define("some(Tensor x) -> Tensor?[]")
        lib.impl("some", lambda x: [None, x + 1], "CompositeExplicitAutograd")
        nothing, more = torch.ops.test.some(torch.ones(2))
    assert nothing is None
    assert more.tolist() == [2.0, 2.0]


def test_a_function_must_take_what_the_schema_has():
    with _scoped_library("test", "FRAGMENT") as lib:
        lib.define("scaled(Tensor x, *, float by) -> Tensor")
        for wrong, why in (
            (lambda x: x, "unexpected keyword argument 'by'"),
            (lambda by: by, "too many|multiple values"),
            (lambda x, y, by: x, "missing a required argument"),
        ):
            match = rf"test::scaled: <lambda> \(.*test_custom_ops.py:\d+\) must take .*({why})"
            with pytest.raises(TypeError, match=match):
                lib.impl("scaled", wrong, "CPU")
            with pytest.raises(TypeError, match=match):
                library.register_fake("test::scaled", wrong)
        lib.impl("scaled", lambda x, **named: x * named["by"], "CPU")
        assert torch.ops.test.scaled(torch.ones(1), by=3.0).item() == 3.0


def test_a_fake_that_asks_for_values_is_named():
    op = returns("test::asks", lambda x: x + 1)
    op.register_fake(lambda x: torch.empty(int(x.sum())))
    with pytest.raises(NoDataError) as caught:
        op(torch.ones(2, device="meta"))
    notes = "\n".join(caught.value.__notes__)
    assert re.search(r"in <lambda> \(.*:\d+\), which says what test::asks returns", notes)


def test_a_line_of_a_notebook_is_one_of_a_cell():
    code = compile("def made(x): return x", "/tmp/ipykernel_12/345.py", "exec")
    exec(code, names := {})
    op = custom_op("test::celled", mutates_args=(), schema="(Tensor x) -> Tensor")(names["made"])
    with pytest.raises(RuntimeError, match=r"let made \(line 1 of a cell\) return a clone"):
        op(torch.ones(1))


def writes_in_secret():
    op = returns("test::secret", lambda x: x.add_(1) * 2)
    op.register_fake(torch.empty_like)
    return op, "test_schema", "it changed the argument 'x'"


def fake_of_another_shape():
    op = returns("test::shape", lambda x: x[:1].clone())
    op.register_fake(torch.empty_like)
    message = (
        r"result 0 has the shape \(1,\), and its fake says \(3,\); let the fake, empty_like .*"
    )
    return op, "test_faketensor", rf"{message}, say what the kernel does, op \(.*:\d+\)"


def fake_of_another_dtype():
    op = returns("test::dtype", lambda x: x.double())
    op.register_fake(torch.empty_like)
    return op, "test_faketensor", "the dtype tensorlab.float64, and its fake says tensorlab.float32"


def gradient_of_another_shape():
    op = returns("test::grad", lambda x: x * 2)
    op.register_fake(torch.empty_like)
    op.register_autograd(lambda ctx, grad: grad.sum())
    return op, "test_autograd_registration", "shape"


def no_gradient_at_all():
    op = returns("test::none", lambda x: x * 2)
    op.register_fake(torch.empty_like)
    op.register_autograd(lambda ctx, grad: None)
    return op, "test_autograd_registration", "returned no gradient"


def no_fake():
    return returns("test::nofake", lambda x: x * 2), "test_faketensor", "the op has no fake"


FAULTS = [
    writes_in_secret,
    fake_of_another_shape,
    fake_of_another_dtype,
    gradient_of_another_shape,
    no_gradient_at_all,
    no_fake,
]


@pytest.mark.parametrize("plant", FAULTS)
def test_opcheck_finds_a_planted_fault(plant):
    op, test, message = plant()
    x = torch.rand(3, requires_grad=True)
    with pytest.raises(library.OpCheckError, match=message):
        opcheck(op, (x,), test_utils=test)
    found = opcheck(op, (x,), test_utils=(test,), raise_exception=False)
    assert isinstance(found[test], library.OpCheckError)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: custom_op("sine", lambda x: x, mutates_args=()),
            ValueError,
            "'sine' is no name of an op",
        ),
        (
            lambda: custom_op("aten::sine", make_sine().__wrapped__, mutates_args=()),
            RuntimeError,
            "'aten' belongs to",
        ),
        (lambda: library.define("test::f", "Tensor"), ValueError, "is not of the form"),
        (
            lambda: library.define("test::f", "(Tensr x) -> Tensor"),
            ValueError,
            "'Tensr' is none of the types",
        ),
        (
            lambda: library.register_fake("test::unknown", None),
            RuntimeError,
            "no op 'test::unknown' has been defined",
        ),
        (lambda: Library("a b", "DEF"), ValueError, "can't be the name of a namespace"),
        (lambda: Library("aten", "FRAGMENT"), ValueError, "'aten' belongs to tensorlab"),
        (lambda: Library("test", "MINE"), ValueError, "kind is 'MINE'; it must be"),
        (
            lambda: Library("test", "IMPL").define("f(Tensor x) -> Tensor"),
            RuntimeError,
            "'IMPL' defines nothing",
        ),
        (lambda: make_sine()(torch.ones(1), "a"), TypeError, "'factor' must be float, not 'a'"),
        (lambda: make_sine()("a"), TypeError, "'x' must be a Tensor, not str"),
        (lambda: make_sine()(torch.ones(1), r=1), TypeError, "the argument 'r' is unknown"),
        (lambda: make_sine()(), TypeError, "the argument 'x' is missing"),
        (lambda: opcheck(torch.sin, ()), TypeError, "an op is needed"),
        (
            lambda: opcheck(make_sine(), (), test_utils="test_all"),
            ValueError,
            "'test_all' is no test; there are",
        ),
    ],
)
def test_bad_input_is_refused_with_a_way_out(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_name_is_taken_once_and_a_cell_may_run_again():
    first = make_sine()
    again = make_sine()  # the same function, as when a cell of a notebook runs again
    assert again._opoverload is not first._opoverload
    with pytest.raises(
        RuntimeError, match="test::sine is defined twice: here, and at .*test_custom_ops"
    ):
        returns("test::sine", lambda x: x)


def test_rules_for_transforms_to_come_are_kept_with_the_op():
    sine = make_sine()
    rule = sine.register_vmap(lambda info, in_dims, x, factor: (x, in_dims[0]))
    sine.register_autocast("cpu", torch.bfloat16)
    facets = sine._opoverload.op.facets
    assert facets["batching"].function is rule
    assert facets["autocast"] == ("cpu", torch.bfloat16)
    assert facets["checks_values"]
    assert (sine.__name__, sine.__doc__) == ("sine", sine.__wrapped__.__doc__)


def test_a_schema_may_be_given_and_must_say_what_is_written():
    @custom_op("test::store", mutates_args=("out",), schema="(Tensor x, Tensor(a!) out) -> ()")
    def store(x, out):
        out.copy_(x)

    out = torch.zeros(2)
    store(torch.ones(2), out)
    assert out.tolist() == [1.0, 1.0]
    with pytest.raises(
        ValueError, match=r"says that it writes to \['out'\], and mutates_args says \[\]"
    ):
        custom_op("test::other", mutates_args=(), schema="(Tensor x, Tensor(a!) out) -> ()")(store)


def test_an_optional_result_may_be_missing():
    with _scoped_library("test", "FRAGMENT") as lib:
        lib.define("maybe(Tensor x, bool gives) -> (Tensor, Tensor?)")
        lib.impl("maybe", lambda x, gives: (x + 1, x * 2 if gives else None), "CPU")
        assert torch.ops.test.maybe(torch.ones(1), False)[1] is None
        assert torch.ops.test.maybe(torch.ones(1), True)[1].item() == 2.0
