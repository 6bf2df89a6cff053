"""A pass: fold the batch norm after a convolution into the convolution's weights."""

import copy

import tensorlab as torch


def folded(conv, norm):
    """Return a convolution that does what a convolution and a batch norm do, in evaluation mode."""
    scale = norm.weight / torch.sqrt(norm.running_var + norm.eps)
    bias = torch.zeros_like(norm.bias) if conv.bias is None else conv.bias
    one = copy.deepcopy(conv)
    one.weight = torch.nn.Parameter(conv.weight * scale.reshape(-1, 1, 1, 1))
    one.bias = torch.nn.Parameter((bias - norm.running_mean) * scale + norm.bias)
    return one


def fold_batch_norms(gm):
    """Fold every batch norm of a GraphModule that follows a convolution; return how many."""
    count, targets = 0, [node.target for node in gm.graph.nodes]
    for node in gm.graph.nodes:
        before = node.args[0] if node.op == "call_module" else None
        if getattr(before, "op", None) != "call_module":
            continue
        if len(before.users) > 1 or targets.count(before.target) > 1:
            continue  # others use its result, or its weights
        conv, norm = gm.get_submodule(before.target), gm.get_submodule(node.target)
        if isinstance(conv, torch.nn.Conv2d) and isinstance(norm, torch.nn.BatchNorm2d):
            gm.set_submodule(before.target, folded(conv, norm))
            node.replace_all_uses_with(before)
            gm.graph.erase_node(node)
            count += 1
    gm.delete_all_unused_submodules()
    gm.recompile()
    return count
