"""Conjugated and negated views: every sample gives what it gives for memory that holds the same numbers."""

import copy
import io
import itertools
import pickle
import warnings

import numpy as np
import pytest

import tensorlab
from tests.ops.every_sample import FLOATING, as_tuple, each_sample
from tests.ops.test_complex import complex_inputs, numbers
from tests.oracle import require_torch

torch = require_torch()


# ---------------------------------------------------------------- every op
def plain(x):
    return tensorlab.from_numpy(np.array(x))


def conjugated(x):
    return plain(np.array(x.conj())).conj() if x.dtype.kind == "c" else plain(x)


def negated(x):
    if x.dtype.kind not in "fc":
        return plain(x)
    return tensorlab._neg_view(plain(np.array(-x)))


def outcome(sample, arrays, made):
    """The results of a call and its gradients, or the class of its error."""
    leaves = [made(np.array(one)) for one in arrays]
    bits = [(x.is_conj(), x.is_neg()) for x in leaves]
    tensors = [
        x.requires_grad_() if x.dtype.is_floating_point or x.is_complex() else x for x in leaves
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tensorlab.manual_seed(0)
        try:
            results = as_tuple(sample.call(tensorlab, *tensors))
        except Exception as error:
            return type(error)
        followed = [one for one in results if getattr(one, "requires_grad", False)]
        grads = ()
        if followed and sample.derivatives:
            loss = sum((one * one.conj()).real.sum() + one.real.sum() for one in followed)
            wanted = [x for x in tensors if x.requires_grad]
            try:
                grads = tensorlab.autograd.grad(loss, wanted, allow_unused=True)
            except Exception as error:
                return type(error)
    assert bits == [(x.is_conj(), x.is_neg()) for x in leaves]
    return [numbers(one) if hasattr(one, "dtype") else one for one in (*results, *grads)]


def same(found, expected):
    if isinstance(expected, type):
        assert found is expected
        return
    assert len(found) == len(expected)
    for x, y in zip(found, expected, strict=True):
        if isinstance(y, np.ndarray):
            np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12)
        else:
            assert x == y


@each_sample(FLOATING)
def test_a_view_with_a_bit_is_as_good_as_its_numbers(sample):
    arrays = [np.asarray(one) for one in sample.arrays()]
    same(outcome(sample, arrays, negated), outcome(sample, arrays, plain))
    arrays = [np.asarray(one) for one in complex_inputs(sample)]
    expected = outcome(sample, arrays, plain)
    same(outcome(sample, arrays, conjugated), expected)
    same(
        outcome(
            sample,
            arrays,
            lambda x: tensorlab._neg_view(-conjugated(x)) if x.dtype.kind in "fc" else plain(x),
        ),
        expected,
    )


IN_PLACE = [one for one in FLOATING if one.inplace]


@each_sample(IN_PLACE)
def test_a_write_through_a_view_with_a_bit_changes_what_it_is_a_view_of(sample):
    """And the history of that: the gradient of the base."""

    def written(view):
        tensorlab.manual_seed(0)
        first, *others = (np.asarray(one) for one in complex_inputs(sample))
        if first.dtype.kind != "c":
            return None
        leaf = tensorlab.from_numpy(first.conj() if view else first.copy()).requires_grad_()
        base = leaf * 1
        x = base.conj() if view else base
        try:
            sample.inplace(tensorlab, x, *map(plain, others))
        except Exception as error:
            return type(error)
        assert x.is_conj() == view
        held = base.conj() if view else base
        (grad,) = tensorlab.autograd.grad(
            (held * held.conj()).real.sum() + held.real.sum(), leaf, allow_unused=True
        )
        grad = None if grad is None else grad.conj() if view else grad
        return [numbers(x), numbers(held), None if grad is None else numbers(grad)]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, expected = written(True), written(False)
    if isinstance(expected, list):
        same(found, expected)
    else:
        assert found == expected


# ---------------------------------------------------------------- what is a view, as in PyTorch
PROGRAMS = """
z.conj()
z.conj().conj()
z.conj().conj_physical()
z.conj().clone()
z.conj().contiguous()
z.conj().detach()
z.conj().view(6)
z.conj().t()
z.conj()[1]
z.conj()[:, 1:].expand(4, 2, 2)
z.conj().unbind()[1]
T.as_strided(z.conj(), (2,), (1,))
z.conj().resolve_conj()
z.conj().real
z.conj().imag
z.conj().imag.resolve_neg()
z.conj().imag.clone()
-z.conj()
z.mH
z.t().H
z.adjoint()
T.view_as_real(T._neg_view(z))
T._neg_view(z.conj()).imag
T._neg_view(z).real
T.empty_like(z.conj()).fill_(1)
z.conj().to(T.complex128)
z.conj().to(z.dtype)
T.cat([z.conj(), z.conj()])
z.conj().data
copy.deepcopy(z.conj())
copy.copy(z.conj())
pickle.loads(pickle.dumps(z.conj().imag))
z.real.conj()
T.add(z, z, out=T.empty(2, 3, dtype=T.complex64).conj())
z.conj().reshape(3, 2)
z.conj().squeeze().mT
z.conj().mul_(1j)
z.imag.conj_physical()
z.conj().imag.neg_()
z.conj().imag.view(-1)
z.conj().unflatten(1, (1, 3))
z.conj().chunk(2, 1)[1]
z.conj() @ z.mH
T.zeros(2, 3, dtype=T.complex64).copy_(z.conj())
T.set_printoptions() or z.conj()
""".strip().splitlines()


@pytest.mark.parametrize("program", PROGRAMS)
def test_bits_values_and_bases_are_those_of_pytorch(program):
    def found(T):
        z = T.tensor([[1 + 2j, 3j, -1 + 1j], [0.5, 2 - 1j, 4j]])
        x = eval(program, {"z": z, "T": T, "copy": copy, "pickle": pickle})
        state = (x.is_conj(), x.is_neg(), x._base is not None, tuple(x.shape), x.stride())
        return state, x.tolist(), z.tolist()

    ours, theirs = found(tensorlab), found(torch)
    assert ours[0] == theirs[0]
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-6)
    np.testing.assert_allclose(ours[2], theirs[2], rtol=1e-6)


def test_a_view_looks_at_the_same_memory():
    z = tensorlab.tensor([1 + 2j, 3j])
    y, part = z.conj(), z.conj().imag
    z[0] = 5 + 1j
    assert y.tolist() == [5 - 1j, -3j]
    assert part.tolist() == [-1, -3]
    part.add_(10)
    assert z.imag.tolist() == [-9, -7]
    y.imag = tensorlab.tensor([2.0, 4.0])
    assert z.tolist() == [5 - 2j, -4j]
    assert y.data_ptr() == z.data_ptr()
    assert y._version == z._version > 0


def test_a_stale_view_finds_its_history_again():
    leaf = tensorlab.tensor([1 + 2j, 3j], requires_grad=True)
    base = leaf * 1
    view = base.conj().imag
    base.mul_(2j)
    (grad,) = tensorlab.autograd.grad(view.sum(), leaf)
    assert grad.tolist() == [-2, -2]  # Im(conj(2i z)) is -2 Re z
    theirs = torch.tensor([1 + 2j, 3j], requires_grad=True)
    base = theirs * 1
    view = base.conj().imag
    base.mul_(2j)
    assert torch.autograd.grad(view.sum(), theirs)[0].tolist() == grad.tolist()


@pytest.mark.parametrize("chain", list(itertools.product(["conj", "imag", "neg", "t"], repeat=3)))
def test_writes_through_chains_of_views_have_pytorchs_gradients(chain):
    steps = {
        "conj": lambda T, x: x.conj(),
        "imag": lambda T, x: x.imag if x.is_complex() else x,
        "neg": lambda T, x: T._neg_view(x),
        "t": lambda T, x: x.t(),
    }

    def found(T):
        leaf = T.tensor([[1 + 2j, 3j], [2 - 1j, 0.5]], requires_grad=True)
        base = leaf * 1
        x = base
        for step in chain:
            x = steps[step](T, x)
        x.mul_(T.tensor([2.0, 3.0]))
        loss = (base * T.tensor([[1j, 2], [3, 1 - 1j]])).abs().sum() + x.abs().sum()
        return T.autograd.grad(loss, leaf)[0].resolve_conj().resolve_neg().tolist(), base.tolist()

    ours, theirs = found(tensorlab), found(torch)
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-5, atol=1e-6)


def test_gradients_are_plain_memory():
    x = tensorlab.tensor([1 + 2j, 3j], requires_grad=True)
    (x.conj() * 2j).abs().sum().backward()
    assert not x.grad.is_conj()
    tensorlab.optim.SGD([x], lr=0.1, momentum=0.9).step()
    assert tensorlab.autograd.gradcheck(
        lambda z: z.conj().imag * z.mH.real,
        tensorlab.randn(2, 2, dtype=tensorlab.complex128, requires_grad=True),
    )


# ---------------------------------------------------------------- who reads memory from outside
OUTSIDE = [
    (lambda y: y.numpy(), RuntimeError, "resolve_conj"),
    (lambda y: np.asarray(y), RuntimeError, "resolve_conj"),
    (lambda y: y.imag.numpy(), RuntimeError, "resolve_neg"),
    (lambda y: y.__dlpack__(), BufferError, "resolve_conj"),
    (lambda y: memoryview(y), BufferError, "resolve_conj"),
    (lambda y: tensorlab.view_as_real(y), RuntimeError, "resolve_conj"),
    (lambda y: y.view(tensorlab.float32), RuntimeError, "resolve_conj"),
    (lambda y: y.imag.view(tensorlab.int32), RuntimeError, "resolve_neg"),
]


@pytest.mark.parametrize("read, error, remedy", OUTSIDE)
def test_who_would_see_other_numbers_is_told_what_to_do(read, error, remedy):
    with pytest.raises(error, match=remedy):
        read(tensorlab.tensor([1 + 2j, 3j]).conj())


def test_numpy_by_force_gets_a_copy():
    y = tensorlab.tensor([1 + 2j, 3j], requires_grad=True).conj()
    assert y.numpy(force=True).tolist() == [1 - 2j, -3j]


def test_files_keep_the_bits_and_pytorch_reads_them():
    z = tensorlab.tensor([1 + 2j, 3j])
    file = io.BytesIO()
    tensorlab.save({"z": z, "y": z.conj(), "part": z.clone().conj().imag}, file)
    for T in (tensorlab, torch):
        file.seek(0)
        read = T.load(file)
        assert read["y"].is_conj()
        assert read["part"].is_neg()
        assert read["y"].tolist() == [1 - 2j, -3j]
        assert read["part"].tolist() == [-2, -3]
        read["z"][1] = 7j
        assert read["y"].tolist() == [1 - 2j, -7j]
    file = io.BytesIO()
    torch.save(torch.tensor([1 + 2j]).conj(), file)
    file.seek(0)
    assert tensorlab.load(file).is_conj()


def test_transforms_and_compiled_functions_compute_conjugates():
    z = tensorlab.tensor([1 + 2j, 3j])

    def f(x):
        return (x.conj() * 1j).real.sum() + x.mean().imag

    expected = f(z)
    compiled = tensorlab.compile(f)
    view = z.conj().clone().conj()  # the same numbers, with a bit
    assert tensorlab.equal(compiled(z), expected)
    with pytest.warns(UserWarning, match="memory holds its conjugate"):
        assert tensorlab.equal(compiled(view), expected)
    for x in (z, view):
        assert tensorlab.equal(tensorlab.vmap(f)(x[None])[0], expected)
        assert tensorlab.equal(tensorlab.func.grad(f)(x), tensorlab.func.grad(f)(z))


def test_a_mode_sees_conjugates_that_are_computed():
    from tensorlab.utils._python_dispatch import TorchDispatchMode

    seen = []

    class Log(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            seen.append(str(function))
            return function(*args, **(kwargs or {}))

    z = tensorlab.tensor([[1 + 2j, 3j]])
    with Log():
        y = z.conj() + z.mH.sum()
    assert not y.is_conj()
    assert any("conj_physical" in name for name in seen)
