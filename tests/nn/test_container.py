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


# ---------------------------------------------------------------- as PyTorch's
def both(program):
    """Run a program on both packages; an error counts as its class."""
    found = []
    for T in (tensorlab, require_torch()):
        try:
            found.append(program(T))
        except Exception as error:
            found.append(type(error).__mro__[-3])
    assert found[0] == found[1]
    return found[0]


def sizes(model):
    return [layer.in_features for layer in model]


@pytest.mark.parametrize("index", [-4, -3, -1, 0, 2, 3, 4])
def test_inserting_into_a_sequential_is_as_in_pytorch(index):
    def program(T):
        model = T.nn.Sequential(*(T.nn.Linear(i, 1) for i in (1, 2, 3)))
        model.insert(index, T.nn.Linear(9, 1))
        return sizes(model), keys(model)

    assert (both(program) is IndexError) == (index in (-4, 4)) or both(program)


@pytest.mark.parametrize("times", [-1, 0, 1, 3, 2.0, "2"])
def test_repeating_a_sequential_is_as_in_pytorch(times):
    def program(T):
        model = T.nn.Sequential(T.nn.Linear(1, 1), T.nn.Linear(2, 1))
        made = model * times
        model *= times
        return sizes(made), sizes(model), sizes(2 * made), made[0] is model[0]

    both(program)


def test_sequentials_are_added_in_place():
    def program(T):
        model = T.nn.Sequential(T.nn.Linear(1, 1))
        model += T.nn.Sequential(T.nn.Linear(2, 1))
        first = sizes(model)
        model += [T.nn.Linear(3, 1)]
        return first

    both(program)
    with pytest.raises(AssertionError, match="module should be of type"):
        nn.Sequential().insert(0, 3)
    assert next(reversed(nn.Sequential(*layers(3)))).in_features == 3


# ---------------------------------------------------------------- parameters
def described(parameters):
    return [
        (type(p).__name__, p.tolist(), p.requires_grad) if hasattr(p, "tolist") else p
        for p in parameters
    ]


def test_a_parameter_list_is_that_of_pytorch():
    def program(T):
        P = T.nn.Parameter
        made = T.nn.ParameterList([T.ones(2), P(T.zeros(1, 3)), "text"])
        made.append(T.full((2,), 3.0))
        made += [P(T.ones(1), requires_grad=False)]
        made[-2] = T.tensor([5.0])
        names = [name for name, _ in made.named_parameters()]
        return (
            described(made),
            described(made[1:4:2]),
            described([made[-1]]),
            len(made),
            names,
            repr(made).replace("torch.", "tensorlab."),
            list(made.state_dict()),
        )

    both(program)
    for index in (3, -4):
        with pytest.raises(IndexError, match=f"index {index} is out of range for 3 values"):
            nn.ParameterList(["a", "b", "c"])[index]
    for wrong in (3, tensorlab.ones(2)):
        with pytest.raises(TypeError, match="should be called with an iterable"):
            nn.ParameterList(wrong)
    with pytest.raises(RuntimeError, match="should not be called"):
        nn.ParameterList()()


def test_a_parameter_dict_is_that_of_pytorch():
    def program(T):
        made = T.nn.ParameterDict({"b": T.ones(2), "a": T.nn.Parameter(T.zeros(1))})
        made["c"] = "text"
        made.update([("d", T.full((1,), 4.0))])
        made.update(T.nn.ParameterDict({"a": T.full((1,), 7.0)}))
        joined = made | {"e": T.ones(1)}
        popped = described([made.pop("b")])
        last = made.popitem()
        return (
            list(made),
            list(joined),
            list(reversed(joined)),
            popped,
            last[0],
            described(made.values()),
            [key for key, _ in made.items()],
            list(made.keys()),
            "a" in made,
            "b" in made,
            made.get("zz", 3),
            made.setdefault("a").tolist(),
            made.setdefault("f", T.ones(1)).tolist(),
            type(made["f"]).__name__,
            list(made.copy()),
            list(made.fromkeys(["x", "y"], T.ones(1))),
            list({"q": T.ones(1)} | made),
            len(made),
            repr(made).replace("torch.", "tensorlab."),
            [name for name, _ in made.named_parameters()],
        )

    both(program)
    made = nn.ParameterDict({"a": tensorlab.ones(1)})
    made |= {"b": tensorlab.ones(1)}
    assert list(made) == ["a", "b"]
    made.clear()
    assert len(made) == 0
    assert list(made.parameters()) == []
    with pytest.raises(KeyError, match="zz"):
        made["zz"]


@pytest.mark.parametrize(
    ("error", "wrong"),
    [(TypeError, 3), (TypeError, {3: 1}), (TypeError, [3]), (ValueError, [("a", 1, 2)])],
)
def test_a_parameter_dict_refuses_what_is_no_dict(error, wrong):
    with pytest.raises(error, match="ParameterDict"):
        nn.ParameterDict(wrong)
    with pytest.raises(error):
        require_torch().nn.ParameterDict(wrong)


def test_the_old_container_holds_what_it_is_given_by_name():
    with pytest.warns(FutureWarning, match="subclass that") as caught:
        container = nn.Container(first=nn.Linear(2, 3), second=nn.ReLU())
    assert caught[0].filename == __file__
    assert [name for name, _ in container.named_children()] == ["first", "second"]
    assert isinstance(container.second, nn.ReLU)


def test_a_module_dict_of_none_is_empty():
    for T in (tensorlab, require_torch()):
        assert len(T.nn.ModuleDict(None)) == 0
