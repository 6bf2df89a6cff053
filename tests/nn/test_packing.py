"""Packed sequences: as in PyTorch, and nothing is lost on the way there and back."""

import copy
import pickle

import pytest

import tensorlab
from tensorlab.nn.utils import rnn
from tests.oracle import assert_same_values, require_torch


def same_packed(ours, theirs):
    assert type(ours) is rnn.PackedSequence
    for name in ("data", "batch_sizes", "sorted_indices", "unsorted_indices"):
        mine, other = getattr(ours, name), getattr(theirs, name)
        assert (mine is None) == (other is None), name
        if mine is not None:
            assert_same_values(mine, other)


def numbers(T, *shape):
    count = 1
    for n in shape:
        count *= n
    return T.arange(count, dtype=T.float32).reshape(shape)


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("inner", [(), (2,), (2, 3)])
@pytest.mark.parametrize("lengths", [[4, 2, 1], [3, 3, 3], [2, 1, 1], [4, 4, 2]])
def test_a_padded_batch_is_packed_and_padded_again(batch_first, inner, lengths):
    torch = require_torch()
    shape = (3, 4) if batch_first else (4, 3)
    results = []
    for T in (tensorlab, torch):
        x = numbers(T, *shape, *inner).requires_grad_()
        packed = T.nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first)
        padded, found = T.nn.utils.rnn.pad_packed_sequence(packed, batch_first, 7.0)
        (padded * numbers(T, *padded.shape)).sum().backward()
        results.append((packed, padded, found, x.grad))
    same_packed(results[0][0], results[1][0])
    for mine, other in zip(results[0][1:], results[1][1:], strict=True):
        assert_same_values(mine, other)
    assert results[0][1].stride() == results[1][1].stride()


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("as_tensor", [False, True])
def test_sequences_in_any_order_are_sorted_and_put_back(batch_first, as_tensor):
    torch = require_torch()
    results = []
    for T in (tensorlab, torch):
        x = numbers(T, *((3, 4, 2) if batch_first else (4, 3, 2)))
        lengths = T.tensor([2.0, 4.0, 1.0]) if as_tensor else [2, 4, 1]
        packed = T.nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first, enforce_sorted=False)
        results.append(
            (packed, T.nn.utils.rnn.pad_packed_sequence(packed, batch_first, total_length=6))
        )
    same_packed(results[0][0], results[1][0])
    for mine, other in zip(results[0][1], results[1][1], strict=True):
        assert_same_values(mine, other)


@pytest.mark.parametrize("lengths", [[5, 3, 1], [3, 5, 1]])
def test_a_list_of_sequences_is_packed_and_unpacked(lengths):
    torch = require_torch()
    is_sorted = lengths[0] == 5
    packed = [
        T.nn.utils.rnn.pack_sequence([numbers(T, n, 2) for n in lengths], is_sorted)
        for T in (tensorlab, torch)
    ]
    same_packed(*packed)
    for n, sequence in zip(lengths, rnn.unpack_sequence(packed[0]), strict=True):
        assert sequence.tolist() == numbers(tensorlab, n, 2).tolist()


def test_padding_is_of_the_type_of_the_data():
    packed = rnn.pack_sequence([tensorlab.tensor([1, 2]), tensorlab.tensor([3])])
    padded, lengths = rnn.pad_packed_sequence(packed, padding_value=1.5)
    assert padded.tolist() == [[1, 3], [2, 1]]
    assert padded.dtype == tensorlab.int64
    assert lengths.tolist() == [2, 1]
    assert lengths.dtype == tensorlab.int64


def unsorted(T):
    sequences = [numbers(T, n, 2) for n in (1, 3)]
    return T.nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False)


def test_a_packed_sequence_converts_its_data_only():
    packed = unsorted(tensorlab)
    assert packed.to(tensorlab.float32) is packed
    assert packed.float() is packed
    assert packed.cpu() is packed
    assert not packed.is_cuda
    assert not packed.is_pinned()
    names = {"double": "float64", "half": "float16", "long": "int64", "int": "int32"}
    for name, dtype in {**names, "short": "int16", "char": "int8", "byte": "uint8"}.items():
        other = getattr(packed, name)()
        assert type(other) is rnn.PackedSequence
        assert other.data.dtype == getattr(tensorlab, dtype)
        assert other.data.tolist() == packed.data.tolist()
        assert other.batch_sizes is packed.batch_sizes
        assert other.sorted_indices.tolist() == [1, 0]
        assert other.unsorted_indices.tolist() == [1, 0]
        assert other.sorted_indices.dtype == tensorlab.int64
    assert packed.to(tensorlab.float64).double().data.dtype == tensorlab.float64
    meta = packed.to("meta")
    assert str(meta.sorted_indices.device) == "meta"
    assert str(meta.batch_sizes.device) == "cpu"
    assert packed.cpu(dtype=tensorlab.float64).data.dtype == tensorlab.float64
    with pytest.raises((RuntimeError, AssertionError)):
        packed.cuda()


def test_a_packed_sequence_shows_and_keeps_its_fields():
    torch = require_torch()
    packed = unsorted(tensorlab)
    assert repr(packed) == repr(unsorted(torch))
    for copied in (copy.deepcopy(packed), pickle.loads(pickle.dumps(packed))):
        assert repr(copied) == repr(packed)
        assert type(copied) is rnn.PackedSequence
    data, sizes, order, back = packed
    pair = rnn.PackedSequence((data, sizes), sorted_indices=order)
    assert pair.unsorted_indices.tolist() == back.tolist()
    assert pair.batch_sizes is sizes
    assert rnn.invert_permutation(None) is None
    turned = rnn.invert_permutation(tensorlab.tensor([2, 0, 1, 3]))
    assert turned.tolist() == [1, 2, 0, 3]
    assert turned.dtype == tensorlab.int64


X = (4, 3, 2)
REFUSED = [
    (lambda T, R: R.pack_padded_sequence(numbers(T, *X), [4, 2]), "2 lengths are given for 3"),
    (lambda T, R: R.pack_padded_sequence(numbers(T, *X), [4, 2, 0]), "a length is 0"),
    (lambda T, R: R.pack_padded_sequence(numbers(T, *X), [2, 3, 1]), "falling order"),
    (lambda T, R: R.pack_padded_sequence(numbers(T, *X), T.ones(3, 1)), "one dimension"),
    (lambda T, R: R.pack_padded_sequence(numbers(T, *X), T.ones(3, device="meta")), "on meta"),
    (lambda T, R: R.pack_padded_sequence(T.ones(0, 3), [3, 2, 1]), "empty"),
    (lambda T, R: R.pack_padded_sequence(T.ones(3), [3]), "expected at least 2"),
    (lambda T, R: R.pack_sequence([]), "no sequence"),
    (lambda T, R: R.PackedSequence(T.ones(3)), "must be a pair"),
    (lambda T, R: R.PackedSequence(T.ones(3), T.ones(3, device="meta")), "on meta"),
    (lambda T, R: R.pad_packed_sequence(unsorted(T), total_length=2), "total_length is 2"),
    (
        lambda T, R: R.pad_packed_sequence(R.PackedSequence(T.ones(3), T.ones(2, 1).long())),
        "2 dimensions",
    ),
    (
        lambda T, R: R.pad_packed_sequence(R.PackedSequence(T.ones(3), T.tensor([3, 2]))),
        "together 3",
    ),
    (
        lambda T, R: R.pad_packed_sequence(R.PackedSequence(T.ones(0), T.tensor([]).long())),
        "at least one",
    ),
]


@pytest.mark.parametrize("case", range(len(REFUSED)))
def test_what_does_not_fit_is_refused(case):
    torch = require_torch()
    call, text = REFUSED[case]
    with pytest.raises(Exception) as theirs:  # noqa: PT011  its class is what the test asks for
        call(torch, torch.nn.utils.rnn)
    with pytest.raises(type(theirs.value), match=text):
        call(tensorlab, rnn)


def test_a_length_above_the_steps_is_refused():
    with pytest.raises(RuntimeError, match="longest length is 5, but input has only 4"):
        rnn.pack_padded_sequence(numbers(tensorlab, *X), [5, 2, 1])
    packed = rnn.pack_padded_sequence(numbers(tensorlab, *X), [4, 2, 1])
    padded, _ = rnn.pad_packed_sequence(packed, total_length=4)
    assert padded.shape == X
