"""Cycles of tensors, nodes, hooks and modules: after `del` or a run of the cycle collector nothing is left.

Each pattern builds something and returns tensors of it. Nothing else holds them, so whatever outlives
the pattern is held by the pattern itself. Where PyTorch frees a pattern without its cycle collector, so must
we. (Several of these stay for ever in PyTorch 2.13, whose collector does not see through C++: a hook
that holds the tensor it hangs on, two tensors that are attributes of one another.)
"""

import gc
import importlib
import weakref
from functools import partial

import pytest

import tensorlab
from tests.oracle import require_torch


def leaf(T):
    return T.ones(3, requires_grad=True)


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


# ---------------------------------------------------------------- packed tensors and checkpoints
def packed(T, pack, unpack, x):
    """tanh packs its result, and the square its argument."""
    with T.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = (x * 2).tanh()
        return y, y**2


def packing_that_changes_nothing(T):
    x = leaf(T)
    y, z = packed(T, lambda t: t, lambda t: t, x)
    return [x, y, z]


def packing_that_detaches(T):
    x = leaf(T)
    y, z = packed(T, lambda t: t.detach(), lambda t: t, x)
    return [x, y, z]


def unpack_holds_what_was_packed(T):
    x = leaf(T)
    held = []
    y, z = packed(T, lambda t: held.append(t) or len(held) - 1, lambda i: held[i], x)
    return [x, y, z]


def unpack_holds_what_was_packed_after_backward(T):
    x = leaf(T)
    held = []
    y, z = packed(T, lambda t: held.append(t) or len(held) - 1, lambda i: held[i], x)
    z.sum().backward()
    return [x, y, z]


def unpack_holds_a_result(T):
    x = leaf(T)
    later = []
    y, z = packed(T, lambda t: t.detach(), lambda t: later and t, x)
    later.append(z)
    return [x, y, z]


def packed_on_the_processor(T):
    x = leaf(T)
    with T.autograd.graph.save_on_cpu():
        y = (x * 2).tanh()
        z = y**2
    return [x, y, z]


def writing_to_saved_tensors_is_allowed(T):
    x = leaf(T)
    with T.autograd.graph.allow_mutation_on_saved_tensors():
        y = (x * 2).clone()
        z = y**2
        y.mul_(3)
        z.sum().backward()
    return [x, y, z]


def checkpoint(T, function, *arguments, **options):
    module = importlib.import_module(f"{T.__name__}.utils.checkpoint")
    return module.checkpoint(function, *arguments, **options)


def checkpoint_without_backward(T):
    x = leaf(T)
    y = checkpoint(T, lambda x: (x * 2).tanh() ** 2, x, use_reentrant=False)
    return [x, y]


def checkpoint_after_backward(T):
    x, y = checkpoint_without_backward(T)
    y.sum().backward()
    return [x, y]


def checkpointed_closure_holds_its_result(T):
    x = leaf(T)
    results = []
    y = checkpoint(T, lambda x: (x * len(results)).tanh() ** 2, x, use_reentrant=False)
    results.append(y)
    return [x, y]


def reentrant_checkpoint_holds_its_result(T):
    x = leaf(T)
    results = []
    y = checkpoint(T, lambda x: (x * len(results)).tanh() ** 2, x, use_reentrant=True)
    results.append(y)
    return [x, y]


def reentrant_checkpoint_after_backward(T):
    x = leaf(T)
    y = checkpoint(T, lambda x: (x * 2).tanh() ** 2, x, use_reentrant=True)
    y.sum().backward()
    return [x, y]


# ---------------------------------------------------------------- gradients
def retained_gradient(T):
    x = leaf(T)
    y = x * 2
    y.retain_grad()
    y.sum().backward()
    assert y.grad is not None
    return [x, y, y.grad]


def retained_gradient_with_its_graph(T):
    x = leaf(T)
    y = x * x
    y.retain_grad()
    (y * y).sum().backward(create_graph=True)
    return [x, y, y.grad]


def gradient_with_its_graph(T):
    x = leaf(T)
    (x * x * x).sum().backward(create_graph=True)
    return [x, x.grad]


def gradient_with_its_graph_let_go(T):
    x, grad = gradient_with_its_graph(T)
    x.grad = None
    return [x, grad]


def gradient_computed_from_its_leaf(T):
    x = leaf(T)
    x.grad = x * x
    return [x, x.grad]


# ---------------------------------------------------------------- nodes and what they save
def saved_output(T):
    x = leaf(T)
    y = x.tanh()
    return [x, y]


def tensor_holds_its_node(T):
    x = leaf(T)
    y = x * 2
    y.node = y.grad_fn
    return [x, y]


# ---------------------------------------------------------------- tensors that hold one another
def tensor_holds_itself(T):
    x = leaf(T)
    x.me = x
    return [x]


def leaf_holds_its_result(T):
    x = leaf(T)
    x.result = x * 2
    return [x, x.result]


def tensor_holds_its_result(T):
    x = leaf(T)
    y = x * 2
    y.result = y * y
    return [x, y, y.result]


def view_and_base_hold_one_another(T):
    base = T.zeros(3)
    view = base[1:]
    base.view_of_me, view.seen = view, base
    return [base, view]


def view_written_in_place_and_its_base(T):
    x = leaf(T)
    base = x * 2
    view = base[1:]
    base.view_of_me = view
    view.mul_(3)
    return [x, base, view]


def output_saved_through_a_view(T):
    x = leaf(T)
    base = x * 1
    view = base[1:]
    view.tanh_()
    base.sum().backward()
    return [x, base, view]


# ---------------------------------------------------------------- modules and exceptions
def module_holds_its_last_output(T):
    class Remembers(T.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = T.nn.Linear(3, 3)

        def forward(self, x):
            self.last = self.inner(x)
            return self.last

    model = Remembers()
    out = model(T.ones(3))
    out.register_hook(lambda grad: model.last * grad)
    return [out, *model.parameters()]


def parameter_holds_what_was_made_of_it(T):
    model = T.nn.Linear(3, 3)
    model.weight.output = model(T.ones(3))
    return [model.weight.output, *model.parameters()]


def exception_holds_the_frames_of_backward(T):
    x = leaf(T)
    y = x * 2
    y.register_hook(lambda grad: 1 / 0)
    try:
        y.sum().backward()
    except ZeroDivisionError as error:
        y.error = error  # its traceback holds this frame, which holds y
    return [x, y]


checkpoint_without_backward(tensorlab)  # the first one makes a tensor that all of them share

BY_DEL, BY_COLLECTOR, NEVER = range(3)
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
    packing_that_changes_nothing: BY_COLLECTOR,
    packing_that_detaches: BY_DEL,
    unpack_holds_what_was_packed: BY_COLLECTOR,
    unpack_holds_what_was_packed_after_backward: BY_DEL,
    unpack_holds_a_result: BY_COLLECTOR,
    packed_on_the_processor: BY_DEL,
    writing_to_saved_tensors_is_allowed: BY_DEL,
    checkpoint_without_backward: BY_DEL,
    checkpoint_after_backward: BY_DEL,
    checkpointed_closure_holds_its_result: BY_COLLECTOR,
    reentrant_checkpoint_holds_its_result: BY_COLLECTOR,
    reentrant_checkpoint_after_backward: BY_DEL,
    retained_gradient: BY_DEL,
    retained_gradient_with_its_graph: BY_COLLECTOR,
    gradient_with_its_graph: BY_COLLECTOR,
    gradient_with_its_graph_let_go: BY_DEL,
    gradient_computed_from_its_leaf: BY_COLLECTOR,
    saved_output: BY_DEL,
    tensor_holds_its_node: BY_DEL,
    tensor_holds_itself: BY_COLLECTOR,
    leaf_holds_its_result: BY_COLLECTOR,
    tensor_holds_its_result: BY_COLLECTOR,
    view_and_base_hold_one_another: BY_COLLECTOR,
    view_written_in_place_and_its_base: BY_COLLECTOR,
    output_saved_through_a_view: BY_DEL,
    module_holds_its_last_output: BY_COLLECTOR,
    parameter_holds_what_was_made_of_it: BY_COLLECTOR,
    exception_holds_the_frames_of_backward: BY_COLLECTOR,
}


def how_it_is_freed(T, pattern):
    """What it takes to free everything: nothing, the cycle collector, or more than there is."""
    gc.collect()
    gc.disable()
    try:
        watched = [weakref.ref(one) for one in pattern(T)]
        if all(reference() is None for reference in watched):
            return BY_DEL
        gc.collect()
        return BY_COLLECTOR if all(reference() is None for reference in watched) else NEVER
    finally:
        gc.enable()


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.__name__)
def test_nothing_is_left_of_a_cycle(pattern):
    gc.collect()
    tensors = tensorlab.live_tensors()
    allocated = tensorlab.memory_stats()["allocated_bytes"]
    assert how_it_is_freed(tensorlab, pattern) == PATTERNS[pattern]
    assert tensorlab.live_tensors() == tensors
    assert tensorlab.memory_stats()["allocated_bytes"] == allocated


@pytest.mark.filterwarnings("ignore:Using backward.. with create_graph=True")
@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.__name__)
def test_what_pytorch_frees_without_its_collector_we_free_so_too(pattern):
    torch = require_torch()
    assert PATTERNS[pattern] <= how_it_is_freed(torch, pattern)
