"""Hooks that average buckets as they are, or as half-precision numbers, which are half as long."""

from tensorlab import _missing
from tensorlab._core.dtypes import BY_NAME
from tensorlab.distributed import collectives
from tensorlab.distributed.process_groups import the_group

__all__ = [
    "allreduce_hook",
    "bf16_compress_hook",
    "bf16_compress_wrapper",
    "fp16_compress_hook",
    "fp16_compress_wrapper",
]


def allreduce_hook(process_group, bucket):
    """Average a bucket; what data parallel training does without a hook.

    Parameters
    ----------
    process_group : ProcessGroup, or None for all ranks
    bucket : GradBucket

    Returns
    -------
    Future of the averaged buffer
    """
    group = the_group(process_group)
    buffer = bucket.buffer().div_(group.size())
    return first(collectives.all_reduce(buffer, group=group, async_op=True).get_future())


def fp16_compress_hook(process_group, bucket):
    """Average a bucket in float16. Gradients below 6e-8 become 0, and above 65504 infinite."""
    return compress(BY_NAME["float16"], process_group, bucket)


def bf16_compress_hook(process_group, bucket):
    """Average a bucket in bfloat16, which has the range of float32 and 8 bits of precision."""
    return compress(BY_NAME["bfloat16"], process_group, bucket)


def compress(dtype, process_group, bucket):
    group = the_group(process_group)
    buffer = bucket.buffer()
    short = buffer.to(dtype).div_(group.size())
    future = collectives.all_reduce(short, group=group, async_op=True).get_future()
    return future.then(lambda done: buffer.copy_(done.value()[0]))


def fp16_compress_wrapper(hook):
    """Return a hook that hands another hook the bucket in float16."""
    return wrapper(BY_NAME["float16"], hook)


def bf16_compress_wrapper(hook):
    """Return a hook that hands another hook the bucket in bfloat16."""
    return wrapper(BY_NAME["bfloat16"], hook)


def wrapper(dtype, hook):
    def compressed(state, bucket):
        buffer = bucket.buffer()
        bucket.set_buffer(buffer.to(dtype))
        future = hook(state, bucket)

        def restore(done):
            bucket.set_buffer(buffer)
            return buffer.copy_(done.value())

        return future.then(restore)

    return compressed


def first(future):
    """Return a future of the only tensor in a future's list."""
    return future.then(lambda done: done.value()[0])


__getattr__ = _missing.refusing(__name__)
