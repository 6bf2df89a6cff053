"""Values arrive as they were, mutable ones stay the same objects, and a message can't run code."""

import json
import math
import sys
from collections import Counter, OrderedDict

import pytest

import tensorlab as torch
from tensorlab import nn
from tensorlab.learn.expect import same
from tensorlab.learn.judge import Unsendable
from tensorlab.learn.remote import Remote
from tensorlab.learn.wire import Wire


class Line:
    """The judge's end and the witness's, with JSON between them and no process."""

    def __init__(self):
        self.asked = []
        self.judge, self.witness = Wire("j", self.ask), Wire("w", self.ask)

    def ask(self, *question):
        self.asked.append(question)

    def there(self, value):
        return self.witness.unpack(json.loads(json.dumps(self.judge.pack_message(value))))

    def back(self, value):
        return self.judge.unpack(json.loads(json.dumps(self.witness.pack_message(value))))


@pytest.fixture
def line():
    return Line()


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, 0, -(10**40), 1.5, -0.0, math.inf, math.nan, 2 - 1j, "a\n\0é", b"\x00\xff"),
        *((1, (2.0, "x")), [1, [2]], {"a": {1: 2}}, {1, 2}, frozenset({(1,)}), bytearray(b"ab")),
        *(slice(1, None, 2), range(1, 9, 3), ..., torch.float16, torch.device("cpu")),
        *(torch.Size([2, 3]), OrderedDict(a=1), Counter("aab")),
        torch.arange(6.0).reshape(2, 3),
        torch.tensor([], dtype=torch.int64),
        torch.tensor(True),
        torch.randn(3).bfloat16(),
        torch.zeros(3, 0, 2),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_value_arrives_as_it_was(line, value):
    came = line.there(value)
    assert type(came) is type(value)
    if isinstance(value, torch.Tensor):
        assert came.dtype == value.dtype
        assert torch.equal(came, value)
    else:
        assert same(came, value) or came == value
    assert math.copysign(1, came) == math.copysign(1, value) if isinstance(value, float) else True


def test_the_layout_of_a_tensor_and_the_memory_of_its_views_arrive(line):
    x = torch.arange(24.0).reshape(4, 6)
    views = [x, x.t(), x[1:, ::2], x[:1].expand(3, 6)]
    came = line.there(views)
    assert [y.stride() for y in came] == [y.stride() for y in views]
    came[0][1, 0] = 100
    assert came[1][0, 1] == came[2][0, 0] == 100


def test_what_is_written_there_is_written_here(line):
    numbers, x = [3, 1, 2], torch.zeros(2, 2)
    there, y = line.there([numbers, x[0]])
    there.sort()
    there.append(4)
    y += 5
    version = x._version
    back = line.back([there, y])
    assert back[0] is numbers
    assert numbers == [1, 2, 3, 4]
    assert x.tolist() == [[5, 5], [0, 0]]
    assert x[0]._version > version


def test_a_view_that_is_made_there_is_a_view_here(line):
    x = torch.arange(6.0)
    y = line.there(x)
    back = line.back(y.reshape(2, 3).t())
    assert back.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    assert back.stride() == (1, 3)


def test_a_cycle_and_a_shared_part_stay_one_object(line):
    part = [1]
    whole = [part, part]
    whole.append(whole)
    came = line.there(whole)
    assert came[0] is came[1]
    assert came[2] is came


def test_a_module_of_the_library_travels_with_its_parameters(line):
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    model[1].weight = model[0].bias
    came = line.there(model)
    assert type(came[0]) is nn.Linear
    assert came[1].weight is came[0].bias
    assert isinstance(came[0].weight, nn.Parameter)
    with torch.no_grad():
        came[0].weight.fill_(7)
    came[0].weight.grad = torch.ones(3, 2)
    line.back(came)
    assert model[0].weight.eq(7).all()
    assert model[0].weight.grad.tolist() == [[1, 1]] * 3


def test_a_generator_of_random_numbers_goes_on_where_it_was(line):
    generator = torch.Generator().manual_seed(3)
    expected = torch.rand(4, generator=torch.Generator().manual_seed(3))
    came = line.there(generator)
    first = torch.rand(2, generator=came)
    line.back(came)
    assert torch.cat([first, torch.rand(2, generator=generator)]).tolist() == expected.tolist()


def test_what_does_not_travel_stays_and_is_asked(line):
    class Thing:
        pass

    remote = line.back(Thing())
    assert isinstance(remote, Remote)
    assert not callable(remote)
    assert line.there(remote) is line.witness.values[remote._remote_name]


def test_a_stand_in_is_neither_compared_nor_calculated_with(line):
    class Anything(float):
        def __eq__(self, other):
            return True

        __hash__ = None

    class Agreeing:
        __eq__ = __lt__ = lambda self, other: True
        __sub__ = __rsub__ = lambda self, other: 0.0
        __hash__ = object.__hash__

    remote = line.back(Agreeing())
    assert (remote == 4) is False
    for name in ("equal", "allclose", "__class_getitem__", "_anything"):
        with pytest.raises(AttributeError):
            getattr(remote, name)
    with pytest.raises(TypeError):
        remote - 4
    with pytest.raises(TypeError):
        remote < 4
    assert line.asked == []
    assert type(line.back(Anything(3))) is float


def test_a_subclass_of_tensor_and_a_sparse_tensor_with_a_gradient_are_refused(line):
    class Mine(torch.Tensor):
        pass

    for value in (torch.ones(2).as_subclass(Mine), torch.eye(2).to_sparse().requires_grad_()):
        with pytest.raises(Unsendable):
            line.back(value)


def test_a_tensor_without_values_arrives_with_its_layout_and_comes_back_as_itself(line):
    x = torch.empty(4, 6, dtype=torch.int64, device="meta")[1:, ::2]
    came = line.there(x)
    assert came.is_meta
    assert (came.dtype, came.shape, came.stride()) == (x.dtype, x.shape, x.stride())
    assert came.storage_offset() == x.storage_offset()
    assert line.back(came) is x
    weight = nn.Parameter(torch.empty(3, device="meta"))
    assert type(line.there(weight)) is nn.Parameter


@pytest.mark.parametrize("is_coalesced", [True, False])
def test_a_sparse_tensor_arrives_with_the_elements_that_it_holds(line, is_coalesced):
    x = torch.sparse_coo_tensor([[1, 1, 0]], [2.0, 3.0, 4.0], (3,))
    came = line.there(x.coalesce() if is_coalesced else x)
    assert came.is_coalesced() == is_coalesced
    assert came._nnz() == (2 if is_coalesced else 3)
    assert came.to_dense().tolist() == [4.0, 5.0, 0.0]


HOSTILE = [
    ["object", "w1", "subprocess", "Popen", [["args", "true"]]],
    ["object", "w1", "builtins", "type", []],
    ["object", "w1", "tensorlab.learn.judge", "Verdict", [["state", "right"]]],
    ["object", "w1", "tensorlab.nn", "Module.__init__", []],
    ["object", "w1", "os", "environ", []],
    ["public", "os", "system"],
    ["public", "builtins", "eval"],
    ["public", "builtins", "__import__"],
    ["public", "tensorlab.serialization", "load"],
    ["public", "tensorlab.learn.judge", "judge"],
    ["public", "not.loaded", "thing"],
    ["yours", "w1"],
    ["yours", "j99"],
    ["same", "j99"],
    ["dtype", "__doc__"],
    ["tensor", "w1", "w2", None, ["__name__", [1], [1], 0, 4, False], "plain", None],
    ["tensor", "w1", "w2", None, ["float32", [100], [1], 0, 4, False], "plain", None],
    ["tensor", "w1", "w2", "AAAA", ["float32", [1], [1], 99, 4, False], "plain", None],
    ["pickle", "gASVCgAAAAAAAACMBnN5c3RlbZSTlC4="],
    ["list", "w1"],
    [],
    [[]],
    {"a": 1},
    1.5,
]


@pytest.mark.parametrize("message", HOSTILE, ids=str)
def test_a_message_that_no_wire_writes_is_an_error_and_runs_nothing(line, message):
    loaded = set(sys.modules)
    with pytest.raises((ValueError, KeyError, TypeError, AttributeError, RuntimeError, IndexError)):
        line.judge.unpack(json.loads(json.dumps(message)))
    assert set(sys.modules) == loaded


@pytest.mark.parametrize("name", ["j1", "w1"])
def test_a_name_can_not_reach_what_was_not_sent(line, name):
    secret = [1, 2, 3]
    line.judge.secret = secret
    with pytest.raises((ValueError, KeyError)):
        line.judge.unpack(["yours", name])
    line.judge.unpack(["list", "j1", [9]])
    assert secret == [1, 2, 3]
