"""Who hears of backward: classes and modes hear what a user's hooks and functions call, never what the engine calls."""

import importlib

from tests.autograd.programs import collection

program, check = collection()


def ear(M):
    """A class over Tensor that notes what it is told, and the list of notes; it hears itself as well."""
    heard = []

    class Ear(M.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            heard.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    return Ear, heard


def listening(M, run):
    """What a mode hears of run()."""
    mode_class = importlib.import_module(M.__name__ + ".overrides").TorchFunctionMode
    heard = []

    class Mode(mode_class):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            heard.append(func.__name__)
            return func(*args, **(kwargs or {}))

    with Mode():
        run()
    return heard


def computing(heard):
    """Without the questions that functions written in Python ask of their arguments."""
    return [name for name in heard if name not in ("__get__", "size")]


def leaf(M, *shape):
    return M.ones(*shape, requires_grad=True)


# ---------------------------------------------------------------- modes
@program
def a_mode_hears_backward_once(M):
    x = leaf(M, 3)
    y = (x * x + x * M.ones(2, 3)).sum()  # summed at x, and summed back over a broadcast dimension
    return listening(M, y.backward)


@program
def a_mode_hears_the_functions_of_autograd(M):
    x = leaf(M, 3)
    y = (x * x).sum()
    return listening(M, lambda: M.autograd.grad(y, x, retain_graph=True)) + listening(
        M, lambda: M.autograd.backward(y)
    )


@program
def a_mode_does_not_hear_batches_of_vectors(M):
    x = leaf(M, 3)
    y, vectors = x * x, M.eye(3)
    return listening(M, lambda: M.autograd.grad(y, x, vectors, is_grads_batched=True))


@program
def a_mode_does_not_hear_how_a_stale_view_gets_its_node(M):
    base = leaf(M, 3) * 1
    view = base[1:]
    base.mul_(2)
    stale_too = base[1:]
    base.mul_(2)
    heard = listening(M, lambda: M.autograd.graph.get_gradient_edge(view))
    return computing(heard + listening(M, lambda: stale_too * 1))


@program
def a_mode_does_not_hear_the_copy_that_an_in_place_op_keeps(M):
    x = leaf(M, 3) * 1
    return listening(M, lambda: x.pow_(2))


@program
def a_mode_does_not_hear_the_search_for_nan(M):
    y = leaf(M, 3).exp().sum()
    with M.autograd.set_detect_anomaly(True):
        return listening(M, y.backward)


@program
def a_mode_that_a_hook_enters_hears_the_hook_alone(M):
    x = leaf(M, 3)
    heard = []
    y = x * x
    y.register_hook(lambda grad: heard.extend(listening(M, lambda: grad * 2)))
    y.grad_fn.register_prehook(lambda g: heard.extend(listening(M, lambda: g[0] + 1)))
    y.grad_fn.register_hook(lambda out, g: heard.extend(listening(M, lambda: out[0] - 1)))
    x.register_post_accumulate_grad_hook(lambda x: heard.extend(listening(M, lambda: x.grad / 2)))
    y.sum().backward()
    return heard


# ---------------------------------------------------------------- classes
@program
def a_gradient_of_a_listening_class_is_fitted_in_silence(M):
    Ear, heard = ear(M)
    x = leaf(M, 3)
    y = x * x + x * M.ones(2, 3)
    gradient = M.ones(()).as_subclass(Ear)
    heard.clear()
    M.autograd.backward([y.sum()], [gradient])
    return computing(heard), x.grad.tolist()


@program
def gradients_of_a_listening_class_are_added_in_silence(M):
    Ear, heard = ear(M)
    x = leaf(M, 3)
    x.grad = M.ones(3).as_subclass(Ear)
    y = (x * 2 + x * 3).sum()
    heard.clear()
    y.backward()
    y = (x * x).sum()
    y.backward(create_graph=True)
    found = list(heard)
    return found, x.grad.tolist()


@program
def a_hook_is_heard_by_the_class_of_its_gradient(M):
    Ear, heard = ear(M)
    x = leaf(M, 3)
    y = x * 1
    y.register_hook(lambda grad: grad * 2)
    gradient = M.ones(3).as_subclass(Ear)
    M.autograd.backward([y], [gradient])
    return [name for name in heard if name == "mul"]


@program
def a_custom_backward_is_heard_by_what_it_kept(M):
    Ear, heard = ear(M)

    class Double(M.autograd.Function):
        @staticmethod
        def forward(ctx, x, kept):
            ctx.kept = kept
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.kept, None

    x = leaf(M, 3)
    y = Double.apply(x, M.full((3,), 2.0).as_subclass(Ear)).sum()
    heard.clear()
    y.backward()
    return heard


@program
def packing_is_heard(M):
    Ear, heard = ear(M)
    two = M.full((3,), 2.0).as_subclass(Ear)
    x = leaf(M, 3)
    with M.autograd.graph.saved_tensors_hooks(lambda t: t.detach() * two, lambda t: t / two):
        y = (x * x).sum()
    heard_in_forward = heard.count("mul")
    heard.clear()
    y.backward()
    return heard_in_forward, heard


@program
def a_recomputation_is_heard_as_the_first_run_was(M):
    """A class whose `+` multiplies: the recomputed forward must do so as well."""

    class Strange(M.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func.__name__ == "add":
                func = M.Tensor.mul
            return super().__torch_function__(func, types, args, kwargs or {})

    checkpoint = importlib.import_module(M.__name__ + ".utils.checkpoint").checkpoint
    two = M.full((3,), 2.0).as_subclass(Strange)
    x = leaf(M, 3)

    def forward(x):
        return ((x + two) + two).sqrt().as_subclass(M.Tensor)

    checkpoint(forward, x, use_reentrant=False).sum().backward()
    return x.grad


@program
def no_one_hears_after_a_hook_that_raised(M):
    Ear, heard = ear(M)
    x, y = leaf(M, 3), M.ones(3).as_subclass(Ear)
    z = x * 2
    z.register_hook(lambda grad: 1 / 0)
    try:
        z.sum().backward()
    except ZeroDivisionError:
        heard.clear()
        y * 2
    return heard


@program
def a_switched_off_thread_stays_so_in_hooks(M):
    Ear, heard = ear(M)
    overrides = importlib.import_module(M.__name__ + ".overrides")
    off = M._C.DisableTorchFunction if hasattr(M, "_C") else overrides.DisableTorchFunction
    x, y = leaf(M, 3), M.ones(3).as_subclass(Ear)
    z = x * 2
    z.register_hook(lambda grad: grad * y)
    z = z.sum()
    heard.clear()
    with off():
        z.backward()
        asked = overrides.has_torch_function((y,))
    return heard, asked


test_a_program_has_the_same_outcome_as_with_pytorch = check()
