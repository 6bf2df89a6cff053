"""Contexts, decorators and modes of autograd: the same small programs run with PyTorch and with tensorlab."""

import threading
import warnings

from tests.autograd.programs import collection, leaf

program, check = collection()


def identity(tensor):
    return tensor


# ---------------------------------------------------------------- saved tensors
@program
def a_function_decorated_to_refuse_hooks_may_call_itself(M):
    graph = M.autograd.graph

    @graph.disable_saved_tensors_hooks("not here")
    def refused(depth):
        if depth > 0:
            refused(depth - 1)
        try:
            with graph.saved_tensors_hooks(identity, identity):
                return None
        except RuntimeError as error:
            return str(error)

    words = refused(2), refused(0)
    with graph.saved_tensors_hooks(identity, identity):
        return words, leaf(M, 3.0).exp().requires_grad


@program
def a_function_decorated_to_change_saved_tensors(M):
    x = leaf(M, 1.0, 2.0)

    @M.autograd.graph.allow_mutation_on_saved_tensors()
    def square_and_write():
        y = x.clone()
        z = (y**2).sum()
        y.sin_()
        z.backward()

    square_and_write()
    square_and_write()
    return x.grad


@program
def what_stands_for_a_packed_leaf_is_a_leaf(M):
    x = leaf(M, 1.0, 2.0)
    with M.autograd.graph.saved_tensors_hooks(lambda t: t * 3, identity):
        y = x * x
    saved = y.grad_fn._saved_self
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return saved, saved.is_leaf, saved.grad_fn, saved.grad, saved is x


WRITES = {
    "sin": lambda y, x: y.sin_(),
    "square": lambda y, x: y.square_(),
    "product": lambda y, x: y.mul_(x),
    "power": lambda y, x: y.pow_(3),
    "exponential": lambda y, x: y.exp_(),
    "running product": lambda y, x: y.cumprod_(0),
    "of a view": lambda y, x: y[1:].sin_(),
}


@program
def what_an_op_writes_to_is_packed_as_it_was(M):
    gradients = []
    for write in WRITES.values():
        x, seen = leaf(M, 0.5, 0.7, 0.9), []
        with M.autograd.graph.saved_tensors_hooks(
            lambda t, seen=seen: seen.append(t) or t, identity
        ):
            y = x * 2
            write(y, x)
            z = y * y
        (first,) = M.autograd.grad(z.sum(), x, create_graph=True)
        gradients.append([first, *M.autograd.grad(first.sum(), x), len(seen)])
    return gradients


@program
def a_checkpointed_function_may_write_to_what_it_has_computed(M):
    gradients = []
    for write in WRITES.values():
        for use_reentrant in (True, False):

            def square_of_what_was_written(x, write=write):
                y = x * 2
                write(y, x)
                return y * y

            x = leaf(M, 0.5, 0.7, 0.9)
            M.utils.checkpoint.checkpoint(
                square_of_what_was_written, x, use_reentrant=use_reentrant
            ).sum().backward()
            gradients.append(x.grad)
    return gradients


@program
def a_pack_function_that_raises_leaves_the_tensor_as_it_was(M):
    def refuse(tensor):
        raise KeyError("no place")

    y = leaf(M, 1.0, 2.0) * 2
    with M.autograd.graph.saved_tensors_hooks(refuse, identity):
        try:
            y.sin_()
        except KeyError:
            return y.tolist(), y._version, y.grad_fn.name()


# ---------------------------------------------------------------- hooks on several tensors
@program
def constants_among_the_tensors_of_a_hook_for_any_gradient(M):
    x, seen = leaf(M, 1.0), []
    y = x * 2
    graph = M.autograd.graph
    handle = graph.register_multi_grad_hook(
        (M.ones(1), y), lambda g: seen.append(g.tolist()), mode="any"
    )
    (y * 3).sum().backward()
    handle.remove()
    (x * 2 * 3).sum().backward()
    return seen


# ---------------------------------------------------------------- modes
@program
def matrices_of_derivatives_are_differentiable_under_no_grad(M):
    x = leaf(M, 1.0, 2.0)
    functional = M.autograd.functional
    with M.no_grad():
        jacobian = functional.jacobian(lambda x: x**3, x, create_graph=True)
        hessian = functional.hessian(lambda x: (x**3).sum(), x, create_graph=True)
        plain = functional.jacobian(lambda x: x**3, x)
    (jacobian.sum() + hessian.sum()).backward()
    return jacobian.requires_grad, hessian.requires_grad, plain.requires_grad, x.grad


@program
def a_decorated_class_warns_of_the_future(M):
    class Layer:
        def __init__(self):
            self.records = M.is_grad_enabled()

    categories, layers = [], []
    decorators = M.no_grad(), M.enable_grad(), M.inference_mode(), M.set_grad_enabled(True)
    for decorator in decorators:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            layers.append(decorator(Layer)().records)
        categories.append([one.category.__name__ for one in caught])
    return categories, layers


@program
def an_inference_tensor_may_want_gradients_in_inference_mode(M):
    with M.inference_mode():
        x = M.ones(2).requires_grad_()
        x.requires_grad = True
        return x.requires_grad, x.is_inference(), (x * 2).requires_grad


@program
def an_inference_tensor_may_not_want_gradients_elsewhere(M):
    with M.inference_mode():
        x = M.ones(2)
    x.requires_grad_()


@program
def a_parameter_of_an_inference_tensor(M):
    with M.inference_mode():
        x = M.ones(2)
        within = M.nn.Parameter(x)
    outside = M.nn.Parameter(x, requires_grad=False)
    return (
        within.is_inference(),
        within.requires_grad,
        outside.is_inference(),
        outside.requires_grad,
    )


@program
def a_parameter_of_an_inference_tensor_may_not_want_gradients_elsewhere(M):
    with M.inference_mode():
        x = M.ones(2)
    M.nn.Parameter(x)


@program
def an_inference_tensor_that_wants_gradients_is_resized(M):
    with M.inference_mode():
        x = M.ones(4, requires_grad=True)
        return tuple(x.resize_(2).shape), tuple(x.resize_as_(M.ones(2, 2)).shape), x.requires_grad


@program
def threads_of_a_backward_pass_can_be_switched_off(M):
    switch, is_on = M.autograd.set_multithreading_enabled, M.autograd.is_multithreading_enabled
    found = [is_on()]
    with switch(False):
        found.append(is_on())
        other = threading.Thread(target=lambda: found.append(is_on()))
        other.start()
        other.join()
        with switch(True):
            found.append(is_on())
        switch(True)
        found.append(is_on())
    found.append(is_on())
    switch(False)
    found.append(is_on())
    x = leaf(M, 2.0)
    (x * x).backward()
    found.append(x.grad.tolist())
    switch(True)
    return [*found, is_on()]


@program
def a_function_decorated_to_use_one_thread(M):
    @M.autograd.set_multithreading_enabled(False)
    def ask():
        return M.autograd.is_multithreading_enabled()

    found = ask()
    M.autograd.set_multithreading_enabled(True)
    return found


@program
def threads_are_switched_by_a_bool(M):
    M.autograd.set_multithreading_enabled(1)


# ---------------------------------------------------------------- leaves
@program
def a_tensor_is_not_its_own_gradient(M):
    x = leaf(M, 1.0)
    x.grad = x


@program
def a_leaf_over_other_memory_gets_gradients_of_its_new_shape(M):
    x = M.nn.Parameter(M.ones(4))
    graphs, shapes = [], []
    for _ in range(3):
        with M.no_grad():
            x.set_(x[1:])
            x.grad = None
        graphs.append(M.cat((x, x)))
        graphs[-1].sum().backward()
        shapes.append((tuple(x.shape), x.grad.tolist()))
    return shapes


test_a_program_has_the_same_outcome_as_with_pytorch = check()
