"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from typing import Any
from tensorlab.futures import Future
from tensorlab.distributed import GradBucket
from tensorlab.distributed import ProcessGroup

__all__ = [
    "allreduce_hook",
    "bf16_compress_hook",
    "bf16_compress_wrapper",
    "fp16_compress_hook",
    "fp16_compress_wrapper",
]

def allreduce_hook(process_group: ProcessGroup, bucket: GradBucket) -> Future: ...
def bf16_compress_hook(process_group: ProcessGroup, bucket: GradBucket) -> Any: ...
def bf16_compress_wrapper(hook: Any) -> Any: ...
def fp16_compress_hook(process_group: ProcessGroup, bucket: GradBucket) -> Any: ...
def fp16_compress_wrapper(hook: Any) -> Any: ...
