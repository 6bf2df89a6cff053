"""Autocast: which ops are cast, to what, and what a region of it leaves alone."""

import gc
import threading
import types
import weakref

import numpy
import pytest
from tensorlab._core.dispatch.autocast import settings
from tensorlab._core.dispatch.layers import entered_layers

import tensorlab
from tensorlab._core.dispatch.recorder import Counter
from tensorlab.amp import autocast
from tensorlab.nn import functional as F
from tensorlab.utils.checkpoint import checkpoint
from tests.ops.agreement import agree
from tests.oracle import require_torch

FEW = 4  # samples of an op


# ---------------------------------------------------------------- op by op, against PyTorch
# PyTorch's lists, by the names in its database of ops; what isn't listed isn't cast, of which some examples follow.
CAST = """
    addbmm addmm baddbmm bmm mm matmul __rmatmul__ inner tensordot mv addmv
    nn.functional.linear nn.functional.conv1d nn.functional.conv2d nn.functional.conv3d
    nn.functional.conv_transpose1d nn.functional.conv_transpose2d
    nn.functional.conv_transpose3d nn.functional.prelu linalg.vecdot linalg.multi_dot
    nn.functional.scaled_dot_product_attention cdist cholesky cholesky_inverse
    cholesky_solve geqrf linalg.cholesky linalg.cholesky_ex linalg.cond linalg.eigvals
    linalg.eigvalsh linalg.householder_product linalg.inv linalg.inv_ex linalg.lstsq
    linalg.matrix_rank linalg.qr linalg.solve linalg.svdvals linalg.tensorinv
    linalg.tensorsolve pinverse ormqr polar prod quantile nanquantile stft trace
    triangular_solve view_as_complex fft.fft fft.ifft fft.rfft fft.irfft fft.hfft fft.ihfft
    fft.fft2 fft.rfftn fft.irfftn nn.functional.adaptive_avg_pool3d
    nn.functional.adaptive_max_pool3d nn.functional.avg_pool3d
    nn.functional.binary_cross_entropy nn.functional.binary_cross_entropy_with_logits
    nn.functional.cosine_embedding_loss nn.functional.cross_entropy nn.functional.ctc_loss
    nn.functional.grid_sample nn.functional.hinge_embedding_loss nn.functional.huber_loss
    nn.functional.kl_div nn.functional.l1_loss nn.functional.margin_ranking_loss
    nn.functional.max_unpool2d nn.functional.max_unpool3d nn.functional.mse_loss
    nn.functional.multi_margin_loss nn.functional.multilabel_margin_loss
    nn.functional.nll_loss nn.functional.pad nn.functional.poisson_nll_loss
    nn.functional.smooth_l1_loss nn.functional.soft_margin_loss
    nn.functional.triplet_margin_loss cat stack index_copy add mul exp softmax log_softmax
    sum mean var cumsum dot outer norm scatter_add nn.functional.layer_norm
    nn.functional.gelu nn.functional.avg_pool2d nn.functional.max_pool2d
    nn.functional.batch_norm
""".split()  # noqa: SIM905
# nn.functional.pad by circular is not cast, and reflection in three dimensions is only here.
DIFFERENT = {("nn.functional.pad", "reflect")}


def ours(x):
    """The same in tensorlab."""
    torch = require_torch()
    if isinstance(x, torch.Tensor):
        if x.dtype == torch.bfloat16:
            return ours(x.detach().float()).to(tensorlab.bfloat16)
        return tensorlab.from_numpy(x.detach().resolve_conj().numpy().copy())
    if isinstance(x, torch.dtype):
        return getattr(tensorlab, str(x).removeprefix("torch."))
    if isinstance(x, (list, tuple)):
        return type(x)(map(ours, x))
    if isinstance(x, dict):
        return {key: ours(value) for key, value in x.items()}
    return x


def function_of(name, T):
    for part in name.split("."):
        T = getattr(T, part) if hasattr(T, part) else getattr(T.Tensor, part)
    return T


def types_of(results):
    results = results if isinstance(results, (list, tuple)) else [results]
    return [str(one.dtype).split(".")[-1] for one in results if hasattr(one, "dtype")]


@pytest.mark.filterwarnings("ignore")  # of PyTorch, about its own samples
@pytest.mark.parametrize("half", [False, True], ids=["float32 in", "bfloat16 in"])
@pytest.mark.parametrize("name", CAST)
def test_an_op_is_cast_as_in_pytorch(name, half):
    torch = require_torch()
    from torch.testing._internal.common_methods_invocations import op_db

    compared = 0
    for op in [one for one in op_db if one.name == name]:
        if (name, op.variant_test_name) in DIFFERENT:
            continue
        # not op.sample_inputs(), which reads the whole stack to find its caller
        for i, sample in enumerate(op.sample_inputs_func(op, "cpu", torch.float32, False)):
            if i == FEW:
                break
            if half:
                sample = sample.transform(
                    lambda x: x.bfloat16() if getattr(x, "dtype", None) == torch.float32 else x
                )
            try:
                with torch.autocast("cpu"):
                    wanted = op(sample.input, *sample.args, **sample.kwargs)
            except RuntimeError:
                continue
            with autocast("cpu"):
                got = function_of(name, tensorlab)(
                    ours(sample.input), *ours(sample.args), **ours(sample.kwargs)
                )
            wanted = types_of(wanted)  # of lstsq, PyTorch's samples look at two results
            assert types_of(got)[: len(wanted)] == wanted, (
                sample.input.shape,
                sample.args,
                sample.kwargs,
            )
            compared += 1
    assert compared


def test_a_small_network_computes_what_pytorchs_does():
    def losses(T):
        T.manual_seed(0)
        model = T.nn.Sequential(
            T.nn.Conv2d(1, 4, 3),
            T.nn.BatchNorm2d(4),
            T.nn.ReLU(),
            T.nn.Flatten(),
            T.nn.Linear(144, 5),
        )
        optimizer = T.optim.SGD(model.parameters(), lr=0.1)
        x, y, found = T.arange(512.0).reshape(8, 1, 8, 8).cos(), T.arange(8) % 5, []
        for _ in range(5):
            with T.autocast("cpu", dtype=T.bfloat16):
                scores = model(x)
                loss = T.nn.functional.cross_entropy(scores, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            found += [loss.detach(), str(scores.dtype)[-8:], str(model[4].weight.grad.dtype)[-7:]]
        return found

    agree(losses, tolerance=3e-2)


# ---------------------------------------------------------------- regions
def product_type(x):
    return (x @ x).dtype


X = tensorlab.ones(2, 2)


def test_regions_nest():
    with autocast("cpu"):
        with autocast("cpu", dtype=tensorlab.float16):
            assert product_type(X) == tensorlab.float16
            with autocast("cpu", enabled=False):
                assert product_type(X) == tensorlab.float32
                assert not tensorlab.is_autocast_enabled("cpu")
            assert product_type(X) == tensorlab.float16
        assert product_type(X) == tensorlab.bfloat16
        assert tensorlab.get_autocast_dtype("cpu") == tensorlab.bfloat16
    assert product_type(X) == tensorlab.float32


def test_one_context_can_be_entered_in_itself():
    context = autocast("cpu")
    with context:
        with context:
            assert product_type(X) == tensorlab.bfloat16
        assert product_type(X) == tensorlab.bfloat16
    assert product_type(X) == tensorlab.float32


def test_nothing_is_left_of_a_region():
    with autocast("cpu"):
        assert len(entered_layers()) == 1
    assert entered_layers() == ()


def test_an_op_that_casts_by_itself_is_not_cast_for_again():
    """Below the layer, a kernel that is written in Python computes with what it was given."""
    with autocast("cpu"), Counter("profiler") as counter:
        F.l1_loss(X.bfloat16(), X.bfloat16())
    assert counter.counts["to_copy"] == 4  # two of the test's, two of the loss's


def test_the_device_type_may_be_left_out():
    def answers(T):
        found = [
            T.set_autocast_enabled(True),
            T.is_autocast_enabled(),
            T.is_autocast_enabled("cpu"),
        ]
        T.set_autocast_enabled(False)
        return [*found, T.is_autocast_enabled()]

    agree(answers)


def test_an_error_ends_the_region():
    with pytest.raises(ZeroDivisionError), autocast("cpu"):
        1 / 0  # noqa: B018
    assert product_type(X) == tensorlab.float32
    assert settings.nesting == 0


def test_another_thread_is_not_in_the_region():
    found = []
    with autocast("cpu"):
        thread = threading.Thread(target=lambda: found.append(product_type(X)))
        thread.start()
        thread.join()
    assert found == [tensorlab.float32]


def test_it_can_be_set_without_a_region():
    tensorlab.set_autocast_enabled("cpu", True)
    try:
        tensorlab.set_autocast_dtype("cpu", tensorlab.float16)
        assert product_type(X) == tensorlab.float16
    finally:
        tensorlab.set_autocast_dtype("cpu", tensorlab.bfloat16)
        tensorlab.set_autocast_enabled("cpu", False)
    assert product_type(X) == tensorlab.float32


def test_settings_are_pytorchs():
    def answers(T):
        found = [
            T.is_autocast_cache_enabled(),
            T.autocast_increment_nesting(),
            T.autocast_decrement_nesting(),
        ]
        with T.autocast("cpu", cache_enabled=False):
            found.append(T.is_autocast_cache_enabled())
            found.append(
                (
                    T.is_autocast_enabled("cpu"),
                    T.is_autocast_enabled("cuda"),
                    T.is_autocast_enabled(),
                )
            )
        T.set_autocast_cache_enabled(False)
        found.append(T.is_autocast_cache_enabled())
        T.set_autocast_cache_enabled(True)
        T.clear_autocast_cache()
        return found

    agree(answers)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_settings_of_one_device_type_have_older_names():
    def answers(T):
        T.set_autocast_cpu_enabled(True)
        T.set_autocast_cpu_dtype(T.float16)
        found = [T.is_autocast_cpu_enabled(), str(T.get_autocast_cpu_dtype())[-7:]]
        T.set_autocast_cpu_dtype(T.bfloat16)
        T.set_autocast_cpu_enabled(False)
        return [*found, T.is_autocast_cpu_enabled(), str(T.get_autocast_gpu_dtype())[-7:]]

    agree(answers)


OLDER = {
    "is_autocast_cpu_enabled": (),
    "set_autocast_cpu_enabled": (False,),
    "get_autocast_cpu_dtype": (),
    "set_autocast_cpu_dtype": (tensorlab.bfloat16,),
    "get_autocast_gpu_dtype": (),
    "set_autocast_gpu_dtype": (tensorlab.float16,),
}


@pytest.mark.parametrize("name", OLDER)
def test_older_names_say_what_to_write_instead(name):
    function = getattr(tensorlab, name)
    newer = name.replace("_cpu", "").replace("_gpu", "")
    assert function.__name__ == function.__qualname__ == name
    assert function.__doc__.startswith(f"Write `{newer}(")
    with pytest.warns(DeprecationWarning, match=rf"`{name}\(.*write `{newer}\('") as seen:
        function(*OLDER[name])
    assert seen[0].filename == __file__


def test_containers_are_cast_for_a_function_of_ones_own():
    half, seen = X.bfloat16(), []

    @tensorlab.amp.custom_fwd(device_type="cpu", cast_inputs=tensorlab.float32)
    def forward(ctx, *args, **kwargs):
        seen.append((args, kwargs))

    given = ("text", b"bytes", numpy.ones(2), 3, X.double(), {"x": half, half: 1}, iter([half]))
    context = types.SimpleNamespace()
    with autocast("cpu"):
        forward(context, *given, more=[(half,)])
    ((text, data, array, number, double, mapping, items), kwargs) = seen[0]
    assert (text, data, number, double.dtype) == ("text", b"bytes", 3, tensorlab.float64)
    assert array is given[2]
    assert mapping["x"].dtype == kwargs["more"][0][0].dtype == tensorlab.float32
    assert [one.dtype for one in items] == [tensorlab.float32]
    assert context._dtype == tensorlab.bfloat16
    forward(context, half)
    assert seen[1][0][0] is half
    assert context._fwd_used_autocast is False


def test_float64_and_integers_are_left_alone():
    with autocast("cpu"):
        assert product_type(X.double()) == tensorlab.float64
        assert product_type(X.long()) == tensorlab.int64
        assert tensorlab.cat([X.half(), X.bfloat16()]).dtype == tensorlab.float32


# ---------------------------------------------------------------- gradients, and what is kept
def test_gradients_have_the_type_of_the_leaf():
    w = tensorlab.randn(3, 3, requires_grad=True)
    with autocast("cpu"):
        y = w @ X.new_ones(3, 3)
    y.sum().backward()
    assert (y.dtype, w.grad.dtype) == (tensorlab.bfloat16, tensorlab.float32)


def test_a_weight_is_cast_once_in_a_region_and_forgotten_after_it():
    w = tensorlab.randn(3, 3, requires_grad=True)
    with autocast("cpu"):
        first = F.linear(X.new_ones(2, 3), w)
        second = F.linear(X.new_ones(2, 3), w)
        assert len(settings.kept) == 1
        with autocast("cpu", enabled=False):
            pass
        assert len(settings.kept) == 1
    assert not settings.kept
    (first.sum() + second.sum()).backward()
    assert w.grad.tolist() == [[4.0] * 3] * 3
    there = weakref.ref(w)
    del w, first, second
    gc.collect()
    assert there() is None


@pytest.mark.parametrize("cache", [True, False])
def test_a_weight_that_is_written_to_is_cast_again(cache):
    w = tensorlab.ones(2, 2, requires_grad=True)
    with autocast("cpu", cache_enabled=cache):
        before = F.linear(X, w)
        with tensorlab.no_grad():
            w.mul_(2)
        assert F.linear(X, w).tolist() == (2 * before).tolist()
        assert len(settings.kept) == cache


def test_a_weight_that_was_cast_without_gradients_gets_them_later():
    w = tensorlab.ones(2, 2, requires_grad=True)
    with autocast("cpu"):
        with tensorlab.no_grad():
            F.linear(X, w)
        F.linear(X, w).sum().backward()
    assert w.grad is not None


# ---------------------------------------------------------------- other parts of the package
@pytest.mark.parametrize("use_reentrant", [True, False])
def test_a_checkpoint_is_recomputed_as_it_was_computed(use_reentrant):
    seen = []

    def segment(x):
        seen.append(product_type(x))
        return (x @ x).float().sum()

    x = tensorlab.ones(2, 2, requires_grad=True)
    with autocast("cpu", dtype=tensorlab.float16):
        y = checkpoint(segment, x, use_reentrant=use_reentrant)
    y.backward()
    assert seen == [tensorlab.float16] * 2
    with autocast("cpu"):
        with autocast("cpu", enabled=False):
            y = checkpoint(segment, x, use_reentrant=use_reentrant)
        y.backward()
    assert seen[2:] == [tensorlab.float32] * 2


def test_a_compiled_function_is_cast_inside_and_outside():
    @tensorlab.compile
    def inside(x):
        with autocast("cpu"):
            return (x @ x).sum()

    @tensorlab.compile
    def around(x):
        return (x @ x).tanh()

    for _ in range(3):
        assert inside(X).dtype == tensorlab.bfloat16
        assert around(X).dtype == tensorlab.float32
        with autocast("cpu", dtype=tensorlab.float16):
            assert around(X).dtype == tensorlab.float16
        with autocast("cpu"):
            assert around(X).dtype == tensorlab.bfloat16


def test_a_compiled_network_learns_as_the_plain_one():
    def losses(compiled):
        tensorlab.manual_seed(0)
        model = tensorlab.nn.Sequential(
            tensorlab.nn.Linear(6, 8), tensorlab.nn.Tanh(), tensorlab.nn.Linear(8, 3)
        )
        step = tensorlab.compile(model) if compiled else model
        optimizer, found = tensorlab.optim.SGD(model.parameters(), lr=0.5), []
        x, y = tensorlab.arange(24.0).reshape(4, 6).sin(), tensorlab.tensor([0, 1, 2, 0])
        for _ in range(6):
            with autocast("cpu"):
                loss = F.cross_entropy(step(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        return found

    assert losses(True) == pytest.approx(losses(False), abs=1e-2)


def test_an_op_of_a_program_says_itself_what_it_takes():
    @tensorlab.library.custom_op("autocast_test::twice", mutates_args=())
    def twice(x: tensorlab.Tensor) -> tensorlab.Tensor:
        return x + x

    assert twice(X.bfloat16()).dtype == tensorlab.bfloat16
    twice.register_autocast("cpu", tensorlab.float32)
    with autocast("cpu"):
        assert twice(X.bfloat16()).dtype == tensorlab.float32


def test_functions_of_ones_own_are_cast_as_they_say():
    def gradient(T):
        found = []

        class Product(T.autograd.Function):
            @staticmethod
            @T.amp.custom_fwd(device_type="cpu", cast_inputs=T.float32)
            def forward(ctx, x, more):
                found.append(
                    [T.is_autocast_enabled("cpu"), str(x.dtype)[-7:], str(more[0].dtype)[-7:]]
                )
                ctx.save_for_backward(x)
                return x @ x

            @staticmethod
            @T.amp.custom_bwd(device_type="cpu")
            def backward(ctx, grad):
                found.append([T.is_autocast_enabled("cpu"), str(grad.dtype)[-7:]])
                return 2 * grad, None

        x = T.ones(2, 2, requires_grad=True)
        with T.autocast("cpu"):
            y = Product.apply(x, [T.ones(1, dtype=T.bfloat16)])
            y.sum().backward()
        return found

    agree(gradient)


BAD = """
    T.set_autocast_enabled("cpu", 3)
    T.set_autocast_dtype("cpu", 3)
    T.set_autocast_enabled("gpu", True)
    T.set_autocast_dtype("gpu", T.bfloat16)
    T.is_autocast_enabled(3)
    T.autocast("cpu", dtype=3)
    T.set_autocast_cache_enabled(3)
"""


@pytest.mark.parametrize("call", [line.strip() for line in BAD.strip().splitlines()])
def test_bad_settings_change_nothing(call):
    with pytest.raises((TypeError, RuntimeError, ValueError), match=r"autocast"):
        eval(call, {"T": tensorlab})
    assert product_type(X) == tensorlab.float32
    assert tensorlab.is_autocast_cache_enabled() is True
