"""Handles of hooks have PyTorch's names, wherever the hook was registered, and can be pickled."""

import copy
import pickle
from collections import OrderedDict

import pytest

import tensorlab
from tensorlab import nn
from tensorlab.utils.hooks import RemovableHandle
from tests.oracle import require_torch


def hook(*_):
    """Do nothing, from a module that pickle finds."""


def leaf(T):
    return T.ones(2, requires_grad=True)


REGISTRATIONS = {
    "leaf": lambda T: leaf(T).register_hook(hook),
    "computed": lambda T: (leaf(T) * 2).register_hook(hook),
    "after": lambda T: leaf(T).register_post_accumulate_grad_hook(hook),
    "forward": lambda T: T.nn.Linear(1, 1).register_forward_hook(hook),
    "forward with options": lambda T: T.nn.Linear(1, 1).register_forward_hook(
        hook, with_kwargs=True, always_call=True
    ),
    "before forward": lambda T: T.nn.Linear(1, 1).register_forward_pre_hook(hook, with_kwargs=True),
    "backward": lambda T: T.nn.Linear(1, 1).register_full_backward_hook(hook),
    "before backward": lambda T: T.nn.Linear(1, 1).register_full_backward_pre_hook(hook),
    "state dict": lambda T: T.nn.Linear(1, 1).register_state_dict_pre_hook(hook),
    "step": lambda T: T.optim.SGD([leaf(T)], lr=1.0).register_step_post_hook(hook),
}


@pytest.mark.parametrize("name", REGISTRATIONS)
def test_a_handle_leads_to_the_dict_of_its_hook(name):
    handle = REGISTRATIONS[name](tensorlab)
    hooks = handle.hooks_dict_ref()
    assert isinstance(handle.id, int)
    assert handle.id in hooks
    assert all(handle.id in extra() for extra in handle.extra_dict_ref)
    handle.remove()
    handle.remove()
    assert handle.id not in handle.hooks_dict_ref()
    assert all(handle.id not in extra() for extra in handle.extra_dict_ref)


@pytest.mark.parametrize("name", ["forward", "forward with options", "before forward", "backward"])
def test_a_handle_has_as_many_further_dicts_that_name_it_as_in_pytorch(name):
    counts = []
    for T in (tensorlab, require_torch()):
        module = T.nn.Linear(1, 1)
        options = {
            "forward with options": {"with_kwargs": True, "always_call": True},
            "before forward": {"with_kwargs": True},
        }.get(name, {})
        register = {
            "before forward": module.register_forward_pre_hook,
            "backward": module.register_full_backward_hook,
        }.get(name, module.register_forward_hook)
        handle = register(hook, **options)
        assert handle.hooks_dict_ref()[handle.id] is hook
        counts.append(sum(handle.id in extra() for extra in handle.extra_dict_ref))
    assert counts[0] == counts[1]


def test_hooks_of_one_tensor_are_found_by_their_numbers():
    x = leaf(tensorlab) * 2
    first, second = x.register_hook(hook), x.register_hook(print)
    assert first.hooks_dict_ref() == {first.id: hook, second.id: print}


@pytest.mark.parametrize("name", REGISTRATIONS)
def test_a_handle_can_be_pickled(name):
    handle = REGISTRATIONS[name](tensorlab)
    twin = pickle.loads(pickle.dumps(handle))
    assert twin.id == handle.id
    assert twin.hooks_dict_ref().keys() == handle.hooks_dict_ref().keys()
    twin.remove()
    assert twin.id not in twin.hooks_dict_ref()
    assert handle.id in handle.hooks_dict_ref()
    handle.remove()


def test_a_copied_module_keeps_its_handle():
    module = nn.Linear(1, 1)
    calls = []
    module.handle = module.register_forward_hook(lambda *_: calls.append(1))
    twin = copy.deepcopy(module)
    twin.handle.remove()
    twin(tensorlab.ones(1, 1))
    assert calls == []
    module(tensorlab.ones(1, 1))
    assert calls == [1]


def test_a_number_that_came_with_a_pickle_is_not_given_again():
    handle = RemovableHandle(OrderedDict())
    handle.__setstate__((None, handle.id + 100))
    assert handle.hooks_dict_ref() == {}
    assert handle.extra_dict_ref == ()
    handle.remove()
    assert RemovableHandle(OrderedDict()).id > handle.id


def test_a_library_may_make_handles_for_its_own_dicts():
    for T in (tensorlab, require_torch()):
        hooks, extra = OrderedDict(), OrderedDict()
        handle = T.utils.hooks.RemovableHandle(hooks, extra_dict=extra)
        hooks[handle.id], extra[handle.id] = hook, True
        with handle:
            assert handle.id in hooks
        assert not hooks
        assert not extra
        handle = T.utils.hooks.RemovableHandle(hooks, extra_dict=[extra, OrderedDict()])
        assert len(handle.extra_dict_ref) == 2
