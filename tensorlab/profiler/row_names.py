"""Rows as PyTorch calls them: the names of ops, also of those that aten has under another name."""

from tensorlab._core.dispatch.overloads import overload_of

__all__ = ["argument_places", "row_name"]

# Ops that do what an op of aten does, and are declared in another form: for numbers of one kind, or with saved results.
# (aten's name, how many parameters it has; 0: as many as ours)
ATEN = {
    "add_scaled": ("add", 3),
    "attention": ("scaled_dot_product_attention", 0),
    "batch_norm": ("batch_norm", 0),
    "binary_cross_entropy": ("binary_cross_entropy", 0),
    "binary_cross_entropy_with_logits": ("binary_cross_entropy_with_logits", 0),
    "clamp": ("clamp", 0),
    "clamp_high": ("clamp_max", 2),
    "clamp_low": ("clamp_min", 2),
    "conv": ("convolution", 0),
    "cross_entropy": ("cross_entropy_loss", 0),
    "cumprod_backward": ("cumprod_backward", 0),
    "div_floor": ("div", 0),
    "div_trunc": ("div", 0),
    "embedding_backward": ("embedding_dense_backward", 0),
    "embedding_bag": ("embedding_bag", 0),
    "gelu_backward": ("gelu_backward", 3),
    "gelu_tanh": ("gelu", 0),
    "gelu_tanh_backward": ("gelu_backward", 0),
    "getitem_alias": ("alias", 0),
    "getitem_select": ("select", 3),
    "getitem_slice": ("slice", 5),
    "getitem_unsqueeze": ("unsqueeze", 0),
    "huber_loss": ("huber_loss", 0),
    "layer_norm": ("layer_norm", 6),
    "layer_norm_backward": ("native_layer_norm_backward", 0),
    "leaky_relu_backward": ("leaky_relu_backward", 0),
    "log_sigmoid_backward": ("log_sigmoid_backward", 0),
    "log_softmax_backward": ("_log_softmax_backward_data", 4),
    "logit": ("logit", 0),
    "mse_loss": ("mse_loss", 3),
    "mse_loss_backward": ("mse_loss_backward", 0),
    "nan_to_num": ("nan_to_num", 0),
    "nll_loss": ("nll_loss_forward", 0),
    "nll_loss_backward": ("nll_loss_backward", 0),
    "polygamma": ("polygamma", 0),
    "pow_3": ("pow", 0),
    "pow_half": ("pow", 0),
    "pow_minus_1": ("pow", 0),
    "pow_minus_2": ("pow", 0),
    "pow_minus_half": ("pow", 0),
    "pow_of_number": ("pow", 0),
    "relu_backward": ("threshold_backward", 3),
    "round_decimals": ("round", 0),
    "set_": ("set_", 0),
    "softmax_backward": ("_softmax_backward_data", 4),
    "stable_sort": ("sort", 0),
    "sub_scaled": ("sub", 3),
    "to_copy": ("_to_copy", 7),
    "truth": ("is_nonzero", 0),
}

NAMES: dict = {}  # op: (name, overload), once it has been asked for


def row_name(op):
    """The name of an op's row and its overload: ("aten::add", "Tensor")."""
    if op not in NAMES:
        NAMES[op] = found_name(op)
    return NAMES[op]


def found_name(op):
    own = op if op.name in ATEN or op.functional is None else op.functional
    if own.name in ATEN:
        return f"aten::{ATEN[own.name][0]}{'' if own is op else '_'}", ""
    name, _, overload = overload_of(op).name().partition(".")
    return name, overload


PLACES: dict = {}  # op: what `argument_places` has found


def argument_places(op):
    """Return for each parameter of aten's op which argument of ours it is.

    None stands for those of which only the default exists.
    """
    if op not in PLACES:
        PLACES[op] = found_places(op)
    return PLACES[op]


def found_places(op):
    names = [op.public_names.get(one.name, one.name) for one in op.signature.parameters]
    if op.aten is not None:
        wanted = [one.name for one in op.aten_signature.parameters]
        return tuple(names.index(name) if name in names else None for name in wanted)
    missing = ATEN.get(op.name, ("", 0))[1] - len(names)
    return (*range(len(names)), *[None] * missing)
