"""Passes that make a trained model faster: batch norms go into the convolutions before them, dropouts go away."""

import collections
import copy

from tensorlab import _missing
from tensorlab.fx._symbolic_trace import symbolic_trace
from tensorlab.fx.graph_module import GraphModule
from tensorlab.nn.batch_norm import BatchNorm1d, BatchNorm2d, BatchNorm3d
from tensorlab.nn.convolution import Conv1d, Conv2d, Conv3d
from tensorlab.nn.dropout import Dropout
from tensorlab.nn.utils.fusion import fuse_conv_bn_eval

__all__ = ["fuse", "remove_dropout"]

_PAIRS = {(Conv1d, BatchNorm1d), (Conv2d, BatchNorm2d), (Conv3d, BatchNorm3d)}


def fuse(model, inplace=False, no_trace=False):
    """Return a model whose batch norms are part of the convolutions before them.

    A convolution that is called in several places stays as it is.

    Parameters
    ----------
    model : Module, in evaluation mode
    inplace : bool, whether the model itself may be changed
    no_trace : bool, whether the model is a GraphModule already, whose graph is to be taken

    Returns
    -------
    GraphModule
    """
    model = model if inplace else copy.deepcopy(model)
    traced = model if no_trace else symbolic_trace(model)
    calls = collections.Counter(
        id(traced.get_submodule(node.target)) for node in traced.graph.find_nodes(op="call_module")
    )
    for node in traced.graph.nodes:
        before = node.args[0] if node.op == "call_module" and len(node.args) == 1 else None
        if getattr(before, "op", None) != "call_module" or len(before.users) > 1:
            continue
        conv, norm = (traced.get_submodule(one.target) for one in (before, node))
        if (type(conv), type(norm)) not in _PAIRS or not norm.track_running_stats:
            continue
        if calls[id(conv)] > 1:  # elsewhere its result doesn't go through this norm
            continue
        traced.set_submodule(before.target, fuse_conv_bn_eval(conv, norm))
        node.replace_all_uses_with(before)
        traced.graph.erase_node(node)
    traced.delete_all_unused_submodules()
    traced.recompile()
    return traced


def remove_dropout(model):
    """Return a model without its Dropout modules, for evaluation."""
    traced = symbolic_trace(model)
    for node in traced.graph.nodes:
        if node.op == "call_module" and isinstance(traced.get_submodule(node.target), Dropout):
            node.replace_all_uses_with(node.args[0])
            traced.graph.erase_node(node)
    return GraphModule(traced, traced.graph, type(model).__name__)


__getattr__ = _missing.refusing(__name__)
