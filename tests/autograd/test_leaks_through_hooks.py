"""Cycles through hooks and custom functions: after `del` or a run of the cycle collector nothing is left.

(Several of these stay forever in PyTorch 2.13, whose collector does not see through C++: a hook that
holds the tensor it hangs on, say.)
"""

from functools import partial

import pytest

from tests.autograd.cycles import (
    BY_COLLECTOR,
    BY_DEL,
    check_nothing_is_left,
    check_pytorch_frees_no_sooner,
    leaf,
)


def ignore(held, *given):
    """A hook that does nothing with what it holds, nor with what it is given."""


def holds(*things):
    return partial(ignore, things)


# ---------------------------------------------------------------- custom functions
def double(T, prepare, finish=lambda ctx, grad: None):
    """A custom function whose forward calls prepare(ctx, input, output), and its backward finish(ctx, grad)."""

    class Double(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            out = x * 2
            prepare(ctx, x, out)
            return out

        @staticmethod
        def backward(ctx, grad):
            finish(ctx, grad)
            return grad * 2

    return Double


def ctx_attribute_holds_output(T):
    x = leaf(T)
    out = double(T, lambda ctx, x, out: setattr(ctx, "kept", out)).apply(x)
    return [x, out]


def ctx_attribute_holds_output_after_backward(T):
    x, out = ctx_attribute_holds_output(T)
    out.sum().backward()
    return [x, out]


def ctx_attribute_holds_input(T):
    x = leaf(T)
    hidden = x * 1
    out = double(T, lambda ctx, x, out: setattr(ctx, "kept", x)).apply(hidden)
    return [x, hidden, out]


def ctx_saves_output(T):
    x = leaf(T)
    out = double(T, lambda ctx, x, out: ctx.save_for_backward(out)).apply(x)
    return [x, out]


def ctx_saves_input(T):
    x = leaf(T)
    hidden = x * 1
    out = double(T, lambda ctx, x, out: ctx.save_for_backward(x)).apply(hidden)
    return [x, hidden, out]


def ctx_keeps_a_gradient_with_its_graph(T):
    x = leaf(T)
    keep = lambda ctx, grad: setattr(ctx, "kept", grad)
    out = double(T, lambda ctx, x, out: None, keep).apply(x * x)
    (grad,) = T.autograd.grad((out * out).sum(), x, create_graph=True)
    return [x, out, grad]


def node_attribute_holds_output(T):
    x = leaf(T)
    out = double(T, lambda ctx, x, out: None).apply(x)
    out.grad_fn.kept = out
    return [x, out]


# ---------------------------------------------------------------- hooks
def hook_holds_its_tensor(T):
    x = leaf(T)
    y = x * 2
    y.register_hook(lambda grad: y * grad)
    return [x, y]


def hook_holds_its_tensor_after_backward(T):
    x, y = hook_holds_its_tensor(T)
    y.sum().backward()
    return [x, y]


def hook_holds_its_leaf(T):
    x = leaf(T)
    x.register_hook(lambda grad: x * grad)
    y = x * 2
    y.sum().backward()
    return [x, y]


def hook_holds_a_result(T):
    x = leaf(T)
    y = x * 2
    z = y * 3
    x.register_hook(lambda grad: z.detach())
    return [x, y, z]


def removed_hook_holds_its_tensor(T):
    x = leaf(T)
    y = x * 2
    y.register_hook(lambda grad: y * grad).remove()
    return [x, y]


def node_metadata_holds_output(T):
    x = leaf(T)
    y = x * 2
    y.grad_fn.metadata["kept"] = y
    return [x, y]


def prehook_holds_its_tensor(T):
    x = leaf(T)
    y = x * 2
    y.grad_fn.register_prehook(lambda grads: (y * grads[0],))
    return [x, y]


def prehook_holds_its_tensor_after_backward(T):
    x, y = prehook_holds_its_tensor(T)
    y.sum().backward()
    return [x, y]


def posthook_holds_its_tensor(T):
    x = leaf(T)
    y = x * 2
    y.grad_fn.register_hook(lambda out, grads: (y * out[0], None))
    return [x, y]


def posthook_holds_its_node(T):
    x = leaf(T)
    y = x * 2
    node = y.grad_fn
    node.register_hook(lambda out, grads: print(node) if out is None else None)
    y.sum().backward()
    return [x, y]


def hook_of_a_leafs_node_holds_the_leaf(T):
    x = leaf(T)
    y = x * 2
    y.grad_fn.next_functions[0][0].register_prehook(lambda grads: (x * grads[0],))
    y.sum().backward()
    return [x, y]


def node_of_a_leaf_holds_itself(T):
    x = leaf(T)
    y = x * 2
    node = y.grad_fn.next_functions[0][0]
    node.register_prehook(holds(node))
    node.metadata["leaf"] = x
    y.sum().backward()
    return [x, y]


def post_accumulate_hook_holds_its_leaf(T):
    x = leaf(T)
    x.register_post_accumulate_grad_hook(holds(x))
    y = x * 2
    y.sum().backward()
    return [x, y]


def post_accumulate_hook_holds_a_result(T):
    x = leaf(T)
    y = x * 2
    x.register_post_accumulate_grad_hook(holds(y))
    return [x, y]


def multi_grad_hook_holds_its_tensors(T):
    x = leaf(T)
    y, z = x * 2, x * 3
    T.autograd.graph.register_multi_grad_hook((y, z), holds(y, z))
    return [x, y, z]


def multi_grad_hook_holds_its_tensors_after_backward(T):
    x, y, z = multi_grad_hook_holds_its_tensors(T)
    (y + z).sum().backward()
    return [x, y, z]


def multi_grad_hook_on_leaves_holds_them(T):
    x, w = leaf(T), leaf(T)
    T.autograd.graph.register_multi_grad_hook((x, w), holds(x, w))
    (x * w).sum().backward()
    return [x, w]


def multi_grad_hook_for_any_holds_its_tensors(T):
    x = leaf(T)
    y, z = x * 2, x * 3
    T.autograd.graph.register_multi_grad_hook((y, z), holds(y, z), mode="any")
    (y + z).sum().backward()
    return [x, y, z]


def removed_hooks_hold_their_tensors(T):
    x = leaf(T)
    y = x * 2
    y.grad_fn.register_prehook(lambda grads: (y * grads[0],)).remove()
    y.grad_fn.register_hook(lambda out, grads: (y * out[0], None)).remove()
    x.register_post_accumulate_grad_hook(holds(x)).remove()
    T.autograd.graph.register_multi_grad_hook((x, y), holds(x, y)).remove()
    y.sum().backward()
    return [x, y]


def handle_is_an_attribute_of_its_tensor(T):
    x = leaf(T)
    y = x * 2
    y.handle = y.register_hook(lambda grad: grad * 2)
    return [x, y]


def hook_holds_the_edge_of_its_tensor(T):
    x = leaf(T)
    y = x * 2
    edge = T.autograd.graph.get_gradient_edge(y)
    y.register_hook(holds(edge))
    return [x, y]


def hook_of_a_leaf_holds_the_edge_of_a_result(T):
    x = leaf(T)
    y = x * 2
    edge = T.autograd.graph.get_gradient_edge(y)
    x.register_hook(holds(edge))
    return [x, y]


def hook_of_a_leaf_holds_the_leafs_edge(T):
    x = leaf(T)
    edge = T.autograd.graph.get_gradient_edge(x)
    x.register_hook(holds(edge))
    (x * 2).sum().backward()
    return [x]


PATTERNS = {
    ctx_attribute_holds_output: BY_COLLECTOR,
    ctx_attribute_holds_output_after_backward: BY_COLLECTOR,
    ctx_attribute_holds_input: BY_DEL,
    ctx_saves_output: BY_DEL,
    ctx_saves_input: BY_DEL,
    ctx_keeps_a_gradient_with_its_graph: BY_COLLECTOR,
    node_attribute_holds_output: BY_COLLECTOR,
    hook_holds_its_tensor: BY_COLLECTOR,
    hook_holds_its_tensor_after_backward: BY_COLLECTOR,
    hook_holds_its_leaf: BY_COLLECTOR,
    hook_holds_a_result: BY_COLLECTOR,
    removed_hook_holds_its_tensor: BY_DEL,
    node_metadata_holds_output: BY_COLLECTOR,
    prehook_holds_its_tensor: BY_COLLECTOR,
    prehook_holds_its_tensor_after_backward: BY_COLLECTOR,
    posthook_holds_its_tensor: BY_COLLECTOR,
    posthook_holds_its_node: BY_COLLECTOR,
    hook_of_a_leafs_node_holds_the_leaf: BY_DEL,
    node_of_a_leaf_holds_itself: BY_COLLECTOR,
    post_accumulate_hook_holds_its_leaf: BY_COLLECTOR,
    post_accumulate_hook_holds_a_result: BY_COLLECTOR,
    multi_grad_hook_holds_its_tensors: BY_COLLECTOR,
    multi_grad_hook_holds_its_tensors_after_backward: BY_COLLECTOR,
    multi_grad_hook_on_leaves_holds_them: BY_COLLECTOR,
    multi_grad_hook_for_any_holds_its_tensors: BY_COLLECTOR,
    removed_hooks_hold_their_tensors: BY_DEL,
    handle_is_an_attribute_of_its_tensor: BY_DEL,
    hook_holds_the_edge_of_its_tensor: BY_COLLECTOR,
    hook_of_a_leaf_holds_the_edge_of_a_result: BY_COLLECTOR,
    hook_of_a_leaf_holds_the_leafs_edge: BY_COLLECTOR,
}


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.__name__)
def test_nothing_is_left_of_a_cycle(pattern):
    check_nothing_is_left(pattern, PATTERNS[pattern])


@pytest.mark.filterwarnings("ignore:Using backward.. with create_graph=True")
@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.__name__)
def test_what_pytorch_frees_without_its_collector_we_free_so_too(pattern):
    check_pytorch_frees_no_sooner(pattern, PATTERNS[pattern])
