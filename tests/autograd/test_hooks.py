"""Hooks of tensors, nodes and leaves: order, what they may replace, what they may not; edges of the graph."""

import pytest

import tensorlab as T
from tests.autograd.programs import collection, leaf

program, check = collection()


def product(M):
    x, y = leaf(M, 1.0, 2.0), leaf(M, 3.0, 4.0)
    return x, y, x * y


# ---------------------------------------------------------------- order
@program
def the_order_of_all_kinds_of_hooks(M):
    x, y, z = product(M)
    order = []
    leaf_node = z.grad_fn.next_functions[0][0]
    z.grad_fn.register_prehook(lambda outputs: order.append("pre"))
    z.grad_fn.register_hook(lambda inputs, outputs: order.append("post"))
    z.register_hook(lambda grad: order.append("tensor"))
    leaf_node.register_prehook(lambda outputs: order.append("leaf pre"))
    leaf_node.register_hook(lambda inputs, outputs: order.append(("leaf post", inputs)))
    x.register_hook(lambda grad: order.append("leaf tensor"))
    x.register_post_accumulate_grad_hook(lambda t: order.append(("accumulated", t.grad)))
    (z * 2).sum().backward()
    return order


@program
def a_gradient_in_the_place_of_none(M):
    x, y, z = product(M)
    first, second = (x * 2).unbind(0)
    first.grad_fn.register_prehook(lambda grads: (grads[0], M.ones_like(grads[0])))
    first.backward()


@program
def hooks_of_a_kind_run_in_order_of_registration(M):
    x, y, z = product(M)
    order = []
    for number in range(4):
        z.register_hook(lambda grad, number=number: order.append(number))
        z.grad_fn.register_prehook(lambda grads, number=number: order.append(10 + number))
        z.grad_fn.register_hook(lambda i, o, number=number: order.append(20 + number))
        x.register_post_accumulate_grad_hook(lambda t, number=number: order.append(30 + number))
    z.sum().backward()
    return order


@program
def a_retained_gradient_has_passed_tensor_hooks_but_no_prehook(M):
    x, y, z = product(M)
    z.retain_grad()
    z.register_hook(lambda grad: grad * 2)
    z.grad_fn.register_prehook(lambda grads: (grads[0] * 10,))
    z.sum().backward()
    return z.grad, x.grad


@program
def autograd_grad_sees_tensor_hooks_of_its_input(M):
    x, y, z = product(M)
    z.register_hook(lambda grad: grad * 2)
    z.grad_fn.register_prehook(lambda grads: (grads[0] * 10,))
    z.grad_fn.register_hook(lambda inputs, outputs: pytest.fail("the node must not run"))
    return M.autograd.grad(z.sum(), z)


@program
def hooks_of_a_leaf_with_autograd_grad(M):
    x, y, z = product(M)
    seen = []
    x.register_hook(lambda grad: grad * 2)
    x.register_post_accumulate_grad_hook(lambda t: seen.append(t))
    return M.autograd.grad(z.sum(), x), seen, x.grad


# ---------------------------------------------------------------- results of hooks
def with_prehook(result):
    def run(M):
        x, y, z = product(M)
        z.grad_fn.register_prehook(lambda grads: result(M, grads))
        return M.autograd.grad(z.sum(), (x, y), allow_unused=True)

    return run


def with_posthook(result):
    def run(M):
        x, y, z = product(M)
        z.grad_fn.register_hook(lambda inputs, outputs: result(M, inputs))
        return M.autograd.grad(z.sum(), (x, y), allow_unused=True)

    return run


RESULTS = {
    "nothing": lambda M, grads: None,
    "the_same": lambda M, grads: grads,
    "others": lambda M, grads: tuple(grad * 3 for grad in grads),
    "one_too_many": lambda M, grads: (*grads, grads[0]),
    "a_bare_tensor": lambda M, grads: grads[0] * 3,
    "a_list": lambda M, grads: list(grads),
    "a_number": lambda M, grads: 5,
    "numbers": lambda M, grads: (5,) * len(grads),
    "a_wrong_shape": lambda M, grads: (M.ones(7, dtype=M.float64),) * len(grads),
    "a_wrong_type": lambda M, grads: tuple(grad.float() for grad in grads),
    "no_gradients": lambda M, grads: (None,) * len(grads),
}
for name, result in RESULTS.items():
    for kind, run in (("prehook", with_prehook(result)), ("posthook", with_posthook(result))):
        run.__name__ = f"a_{kind}_returns_{name}"
        program(run)


@program
def a_tensor_hook_returns_a_wrong_shape(M):
    x, y, z = product(M)
    z.register_hook(lambda grad: grad[:1])
    z.sum().backward()


@program
def a_post_accumulate_hook_must_return_nothing(M):
    x, y, z = product(M)
    x.register_post_accumulate_grad_hook(lambda t: t * 2)
    z.sum().backward()
    return x.grad


@program
def a_post_accumulate_hook_may_use_up_the_gradient(M):
    x, y, z = product(M)

    def step(t):
        with M.no_grad():
            t -= 0.5 * t.grad
        t.grad = None

    x.register_post_accumulate_grad_hook(step)
    z.sum().backward()
    return x, x.grad


@program
def a_hook_that_changes_the_gradient_in_place(M):
    x, y, z = product(M)
    z.register_hook(lambda grad: grad.mul_(2) and None)
    (z * 1).backward(M.ones(2, dtype=M.float64))
    return x.grad, y.grad


@program
def posthooks_see_gradients_in_the_form_of_the_inputs(M):
    seen = []
    x = leaf(M, 1.0, 2.0, 3.0)
    row = M.ones(3, requires_grad=True)
    y = x * row.expand(4, 3)
    z = M.ones(4, 1, dtype=M.float64, requires_grad=True) * x
    for node in (y.grad_fn, z.grad_fn):
        node.register_hook(
            lambda inputs, outputs: seen.append(
                [(tuple(g.shape), str(g.dtype)[-7:]) for g in inputs]
            )
        )
    (y.sum() + z.sum()).backward()
    return seen


@program
def one_stale_saved_value_does_not_hide_the_other(M):
    x, y = leaf(M, 1.0, 2.0), leaf(M, 3.0, 4.0) * 1
    z = x * y
    y.add_(1)
    return z.grad_fn._saved_self


@program
def a_stale_saved_value_cannot_be_read(M):
    x, y = leaf(M, 1.0, 2.0), leaf(M, 3.0, 4.0) * 1
    z = x * y
    y.add_(1)
    return z.grad_fn._saved_other


@program
def what_is_kept_can_be_looked_at(M):
    x = leaf(M, 1.0, 2.0)
    with M.autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), lambda v: M.tensor(v)):
        y = x.exp()
    z = x.exp()
    packed, bare = y.grad_fn._raw_saved_result, z.grad_fn._raw_saved_result
    return packed.data, packed.unpack_hook([5]), bare.data.tolist(), bare.unpack_hook


# ---------------------------------------------------------------- where hooks may be registered
@program
def a_post_accumulate_hook_of_what_is_no_leaf(M):
    product(M)[2].register_post_accumulate_grad_hook(print)


@program
def a_post_accumulate_hook_of_what_requires_no_grad(M):
    M.ones(1).register_post_accumulate_grad_hook(print)


@program
def removed_hooks_do_not_run(M):
    x, y, z = product(M)
    handles = [
        x.register_hook(lambda grad: grad * 2),
        z.grad_fn.register_prehook(lambda grads: (grads[0] * 3,)),
        z.grad_fn.register_hook(lambda i, o: (i[0] * 5, i[1])),
        x.register_post_accumulate_grad_hook(lambda t: t.grad.zero_() and None),
    ]
    for handle in handles:
        handle.remove()
        handle.remove()
    z.sum().backward()
    return x.grad


@program
def a_handle_as_context(M):
    x, y, z = product(M)
    with z.grad_fn.register_prehook(lambda grads: (grads[0] * 3,)):
        z.sum().backward(retain_graph=True)
    z.sum().backward()
    return x.grad


@program
def a_hook_that_removes_itself(M):
    x, y, z = product(M)
    calls = []

    def once(grads):
        calls.append(1)
        handle.remove()

    handle = z.grad_fn.register_prehook(once)
    z.sum().backward(retain_graph=True)
    z.sum().backward()
    return calls


@program
def hooks_of_a_node_with_several_outputs(M):
    x = leaf(M, 1.0, 2.0, 3.0)
    a, b, c = x.unbind()
    seen = []
    a.grad_fn.register_prehook(lambda grads: seen.append([grad is None for grad in grads]))
    a.grad_fn.register_hook(lambda inputs, outputs: seen.append(len(outputs)))
    (a * 5 + c * 7).backward()
    return seen, x.grad


# ---------------------------------------------------------------- the graph as an object
def plain_name(node):
    """Without the C++ namespace that PyTorch puts before some names."""
    return node.name().rpartition("::")[2]


@program
def names_and_next_functions(M):
    x, y, z = product(M)
    node = (z.tanh() + 1).sum().grad_fn
    names = []
    while node is not None:
        names.append(
            (plain_name(node), len(node.next_functions), node.requires_grad, node.metadata)
        )
        node = node.next_functions[0][0] if node.next_functions else None
    return names


@program
def metadata_is_kept_with_the_node(M):
    z = product(M)[2]
    z.grad_fn.metadata["mine"] = 3
    return z.grad_fn.metadata


@program
def saved_values_by_name(M):
    x, y, z = product(M)
    power, tanh = z**2.5, z.tanh()
    return (
        z.grad_fn._saved_self,
        z.grad_fn._saved_other,
        power.grad_fn._saved_self,
        power.grad_fn._saved_exponent,
        tanh.grad_fn._saved_result,
    )


@program
def a_saved_value_that_is_not_there(M):
    return product(M)[2].grad_fn._saved_nothing


@program
def saved_values_after_backward(M):
    z = product(M)[2]
    z.sum().backward()
    return z.grad_fn._saved_self


@program
def only_what_is_needed_is_saved(M):
    x = leaf(M, 2.0)
    node = (x * M.tensor([3.0], dtype=M.float64)).grad_fn
    return node._saved_other, node._saved_self is None


@program
def nodes_are_instances_of_node(M):
    z = product(M)[2]
    return (
        isinstance(z.grad_fn, M.autograd.graph.Node),
        isinstance(z.grad_fn.next_functions[0][0], M.autograd.graph.Node),
        isinstance(z, M.autograd.graph.Node),
    )


@program
def an_accumulate_node_knows_its_leaf(M):
    x, y, z = product(M)
    node = z.grad_fn.next_functions[1][0]
    return node.variable is y, plain_name(node), node.next_functions


# ---------------------------------------------------------------- edges in place of tensors
@program
def a_gradient_edge_as_output_and_input(M):
    x, y, z = product(M)
    w = z**2
    edge = M.autograd.graph.get_gradient_edge
    vector = M.tensor([1.0, 10.0], dtype=M.float64)
    return (
        M.autograd.grad(w.sum(), edge(z), retain_graph=True),
        M.autograd.grad(edge(w), x, vector, retain_graph=True),
        M.autograd.grad([edge(w), z.sum()], [edge(x), y], [vector, None]),
    )


@program
def backward_from_an_edge(M):
    x, y, z = product(M)
    M.autograd.backward(M.autograd.graph.get_gradient_edge(z.sum()))
    return x.grad, y.grad


@program
def an_edge_of_several_elements_needs_a_gradient(M):
    x, y, z = product(M)
    M.autograd.grad(M.autograd.graph.get_gradient_edge(z), x)


@program
def an_edge_of_a_tensor_without_grad(M):
    M.autograd.graph.get_gradient_edge(M.ones(2))


@program
def an_edge_to_one_of_several_outputs(M):
    x = leaf(M, 1.0, 2.0, 3.0)
    a, b, c = x.unbind()
    edge = M.autograd.graph.get_gradient_edge(b)
    return edge.output_nr, M.autograd.grad((a * b * c).sum(), edge)


# ---------------------------------------------------------------- hooks of several tensors
@program
def a_multi_grad_hook_gets_all_gradients_once(M):
    x, y, z = product(M)
    seen = []
    M.autograd.graph.register_multi_grad_hook((x, z, y), lambda grads: seen.append(list(grads)))
    z.sum().backward(retain_graph=True)
    z.sum().backward(inputs=[x])
    return seen


@program
def a_multi_grad_hook_for_the_first_gradient(M):
    x, y, z = product(M)
    seen = []
    hook = M.autograd.graph.register_multi_grad_hook((x, z, y), seen.append, mode="any")
    z.sum().backward(retain_graph=True)
    z.sum().backward(retain_graph=True)
    hook.remove()
    z.sum().backward()
    return seen


@program
def a_multi_grad_hook_is_gone_after_its_block(M):
    x, y, z = product(M)
    seen = []
    with M.autograd.graph.register_multi_grad_hook((x, y), lambda grads: seen.append(list(grads))):
        z.sum().backward(retain_graph=True)
    z.sum().backward()
    return seen


@program
def a_multi_grad_hook_of_an_unknown_mode(M):
    M.autograd.graph.register_multi_grad_hook((leaf(M, 1.0),), print, mode="some")


@program
def a_multi_grad_hook_where_some_get_no_gradient(M):
    x, y, z = product(M)
    other = leaf(M, 5.0)
    seen = []
    M.autograd.graph.register_multi_grad_hook(
        (x, other, y), lambda grads: seen.append([grad is None for grad in grads])
    )
    z.sum().backward()
    (other * x[0]).backward()
    return seen


def passes_no_gradient(M):
    class Nothing(M.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            return None

    return Nothing


@program
def hooks_of_one_of_several_results_when_no_gradient_comes(M):
    Nothing, ran, grads = passes_no_gradient(M), [], []
    for ask in (
        lambda a: a.register_hook(ran.append),
        lambda a: a.retain_grad(),
        lambda a: a.grad_fn.register_prehook(lambda grads: ran.append(list(grads))),
    ):
        x = M.ones(2, 3, dtype=M.float64, requires_grad=True)
        for results in (x.unbind(), x.chunk(2), x.sort(), x.max(1)):
            ask(results[0])
            Nothing.apply(results[0]).sum().backward()
            grads.append(x.grad)
    return grads, len(ran)


@program
def a_leaf_without_a_gradient_still_runs_its_hooks_after_accumulation(M):
    x, ran = leaf(M, 2.0), []
    x.register_post_accumulate_grad_hook(lambda t: ran.append(t.grad))
    passes_no_gradient(M).apply(x).backward()
    return ran, x.grad


test_a_program_has_the_same_outcome_as_with_pytorch = check()


# ---------------------------------------------------------------- messages
def test_a_hook_that_is_not_callable_is_refused_at_once():
    z = product(T)[2]
    for register in (z.register_hook, z.grad_fn.register_hook, z.grad_fn.register_prehook):
        with pytest.raises(TypeError, match="callable, not int"):
            register(5)


@pytest.mark.parametrize("number", [-1, 1, 7])
def test_an_edge_to_an_output_that_is_not_there(number):
    x, _, z = product(T)
    edge = T.autograd.graph.GradientEdge(z.grad_fn, number)
    for call in (
        lambda: T.autograd.grad(edge, x, T.ones(2, dtype=T.float64)),
        lambda: T.autograd.grad(z.sum(), edge),
        lambda: z.sum().backward(inputs=[edge]),
    ):
        with pytest.raises(RuntimeError):
            call()
    assert x.grad is None


@pytest.mark.parametrize("node", [None, 5, "MulBackward0"])
def test_an_edge_without_a_node(node):
    x, _, z = product(T)
    edge = T.autograd.graph.GradientEdge(node, 0)
    with pytest.raises(TypeError, match="GradientEdge"):
        T.autograd.grad(edge, x, T.ones(2, dtype=T.float64))
    with pytest.raises(TypeError, match="GradientEdge"):
        T.autograd.grad(z.sum(), edge)
