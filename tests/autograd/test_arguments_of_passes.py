"""What backward and grad may be given: the same small programs run with PyTorch and with tensorlab."""

import warnings
from collections import OrderedDict, UserDict

from tests.autograd.programs import collection, leaf, make

program, check = collection()


def categories(call):
    """The names of the warnings of a call, and its result."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    return [one.category.__name__ for one in caught], result


# ---------------------------------------------------------------- old names
@program
def a_gradient_penalty_asks_for_only_inputs(M):
    x, w = leaf(M, 1.0, 2.0), leaf(M, 3.0, 4.0)
    score = (x * x * w).sum()
    found = categories(
        lambda: M.autograd.grad(
            outputs=score, inputs=x, create_graph=True, retain_graph=True, only_inputs=True
        )
    )
    ((found[1][0].norm() - 1) ** 2).backward()
    return found[0], found[1][0].tolist(), x.grad, w.grad


@program
def more_than_only_inputs_warns(M):
    x = leaf(M, 1.0, 2.0)
    return categories(lambda: M.autograd.grad((x * 2).sum(), x, only_inputs=False))


@program
def settings_of_grad_by_position(M):
    x, w = leaf(M, 1.0), leaf(M, 1.0)
    return M.autograd.grad((x * 2).sum(), (x, w), None, True, False, True, True)


@program
def vectors_by_their_old_name_warn(M):
    x = leaf(M, 1.0, 2.0)
    v = M.ones(2, dtype=M.float64)
    found = categories(lambda: M.autograd.backward(x * 3, grad_variables=v))
    M.autograd.backward([x * 3], [v], None, False, None, [x])
    return found, x.grad


@program
def vectors_by_both_names_are_refused(M):
    x = leaf(M, 1.0)
    v = M.ones(1, dtype=M.float64)
    M.autograd.backward(x * 3, v, grad_variables=v)


# ---------------------------------------------------------------- inputs
@program
def inputs_in_a_dict(M):
    x, w, unused = leaf(M, 1.0, 2.0), leaf(M, 3.0, 4.0), leaf(M, 5.0)
    named = {"x": x, "w": w}
    found = M.autograd.grad((x * w).sum(), named)
    some = M.autograd.grad((x * w).sum(), {"unused": unused, 3: w}, allow_unused=True)
    M.autograd.backward((x * w).sum(), inputs={"x": x})
    (x * w).sum().backward(inputs=named)
    return list(found), list(found.values()), list(some), list(some.values()), x.grad, w.grad


@program
def inputs_in_an_empty_dict_are_refused(M):
    M.autograd.grad(leaf(M, 1.0) * 2, {})


for _kind in OrderedDict, UserDict:

    def inputs_in_another_mapping_are_refused(M, kind=_kind):
        x = leaf(M, 1.0)
        M.autograd.grad(x * 2, kind(x=x))

    def inputs_of_backward_in_another_mapping_are_refused(M, kind=_kind):
        x = leaf(M, 1.0)
        M.autograd.backward(x * 2, inputs=kind(x=x))

    program(inputs_in_another_mapping_are_refused)
    program(inputs_of_backward_in_another_mapping_are_refused)


@program
def numbers_among_the_inputs_are_refused(M):
    x = leaf(M, 1.0)
    M.autograd.backward(x * 2, inputs=[x, 3])


@program
def a_batch_of_vectors_must_be_given(M):
    x = leaf(M, 1.0, 2.0)
    M.autograd.grad(x * 2, x, is_grads_batched=True)


# ---------------------------------------------------------------- what hooks give back
@program
def a_hook_after_accumulation_gives_back_a_number(M):
    x = leaf(M, 1.0)
    x.register_post_accumulate_grad_hook(lambda leaf: 3)
    (x * 2).sum().backward()


@program
def a_hook_after_accumulation_gives_back_a_gradient(M):
    x = leaf(M, 1.0)
    x.register_post_accumulate_grad_hook(lambda leaf: leaf.grad)
    (x * 2).sum().backward()


@program
def a_hook_gives_back_a_gradient_without_values(M):
    x = leaf(M, 1.0, 2.0)
    y = x * 2
    y.register_hook(lambda grad: M.ones(2, dtype=M.float64, device="meta"))
    y.sum().backward()


@program
def a_function_gives_back_a_gradient_without_values(M):
    give = make(M, lambda ctx, x: x * 2, lambda ctx, grad: grad.to("meta"))
    x = leaf(M, 1.0, 2.0)
    give.apply(x).sum().backward()


# ---------------------------------------------------------------- asarray
@program
def asarray_keeps_what_it_need_not_copy(M):
    x = leaf(M, 1.0, 2.0)
    y = x * 2
    M.asarray(y).sum().backward()
    return (
        M.asarray(x) is x,
        M.asarray(y).requires_grad,
        M.asarray(y, copy=True).requires_grad,
        x.grad,
    )


test_a_program_has_the_same_outcome_as_with_pytorch = check()
