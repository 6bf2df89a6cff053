"""Registration, walking, state and hooks of modules."""

import copy
import gc
import pickle
import warnings
import weakref
from collections import OrderedDict

import pytest

import tensorlab
from tensorlab import nn
from tests.oracle import require_torch


class Affine(nn.Module):
    """A module with one of each kind of attribute; at the top level, so that it can be pickled."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(tensorlab.ones(2, 2))
        self.register_parameter("bias", None)
        self.register_buffer("mean", tensorlab.zeros(2))
        self.register_buffer("scratch", tensorlab.zeros(1), persistent=False)
        self.inner = nn.Linear(2, 2)
        self.note = "plain"

    def forward(self, x, scale=1.0):
        return self.inner(x @ self.weight - self.mean) * scale


def names(pairs):
    return [name for name, _ in pairs]


# ---------------------------------------------------------------- registration
def test_each_kind_of_attribute_is_listed_under_its_kind():
    module = Affine()
    assert names(module.named_parameters()) == ["weight", "inner.weight", "inner.bias"]
    assert names(module.named_parameters(recurse=False)) == ["weight"]
    assert names(module.named_buffers()) == ["mean", "scratch"]
    assert names(module.named_children()) == ["inner"]
    assert names(module.named_modules()) == ["", "inner"]
    assert dict(module._parameters) == {"weight": module.weight, "bias": None}
    assert list(module._modules.values()) == [module.inner]
    assert module.bias is None


def test_a_parameter_takes_the_place_of_a_plain_attribute_and_of_a_module():
    module = Affine()
    module.note = nn.Parameter(tensorlab.ones(1))
    assert names(module.named_parameters(recurse=False)) == ["weight", "note"]
    module.inner = nn.Parameter(tensorlab.ones(1))
    assert list(module.children()) == []
    assert names(module.named_parameters()) == ["weight", "note", "inner"]


def test_reassigning_a_parameter_keeps_its_position():
    module = nn.Linear(2, 3)
    module.weight = nn.Parameter(tensorlab.zeros(3, 2))
    assert names(module.named_parameters()) == ["weight", "bias"]
    module.weight = None
    assert names(module.named_parameters()) == ["bias"]
    assert list(module._parameters) == ["weight", "bias"]


def test_a_deleted_attribute_is_registered_no_longer_and_can_become_something_else():
    module = Affine()
    del module.weight
    assert not hasattr(module, "weight")
    assert names(module.named_parameters()) == ["inner.weight", "inner.bias"]
    module.weight = tensorlab.ones(2, 2)
    assert "weight" not in module.state_dict()
    with pytest.raises(AttributeError):
        del module.nothing


def test_writing_through_the_views_of_registered_attributes_registers():
    module = nn.Module()
    module._parameters["weight"] = nn.Parameter(tensorlab.ones(1))
    module._buffers["mean"] = tensorlab.ones(1)
    module._modules["act"] = nn.ReLU()
    assert list(module.state_dict()) == ["weight", "mean"]
    assert module.act is module.get_submodule("act")
    del module._parameters["weight"]
    assert not hasattr(module, "weight")
    with pytest.raises(KeyError):
        module._parameters["act"]


def test_a_buffer_can_be_assigned_and_replaced_by_a_tensor():
    module = nn.Module()
    module.mean = nn.Buffer(tensorlab.zeros(2))
    module.scratch = nn.Buffer(tensorlab.zeros(2), persistent=False)
    module.mean = tensorlab.ones(2)
    assert names(module.named_buffers()) == ["mean", "scratch"]
    assert module.state_dict()["mean"].tolist() == [1.0, 1.0]
    assert list(module.state_dict()) == ["mean"]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("weight", tensorlab.ones(2, 2), "cannot assign a Tensor as parameter; expected a Param"),
        ("inner", 3, "cannot assign a int as child module; expected a Module or None"),
        ("mean", "text", "cannot assign a str as buffer; expected a Tensor or None"),
    ],
)
def test_a_registered_attribute_refuses_a_value_of_another_kind(name, value, message):
    module = Affine()
    before = getattr(module, name)
    with pytest.raises(TypeError, match=message):
        setattr(module, name, value)
    assert getattr(module, name) is before


@pytest.mark.parametrize("register", ["register_parameter", "register_buffer", "add_module"])
@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("a.b", KeyError, "must not be empty nor contain a dot"),
        ("", KeyError, "must not be empty nor contain a dot"),
        ("forward", KeyError, "attribute 'forward' exists already"),
        ("note", KeyError, "attribute 'note' exists already"),
        (3, TypeError, "the name is 3; expected a string"),
    ],
)
def test_a_name_that_cannot_be_registered_is_refused(register, name, error, message):
    with pytest.raises(error, match=message):
        getattr(Affine(), register)(name, None)


@pytest.mark.parametrize(
    ("register", "expected"),
    [
        ("register_parameter", "a Parameter or None"),
        ("register_buffer", "a Tensor or None"),
        ("add_module", "a Module or None"),
    ],
)
def test_a_value_that_cannot_be_registered_is_refused(register, expected):
    with pytest.raises(TypeError, match=f"'x' is of type int; expected {expected}"):
        getattr(nn.Module(), register)("x", 3)


@pytest.mark.parametrize("make", [lambda: nn.Parameter(tensorlab.ones(1)), nn.ReLU, nn.Buffer])
def test_assigning_before_init_is_refused_with_the_remedy(make):
    class Forgetful(nn.Module):
        def __init__(self):
            self.part = make()

    with pytest.raises(AttributeError, match=r"before Module.__init__.*super\(\).__init__"):
        Forgetful()


def test_a_missing_attribute_raises_attribute_error():
    with pytest.raises(AttributeError, match="'Linear' object has no attribute 'wieght'"):
        _ = nn.Linear(1, 1).wieght


def test_dir_lists_parts_but_no_numbers():
    model = nn.Sequential(nn.ReLU())
    model.extra = nn.Parameter(tensorlab.ones(1))
    assert {"extra", "forward", "training"} <= set(dir(model))
    assert "0" not in dir(model)


# ---------------------------------------------------------------- walking
def test_a_shared_part_is_listed_once_by_its_first_name():
    shared = nn.Linear(2, 2)
    model = nn.Sequential(shared, nn.ReLU(), shared)
    assert names(model.named_modules()) == ["", "0", "1"]
    assert names(model.named_parameters()) == ["0.weight", "0.bias"]
    everything = model.named_parameters(remove_duplicate=False)
    assert names(everything) == ["0.weight", "0.bias", "2.weight", "2.bias"]
    assert list(model.state_dict()) == ["0.weight", "0.bias", "2.weight", "2.bias"]


def test_parts_are_found_by_dotted_name():
    model = nn.Sequential(nn.Sequential(Affine()))
    assert model.get_submodule("") is model
    assert model.get_submodule("0.0.inner") is model[0][0].inner
    assert model.get_parameter("0.0.inner.bias") is model[0][0].inner.bias
    assert model.get_buffer("0.0.mean") is model[0][0].mean
    with pytest.raises(AttributeError, match="'1' does not exist"):
        model.get_submodule("0.1")
    with pytest.raises(AttributeError, match="'mean' is not a Parameter"):
        model.get_parameter("0.0.mean")


def test_apply_visits_children_before_parents():
    visited = []
    model = nn.Sequential(nn.Linear(1, 1), nn.Sequential(nn.ReLU()))
    assert model.apply(lambda module: visited.append(type(module).__name__)) is model
    assert visited == ["Linear", "ReLU", "Sequential", "Sequential"]


# ---------------------------------------------------------------- modes
def test_train_and_eval_reach_every_module():
    model = nn.Sequential(nn.Dropout(), nn.Sequential(nn.Dropout()))
    assert model.eval() is model
    assert not any(module.training for module in model.modules())
    model.train()
    assert all(module.training for module in model.modules())
    with pytest.raises(ValueError, match="mode is 1; expected True or False"):
        model.train(1)


def test_a_child_that_overrides_train_keeps_its_say():
    class Frozen(nn.Linear):
        def train(self, mode=True):
            return super().train(False)

    model = nn.Sequential(Frozen(1, 1)).train()
    assert not model[0].training


def test_requires_grad_reaches_every_parameter():
    model = nn.Sequential(nn.Linear(1, 1), nn.Linear(1, 1)).requires_grad_(False)
    assert not any(parameter.requires_grad for parameter in model.parameters())


def test_gradients_that_are_parts_of_one_tensor_become_zero():
    module, whole = nn.Linear(2, 3), tensorlab.ones(9)
    module.weight.grad, module.bias.grad = whole[:6].view(3, 2), whole[6:]
    module.zero_grad(set_to_none=False)
    assert whole.tolist() == [0] * 9


@pytest.mark.parametrize("create_graph", [False, True])
def test_zero_grad_forgets_gradients_or_fills_them(create_graph):
    module = nn.Linear(2, 1)
    module.zero_grad(set_to_none=False)
    assert module.weight.grad is None
    (module(tensorlab.ones(2)) ** 2).sum().backward(create_graph=create_graph)
    grad = module.weight.grad
    assert grad.requires_grad == create_graph
    module.zero_grad(set_to_none=False)
    assert module.weight.grad is grad
    assert grad.tolist() == [[0.0, 0.0]]
    assert grad.is_leaf
    assert not grad.requires_grad
    module.weight.grad = tensorlab.ones(1, 2, requires_grad=True)
    module.zero_grad(set_to_none=False)
    assert module.weight.grad.tolist() == [[0.0, 0.0]]
    assert not module.weight.grad.requires_grad
    module.zero_grad()
    assert module.weight.grad is None


# ---------------------------------------------------------------- state
def test_loading_what_was_saved_gives_the_same_results():
    first, second = Affine(), Affine()
    x = tensorlab.randn(3, 2)
    result = second.load_state_dict(first.state_dict())
    assert repr(result) == "<All keys matched successfully>"
    assert second(x).tolist() == first(x).tolist()
    assert second.inner.weight is not first.inner.weight


def test_a_state_dict_is_detached_and_shares_memory():
    module = nn.Linear(2, 1)
    weight = module.state_dict()["weight"]
    assert not weight.requires_grad
    assert weight.data_ptr() == module.weight.data_ptr()
    assert module.state_dict(keep_vars=True)["weight"] is module.weight
    assert list(module.state_dict(prefix="layer.")) == ["layer.weight", "layer.bias"]


def test_a_state_dict_fills_the_destination_given():
    destination = OrderedDict(kept=1)
    assert nn.Linear(1, 1).state_dict(destination=destination) is destination
    assert list(destination) == ["kept", "weight", "bias"]


def test_loading_copies_into_the_parameters_and_assigning_replaces_them():
    module = nn.Linear(2, 1, bias=False)
    weight = module.weight
    given = tensorlab.tensor([[1.0, 2.0]])
    module.load_state_dict({"weight": given})
    assert module.weight is weight
    assert weight.tolist() == [[1.0, 2.0]]
    module.weight.requires_grad_(False)
    module.load_state_dict({"weight": given}, assign=True)
    assert module.weight.data_ptr() == given.data_ptr()
    assert isinstance(module.weight, nn.Parameter)
    assert not module.weight.requires_grad


def test_a_state_dict_that_does_not_fit_is_refused_and_changes_nothing():
    module = nn.Linear(2, 2)
    before = {name: value.tolist() for name, value in module.state_dict().items()}
    wrong = {"bias": tensorlab.zeros(2), "weight": tensorlab.zeros(3, 2), "other": 1}
    with pytest.raises(RuntimeError) as raised:
        module.load_state_dict(wrong)
    text = str(raised.value)
    assert "Error(s) in loading state_dict for Linear" in text
    assert 'Unexpected key(s) in state_dict: "other"' in text
    assert "size mismatch for weight" in text
    assert {name: value.tolist() for name, value in module.state_dict().items()} == before
    with pytest.raises(RuntimeError, match=r'Missing key.*"weight", "bias"'):
        module.load_state_dict({})
    with pytest.raises(RuntimeError, match='"bias", expected a Tensor'):
        module.load_state_dict({"weight": tensorlab.zeros(2, 2), "bias": [0.0, 0.0]})
    with pytest.raises(TypeError, match="state_dict is of type list"):
        module.load_state_dict([])


def test_loading_without_strict_reports_the_difference():
    result = nn.Linear(1, 1).load_state_dict({"weight": tensorlab.ones(1, 1), "x": 1}, strict=False)
    assert result.missing_keys == ["bias"]
    assert result.unexpected_keys == ["x"]


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(
    "key",
    [
        *["inner.0.extra", "inner.0.weight.x", "inner.0.", "inner.", "inner", "inner.7.weight"],
        *["other.weight", ".weight", "inner.00.weight", "scratch", "inner.0.scratch", "", "."],
    ],
)
@pytest.mark.parametrize("left_out", [None, "inner.0.bias", "mean"])
def test_names_that_do_not_fit_are_reported_as_by_pytorch(key, left_out, strict):
    def load(package):
        module = package.nn.Module()
        module.inner = package.nn.Sequential(package.nn.Linear(2, 1))
        module.register_buffer("mean", package.zeros(2))
        module.register_buffer("scratch", package.zeros(2), persistent=False)
        state = dict(module.state_dict())
        state.pop(left_out, None)
        state[key] = package.zeros(1)
        try:
            return [list(names) for names in module.load_state_dict(state, strict=strict)]
        except RuntimeError as error:
            return sorted(line.strip() for line in str(error).split("\n")[1:])

    assert load(tensorlab) == load(require_torch())


def test_state_that_is_no_tensor_is_saved_and_loaded():
    class Counter(nn.Module):
        count = 0

        def get_extra_state(self):
            return self.count

        def set_extra_state(self, extra):
            self.count = extra

    first, second = nn.Sequential(Counter()), nn.Sequential(Counter())
    first[0].count = 3
    state = first.state_dict()
    assert state == {"0._extra_state": 3}
    second.load_state_dict(state)
    assert second[0].count == 3


def test_state_dicts_have_the_names_and_order_of_pytorch():
    torch = require_torch()

    def build(package):
        inner = package.nn.Sequential(package.nn.Linear(2, 3), package.nn.LayerNorm(3))
        model = package.nn.ModuleDict({"body": inner, "head": package.nn.Linear(3, 1, bias=False)})
        model.register_buffer("steps", package.zeros(1))
        return model

    ours, theirs = build(tensorlab), build(torch)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert ours.state_dict()._metadata == theirs.state_dict()._metadata


# ---------------------------------------------------------------- conversion
def test_converting_keeps_parameter_objects_and_integer_buffers():
    module = Affine()
    module.register_buffer("count", tensorlab.tensor([1, 2]))
    weight = module.weight
    module(tensorlab.ones(1, 2)).sum().backward()
    assert module.double() is module
    assert module.weight is weight
    assert weight.dtype == weight.grad.dtype == tensorlab.float64
    assert module.mean.dtype == tensorlab.float64
    assert module.count.dtype == tensorlab.int64
    assert module.to(tensorlab.float32).inner.bias.dtype == tensorlab.float32
    assert module.to("cpu").float().weight.dtype == tensorlab.float32
    for name in ("float16", "bfloat16", "float32", "float64"):
        short = {"float16": "half", "float32": "float", "float64": "double"}.get(name, name)
        assert getattr(module, short)() is module
        assert module.inner.bias.dtype is module.mean.dtype is getattr(tensorlab, name)
        assert module.count.dtype is tensorlab.int64
    with pytest.raises(TypeError, match="a module takes floating and complex dtypes"):
        module.to(tensorlab.int64)


def test_a_module_becomes_complex_and_real_again():
    module = tensorlab.nn.BatchNorm1d(2).to(tensorlab.complex128)
    assert module.weight.dtype == module.running_mean.dtype == tensorlab.complex128
    assert module.num_batches_tracked.dtype == tensorlab.int64
    linear = tensorlab.nn.Linear(2, 3).to(tensorlab.complex64)
    assert linear(tensorlab.ones(1, 2, dtype=tensorlab.complex64)).dtype == tensorlab.complex64
    assert (
        linear.double().weight.dtype == tensorlab.complex64
    )  # as in PyTorch: only what is floating
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the imaginary parts are lost
        assert linear.to(tensorlab.float32).weight.dtype == tensorlab.float32


# ---------------------------------------------------------------- calling and hooks
def test_a_module_without_forward_says_so():
    with pytest.raises(NotImplementedError, match="Module: has no forward"):
        nn.Module()(1)


def test_hooks_see_and_may_replace_arguments_and_results():
    calls, looks = [], []
    module = Affine()
    x = tensorlab.ones(1, 2)
    plain = module(x)

    pre = module.register_forward_pre_hook(lambda module, args: (args[0] * 0,))
    post = module.register_forward_hook(lambda module, args, result: result + 1)
    watch = module.register_forward_hook(lambda *seen: calls.append(seen))
    look = module.register_forward_pre_hook(lambda *seen: looks.append(seen))
    changed = module(x)
    assert changed.tolist() == (module.forward(x * 0) + 1).tolist()
    assert calls[0][0] is module
    assert calls[0][1][0].tolist() == [[0.0, 0.0]]
    assert calls[0][2] is changed
    assert looks == [(module, calls[0][1])]

    for handle in (pre, post, watch, look):
        handle.remove()
        handle.remove()
    assert module(x).tolist() == plain.tolist()
    assert len(calls) == 1


def test_hooks_with_kwargs_see_keyword_arguments():
    module = Affine()
    x = tensorlab.ones(1, 2)
    doubled = module(x, scale=2.0)
    module.register_forward_pre_hook(
        lambda module, args, kwargs: (args, {"scale": 2.0}), with_kwargs=True
    )
    seen = []
    module.register_forward_pre_hook(lambda *given: seen.append(given), with_kwargs=True)
    module.register_forward_hook(
        lambda module, args, kwargs, result: seen.append(kwargs), with_kwargs=True
    )
    assert module(x, scale=5.0).tolist() == doubled.tolist()
    assert seen == [(module, (x,), {"scale": 2.0}), {"scale": 2.0}]
    module.register_forward_pre_hook(lambda module, args, kwargs: args, with_kwargs=True)
    with pytest.raises(RuntimeError, match=r"return None or a tuple \(args, kwargs\)"):
        module(x)


def test_hooks_run_in_order_of_registration_but_prepended_ones_first():
    order = []
    module = nn.Identity()
    for name, prepend in (("first", False), ("second", False), ("front", True)):
        module.register_forward_hook(lambda *seen, name=name: order.append(name), prepend=prepend)
    with module.register_forward_hook(lambda *seen: order.append("inside")):
        module(1)
    module(1)
    assert order == ["front", "first", "second", "inside", "front", "first", "second"]


# ---------------------------------------------------------------- copies
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_deep_copy_and_a_pickle_are_equal_and_share_nothing(copied):
    module = Affine()
    module.tied = module.inner.weight
    module.weight.tag = "mine"
    module.inner.bias.requires_grad_(False)
    module(tensorlab.ones(1, 2)).sum().backward()
    twin = copied(module)
    assert [one.requires_grad for one in twin.parameters()] == [
        one.requires_grad for one in module.parameters()
    ]
    assert list(twin.state_dict()) == list(module.state_dict())
    assert twin.tied is twin.inner.weight
    assert type(twin.weight) is nn.Parameter
    assert twin.weight.tag == "mine"
    assert twin.weight.grad is None
    with tensorlab.no_grad():
        twin.weight.zero_()
    assert module.weight.tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_a_shallow_copy_shares_parts_but_not_its_lists_of_names():
    module = nn.Linear(1, 1)
    twin = copy.copy(module)
    twin.extra = nn.Parameter(tensorlab.ones(1))
    assert twin.weight is module.weight
    assert names(module.named_parameters()) == ["weight", "bias"]


def test_a_module_is_freed_without_the_garbage_collector():
    gc.disable()
    try:
        module = nn.Sequential(nn.Linear(1, 1), nn.ReLU())
        watcher = weakref.ref(module[0])
        del module
        assert watcher() is None
    finally:
        gc.enable()


# ---------------------------------------------------------------- parameters
def test_a_parameter_shares_memory_but_no_history():
    x = tensorlab.ones(2, requires_grad=True)
    parameter = nn.Parameter(x * 2)
    assert parameter.is_leaf
    assert parameter.requires_grad
    data = tensorlab.zeros(2)
    assert nn.Parameter(data).data_ptr() == data.data_ptr()
    assert not nn.Parameter(data, requires_grad=False).requires_grad
    assert nn.Parameter().numel() == 0


def test_a_parameter_must_be_a_floating_tensor():
    with pytest.raises(TypeError, match=r"Parameter: data is of type list; expected a Tensor"):
        nn.Parameter([1.0])
    with pytest.raises(RuntimeError, match="floating"):
        nn.Parameter(tensorlab.tensor([1]))


def test_operations_on_parameters_give_plain_tensors():
    parameter = nn.Parameter(tensorlab.ones(2))
    for result in (parameter + 1, parameter[0], parameter.detach(), parameter.data):
        assert type(result) is tensorlab.Tensor


def test_a_parameter_prints_as_in_pytorch():
    parameter = nn.Parameter(tensorlab.ones(2))
    assert repr(parameter) == "Parameter containing:\ntensor([1., 1.], requires_grad=True)"


def test_a_tensor_of_another_class_that_became_a_parameter_counts_as_one():
    class Special(tensorlab.Tensor):
        pass

    class Learned(nn.Parameter):
        pass

    made = nn.Parameter(tensorlab.ones(2).as_subclass(Special))
    assert type(made) is Special
    assert made._is_param
    assert isinstance(made, nn.Parameter)
    assert not isinstance(made, Learned)
    assert not isinstance(tensorlab.ones(2), nn.Parameter)
    assert isinstance(Learned(tensorlab.ones(2)), nn.Parameter)
    module = nn.Module()
    module.weight = made
    assert dict(module.named_parameters()) == {"weight": made}


def test_a_class_that_detaches_into_another_class_is_no_parameter():
    for package in (tensorlab, require_torch()):

        class Leaving(package.Tensor):
            def detach(self):
                return super().detach().as_subclass(package.Tensor)  # noqa: B023 (it runs at once)

        with pytest.raises(RuntimeError, match=r"detach\(\)"):
            package.nn.Parameter(package.ones(2).as_subclass(Leaving))


def test_a_parameter_is_copied_once_in_one_copy():
    weight = nn.Parameter(tensorlab.ones(2))
    first, second = copy.deepcopy([weight, weight])
    assert first is second
    assert first is not weight
    memo = {}
    assert weight.__deepcopy__(memo) is weight.__deepcopy__(memo)


def test_gradients_move_to_meta_with_their_parameters():
    for package in (tensorlab, require_torch()):
        layer = package.nn.Linear(2, 3)
        layer.weight.grad = package.ones(3, 2)
        layer.to("meta")
        assert layer.weight.is_meta
        assert layer.weight.grad.is_meta
        assert layer.weight.grad.shape == (3, 2)
        assert layer.bias.grad is None


@pytest.mark.parametrize("recurse", [True, False])
def test_memory_is_given_to_the_modules_inside_only_if_asked(recurse):
    for package in (tensorlab, require_torch()):
        layer = package.nn.Sequential(package.nn.Linear(2, 3, device="meta"))
        layer.scale = package.nn.Parameter(package.ones(2, device="meta"))
        assert layer.to_empty(device="cpu", recurse=recurse) is layer
        assert not layer.scale.is_meta
        assert layer[0].weight.is_meta is not recurse


@pytest.mark.parametrize("learns", [True, False])
@pytest.mark.parametrize("kind", ["Tensor", "Parameter"])
def test_what_is_assigned_learns_as_what_it_replaces_did(kind, learns):
    for package in (tensorlab, require_torch()):
        module = package.nn.Linear(2, 1, bias=False)
        module.weight.requires_grad_(learns)
        given = package.ones(1, 2)
        given = package.nn.Parameter(given, not learns) if kind == "Parameter" else given
        module.load_state_dict({"weight": given}, assign=True)
        assert module.weight.requires_grad is learns
        assert isinstance(module.weight, package.nn.Parameter)
        assert module.weight.data_ptr() == given.data_ptr()


def test_a_subclass_may_load_a_part_of_a_state_by_itself():
    for package in (tensorlab, require_torch()):
        module, missing, unexpected, errors = package.nn.Linear(2, 1), [], [], []
        state = {"a.weight": package.ones(1, 2), "a.other": package.ones(1)}
        module._load_from_state_dict(state, "a.", {}, True, missing, unexpected, errors)
        assert module.weight.tolist() == [[1, 1]]
        assert (missing, unexpected, errors) == (["a.bias"], ["a.other"], [])


def test_an_extra_state_has_to_be_defined():
    for package in (tensorlab, require_torch()):
        for call in (lambda m: m.get_extra_state(), lambda m: m.set_extra_state(1)):
            with pytest.raises(RuntimeError, match="code path"):
                call(package.nn.Module())
