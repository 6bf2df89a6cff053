"""All parameters of a model as one vector, and back."""

from ...errors import listed
from ...ops.joining import cat

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters):
    """Return one vector with the elements of all tensors, one after the other.

    Examples
    --------
    >>> import tensorlab
    >>> parameters_to_vector([tensorlab.ones(1, 2), tensorlab.zeros(1)])
    tensor([1., 1., 0.])
    """
    parameters = listed("parameters_to_vector", "parameters", parameters)
    return cat([parameter.view(-1) for parameter in parameters])


def vector_to_parameters(vec, parameters):
    """Let the parameters be the parts of a vector, in the order of `parameters_to_vector`.

    Raises TypeError if `vec` is not a tensor.

    Examples
    --------
    >>> import tensorlab
    >>> layer = tensorlab.nn.Linear(2, 1)
    >>> vector_to_parameters(tensorlab.tensor([1.0, 2.0, 3.0]), layer.parameters())
    >>> layer.bias.detach()
    tensor([3.])
    """
    if not hasattr(vec, "view_as"):
        raise TypeError(f"vector_to_parameters: vec is a {type(vec).__name__}; expected a Tensor")
    start = 0
    for parameter in listed("vector_to_parameters", "parameters", parameters):
        part = vec[start : start + parameter.numel()]
        parameter.data = part.view_as(parameter).data
        start += parameter.numel()
