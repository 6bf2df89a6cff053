"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from tensorlab.utils import backend_registration as backend_registration
from tensorlab.utils import benchmark as benchmark
from tensorlab.utils import bottleneck as bottleneck
from tensorlab.utils import checkpoint as checkpoint
from tensorlab.utils import cpp_extension as cpp_extension
from tensorlab.utils import data as data
from tensorlab.utils import dlpack as dlpack
from tensorlab.utils import hooks as hooks
from typing import Any

__all__ = [
    "backend_registration",
    "benchmark",
    "bottleneck",
    "checkpoint",
    "cpp_extension",
    "data",
    "dlpack",
    "generate_methods_for_privateuse1_backend",
    "hooks",
    "rename_privateuse1_backend",
]

def generate_methods_for_privateuse1_backend(for_tensor: builtins.bool=True, for_module: builtins.bool=True, for_packed_sequence: builtins.bool=True, for_storage: builtins.bool=False, unsupported_dtype: Any=None) -> Any: ...
def rename_privateuse1_backend(backend_name: Any) -> Any: ...
