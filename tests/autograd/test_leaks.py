"""Cycles of tensors, nodes, hooks and modules: after `del` or a run of the cycle collector nothing is left.

Each pattern builds something and returns tensors of it. Nothing else holds them, so whatever outlives
the pattern is held by the pattern itself. Where PyTorch frees a pattern without its cycle collector, so must
we. (Several of these stay for ever in PyTorch 2.13, whose collector does not see through C++: a hook
that holds the tensor it hangs on, two tensors that are attributes of one another.)
"""

import gc
import weakref

import pytest

import tensorlab
from tests.oracle import require_torch


def leaf(T):
    return T.ones(3, requires_grad=True)


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
