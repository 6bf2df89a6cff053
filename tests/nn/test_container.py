"""Sequential, ModuleList and ModuleDict register what they hold and behave as list and dict."""

from collections import OrderedDict

import pytest

import tensorlab
from tensorlab import nn
from tests.oracle import require_torch


def layers(count):
    return [nn.Linear(i + 1, i + 1) for i in range(count)]


def keys(model):
    return [name for name, _ in model.named_children()]


def test_sequential_calls_its_modules_in_order():
    first, second = nn.Linear(2, 3), nn.Tanh()
    x = tensorlab.ones(4, 2)
    model = nn.Sequential(first, second)
    assert model(x).tolist() == second(first(x)).tolist()
    assert nn.Sequential()(x) is x


def test_sequential_takes_names():
    model = nn.Sequential(OrderedDict(fc=nn.Linear(1, 1), act=nn.ReLU()))
    assert keys(model) == ["fc", "act"]
    assert model.fc is model[0]
    assert keys(model[1:]) == ["act"]


@pytest.mark.parametrize("container", [lambda parts: nn.Sequential(*parts), nn.ModuleList])
def test_a_list_of_modules_behaves_as_a_list(container):
    parts = layers(4)
    model = container(parts)
    assert len(model) == 4
    assert list(model) == parts
    assert model[-1] is parts[3]
    assert type(model[1:3]) is type(model)
    assert list(model[1:3]) == parts[1:3]
    model[1] = parts[0]
    assert model[1] is parts[0]
    del model[0]
    assert list(model) == [parts[0], *parts[2:]]
    assert keys(model) == ["0", "1", "2"]
    del model[1:]
    assert list(model) == parts[:1]
    assert model.append(parts[1]) is model
    model.extend(parts[2:])
    model.insert(1, parts[3])
    assert list(model) == [parts[0], parts[3], parts[1], parts[2], parts[3]]
    assert model.pop(1) is parts[3]
    assert list(model) == parts
    assert list(container(parts[:2]) + container(parts[2:])) == parts
    for index in (4, -5):
        with pytest.raises(IndexError, match=f"index {index} is out of range for 4 modules"):
            model[index]

    class Second:
        def __index__(self):
            return 1

    assert model[Second()] is parts[1]
    for index in (1.0, "1", None):
        with pytest.raises(TypeError):
            model[index]
    with pytest.raises(TypeError, match="'4' is of type int; expected a Module"):
        model.append(3)


def test_what_is_taken_out_of_a_list_is_registered_no_longer():
    model = nn.ModuleList(layers(2))
    model.pop(0)
    assert list(model.state_dict()) == ["0.weight", "0.bias"]
    assert model[0].in_features == 2


def test_a_module_dict_behaves_as_a_dict():
    relu, linear = nn.ReLU(), nn.Linear(1, 1)
    model = nn.ModuleDict({"act": relu})
    model["fc"] = linear
    assert list(model) == list(model.keys()) == ["act", "fc"]
    assert list(model.values()) == [relu, linear]
    assert dict(model.items()) == {"act": relu, "fc": linear}
    assert "fc" in model
    assert len(model) == 2
    assert list(model.state_dict()) == ["fc.weight", "fc.bias"]
    assert model.pop("fc") is linear
    assert list(model.state_dict()) == []
    model.update([("other", linear)])
    del model["act"]
    assert list(model) == ["other"]
    model.clear()
    assert len(model) == 0
    with pytest.raises(KeyError):
        model["other"]
    with pytest.raises(KeyError, match="attribute 'keys' exists already"):
        model["keys"] = relu


def test_containers_print_as_in_pytorch():
    def build(package):
        nn = package.nn
        repeated = [nn.Linear(2, 2), nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2)]
        nested = nn.Sequential(nn.Dropout(0.2), nn.ModuleList(repeated), nn.ModuleDict())
        return nn.ModuleDict({"a": nested, "b": nn.ModuleList([nested, nested])})

    assert repr(build(tensorlab)) == repr(build(require_torch()))
