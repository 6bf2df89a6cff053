"""Odd programs that must raise, or give something odd, but must not end the process.

Each once did, or touches a place where C code trusts what Python code hands it.
"""

import threading

import pytest
from tensorlab._core.dispatch.op import REGISTRY

import tensorlab as T
from tensorlab.overrides import TorchFunctionMode


def leaf():
    return T.ones(3, requires_grad=True)


# ---------------------------------------------------------------- objects that only C code makes
def node_classes():
    x = leaf()
    y = x * 2
    (accumulate, _), *_ = y.grad_fn.next_functions
    view = y[1:]
    view.mul_(2)
    return [type(node) for node in (y.grad_fn, accumulate, view.grad_fn)]


@pytest.mark.parametrize("cls", [*node_classes(), type(leaf().exp().grad_fn._raw_saved_result)])
def test_nodes_and_saved_tensors_cannot_be_made_by_hand(cls):
    with pytest.raises(TypeError, match="cannot create"):
        cls()
    with pytest.raises(TypeError, match="cannot create"):
        cls.__new__(cls)


def test_a_node_that_anybody_can_make_leads_nowhere():
    node = T.autograd.graph.Node()
    assert node.name() == "Node"
    assert node.next_functions == ()


# ---------------------------------------------------------------- contexts left in the wrong order
def test_a_packing_context_that_was_not_entered_cannot_be_left():
    context = T.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x)
    with pytest.raises(RuntimeError, match="packs nothing"):
        context.__exit__(None, None, None)


def test_a_packing_context_cannot_be_left_in_another_thread():
    errors = []

    def leave(context):
        try:
            context.__exit__(None, None, None)
        except RuntimeError as error:
            errors.append(error)

    context = T.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x)
    with context:
        thread = threading.Thread(target=leave, args=(context,))
        thread.start()
        thread.join()
    assert len(errors) == 1


# ---------------------------------------------------------------- classes and modes that answer nonsense
class Answers(TorchFunctionMode):
    """Answers every call with the same object."""

    def __init__(self, answer):
        super().__init__()
        self.answer = answer

    def __torch_function__(self, function, types, args=(), kwargs=None):
        return self.answer


def a_broadcast_gradient():
    y = (leaf()[:1] + T.ones(4, 3)).sum()
    return lambda: T.autograd.backward(y)


def a_gradient_that_arrives_twice():
    y = leaf() * 2
    z = y * y + y + y
    return lambda: T.autograd.backward(z, T.ones(3))


def a_second_gradient_of_a_leaf():
    x = leaf()
    x.grad = T.ones(3)
    y = (x * 2).sum()
    return lambda: T.autograd.backward(y)


def a_gradient_of_another_type():
    y = T.ones(3, dtype=T.float16, requires_grad=True).float().sum()
    return lambda: T.autograd.backward(y)


def a_stale_view():
    y = leaf() * 2
    view = y[1:]
    y.mul_(2)
    return lambda: T.autograd.backward(view, T.ones(2))


def a_write_to_a_view():
    y = leaf() * 2
    y[0:1].mul_(y[1:2])
    return lambda: T.autograd.backward(y, T.ones(3))


def a_retained_gradient():
    y = leaf() * 2
    y.retain_grad()
    y.grad = T.ones(3)
    return lambda: T.autograd.backward(y, T.ones(3))


def gradients_in_the_place_of_none():
    x, unused = leaf(), leaf()
    y = (x * 2).sum()
    return lambda: T.autograd.grad(y, [x, unused], materialize_grads=True)


@pytest.mark.parametrize(
    "prepare",
    [
        a_broadcast_gradient,
        a_gradient_that_arrives_twice,
        a_second_gradient_of_a_leaf,
        a_gradient_of_another_type,
        a_stale_view,
        a_write_to_a_view,
        a_retained_gradient,
        gradients_in_the_place_of_none,
    ],
    ids=lambda prepare: prepare.__name__,
)
@pytest.mark.parametrize(
    "answer", [None, 3, "text", [None], T.zeros(0)], ids=["None", "int", "str", "list", "tensor"]
)
def test_a_mode_that_answers_nonsense_does_no_harm_to_backward(prepare, answer):
    run = prepare()
    with Answers(answer):
        try:
            run()
        except (TypeError, AttributeError, RuntimeError):
            pass
    x = leaf()
    (x * 2).sum().backward()  # the engine works as before
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


def test_a_class_whose_clone_is_no_tensor_is_refused():
    class Uncloneable(T.Tensor):
        def clone(self, **kwargs):
            return None

    x = leaf()
    y = (x * 1).as_subclass(Uncloneable)
    with pytest.raises(TypeError, match="TensorBase"):
        y.mul_(y)
    assert y.tolist() == [1.0, 1.0, 1.0]


# ---------------------------------------------------------------- what changes while it is read
def test_a_tensor_that_gets_other_memory_while_a_subscript_is_read():
    x = T.arange(1000.0)

    class Mischief:
        def __index__(self):
            x.set_()
            return 5

    with pytest.raises(IndexError):
        x[3, Mischief()]
    x = T.arange(1000.0)
    assert x[Mischief() :].numel() in (0, 995)
    assert x.numel() == 0


def test_a_tensor_that_gets_another_layout_while_keepdim_is_read():
    x = T.ones(2, 3)

    class Mischief:
        def __bool__(self):
            x.data = T.zeros(())
            return False

    with pytest.raises(IndexError, match="sum"):
        x.sum(1, keepdim=Mischief())


CALLS_WITH_A_DIM = {
    "select": lambda x, dim: x.select(dim, 0),
    "unfold": lambda x, dim: x.unfold(dim, 1, 1),
    "diagonal": lambda x, dim: x.diagonal(0, 0, dim),
    "transpose_": lambda x, dim: x.transpose_(0, dim),
    "split": lambda x, dim: x.split(1, dim),
    "unbind": lambda x, dim: x.unbind(dim),
    "repeat_interleave": lambda x, dim: x.repeat_interleave(2, dim),
    "roll": lambda x, dim: x.roll(1, dim),
    "diff": lambda x, dim: x.diff(dim=dim),
    "cat": lambda x, dim: T.cat([x, x], dim),
    "cumsum": lambda x, dim: x.cumsum(dim),
    "sort": lambda x, dim: x.sort(dim),
    "max": lambda x, dim: x.max(dim),
    "min": lambda x, dim: x.min(dim, keepdim=True),
    "softmax": lambda x, dim: x.softmax(dim),
    "index_select": lambda x, dim: x.index_select(dim, T.tensor([0])),
    "scatter_add_": lambda x, dim: x.scatter_add_(dim, T.zeros(2, 3).long(), T.ones(2, 3)),
    "the op select": lambda x, dim: REGISTRY["select"](x, dim, 0),
    "the op unbind": lambda x, dim: REGISTRY["unbind"](x, dim),
    "the op unfold": lambda x, dim: REGISTRY["unfold"](x, dim, 1, 1),
    "the op cumsum": lambda x, dim: REGISTRY["cumsum"](x, dim),
    "the op softmax": lambda x, dim: REGISTRY["softmax"](x, dim),
    "the op gather": lambda x, dim: REGISTRY["gather"](x, dim, T.zeros(2, 3).long()),
    "the op index_select": lambda x, dim: REGISTRY["index_select"](x, dim, T.tensor([0])),
}


@pytest.mark.parametrize("name", CALLS_WITH_A_DIM)
def test_a_tensor_that_gets_another_layout_while_a_dim_is_read(name):
    x = T.ones(2, 3)

    class Mischief:
        def __index__(self):
            x.data = T.zeros(())
            return 1

    with pytest.raises((IndexError, RuntimeError), match="dimension"):
        CALLS_WITH_A_DIM[name](x, Mischief())


def test_a_list_that_grows_while_it_is_read():
    rows = [[1.0, 2.0], [3.0, 4.0]]

    class Grows:
        def __float__(self):
            rows[1].extend([5.0] * 10_000)
            return 1.0

        def __index__(self):
            rows[1].extend([5.0] * 10_000)
            return 1

    rows[0][0] = Grows()
    with pytest.raises(RuntimeError, match="cannot make elements of Grows"):
        T.tensor(rows)
    assert T.tensor(rows[1][:2]).tolist() == [3.0, 4.0]


def test_an_array_that_answers_differently_each_time():
    class Changes:
        asked = 0

        def tolist(self):
            Changes.asked += 1
            return [1.0] * (1 if Changes.asked < 4 else 10_000)

    with pytest.raises((ValueError, TypeError)):
        T.tensor([Changes(), Changes()])


# ---------------------------------------------------------------- fewer places for results than results
@pytest.mark.parametrize(
    "call",
    [
        lambda x, out: T.topk(x, 1, out=out),
        lambda x, out: T.sort(x, out=out),
        lambda x, out: T.max(x, 0, out=out),
        lambda x, out: T.cummax(x, 0, out=out),
        lambda x, out: T.kthvalue(x, 1, out=out),
    ],
)
def test_two_results_need_two_places(call):
    for out in ([], (), [T.zeros(0)]):
        with pytest.raises((TypeError, ValueError)):
            call(T.ones(3), out)


# ---------------------------------------------------------------- operators called as functions
def test_an_operator_of_a_subclass_refuses_named_arguments_that_it_does_not_know():
    class Heir(T.Tensor):
        pass

    x = T.ones(2).as_subclass(Heir)
    for name in ("__add__", "__rsub__", "__eq__", "__neg__"):
        with pytest.raises(TypeError):
            getattr(T.Tensor, name)(x, dim=x)
        with pytest.raises(TypeError), Answers(NotImplemented):
            getattr(T.Tensor, name)()


# ---------------------------------------------------------------- sizes whose product wraps around
@pytest.mark.parametrize("name", ["tril_indices", "triu_indices"])
def test_indices_of_vast_triangles_are_counted_without_overflow(name):
    indices = getattr(T, name)
    with pytest.raises(RuntimeError, match="more than fit"):
        indices(8, 2**62, 2**62 if name == "tril_indices" else -(2**62))
    everything, nothing = (2**63 - 1, -(2**63))
    if name == "triu_indices":
        everything, nothing = nothing, everything
    assert indices(2, 2, everything).tolist() == [[0, 0, 1, 1], [0, 1, 0, 1]]
    assert indices(2**40, 2, nothing).shape == (2, 0)


# ---------------------------------------------------------------- lists that hold themselves
class Hooked(T.Tensor):
    """A class whose calls come to a hook below autograd, where they would be computed."""

    @staticmethod
    def __new__(cls, x):
        return T.Tensor._make_wrapper_subclass(cls, x.shape, dtype=x.dtype)

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return func(*(T.ones(2, 2) if isinstance(one, cls) else one for one in args))


def loop_through(one):
    """A list that holds a list that holds it."""
    inner = [one]
    inner.append([inner])
    return inner


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.sum(loop_through(1)),
        lambda x: T.zeros(loop_through(1)),
        lambda x: T.add(x, loop_through(x)),
        lambda x: REGISTRY["sum"](x, loop_through(x), False, None),
    ],
)
def test_arguments_are_looked_through_for_tensors_that_layers_know_and_no_deeper(call):
    alive = T.zeros(2, dtype=T.complex64).conj()  # while there is such a tensor, calls ask for keys
    x = T.ones(2, 2)
    with pytest.raises((TypeError, IndexError, RuntimeError)):
        call(x)
    with pytest.raises((TypeError, IndexError, RuntimeError)):
        T.vmap(call)(x)
    with pytest.raises((TypeError, IndexError, RuntimeError)):
        T.func.jvp(call, (x,), (x,))
    with pytest.raises((TypeError, IndexError, RuntimeError)):
        call(Hooked(x))
    del alive
