"""What no layer can take is refused with PyTorch's kind of error, and changes nothing."""

import warnings

import pytest

import tensorlab
from tests.nn.test_layers import LAYERS
from tests.oracle import require_torch

# Each input is a function of the package and of a shape that the layer takes.
INPUTS = {
    "None": lambda T, shape: (None,),
    "list": lambda T, shape: ([1.0, 2.0],),
    "text": lambda T, shape: ("x",),
    "nothing": lambda T, shape: (),
    "three": lambda T, shape: tuple(T.zeros(shape) for _ in range(3)),
    "no dims": lambda T, shape: (T.tensor(1.0),),
    "one dim": lambda T, shape: (T.ones(3),),
    "fewer dims": lambda T, shape: (T.ones(shape[1:]),),
    "a dim more": lambda T, shape: (T.ones((1, *shape)),),
    "two dims more": lambda T, shape: (T.ones((1, 1, *shape)),),
    "three dims more": lambda T, shape: (T.ones((1, 1, 1, *shape)),),
    "int64": lambda T, shape: (T.ones(shape, dtype=T.int64),),
    "bool": lambda T, shape: (T.ones(shape, dtype=T.bool),),
    "float64": lambda T, shape: (T.ones(shape, dtype=T.float64),),
    "float16": lambda T, shape: (T.ones(shape, dtype=T.float16),),
}
NOT_TENSORS = ("None", "list", "text")

# Where we differ on purpose: layers, the inputs, why.
DIFFERENCES = [
    ("RReLU AvgPool3d LPPool3d LocalResponseNorm", "float16", "there is a kernel for it"),
    ("MaxPool1d", "int64", "there is a kernel for it"),
    ("ReflectionPad ReplicationPad", "bool", "there is a kernel for it"),
    ("BatchNorm SyncBatchNorm InstanceNorm", "float64", "types are promoted, as in every other operation"),
    ("RMSNorm", "float64", "a weight of another type is refused, as in layer_norm"),
    ("RMSNorm", "no dims; one dim", "ShapeError, as for every other size that does not fit"),
    ("BatchNorm SyncBatchNorm", "size 0 at 1", "the running averages have another number of channels"),
    ("InstanceNorm", "size 0 at 0", "a batch may be empty"),
    ("CircularPad3d", "size 1 at 1", "padding wider than the plane would wrap around twice"),
    ("LPPool3d AvgPool3d", "size 1 at 1; size 1 at 2; size 1 at 3; size 1 at 4",
     "with ceil_mode a window may hang over the end"),
    ("LPPool2d AvgPool2d AdaptiveAvgPool2d", "no dims; one dim; fewer dims",
     "ShapeError says which dimensions are expected; PyTorch's IndexError counts from the end"),
    ("AdaptiveAvgPool2d", "a dim more; two dims more; three dims more; size 0 at 2; size 0 at 3",
     "PyTorch takes these for the output size 1 only, which it computes as a mean"),
    ("AdaptiveAvgPool1d", "size 0 at 1", "the same"),
    ("GroupNorm", "size 1 at 1", "the channels that do not fit are the cause, so ShapeError"),
]  # fmt: skip


def inputs_of(T, shape):
    """Yield (name, arguments)."""
    for name, make in INPUTS.items():
        yield name, make(T, shape)
    for i, size in enumerate(shape):
        for wrong in {0, 1, size + 1} - {size}:
            about = f"size {wrong} at {i}" if wrong < 2 else f"more at {i}"
            yield about, (T.ones((*shape[:i], wrong, *shape[i + 1 :])),)


def outcome(T, name, args, kwargs, inputs):
    """Return ("gives", shape, dtype) or ("raises", class)."""
    T.manual_seed(0)
    kwargs = {key: getattr(T, kwargs[key]) if key == "dtype" else kwargs[key] for key in kwargs}
    layer = getattr(T.nn, name)(*args, **kwargs)
    before = {key: value.clone() for key, value in layer.state_dict().items() if value is not None}
    try:
        y = layer(*inputs)
    except Exception as error:
        found, message = ("raises", type(error)), str(error)
    else:
        return "gives", tuple(getattr(y, "shape", ())), str(getattr(y, "dtype", "")).split(".")[-1]
    if T is tensorlab:
        state = layer.state_dict()
        assert all(T.equal(state[key], value) for key, value in before.items())
        assert len(message) > 15
    return found


def agree(mine, other, is_tensor):
    """Say whether two outcomes are the same, or errors of the same class."""
    if mine[0] == other[0] == "raises":
        return issubclass(mine[1], other[1] if is_tensor else (TypeError, AttributeError))
    return mine == other


def is_meant(name, about):
    return any(
        name.startswith(tuple(names.split())) and about in abouts.split("; ")
        for names, abouts, _ in DIFFERENCES
    )


@pytest.mark.parametrize(("name", "args", "kwargs", "shape"), LAYERS)
def test_a_layer_refuses_what_pytorchs_refuses_and_nothing_else(name, args, kwargs, shape):
    torch = require_torch()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for (about, ours), (_, theirs) in zip(
            inputs_of(tensorlab, shape), inputs_of(torch, shape), strict=True
        ):
            mine = outcome(tensorlab, name, args, kwargs, ours)
            other = outcome(torch, name, args, kwargs, theirs)
            is_right = is_meant(name, about) or agree(mine, other, about not in NOT_TENSORS)
            assert is_right, (about, mine, other)


def test_each_difference_is_still_one():
    torch = require_torch()
    unused = set(range(len(DIFFERENCES)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, args, kwargs, shape in LAYERS:
            pairs = zip(inputs_of(tensorlab, shape), inputs_of(torch, shape), strict=True)
            for (about, ours), (_, theirs) in pairs:
                if not is_meant(name, about):
                    continue
                mine = outcome(tensorlab, name, args, kwargs, ours)
                other = outcome(torch, name, args, kwargs, theirs)
                if not agree(mine, other, is_tensor=True):
                    unused -= {
                        i
                        for i, (names, abouts, _) in enumerate(DIFFERENCES)
                        if name.startswith(tuple(names.split())) and about in abouts.split("; ")
                    }
    assert not [DIFFERENCES[i] for i in unused]


@pytest.mark.parametrize(
    "make",
    [
        lambda n: tensorlab.nn.RNN(2, 3, num_layers=n),
        lambda n: tensorlab.nn.TransformerEncoder(tensorlab.nn.TransformerEncoderLayer(4, 2), n),
        lambda n: tensorlab.nn.Transformer(4, 2, 1, n),
        lambda n: tensorlab.nn.Sequential(tensorlab.nn.ReLU()) * n,
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_a_number_of_layers_that_would_fill_the_memory_is_refused(make):
    for n in (100_001, 2**63):
        with pytest.raises(ValueError, match=f"{n}; expected at most 100000"):
            make(n)
    for n in (2.0, "2"):
        with pytest.raises(TypeError):
            make(n)
    make(2)


def states(T, kind):
    return {
        "a tensor": lambda: T.zeros(1, 2, 4),
        "a tensor of two": lambda: T.zeros(2, 2, 4),
        "one": lambda: (T.zeros(1, 2, 4),),
        "three": lambda: (T.zeros(1, 2, 4),) * 3,
        "none": lambda: (),
    }[kind]()


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("kind", ["a tensor", "a tensor of two", "one", "three", "none"])
def test_a_first_state_of_an_lstm_that_is_no_pair_gets_pytorchs_class(kind, packed):
    classes = []
    for T in (tensorlab, require_torch()):
        x = T.ones(5, 2, 3)
        x = T.nn.utils.rnn.pack_padded_sequence(x, [5, 4]) if packed else x
        with pytest.raises((RuntimeError, IndexError, TypeError)) as raised:
            T.nn.LSTM(3, 4)(x, states(T, kind))
        classes.append(raised.type)
    # PyTorch's sequences of a batch are sorted before anything is checked: TypeError there.
    assert issubclass(classes[0], classes[1]) or (packed and classes[1] is TypeError)


@pytest.mark.parametrize("state", ["vector", "matrix"])
def test_a_first_state_of_a_cell_must_be_a_pair(state):
    shape = (4,) if state == "vector" else (2, 4)
    with pytest.raises(TypeError, match=r"LSTMCell: hx is a Tensor; expected two tensors"):
        tensorlab.nn.LSTMCell(3, 4)(tensorlab.ones(2, 3), tensorlab.zeros(shape))


@pytest.mark.parametrize("data", [5, 3.0, "a", [1.0]])
@pytest.mark.parametrize("name", ["Parameter", "Buffer"])
def test_a_parameter_of_something_else_is_refused_with_both_classes(name, data):
    with pytest.raises(TypeError, match=f"{name}: data is of type {type(data).__name__}"):
        getattr(tensorlab.nn, name)(data)
    for T in (tensorlab, require_torch()):
        with pytest.raises(AttributeError):
            getattr(T.nn, name)(data)


@pytest.mark.parametrize("mode", ["circular", "reflect", "replicate"])
@pytest.mark.parametrize("value", [None, 0, 0.0, 1.5, True])
def test_modes_that_copy_take_no_value(mode, value):
    agree_on_class(lambda T: T.nn.functional.pad(T.arange(6.0).view(1, 2, 3), (1, 1), mode, value))


def agree_on_class(call):
    """Both packages give a result, or both raise the same built-in class."""
    outcomes = []
    for T in (tensorlab, require_torch()):
        try:
            call(T)
            outcomes.append(None)
        except Exception as error:
            builtin = (cls for cls in type(error).__mro__ if cls.__module__ == "builtins")
            outcomes.append(next(builtin))
    assert outcomes[0] is outcomes[1]
