"""nn.attention: which ways of computing attention are allowed, and masks that are descriptions."""

import warnings

import pytest

import tensorlab
from tensorlab.nn import functional as F
from tensorlab.nn.attention import SDPBackend, bias, sdpa_kernel
from tests.oracle import assert_same_values, require_torch

BLOCKS = "ScaledDotProductFlashAttentionForCpuBackward0"


def attend(**options):
    """The name of the node of an attention: it tells how it was computed."""
    x = tensorlab.ones(1, 2, 3, 4, requires_grad=True)
    return F.scaled_dot_product_attention(x, x, x, **options).grad_fn.name()


@pytest.mark.parametrize(
    "backend",
    ["ERROR", "MATH", "FLASH_ATTENTION", "EFFICIENT_ATTENTION", "CUDNN_ATTENTION", "OVERRIDEABLE"],
)
def test_a_backend_has_pytorchs_number_and_text(backend):
    ours, theirs = (
        getattr(SDPBackend, backend),
        getattr(require_torch().nn.attention.SDPBackend, backend),
    )
    assert (int(ours), str(ours), repr(ours)) == (int(theirs), str(theirs), repr(theirs))


def test_a_block_of_the_program_chooses_how_attention_is_computed():
    assert attend() == BLOCKS
    for backend in (SDPBackend.FLASH_ATTENTION, [SDPBackend.EFFICIENT_ATTENTION], list(SDPBackend)):
        with sdpa_kernel(backend):
            assert attend() == BLOCKS
    with sdpa_kernel(SDPBackend.MATH):
        assert attend() != BLOCKS
        with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]):
            assert attend() == BLOCKS
        assert attend() != BLOCKS
    assert attend() == BLOCKS


def test_the_first_of_a_list_with_priorities_computes():
    backends = [SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]
    with sdpa_kernel(backends, set_priority=True):
        assert attend() != BLOCKS
    with sdpa_kernel(backends[::-1], set_priority=True):
        assert attend() == BLOCKS
        assert attend(dropout_p=0.5) != BLOCKS
    assert attend() == BLOCKS


@pytest.mark.parametrize("backend", [[], "ERROR", "CUDNN_ATTENTION", "OVERRIDEABLE"])
def test_backends_that_can_compute_nothing_are_refused_when_they_should(backend):
    for package in (tensorlab, require_torch()):
        attention = package.nn.attention
        x = package.ones(1, 1, 2, 3)
        chosen = getattr(attention.SDPBackend, backend) if backend else backend
        with attention.sdpa_kernel(chosen), pytest.raises(RuntimeError, match="backend"):
            package.nn.functional.scaled_dot_product_attention(x, x, x)
        package.nn.functional.scaled_dot_product_attention(x, x, x)


@pytest.mark.filterwarnings("ignore")
def test_blocks_alone_neither_drop_weights_nor_learn_masks():
    for package in (tensorlab, require_torch()):
        attention = package.nn.attention
        x = package.ones(1, 1, 2, 3)
        with attention.sdpa_kernel(attention.SDPBackend.FLASH_ATTENTION):
            with pytest.raises(RuntimeError):
                package.nn.functional.scaled_dot_product_attention(x, x, x, dropout_p=0.5)
            with pytest.raises(RuntimeError):
                package.nn.functional.scaled_dot_product_attention(
                    x, x, x, package.zeros(2, 2, requires_grad=True)
                )
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION), tensorlab.no_grad():
        x = tensorlab.ones(1, 1, 2, 3)
        F.scaled_dot_product_attention(x, x, x, tensorlab.zeros(2, 2, requires_grad=True))


def test_a_block_that_raises_leaves_the_ways_as_they_were():
    with pytest.raises(ZeroDivisionError), sdpa_kernel(SDPBackend.MATH):
        raise ZeroDivisionError
    assert attend() == BLOCKS


@pytest.mark.parametrize("backends", ["MATH", 0, None, (SDPBackend.MATH,)])
def test_what_is_no_backend_is_refused(backends):
    for package in (tensorlab, require_torch()):
        with (
            pytest.raises(AssertionError, match="SDPBackend"),
            package.nn.attention.sdpa_kernel(backends),
        ):
            pass


def test_the_switches_of_cuda_are_the_same_ways():
    switches = tensorlab.backends.cuda
    for name, node in (("flash", BLOCKS), ("mem_efficient", None)):
        getattr(switches, f"enable_{name}_sdp")(False)
        assert not getattr(switches, f"{name}_sdp_enabled")()
        assert (attend() == BLOCKS) == (node == BLOCKS)
    switches.enable_math_sdp(False)
    with pytest.raises(RuntimeError, match="sdpa_kernel"):
        attend()
    for name in ("math", "mem_efficient", "flash"):
        getattr(switches, f"enable_{name}_sdp")(True)
        assert getattr(switches, f"{name}_sdp_enabled")()
    assert attend() == BLOCKS


# ---------------------------------------------------------------- bias
SIZES = [(2, 2), (2, 4), (4, 2), (1, 3), (3, 1)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["causal_upper_left", "causal_lower_right"])
@pytest.mark.parametrize("sizes", SIZES)
def test_a_causal_bias_masks_as_pytorchs(name, sizes):
    outs, texts = [], []
    for package in (tensorlab, require_torch()):
        import_bias = pytest.importorskip(f"{package.__name__}.nn.attention.bias")
        mask = getattr(import_bias, name)(*sizes)
        texts.append(
            (repr(mask), tuple(mask.shape), mask.seq_len_q, mask.seq_len_kv, mask.variant.name)
        )
        q = package.arange(4.0 * sizes[0]).sin().view(1, 1, sizes[0], 4).requires_grad_()
        k = package.arange(4.0 * sizes[1]).cos().view(1, 1, sizes[1], 4).requires_grad_()
        out = package.nn.functional.scaled_dot_product_attention(q, k, k, mask, scale=0.7)
        out.square().sum().backward()
        outs.append([out, q.grad, k.grad])
        with pytest.raises(ValueError, match="ausal"):
            package.nn.functional.scaled_dot_product_attention(q, k, k, mask, is_causal=True)
    assert texts[0] == texts[1]
    for one, other in zip(*outs, strict=True):
        assert_same_values(one, other, 1e-5)


def test_what_is_computed_with_a_bias_is_a_plain_tensor():
    assert type(bias.causal_upper_left(2, 2) + 1) is tensorlab.Tensor


def test_a_bias_does_not_make_other_classes_slower_or_plain():
    class Named(tensorlab.Tensor):
        pass

    named = tensorlab.ones(1, 2, 2).as_subclass(Named)
    assert type(named + 1) is Named
    assert type(F.scaled_dot_product_attention(named, named, named)) is Named


def test_a_bias_that_lets_queries_see_nothing_warns():
    for wide, is_warned in ((4, False), (2, True), (3, False)):
        for make in (bias.causal_lower_right, bias.causal_upper_left):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                make(3, wide)
            assert bool(caught) == (is_warned and make is bias.causal_lower_right)


def test_what_a_bias_cannot_be_made_of_is_refused():
    for package in (tensorlab, require_torch()):
        biases = pytest.importorskip(f"{package.__name__}.nn.attention.bias")
        for call in (
            lambda biases=biases: biases.causal_upper_left(2),
            lambda biases=biases: biases.causal_lower_right(2, 3, 4),
            lambda biases=biases: biases.CausalBias(1, 2, 3),
        ):
            with pytest.raises(AssertionError):
                call()
        assert [(one.name, int(one)) for one in biases.CausalVariant] == [
            ("UPPER_LEFT", 1),
            ("LOWER_RIGHT", 2),
        ]


def test_names_that_are_missing_are_explained():
    with pytest.raises(AttributeError, match="did you mean 'sdpa_kernel'"):
        tensorlab.nn.attention.sdpa_kernels  # noqa: B018
    with pytest.raises(AttributeError, match="causal_upper_left"):
        bias.causal_upper_lef  # noqa: B018


def backends_in(T, way):
    """The names of the backends that are allowed inside each of nested blocks, in both orders."""
    attention = T.nn.attention
    seen = []

    def look():
        now = map(attention._cur_sdpa_kernel_backends, (False, True))
        seen.extend([backend.name for backend in backends] for backends in now)

    look()
    with way(T, attention.SDPBackend):
        look()
    look()
    return seen


WAYS = {
    "one": lambda T, B: T.nn.attention.sdpa_kernel(B.MATH),
    "two": lambda T, B: T.nn.attention.sdpa_kernel([B.MATH, B.FLASH_ATTENTION]),
    "in this order": lambda T, B: T.nn.attention.sdpa_kernel([B.MATH, B.FLASH_ATTENTION], True),
    "devices": lambda T, B: T.nn.attention.sdpa_kernel([B.OVERRIDEABLE, B.CUDNN_ATTENTION]),
    "switches": lambda T, B: T.backends.cuda.sdp_kernel(enable_flash=False, enable_cudnn=False),
    "no switch": lambda T, B: T.backends.cuda.sdp_kernel(),
    "math off": lambda T, B: T.backends.cuda.sdp_kernel(True, False, True, False),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_the_backends_that_are_allowed_are_told_as_in_pytorch(way):
    assert backends_in(tensorlab, WAYS[way]) == backends_in(require_torch(), WAYS[way])


def test_the_older_switches_warn_and_choose():
    with pytest.warns(FutureWarning, match="sdpa_kernel"):
        switches = tensorlab.backends.cuda.sdp_kernel(
            enable_flash=False, enable_mem_efficient=False
        )
    with switches:
        assert attend() != BLOCKS
    assert attend() == BLOCKS
