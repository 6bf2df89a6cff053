"""Forms of calls: keywords, orders of arguments and names that PyTorch takes besides those of its documentation.

A call is evaluated with T as either package; values, layouts and classes of errors are compared.
"""

import warnings

import pytest

import tensorlab
from tests.ops.agreement import agree

NAMES_OF_NUMPY = """
    T.add(x1=x, x2=x)
    T.add(x=x, x2=2, alpha=3)
    T.add(a=x, other=x)
    x.add(x2=x)
    x.clone().add_(x2=x)
    x.clone().atan2_(x2=x)
    x.clone().clamp_min_(min=2)
    T.sum(x=x, axis=0, keepdims=True)
    T.sum(a=x, axis=0)
    T.sum(x, axis=0, dim=0)
    T.sum(x, x=x)
    T.var(x=x, axis=0, keepdims=True)
    T.std_mean(x, axis=0, keepdims=True)
    T.cat([x], axis=0)
    T.stack([x], axis=0)
    T.relu(x=x)
    T.where(x > 0, x=x, other=x)
    T.where(condition=x > 0, x1=x, x2=x)
    T.maximum(x1=x, x2=x)
    T.equal(x1=x, x2=x)
    T.clamp(x=x, min=1)
    T.matmul(x1=x, x2=x.t())
    T.mm(x1=x, mat2=x.t())
    T.dot(x1=x[0], x2=x[0])
    T.reshape(x=x, shape=(6,))
    T.permute(x=x, dims=(1, 0))
    T.argmax(x, axis=1, keepdims=True)
    T.quantile(x=x, q=0.5, axis=0, keepdims=True)
    T.take_along_dim(x, x.long() * 0, axis=0)
    T.cosine_similarity(x, x, axis=0)
    T.special.logit(x=x / 9)
    F.gelu(x=x)
    F.one_hot(x=x.long())
    F.linear(x=x, weight=x)
    F.avg_pool2d(x=x[None], kernel_size=2)
    T.flip(x, axis=0)
    T.tensor(a=[1])
"""

OTHER_NAMES = """
    T.split(tensor=x, split_size_or_sections=2, dim=1)
    T.split(x, split_size_or_sections=[1, 2], dim=1)
    x.split(split_size=1)
    T.tensor_split(input=x, sections=2)
    T.tensor_split(x, indices=(1,), dim=1)
    T.tensor_split(x, tensor_indices_or_sections=T.tensor(2))
    x.tensor_split(sections=2)
    T.hsplit(input=x, sections=3)
    x.hsplit(indices=(1,))
    T.vsplit(input=x, sections=2)
    x.vsplit(indices=(1,))
    T.dsplit(input=x[None], sections=3)
    x[None].dsplit(indices=(1,))
    T.split_with_sizes(input=x, split_sizes=[1, 1])
    T.adjoint(input=x)
    T.resize_as_(input=x.clone(), the_template=x[0])
    F.one_hot(input=x.long(), num_classes=7)
    x.clone().copy_(other=x + 1, non_blocking=True)
    T.isin(element=1, test_elements=x)
    T.isin(elements=x, test_element=1)
    T.result_type(tensor=x, other=2)
    T.result_type(scalar=1, tensor=x)
    T.result_type(scalar1=1, scalar2=2.0)
    T.swapaxes(x, axis0=0, axis1=1)
    x.clone().swapaxes_(axis0=0, axis1=1)
    T.nn.RMSNorm(3)(x=x)
"""

DEFAULTS_AND_ORDERS = """
    T.histogram(x)
    T.histogram(x, weight=x)
    F.softmax(x, 1, 3, T.float64)
    F.softmax(x, 1, _stacklevel=5)
    F.softmin(x, 1, 3, T.float64)
    F.log_softmax(x, 1, 3, T.float64)
    T.tensordot(x, x.t(), 1, None)
    T.gradient(x, spacing=None)
    T.gradient(x, spacing=None, dim=1)
    T.rsub(x, 2, 3)
    T.subtract(x, 2, 3)
    T.nn.Hardtanh(min_value=-2, max_value=0.5)(x - 2)
    T.layer_norm(x, (3,), None, None, 1e-5, True)
    T.layer_norm(x, (3,), cudnn_enable=False)
    T.group_norm(x[None], 2, None, None, 1e-5, False)
    T.group_norm(x[None], 1, cudnn_enabled=False)
    T.addmv_(x[0], x.new_ones(3, 2), x[:2, 0])
    T.nonzero_static(x, size=2, out=T.empty(2, 2, dtype=T.int64))
    F.unfold(x[None, None], T.tensor([2, 2]))
    T.nn.Unfold(T.tensor([2, 2]))(x[None, None])
    T.nn.Unfold(T.tensor([2, 2]), T.tensor([1, 1]), T.tensor([1, 0]), T.tensor([1, 2]))(x[None, None])
    T.nn.Unfold((T.tensor(2), T.tensor(1)))(x[None, None])
    T.nn.Fold(T.tensor([2, 2]), T.tensor([2, 2]))(x[None].reshape(1, 6, 1)[:, :4])
    F.avg_pool2d(x[None], T.tensor([2, 2]))
    F.max_pool2d(x[None], (T.tensor(2), 2))
    F.avg_pool2d(x[None], T.tensor(2))
    F.fold(x.view(1, 6, 1)[:, :4], T.tensor([2, 2]), T.tensor([2, 2]), stride=T.tensor([1, 1]))
    F.interpolate(x[None, None], size=(T.tensor(3), 2))
    F.interpolate(x[None, None], size=T.tensor([3, 2]))
    F.interpolate(x[None, None], size=(T.tensor(3.0), 2))
    F.adaptive_avg_pool2d(x[None], T.tensor([1, 2]))
    F.adaptive_max_pool2d(x[None], T.tensor([1, 2]))
    T.nn.AdaptiveAvgPool2d(T.tensor([1, 2]))(x[None])
    T.nn.Conv2d(2, 4, T.tensor([1, 2])).weight.shape
    T.nn.Conv2d(2, 4, 3, T.tensor([1, 2]), T.tensor([0, 2]))(T.ones(1, 2, 5, 5)).shape
    T.nn.ConvTranspose2d(2, 4, T.tensor([1, 2]))(T.ones(1, 2, 5, 5)).shape
    T.nn.Conv2d(2, 4, range(1, 3)).kernel_size
    T.nn.ZeroPad2d(T.tensor([1, 0, 0, 1]))(x)
    T.nn.ReflectionPad2d(T.tensor([1, 0, 0, 1]))(x[None])
"""

OUT = """
    F.linear(x, x, out=T.empty(2, 2))
    F.linear(x, x[0], out=T.empty(2))
    F.linear(x, x, x[:, 0], out=T.empty(0))
    F.avg_pool2d(x[None], 2, out=T.empty(0))
    F.avg_pool3d(x[None, None], (1, 2, 2), out=T.empty(1, 1, 1, 1))
    F.softshrink(x, out=T.empty(2, 3))
    F.softplus(x, out=T.empty(2, 3))
    F.logsigmoid(x, out=T.empty(2, 3))
    F.gelu(x, out=T.empty(2, 3))
    F.gelu(x, approximate="tanh", out=T.empty(2, 3))
    F.gelu(x, out=T.empty(2, 3, dtype=T.int64))
    F.softplus(x, out=T.empty(2, 3, dtype=T.float64))
    F.linear(x.requires_grad_(), x, out=T.empty(2, 2))
    F.avg_pool2d(x.requires_grad_()[None], 2, out=T.empty(0))
    F.gelu(x.requires_grad_(), out=T.empty(2, 3))
"""

NAMES = """
    T.torch is T
    T.range(0, 2)
    T.range(1, 2.6, 0.5)
    T.range(0, 1, 0.1)
    T.range(5, 0, -2)
    T.range(start=3, end=5, step=1, dtype=T.int64)
    T.range(0.5, 3, dtype=T.int64)
    T.range(1, 2.5, dtype=T.int64)
    T.range(2, 2)
    T.range(0, 3, out=T.empty(2))
    T.range(0, 3, out=T.empty(2, dtype=T.int64))
    T.range(1, 3, dtype=T.float16, requires_grad=True)
    T.range(1, 3, device="meta").shape
    T.range(0, 3, 0)
    T.range(3, 0)
    T.range(0, float("inf"))
    T.range(3)
    T.range(1, 3, dtype=T.bool)
    T.detach(x.requires_grad_())
    T.detach_(x.requires_grad_() * 2).requires_grad
    T.get_device(x)
    T.is_neg(x)
    T.resolve_neg(x)
    T.resolve_conj(x)
    T.conj_physical(x)
    T.as_strided_(x, (2,), (3,))
    T.cuda.is_tf32_supported()
    T.cpu.get_capabilities()["avx2"]
    T.cpu.get_capabilities()["fma3"]
    T.cpu.get_capabilities()["sse3"]
    T.cpu.get_capabilities()["architecture"]
    T.cpu.get_capabilities()["cpu_name"]
    T.cpu.get_capabilities()["num_logical_cores"]
    T.asarray(T.utils.dlpack.to_dlpack(x)).sum()
    T.asarray(T.utils.dlpack.to_dlpack(x), dtype=T.int64)
    T.testing.assert_allclose(1, 1.00001)
    T.testing.assert_allclose(x, x.double() * 1.00005)
    T.testing.assert_allclose(x, x * 1.0003)
    T.testing.assert_allclose(T.tensor(float("nan")), float("nan"))
    T.testing.assert_allclose(T.ones(2), [1, 2])
    T.testing.assert_allclose(x, x + 0.1, rtol=0, atol=0.2)
    T.testing.assert_allclose(x, x, rtol=0)
"""

ELEMENTS = """
    x.apply_(lambda a: a * 2)
    n.apply_(lambda a: a * 2.5)
    n.apply_(lambda a: True)
    n.to(T.uint8).apply_(lambda a: a - 300)
    (n > 2).apply_(lambda a: not a)
    (n > 2).apply_(lambda a: 0.5)
    x.half().apply_(lambda a: a + 1)
    x.t().apply_(lambda a: a + 1)
    x.apply_(lambda a: T.tensor(a + 1))
    x.apply_(lambda a: "text")
    x.apply_(3)
    T.empty(0).apply_(abs)
    x.requires_grad_().apply_(abs)
    T.ones(3, device="meta").apply_(abs).shape
    x.map_(x + 1, lambda a, b: a + 2 * b)
    x.map_(x[0].clone(), lambda a, b: a + 2 * b)
    x.t().map_(x.t(), callable=lambda a, b: a - b)
    x[0].map_(x, max)
    x.map_(n, max)
    x.map_(2.0, max)
    x.map_(T.ones(4), max)
    x.map_(x.clone().requires_grad_(), max)
    x.map2_(x + 1, x[0] + 0, lambda a, b, c: a + b * c)
    x.map2_(x=x, y=x, callable=lambda a, b, c: a + b * c)
    x.map2_(n, x, lambda a, b, c: a)
"""

CALLS = [
    line.strip()
    for table in (NAMES_OF_NUMPY, OTHER_NAMES, DEFAULTS_AND_ORDERS, OUT, NAMES, ELEMENTS)
    for line in table.strip().splitlines()
]


def evaluate(T, call):
    x = T.arange(6.0).view(2, 3)
    result = eval(call, {"T": T, "F": T.nn.functional, "x": x, "n": T.arange(6).view(2, 3)})
    return [seen(one) for one in result] if isinstance(result, tuple) else seen(result)


def seen(result):
    """What is compared: not how often a result was written on its way, which differs."""
    if not hasattr(result, "stride"):
        return result
    return result.tolist(), result.dtype, result.stride(), result.requires_grad


@pytest.mark.parametrize("call", CALLS)
def test_a_form_does_what_it_does_in_pytorch(call):
    agree(lambda T: evaluate(T, call), tolerance=2e-6)


WARNINGS = {
    "range": (UserWarning, lambda x: tensorlab.range(0, 2)),
    "assert_allclose": (FutureWarning, lambda x: tensorlab.testing.assert_allclose(x, x)),
    "min_value": (FutureWarning, lambda x: tensorlab.nn.Hardtanh(min_value=-2)),
    "max_value": (FutureWarning, lambda x: tensorlab.nn.Hardtanh(max_value=2)),
    "softmax": (UserWarning, lambda x: tensorlab.nn.functional.softmax(x)),
    "log_softmax": (UserWarning, lambda x: tensorlab.nn.LogSoftmax()(x)),
    "softmin": (UserWarning, lambda x: tensorlab.nn.Softmin()(x)),
    "implicit": (UserWarning, lambda x: tensorlab.nn.Softmax()(x)),
}


@pytest.mark.parametrize("name", WARNINGS)
def test_an_older_form_warns_where_it_is_written(name):
    category, call = WARNINGS[name]
    with pytest.warns(category, match=name) as caught:
        call(tensorlab.ones(2, 3))
    assert [one.filename for one in caught] == [__file__]


def test_stacklevel_says_whose_call_a_warning_names():
    def library(x):
        return tensorlab.nn.functional.softmax(x, _stacklevel=4)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        library(tensorlab.ones(2))
        line = library.__code__.co_firstlineno + 5
    assert [one.lineno for one in caught] == [line]


def test_no_element_changes_if_the_function_fails_on_one():
    x = tensorlab.tensor([1.0, 2.0, 0.0])
    with pytest.raises(ZeroDivisionError):
        x.apply_(lambda a: 1 / a)
    assert x.tolist() == [1, 2, 0]


def test_autograd_notices_what_apply_writes():
    x = tensorlab.ones(2, requires_grad=True)
    y = x.detach().clone()
    z = x * y
    y.apply_(lambda a: a + 1)
    with pytest.raises(RuntimeError, match="version"):
        z.sum().backward()


def test_an_argument_under_two_names_is_refused():
    x = tensorlab.ones(2, 3)
    with pytest.raises(
        TypeError, match="sum: an argument is given twice, under two names: axis, dim"
    ):
        x.sum(axis=0, dim=1)
    with pytest.raises(TypeError, match="twice, under two names: sections, indices"):
        x.hsplit(sections=3, indices=(1,))


@pytest.mark.parametrize("step", [float("nan"), float("inf")])
def test_a_range_in_steps_that_are_not_finite_is_refused(step):
    with (
        pytest.warns(UserWarning, match="range is deprecated"),
        pytest.raises(RuntimeError, match="not finite"),
    ):
        tensorlab.range(1, 3, step)
