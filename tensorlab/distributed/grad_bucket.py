"""GradBucket: a bucket of gradients, as a communication hook sees it."""

__all__ = ["GradBucket"]


class GradBucket:
    """What a communication hook gets: one bucket of gradients that are ready to be reduced.

    Parameters
    ----------
    bucket : Bucket
    is_last : bool, whether no other bucket comes after it in this backward pass
    """

    def __init__(self, bucket, is_last):
        self._bucket, self._is_last = bucket, is_last

    def index(self):
        """Return the number of the bucket; its order is that of the reduction."""
        return self._bucket.index

    def is_last(self):
        """Return whether it's the last bucket of this backward pass."""
        return self._is_last

    def buffer(self):
        """Return the flat tensor of all gradients in the bucket."""
        return self._bucket.buffer

    def set_buffer(self, buffer):
        """Replace the flat tensor by one of equal size."""
        if buffer.numel() != self._bucket.buffer.numel():
            raise ValueError(
                f"set_buffer: the buffer has {buffer.numel()} elements; the bucket has "
                f"{self._bucket.buffer.numel()}"
            )
        self._bucket.allocate(buffer)

    def gradients(self):
        """Return the gradients, as views of the buffer with the parameters' shapes."""
        return list(self._bucket.views)

    def parameters(self):
        """Return the parameters, in the order of the buffer."""
        return list(self._bucket.parameters)
