"""CUDA's switches: there is no CUDA, so they can be set and read, and change nothing."""


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
_attention = {"flash": True, "mem_efficient": True, "math": True}


def is_built():
    """False: this copy was built without CUDA."""
    return False


def flash_sdp_enabled():
    """Return what `enable_flash_sdp` was told."""
    return _attention["flash"]


def enable_flash_sdp(enabled):
    """Keep whether attention may use the flash kernel; here there is one way to compute it."""
    _attention["flash"] = bool(enabled)


def mem_efficient_sdp_enabled():
    """Return what `enable_mem_efficient_sdp` was told."""
    return _attention["mem_efficient"]


def enable_mem_efficient_sdp(enabled):
    """Keep whether attention may use the kernel that saves memory; here there is one way."""
    _attention["mem_efficient"] = bool(enabled)


def math_sdp_enabled():
    """Return what `enable_math_sdp` was told."""
    return _attention["math"]


def enable_math_sdp(enabled):
    """Keep whether attention may be computed from other operators; here it always is."""
    _attention["math"] = bool(enabled)
