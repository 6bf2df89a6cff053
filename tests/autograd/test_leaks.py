"""Cycles of tensors, nodes, packed tensors and modules: after `del` or a run of the cycle collector nothing is left.

Those through hooks and custom functions are in test_leaks_through_hooks.py. (Several of these stay forever in
PyTorch 2.13, whose collector does not see through C++: two tensors that are attributes of one another, say.)
"""

import importlib

import pytest

import tensorlab
from tests.autograd.cycles import (
    BY_COLLECTOR,
    BY_DEL,
    check_nothing_is_left,
    check_pytorch_frees_no_sooner,
    leaf,
)


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

PATTERNS = {
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


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.__name__)
def test_nothing_is_left_of_a_cycle(pattern):
    check_nothing_is_left(pattern, PATTERNS[pattern])


@pytest.mark.filterwarnings("ignore:Using backward.. with create_graph=True")
@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.__name__)
def test_what_pytorch_frees_without_its_collector_we_free_so_too(pattern):
    check_pytorch_frees_no_sooner(pattern, PATTERNS[pattern])
