"""CUDA's switches: there is no CUDA, so they can be set and read; only those of attention change something."""

import warnings

from tensorlab import _missing

from ..ops import scaled_dot_product


class Switches:
    """Attributes that can be set and read."""

    def __init__(self, **switches):
        vars(self).update(switches)

    def __repr__(self):
        return ", ".join(f"{name}={value!r}" for name, value in vars(self).items())


matmul = Switches(
    allow_tf32=False,
    allow_fp16_reduced_precision_reduction=True,
    allow_bf16_reduced_precision_reduction=True,
)


def is_built():
    """False: this copy was built without CUDA."""
    return False


def flash_sdp_enabled():
    """Return what `enable_flash_sdp` was told."""
    return "flash" in scaled_dot_product.ways


def enable_flash_sdp(enabled):
    """Say whether attention may be computed in blocks, as PyTorch's flash kernel does; this holds on the CPU, too."""
    scaled_dot_product.switch("flash", enabled)


def mem_efficient_sdp_enabled():
    """Return what `enable_mem_efficient_sdp` was told."""
    return "mem_efficient" in scaled_dot_product.ways


def enable_mem_efficient_sdp(enabled):
    """Say whether attention may be computed in blocks where `enable_flash_sdp` forbids it."""
    scaled_dot_product.switch("mem_efficient", enabled)


def math_sdp_enabled():
    """Return what `enable_math_sdp` was told."""
    return "math" in scaled_dot_product.ways


def enable_math_sdp(enabled):
    """Say whether attention may be computed by the formula, from other operators."""
    scaled_dot_product.switch("math", enabled)


def cudnn_sdp_enabled():
    """Return what `enable_cudnn_sdp` was told."""
    return "cudnn" in scaled_dot_product.ways


def enable_cudnn_sdp(enabled):
    """Say whether cuDNN may compute attention, which it can't on the CPU."""
    scaled_dot_product.switch("cudnn", enabled)


def is_flash_attention_available():
    """False: there is no CUDA device to run that kernel."""
    return False


def sdp_kernel(enable_flash=True, enable_math=True, enable_mem_efficient=True, enable_cudnn=True):
    """Within a `with` block, let attention be computed in some ways only: write `sdpa_kernel`.

    Deprecated, with a FutureWarning: `nn.attention.sdpa_kernel` takes a list instead of switches.
    """
    warnings.warn(
        "backends.cuda.sdp_kernel is deprecated; write nn.attention.sdpa_kernel([...]), which takes "
        "a list of what is enabled",
        FutureWarning,
        stacklevel=2,
    )
    switches = enable_flash, enable_mem_efficient, enable_math, enable_cudnn
    return scaled_dot_product.allowed(
        [way for way, is_on in zip(scaled_dot_product.WAYS, switches, strict=False) if is_on]
    )


__getattr__ = _missing.refusing(__name__)
