"""Ops of a program's own: defined, given functions for devices, a fake, a derivative; and
checked.

Begin with `custom_op`, which makes an op of a Python function; `Library` does the same in
PyTorch's older, longer way. `opcheck` tries whether an op does what it says. The ops that exist
are in `tensorlab.ops`, by namespace.
"""

from tensorlab import _missing
from tensorlab.library.custom_ops import CustomOpDef, custom_op, get_kernel
from tensorlab.library.opcheck import OpCheckError, opcheck
from tensorlab.library.registering import (
    Library,
    _scoped_library,
    define,
    get_ctx,
    impl,
    impl_abstract,
    register_autocast,
    register_autograd,
    register_fake,
    register_kernel,
    register_torch_dispatch,
    register_vmap,
)
from tensorlab.library.schemas import infer_schema

__all__ = [
    "CustomOpDef",
    "Library",
    "OpCheckError",
    "custom_op",
    "define",
    "get_ctx",
    "get_kernel",
    "impl",
    "impl_abstract",
    "infer_schema",
    "opcheck",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "register_vmap",
]

__getattr__ = _missing.refusing(__name__)
