"""Ops of a program's own: still to come."""

from tensorlab import _missing, _planned

__all__ = []

globals().update(
    _planned.names(
        __name__,
        """Library custom_op define fallthrough_kernel get_ctx get_kernel impl impl_abstract
        infer_schema opcheck register_autocast register_autograd register_fake register_kernel
        register_torch_dispatch register_vmap triton_op wrap_triton""",
        until="write an autograd.Function, which can do anything in its forward.",
        chapter="40-custom-ops",
    )
)


def __getattr__(name):
    raise _missing.refuse(__name__, name)
