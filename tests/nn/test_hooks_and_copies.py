"""Modules with hooks of any kind can be copied, pickled and saved, and go when nothing needs
them any more."""

import copy
import gc
import io
import pickle
import weakref

import pytest

import tensorlab
from tensorlab import nn

CALLS = []


def note(*args, **kwargs):
    CALLS.append(args)


HOOKS = {
    "state_dict_pre": lambda m: m.register_state_dict_pre_hook(note),
    "state_dict_post": lambda m: m.register_state_dict_post_hook(note),
    "state_dict": lambda m: m._register_state_dict_hook(note),
    "load_pre": lambda m: m.register_load_state_dict_pre_hook(note),
    "load_pre, private": lambda m: m._register_load_state_dict_pre_hook(note),
    "load_pre, private, with its module": lambda m: m._register_load_state_dict_pre_hook(
        note, with_module=True
    ),
    "load_post": lambda m: m.register_load_state_dict_post_hook(note),
    "forward_pre": lambda m: m.register_forward_pre_hook(note, with_kwargs=True),
    "forward": lambda m: m.register_forward_hook(note, always_call=True),
    "backward_pre": lambda m: m.register_full_backward_pre_hook(note),
    "backward": lambda m: m.register_full_backward_hook(note),
}
GET_THEIR_MODULE = set(HOOKS) - {"load_pre, private"}


def saved_and_loaded(module):
    file = io.BytesIO()
    tensorlab.save(module, file)
    file.seek(0)
    return tensorlab.load(file, weights_only=False)


COPIES = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda module: pickle.loads(pickle.dumps(module)),
    "save": saved_and_loaded,
}


def use(module):
    """Do everything that calls hooks."""
    x = tensorlab.ones(1, 2, requires_grad=True)
    module(x).sum().backward()
    module.load_state_dict(module.state_dict())


@pytest.fixture
def without_the_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("hook", HOOKS)
def test_a_copy_has_the_hook_and_gives_it_itself(hook, way):
    module = nn.Linear(2, 2)
    module.handle = HOOKS[hook](module)
    twin = COPIES[way](module)
    CALLS.clear()
    use(twin)
    assert CALLS
    if hook in GET_THEIR_MODULE:
        assert all(args[0] is twin for args in CALLS)
    twin.handle.remove()
    CALLS.clear()
    use(twin)
    assert CALLS == []
    use(module)
    assert CALLS


@pytest.mark.parametrize("hook", HOOKS)
def test_a_module_goes_without_the_collector(hook, without_the_collector):
    module = nn.Linear(2, 2)
    HOOKS[hook](module)
    use(module)
    known = weakref.ref(module)
    CALLS.clear()
    del module
    assert known() is None


LAZY = {
    "LazyLinear": (3, (2, 5)),
    "LazyConv1d": ((3, 2), (2, 5, 4)),
    "LazyConvTranspose2d": ((3, 2), (2, 5, 4, 4)),
    "LazyBatchNorm1d": ((), (2, 5)),
    "LazyInstanceNorm2d": ((), (2, 5, 4, 4)),
}


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("name", LAZY)
def test_a_copy_of_a_lazy_module_is_lazy_by_itself(name, way):
    arguments, shape = LAZY[name]
    arguments = arguments if isinstance(arguments, tuple) else (arguments,)
    module = getattr(nn, name)(*arguments)
    twin, third = COPIES[way](module), COPIES[way](module)
    twin(tensorlab.ones(shape))
    assert type(twin) is type(module).cls_to_become
    assert not twin._forward_pre_hooks
    assert not twin._load_state_dict_pre_hooks
    third.load_state_dict(twin.state_dict())
    assert not third.has_uninitialized_params() or name == "LazyInstanceNorm2d"
    assert type(module) is getattr(nn, name)
    module(tensorlab.ones(shape))
    assert type(module) is type(twin)


@pytest.mark.parametrize("name", LAZY)
@pytest.mark.parametrize("is_used", [False, True])
def test_a_lazy_module_goes_without_the_collector(name, is_used, without_the_collector):
    arguments, shape = LAZY[name]
    module = getattr(nn, name)(*(arguments if isinstance(arguments, tuple) else (arguments,)))
    if is_used:
        module(tensorlab.ones(shape))
    known = weakref.ref(module)
    del module
    assert known() is None


def test_a_model_goes_after_loading_without_the_collector(without_the_collector):
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 2))
    model.load_state_dict(model.state_dict())
    with pytest.raises(RuntimeError, match="Missing key"):
        model.load_state_dict({})
    known = [weakref.ref(model), weakref.ref(model[0].weight)]
    del model
    assert [one() for one in known] == [None, None]


def test_a_hook_before_loading_gets_the_module_that_loads():
    module = nn.Linear(2, 2)
    module.register_load_state_dict_pre_hook(note)
    twin = copy.copy(module)
    state = module.state_dict()
    del module
    CALLS.clear()
    twin.load_state_dict(state)
    assert CALLS[0][0] is twin
