"""Hooks of modules: order, arguments, what they may replace, warnings and errors are PyTorch's."""

import re
import warnings

import pytest

import tensorlab
from tensorlab import nn
from tests.oracle import require_torch


def values(x):
    if hasattr(x, "tolist"):
        return values(x.tolist())
    if isinstance(x, float):
        return round(x, 5)
    if isinstance(x, (tuple, list)):
        return [values(one) for one in x]
    if isinstance(x, dict):
        return {key: values(one) for key, one in x.items()}
    return x if isinstance(x, (int, float, str, bool)) or x is None else type(x).__name__


def forget_global_kind(T):
    """PyTorch remembers which kind of global backward hook there was once, although it is gone."""
    if T is not tensorlab:
        T.nn.modules.module._global_is_full_backward_hook = None


def both(program):
    """Run a program, with a list to note things in, on both packages; an error counts as its class and place."""
    found = []
    for T in (tensorlab, require_torch()):
        forget_global_kind(T)
        notes = []
        T.manual_seed(0)
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                notes.append(values(program(T, notes)))
            except Exception as error:
                kinds = (RuntimeError, ArithmeticError, TypeError)
                notes.append([kind.__name__ for kind in kinds if isinstance(error, kind)])
        found.append((notes, [w.category.__name__ for w in warned]))
    assert found[0] == found[1]
    return found[0]


def make(T):
    class Two(T.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = T.nn.Parameter(T.tensor([2.0, 3.0]))

        def forward(self, x, y=None, *, scale=1.0):
            if y is None:
                return x * self.w * scale
            return x * self.w * scale, x + y

    return Two()


def noting(notes, name, change=None):
    def hook(module, *args):
        notes.append((name, values(args)))
        return None if change is None else change(*args)

    return hook


def leaf(T, *numbers):
    return T.tensor([float(n) for n in numbers], requires_grad=True)


# ------------------------------------------------------------ backward
@pytest.mark.parametrize("prepend", [False, True])
def test_full_backward_hooks_see_and_replace_gradients(prepend):
    def program(T, notes):
        module, x, y = make(T), leaf(T, 1, 2), leaf(T, 5, 7)
        module.register_full_backward_hook(
            noting(notes, "first", lambda gi, go: (gi[0] * 10, gi[1]))
        )
        module.register_full_backward_hook(noting(notes, "second"), prepend=prepend)
        module.register_full_backward_pre_hook(noting(notes, "pre", lambda go: (go[0] + 1, go[1])))
        module.register_full_backward_pre_hook(noting(notes, "pre 2"), prepend=prepend)
        a, b = module(x, y)
        (a.sum() + 2 * b.sum()).backward()
        return x.grad, y.grad, module.w.grad

    notes, _ = both(program)
    assert len(notes) == 5


def test_backward_hooks_of_arguments_that_are_no_tensors_or_need_no_gradient():
    def program(T, notes):
        module = make(T)
        module.register_full_backward_hook(noting(notes, "hook"))
        module(leaf(T, 1, 2), T.ones(2), scale=3.0)[0].sum().backward()
        module(T.ones(2)).sum().backward()  # no argument requires grad: warns
        with T.no_grad():
            module(leaf(T, 1, 2))
        return module.w.grad

    notes, warned = both(program)
    assert warned == ["UserWarning"]
    assert len(notes) == 3


@pytest.mark.parametrize(
    "kind",
    ["too many inputs", "too many outputs", "something without inputs", "dict result", "none"],
)
def test_what_backward_hooks_return_is_checked(kind):
    def program(T, notes):
        module, x = make(T), leaf(T, 1, 2)
        if kind == "too many inputs":
            module.register_full_backward_hook(lambda m, gi, go: (*gi, None))
        elif kind == "too many outputs":
            module.register_full_backward_pre_hook(lambda m, go: (*go, None))
        elif kind == "something without inputs":
            module.register_full_backward_hook(lambda m, gi, go: (go[0],))
            x = x.detach()
        elif kind == "dict result":
            module.register_full_backward_hook(noting(notes, "hook"))
            forward = module.forward
            module.forward = lambda x: {"a": forward(x)}
            module(x)["a"].sum().backward()
            return x.grad
        else:
            module.register_full_backward_hook(lambda m, gi, go: None)
        module(x).sum().backward()
        return x.grad

    both(program)


def test_a_hook_runs_in_each_backward_and_not_after_its_removal():
    def program(T, notes):
        module, x = make(T), leaf(T, 1, 2)
        handle = module.register_full_backward_hook(noting(notes, "hook"))
        out = module(x).sum()
        out.backward(retain_graph=True)
        out.backward()
        handle.remove()
        module(x).sum().backward()
        with module.register_full_backward_pre_hook(noting(notes, "pre")):
            module(x).sum().backward()
        module(x).sum().backward()
        return x.grad

    notes, _ = both(program)
    assert len(notes) == 4


def test_hooks_of_the_last_node_and_their_warnings():
    def program(T, notes):
        module, x = make(T), leaf(T, 1, 2)
        module.register_backward_hook(noting(notes, "hook"))
        module(x, scale=2.0).sum().backward()  # two nodes: warns
        relu = T.nn.ReLU()
        relu.register_backward_hook(noting(notes, "relu", lambda gi, go: (gi[0] * 5,)))
        relu(x * 2).sum().backward()
        module(x, x)[0].sum().backward()  # two results: warns
        relu(x.detach())
        return x.grad

    _, warned = both(program)
    assert warned == ["FutureWarning", "FutureWarning"]


class Several(list):
    """Results of a module in a list, which hooks of the last node do not see through."""


FORWARDS = {
    "one node": lambda x: x * 2,
    "two nodes": lambda x: x * 2 + 1,
    "two results of one node": lambda x: x.unbind(),
    "results of two nodes": lambda x: (x * 2, x * 3),
    "results of which one has no node": lambda x: (x * 2, x.detach()),
    "a list": lambda x: Several([x * 2]),
    "a dict": lambda x: {"out": x * 2},
    "the argument in a list": lambda x: x[0] * 2,
}


@pytest.mark.parametrize("name", FORWARDS)
def test_a_hook_of_the_last_node_says_why_it_misses_gradients(name):
    found = []
    for T in (tensorlab, require_torch()):
        Module = type("Module", (T.nn.Module,), {"forward": lambda _, x: FORWARDS[name](x)})
        module, x = Module(), leaf(T, 1, 2) * 1
        module.register_backward_hook(lambda *_: None)
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            module([x] if name == "the argument in a list" else x)
        whys = [re.search(r"hooks? (.* is deprecated)", str(w.message))[1] for w in warned]
        found.append(whys)
        if T is tensorlab:  # the warning is about the line of the call
            assert all(w.filename == __file__ for w in warned)
    assert found[0] == found[1]


def test_the_two_kinds_of_backward_hooks_do_not_mix():
    for first, second in (("register_backward_hook", "register_full_backward_hook"),) * 2:
        for T in (tensorlab, require_torch()):
            module = T.nn.ReLU()
            getattr(module, first)(lambda *a: None)
            with pytest.raises(
                RuntimeError, match="annot use both regular backward hooks and full"
            ):
                getattr(module, second)(lambda *a: None)
            module = T.nn.ReLU()
            getattr(module, second)(lambda *a: None)
            with pytest.raises(
                RuntimeError, match="annot use both regular backward hooks and full"
            ):
                getattr(module, first)(lambda *a: None)


# ------------------------------------------------------------ after errors
def test_hooks_that_are_always_called_run_after_an_error():
    def program(T, notes):
        module = make(T)
        module.register_forward_hook(noting(notes, "always"), always_call=True)
        module.register_forward_hook(
            noting(notes, "with kwargs"), always_call=True, with_kwargs=True
        )
        module.register_forward_hook(noting(notes, "plain"))

        def fails(*args):
            raise ArithmeticError("hook")

        module.register_forward_hook(fails, always_call=True)
        try:
            module(3.0, scale="x")  # an error in forward
        except Exception as error:
            notes.append(type(error).__name__)
        try:
            module(T.ones(2))  # an error in the last hook
        except ArithmeticError as error:
            notes.append(str(error))
        return

    _, warned = both(program)
    assert "UserWarning" in warned


# ------------------------------------------------------------ hooks of all modules
@pytest.mark.parametrize("full", [True, False])
def test_hooks_of_all_modules_come_before_a_modules_own(full):
    def program(T, notes):
        g = T.nn.modules.module
        model, x = T.nn.Sequential(T.nn.ReLU(), T.nn.Tanh()), leaf(T, 1, 2)
        register = g.register_module_full_backward_hook if full else g.register_module_backward_hook
        handles = [
            g.register_module_forward_pre_hook(noting(notes, "pre", lambda args: (args[0] * 2,))),
            g.register_module_forward_hook(noting(notes, "post")),
            g.register_module_forward_hook(noting(notes, "kwargs"), with_kwargs=True),
            register(noting(notes, "backward")),
        ]
        if full:
            handles.append(g.register_module_full_backward_pre_hook(noting(notes, "before")))
        model[0].register_forward_hook(noting(notes, "own"))
        model[0].register_forward_pre_hook(noting(notes, "own pre"))
        try:
            model(x).sum().backward()
        finally:
            for handle in handles:
                handle.remove()
        n = len(notes)
        model[1](x).sum().backward()
        assert len(notes) == n
        return x.grad

    both(program)
    assert not nn.Module._is_hooked


def test_global_backward_hooks_of_two_kinds_do_not_mix():
    for T in (tensorlab, require_torch()):
        g = T.nn.modules.module
        forget_global_kind(T)
        with g.register_module_full_backward_hook(lambda *a: None), pytest.raises(RuntimeError):
            g.register_module_backward_hook(lambda *a: None)
        forget_global_kind(T)
        with g.register_module_backward_hook(lambda *a: None), pytest.raises(RuntimeError):
            g.register_module_full_backward_hook(lambda *a: None)


def test_registration_is_seen_and_may_be_replaced():
    def program(T, notes):
        g = T.nn.modules.module
        handles = [
            g.register_module_parameter_registration_hook(
                lambda m, name, p: notes.append(("parameter", name, type(m).__name__))
            ),
            g.register_module_buffer_registration_hook(lambda m, name, b: b + 1),
            g.register_module_module_registration_hook(
                lambda m, name, child: T.nn.Tanh() if isinstance(child, T.nn.ReLU) else None
            ),
        ]
        try:
            module = T.nn.Module()
            module.lin = T.nn.Linear(1, 1)
            module.act = T.nn.ReLU()
            module.register_buffer("b", T.zeros(1))
            module.register_parameter("none", None)
        finally:
            for handle in handles:
                handle.remove()
        return type(module.act).__name__, module.b

    both(program)


# ------------------------------------------------------------ state dicts
def test_hooks_of_state_dicts():
    def program(T, notes):
        model = T.nn.Sequential(T.nn.Linear(1, 1), T.nn.Linear(1, 1, bias=False))
        model[0].register_state_dict_pre_hook(lambda m, prefix, keep: notes.append((prefix, keep)))
        model[0].register_state_dict_post_hook(
            lambda m, state, prefix, meta: state.update({prefix + "extra": meta["version"]})
        )
        model._register_state_dict_hook(lambda m, state, prefix, meta: {"x." + k: 1 for k in state})
        state = model.state_dict(prefix="ab")
        model[1].register_state_dict_post_hook(lambda *a: 3)
        notes.append(sorted(state))
        model.state_dict()

    notes, _ = both(program)
    assert notes[-1] == ["RuntimeError"]


def test_hooks_of_loading():
    def program(T, notes):
        model = T.nn.Sequential(T.nn.Linear(1, 1), T.nn.Linear(1, 1, bias=False))
        state = {"0.w": T.full((1, 1), 4.0), "0.bias": T.full((1,), 5.0), "more": 1}

        def rename(module, state, prefix, meta, strict, missing, unexpected, errors):
            notes.append((type(module).__name__, prefix, strict, sorted(state)))
            state[prefix + "weight"] = state.pop(prefix + "w")

        def forgive(module, names):
            notes.append((list(names.missing_keys), list(names.unexpected_keys)))
            names.missing_keys.clear()
            names.unexpected_keys.clear()

        model[0].register_load_state_dict_pre_hook(rename)
        model.register_load_state_dict_post_hook(forgive)
        found = model.load_state_dict(state)
        return repr(found), [p.detach() for p in model[0].parameters()]

    both(program)


def test_an_error_after_hooks_of_loading_restores_the_values():
    model = nn.Linear(1, 1)
    before = model.weight.item()
    model.register_load_state_dict_post_hook(lambda module, names: None)
    with pytest.raises(RuntimeError, match="Missing key"):
        model.load_state_dict({"weight": tensorlab.full((1, 1), 9.0)})
    assert model.weight.item() == before
    model.register_load_state_dict_post_hook(lambda module, names: 3)
    with pytest.raises(AssertionError, match="not expected to return"):
        model.load_state_dict({"weight": tensorlab.full((1, 1), 9.0), "bias": tensorlab.ones(1)})
    assert model.weight.item() == before


def test_classes_may_save_and_load_in_their_own_way():
    def program(T, notes):
        class Own(T.nn.Linear):
            _version = 3

            def _save_to_state_dict(self, destination, prefix, keep_vars):
                super()._save_to_state_dict(destination, prefix, keep_vars)
                destination[prefix + "w"] = destination.pop(prefix + "weight")

            def _load_from_state_dict(
                self, state, prefix, meta, strict, missing, unexpected, errors
            ):
                notes.append((meta.get("version"), prefix, strict))
                state[prefix + "weight"] = state.pop(prefix + "w")
                super()._load_from_state_dict(
                    state, prefix, meta, strict, missing, unexpected, errors
                )

        first, second = T.nn.Sequential(Own(1, 1)), T.nn.Sequential(Own(1, 1))
        state = first.state_dict()
        second.load_state_dict(state)
        own = Own(1, 1)
        own._load_from_state_dict(dict(own.state_dict()), "", {}, False, [], [], [])
        return sorted(state), bool((first[0].weight == second[0].weight).all())

    both(program)


def test_prefixes_and_positional_arguments_of_state_dict():
    def program(T, notes):
        model = T.nn.Sequential(T.nn.Linear(1, 1))
        notes.append(list(model.state_dict(prefix="ab")))
        notes.append(list(model.state_dict(None, "x.")))
        destination = {}
        model.state_dict(destination, "y", True)
        return list(destination), destination["y0.weight"].requires_grad

    _, warned = both(program)
    assert warned == ["FutureWarning", "FutureWarning"]


def test_a_number_saved_as_a_vector_of_one_is_loaded():
    def program(T, notes):
        model = T.nn.Module()
        model.scale = T.nn.Parameter(T.zeros(()))
        model.load_state_dict({"scale": T.tensor([3.0])})
        return model.scale.detach()

    both(program)


# ------------------------------------------------------------ parts by name
def test_a_submodule_is_put_in_the_place_of_a_name():
    def program(T, notes):
        model = T.nn.Sequential(T.nn.Sequential(T.nn.ReLU()))
        model.set_submodule("0.0", T.nn.Tanh())
        model.set_submodule("0.new", T.nn.Linear(1, 1))
        notes.append([name for name, _ in model.named_modules()])
        for arguments in (
            ("", T.nn.ReLU()),
            ("0.0", 3),
            ("1.x", T.nn.ReLU()),
            ("0.zz", T.nn.ReLU(), True),
        ):
            try:
                model.set_submodule(*arguments)
            except (ValueError, AttributeError) as error:
                notes.append(type(error).__name__)

    both(program)


def test_the_flag_of_a_call_without_hooks():
    module = nn.ReLU()
    assert not module._is_hooked
    module.register_forward_hook(lambda *a: None)
    assert module._is_hooked
    assert not nn.ReLU()._is_hooked
    assert nn.Module.dump_patches is False
    module.register_buffer("b", tensorlab.ones(1), persistent=False)
    assert module._non_persistent_buffers_set == {"b"}


@pytest.mark.parametrize("kind", ["forward", "forward_pre", "full_backward", "full_backward_pre"])
def test_a_module_without_its_hooks_is_called_as_before(kind):
    layer, x = nn.Linear(2, 2), tensorlab.ones(1, 2, requires_grad=True)
    handles = [getattr(layer, f"register_{kind}_hook")(lambda *given: None) for _ in range(2)]
    assert layer(x).grad_fn is not None
    for handle in handles:
        assert layer._is_hooked
        handle.remove()
    assert tensorlab.equal(layer(x), layer.forward(x))
    assert not layer._is_hooked
    seen = []
    layer.register_forward_hook(lambda *given: seen.append(given))
    layer(x)
    assert len(seen) == 1


class Halves(nn.Module):
    def forward(self, x):
        return x * 2, x * 3


class InAList(nn.Module):
    def forward(self, x):
        return [x * 2]


@pytest.mark.parametrize(
    ("module", "text"),
    [(Halves(), "different autograd Nodes"), (InAList(), "does not return a single Tensor")],
)
def test_the_older_hook_says_what_it_does_not_see(module, text):
    module.register_backward_hook(lambda *given: None)
    with pytest.warns(FutureWarning, match=text) as caught:
        module(tensorlab.ones(2, requires_grad=True))
    assert caught[0].filename == __file__


def test_the_warning_of_a_hook_without_inputs_points_to_the_program():
    layer = nn.Linear(2, 2)
    layer.register_full_backward_hook(lambda *given: None)
    loss = layer(tensorlab.ones(1, 2)).sum()
    with pytest.warns(UserWarning, match="no inputs require gradients") as caught:
        loss.backward()
    assert caught[0].filename == __file__


def test_a_handle_that_is_removed_takes_its_options_along():
    module = nn.ReLU()
    handle = module.register_forward_hook(lambda *_: None, with_kwargs=True, always_call=True)
    assert dict(module._forward_hooks_with_kwargs) == {handle.id: True}
    handle.remove()
    assert not module._forward_hooks_with_kwargs
    assert not module._forward_hooks_always_called
