"""Values are compared as a reader would compare them, and shown in one line."""

import math

import pytest

import tensorlab
from tensorlab import nn
from tensorlab.learn.expect import (
    Recorder,
    Wrong,
    called_names,
    describe,
    expect,
    expect_error,
    measured_call,
    require,
    same,
)

T = tensorlab.tensor


@pytest.mark.parametrize(
    ("came", "expected"),
    [
        (3, 3),
        (3, 3.0),
        (T([1, 2]), T([1, 2])),
        (T([1.0, 2.0]), [1.0, 2.0]),
        (T(2.5), 2.5),
        ([2, 3], (2, 3)),
        (tensorlab.zeros(2, 3).shape, (2, 3)),
        ({"a": T([1])}, {"a": [1]}),
        (math.nan, math.nan),
        ("text", "text"),
    ],
)
def test_these_are_the_same(came, expected):
    assert same(came, expected)
    expect(came, expected)


@pytest.mark.parametrize(
    ("came", "expected"),
    [
        (None, 3),
        (T([1, 2]), T([1.0, 2.0])),  # another dtype
        (T([[1, 2]]), T([1, 2])),
        ([1, 2], T([1, 2])),  # a list is no tensor
        ([1, 2], [1, 2, 3]),
        ({"a": 1}, {"b": 1}),
        (math.nan, 1.0),
        (1.0, math.nan),
        (1.0 + 1e-9, 1.0),
        (T([1, 2]), "text"),
    ],
)
def test_these_differ(came, expected):
    assert not same(came, expected)
    with pytest.raises(Wrong):
        expect(came, expected)


def test_numbers_may_be_apart_by_the_tolerance():
    assert same([1.0, T([2.0])], [1.0005, [2.0005]], 1e-3)
    assert not same(1.01, 1.0, 1e-3)


def test_what_differs_in_dtype_alone_shows_its_dtype():
    with pytest.raises(Wrong) as caught:
        expect(T([1, 2]), T([1.0, 2.0]))
    assert (caught.value.came, caught.value.expected) == (
        "tensor([1, 2]) (tensorlab.int64)",
        "tensor([1, 2]) (tensorlab.float32)",
    )


def test_another_dtype_is_said_also_where_the_numbers_look_different():
    with pytest.raises(Wrong) as caught:
        expect(T([0.1]), T([0.25], dtype=tensorlab.float64), "the gradient")
    assert caught.value.remark == (
        "the gradient (dtype tensorlab.float32 instead of tensorlab.float64)"
    )
    with pytest.raises(Wrong) as caught:
        expect(T([0.1]), T([0.25]), "the gradient")
    assert caught.value.remark == "the gradient"


def test_require_and_expect_error_say_what_is_wrong():
    require(True, "never")
    with pytest.raises(Wrong, match="it must hold"):
        require(False, "it must hold")
    expect_error(ZeroDivisionError, lambda: 1 / 0)
    with pytest.raises(Wrong) as caught:
        expect_error(ValueError, lambda: 1 / 0)
    assert caught.value.came == "ZeroDivisionError: division by zero"
    with pytest.raises(Wrong) as caught:
        expect_error(ValueError, lambda: 7)
    assert caught.value.came == "no error, but 7"


def test_the_names_of_what_a_block_calls_are_noted_however_it_is_called():
    x = tensorlab.rand(3, requires_grad=True)
    with called_names() as names:
        x.exp().sum().backward()
        tensorlab.zeros_like(input=x)
        nn.init.kaiming_normal_(tensorlab.empty(2, 2))  # in Python
    x.sin()
    nn.init.eye_(tensorlab.empty(2, 2))
    assert {"exp", "sum", "backward", "zeros_like", "kaiming_normal_"} <= names
    assert names.isdisjoint({"sin", "eye_", "_kaiming_std"})


def test_the_memory_that_a_call_takes_is_measured_with_what_it_returns():
    def tensors(n):
        return tensorlab.zeros(n) + 1

    def numbers(n):
        return len(list(range(n)))

    for _ in range(2):  # a first call may import
        total, taken = measured_call(tensors, 100_000)
        assert total.shape == (100_000,)
    assert 400_000 <= taken < 1_200_000
    count, taken = measured_call(numbers, 100_000)
    assert count == 100_000
    assert taken >= 800_000


def test_small_tensors_are_shown_whole_and_large_ones_by_their_shape():
    assert describe(T([[1, 2], [3, 4]])) == "tensor([[1, 2], [3, 4]])"
    assert describe(T([True])).startswith("tensor([True], dtype=")
    assert describe(tensorlab.zeros(5, 8).t()) == "tensor of shape (8, 5), strides (1, 8)"
    assert describe((1,)) == "(1,)"
    assert describe("x" * 500).endswith(" …")
    assert len(describe(list(range(1000)))) < 260
    assert describe(number for number in (1, 2)) == "a generator"


def test_the_last_call_is_recorded_also_when_one_calls_another():
    recorder = Recorder()
    inner = recorder.watch(lambda x: x + 1)

    def outer(x, *, by):
        return inner(x) * by

    assert recorder.watch(outer)(2, by=3) == 9
    assert (recorder.last.text, recorder.last.came) == ("outer(2, by=3)", "9")
    assert recorder.watch(5) == 5
