"""x[...] and x[...] = y against PyTorch: results, strides, aliasing, gradients, errors."""

import warnings

import numpy as np
import pytest

import tensorlab
from tests.ops.agreement import agree
from tests.oracle import require_torch

torch = require_torch()
BUILTINS = (IndexError, TypeError, ValueError, RuntimeError)

READS = (
    "x[0]",
    "x[-3]",
    "x[2]",
    "x[5:1]",
    "x[::-1]",
    "x[::0]",
    "x[:, ::2]",
    "x[...]",
    "x[:]",
    "x[()]",
    "x[None]",
    "x[0,None]",
    "x[:,None]",
    "x[True]",
    "x[False]",
    "x[True,0]",
    "x[0,True]",
    "x[1.0]",
    'x["a"]',
    "x[0,0,0,0]",
    "x[...,0,...]",
    "x[...,0]",
    "x[0:10]",
    "x[-10:1]",
    "x[T.tensor(1)]",
    "x[T.tensor(1),0]",
    "x[T.tensor(1)][0]",
    "x[T.tensor(True)]",
    "x[T.tensor(1,dtype=T.uint8)]",
    "x[T.tensor(1,dtype=T.int8)]",
    "x[T.tensor(1,dtype=T.int32)]",
    "x[T.tensor(1.)]",
    "x[np.int64(1)]",
    "x[np.array(1)]",
    "x[np.bool_(True)]",
    "x[[0,1]]",
    "x[[0,1],]",
    "x[[[0,1],[1,0]]]",
    "x[[slice(0,1),1]]",
    "x[[0,None]]",
    "x[[True,False]]",
    "x[[None]*10]",
    "x[[0]*30+[None]]",
    "x[[0]*31+[None]]",
    "x[[None]*32]",
    "x[(0,1)]",
    "x[[0,1],[0,1]]",
    "x[[0,1],:,[0,1]]",
    "x[:,[0,1]]",
    "x[:,[0,1],[0,1]]",
    "x[0,[0,1]]",
    "x[0,:,[0,1]]",
    "x[[0,1],0]",
    "x[:,0,[0,1]]",
    "x[[0,1],:,0]",
    "x[...,[0,1]]",
    "x[None,[0,1]]",
    "x[[0,1],None]",
    "x[[0,1],None,[0,1]]",
    "x[range(2)]",
    "x[np.array([0,1])]",
    "x[T.tensor([0.,1.])]",
    "x[T.tensor([0,1],dtype=T.int16)]",
    "x[T.tensor([0,1],dtype=T.int32)]",
    "x[T.tensor([0,1],dtype=T.uint8)]",
    "x[T.tensor([5])]",
    "x[M]",
    "x[M[0]]",
    "x[M[:,0]]",
    "x[:, M[0,:,0]]",
    "x[:, M[0]]",
    "x[M[0], 0]",
    "x[[]]",
    "x[T.tensor([],dtype=T.int64)]",
    "x[T.zeros(0,2,dtype=T.int64)]",
    "x[[0,1],[0,1,2]]",
    "x[slice(0,1.5)]",
    "x[0:None:None]",
    "z[0]",
    "z[()]",
    "z[...]",
    "z[None]",
    "z[True]",
    "z[T.tensor(True)]",
    "z[:]",
    "z[T.tensor(0)]",
    "z[[0]]",
    "z[[True]]",
    "T.zeros(0,3)[[]]",
    "T.zeros(0,3)[[0]]",
    "T.zeros(3,0)[[0]]",
    "T.zeros(3,0)[[5]]",
    "T.zeros(3,0)[:,[5]]",
    "x.transpose(0,2)[[0,1]]",
    "x.transpose(0,2)[:,[0,1]]",
    "x.transpose(0,2)[:,:,[0,1]]",
    "x.transpose(0,2)[[0,1],:,[0,1]]",
    "x.transpose(1,2)[T.zeros(2,2,dtype=T.int64)]",
    "x[T.zeros(3,2,dtype=T.int64).transpose(0,1)]",
    "x[0:1,T.zeros(3,2,dtype=T.int64).transpose(0,1)]",
    "x[:,:,T.zeros(3,2,dtype=T.int64).transpose(0,1)]",
    "x[[[True,False],[False,True]]]",
    "x[:,[[True,False,True,False]]]",
    "x[{0}]",
    "x[object()]",
    "x[2**70]",
    "x[2**70:]",
    "x[[2**40]]",
    "x[[[0],[0,1]]]",
    "x[[0.5]]",
    'x["a",0]',
    "x[None,None,...,None]",
    "x[:,:,:,None]",
    "x[:,:,:,:]",
    "x[1:,1]",
    "x[1,1:]",
    "x[...,None]",
    "x[:,...]",
    "x[[T.tensor(0),T.tensor(1)]]",
    "x[[T.tensor([0,1])]]",
    "x[[T.tensor([0,1]),T.tensor([0,1])]]",
    "x[[[0,1],T.tensor([0,1])]]",
    "x[([0,1],)]",
    "x[[None]]",
    "x[[Ellipsis]]",
    "x[[slice(None)]]",
    "x[m,i]",
    "x[m,0]",
    "x[m,:2]",
    "x[m,None]",
    "x[m[:,0],:,i[:1]]",
    "x[...,m,:]",
    "x[i[:2],m[0]]",
    "x[0,m[0],i[:2]]",
    "T.index_put(x,(m,i),T.tensor(1.))",
    "x[None,m,i]",
    "x[True,m,i]",
    "x[m, T.tensor([[0],[1]])]",
    "x[T.zeros(2,3,4,dtype=T.bool)]",
    "x[T.zeros(0,3,4,dtype=T.bool)]",
    "T.zeros(0,3)[T.zeros(0,3,dtype=T.bool)]",
    "T.zeros(0,3)[T.zeros(0,dtype=T.bool)]",
    "x[m.transpose(0,1)]",
    "x.transpose(0,1)[m.transpose(0,1)]",
    "x.transpose(0,1)[m.transpose(0,1),i]",
    "x[[1,-1,0,0,0]]",
    "x[:,[1,-1,0,0,0]]",
    "x[...,[1,-1,0,0,0]]",
    "x[[1,0,0],[2,2,2],[1,1,1]]",
    "x[[[1],[0]],:,[[1,1,3]]]",
    "x[1:,[1,1],::2]",
    "x[1,[1,1],::2]",
    "x[[1,1],1,::2]",
    "x[[1,1],None,None,1,::2]",
    "x[...,T.tensor([[0],[1]]),T.tensor([[0,1,3]])]",
    "x[M,0]",
    "x[M,None]",
    "x[None,M]",
    "x[T.tensor([True,False])]",
    "x[:,T.tensor([False]*3)]",
    "x[T.tensor(False),0]",
    "x[[True,False],[0,1,2]]",
    "T.index_put(x,(i[:2],),T.tensor(1.))",
    "T.index_put(x,(i[:2],i[:2]),T.tensor([1.]))",
    "T.index_put(x,(i[:2]*0,i[:2]),T.ones(2,4),accumulate=True)",
    "T.index_put(x,(i[:2]*0,),T.ones(3,4),accumulate=True)",
    "T.index_put(x,(i[:2]*0,),x[0],accumulate=True)",
    "x[[np.array([0,1]),np.array([0,1])]]",
    "x[np.array([True,False])]",
    "x[np.array([0.,1.])]",
    "x[(np.int64(0),slice(np.int64(0),np.int64(1)))]",
    "x[[[]]]",
    "x[[],[]]",
    "x[:,[],0]",
    "x[i[:0]]",
    "x[T.tensor([[0,1]])]",
    "x[T.tensor([], dtype=T.float32)]",
    "x[T.tensor([1])][0]",
    "x[[0,1]][:,0]",
)

WRITES = (
    "x[0]=1",
    "x[0]=[1,2]",
    "x[0]=np.ones(4,np.float32)",
    "x[0]=np.int64(3)",
    "xi[0]=2.7",
    "xi[0]=float('nan')",
    "xi[0]=float('inf')",
    "xi[0]=x[0]",
    "xi[0]=T.tensor(1.5)",
    "x[[0,1]]=xi",
    "x[[0,1]]=xi[0]",
    "x[[0,1]]=2",
    "x[[0,1]]=T.tensor(2)",
    "x[[0,1]]=T.tensor(2.,dtype=T.float64)",
    "xi[[0,1]]=T.tensor(2.5)",
    "xi[[0]]=2.5",
    "x[M]=1",
    "x[M]=T.ones(9)",
    "x[M]=T.ones(9,dtype=T.float64)",
    "x[M]=T.ones(8)",
    "x[0:2]=T.ones(1,1,1,4)",
    "x[[0,1]]=T.ones(1,1,2,3,4)",
    "x[0]=T.ones(2,3,4)",
    "x[0]=T.ones(5)",
    "x[0:0]=T.ones(5)",
    "x[...]=1",
    "x[()]=1",
    "x[5]=1",
    "x[[5]]=1",
    "x[True]=1",
    "x[False]=1",
    "x[True]=T.ones(2,3,4)",
    "x[False]=T.ones(2,3,4)",
    "x[True,0]=5",
    "x[M,None]=1",
    "h[0]=1",
    "h[0]=y",
    "h[0]=y[0]",
    "h[[0,0]]=y*2",
    "h[M]=y[0,0]",
    "h[M]=3",
    "h[:,[1,1]]=y[:,None,:].transpose(0,1)[:1]",
    "x[0]=h[0]",
    "x[[1]]=h[0]",
    "x[1:]=x[:-1]",
    "x[0]=x[1]",
    "x[0,0,0]=T.tensor([[1.]])",
    "x.expand(2,2,3,4)[0]=1",
    "x[:,:1].expand(2,3,4)[...]=1",
    "x[0]='a'",
    "x[0]=None",
    "x['a']=1",
    "x[[0,0]]=T.ones(2,3,4)",
    "x[[[0,1]]]=1",
    "x[T.tensor([[True,False,True]]*2)]=7",
    "x[T.tensor(True)]=3",
    "x[T.tensor(False)]=3",
    "del x[0]",
    "x[0] *= 2",
    "x[[0,1]] *= 3",
    "x[:, [0,1]] = T.ones(2,1,4)",
    "x[0:2]=T.ones(3,4,requires_grad=True)",
    "x[[0,1]]=T.ones(3,4,requires_grad=True)",
    "T.zeros(3,dtype=T.bool)[[0]]=2.5",
    "x.index_put_((T.tensor([0]),),T.tensor(1,dtype=T.float64))",
    "x.index_put_((T.tensor([0]),),T.tensor(1))",
    "x.index_put_([T.tensor([0])],T.tensor(1.),accumulate=True)",
    "x.index_put_([[0]],T.tensor(1.))",
    "x.index_put_((T.tensor([True,False]),),T.tensor(1.))",
    "x.index_put((T.tensor([0]),),T.ones(5))",
    "x.index_put_((),T.ones(2,3,4))",
    "x.index_put_((T.tensor(0),),T.tensor(1.))",
    "x.index_put_((T.tensor([0]),)*4,T.tensor(1.))",
    "x[:,None,0]=3",
    "x[0,None]=T.ones(1,3,4)",
    "x[...,[0,1],[0,1]]=9",
    "x[[0,1],:,[0,1]]=T.ones(2,3)",
    "x[[0,-2]] = 4",
    "h.index_put_((T.tensor([0,0,1]),T.tensor([0,0,1])),y[:,:1],accumulate=True)",
    "h.index_put_((T.tensor([0,1]),T.tensor([0,2])),y[:1],accumulate=False)",
    "h[:1]*=y",
    "h[[0,1],1]*=y[0]",
    "x[:1]*=y",
    "x[[0,1],1]*=y[0]",
    "v=h[0]; v[[0,2]]=y[0]",
    "w[0]=1",
    "w[[0]]=1",
    "w[0]=y",
    "x[0]=w[1]; x[1]=w[0]*2",
    "x[T.tensor([0])]=w[0:1]*w[1:]",
    "xi[0]=w[0]",
    "xi[[0]]=w[0]",
)


def builtin_kind(error):
    return next(
        (kind.__name__ for kind in BUILTINS if isinstance(error, kind)), type(error).__name__
    )


def assert_equal(ours, theirs, what):
    if isinstance(theirs, np.ndarray):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5, err_msg=what)
    else:
        assert ours == theirs, what


# ------------------------------------------------------------------------------------------------ reading
def read(T, subscript, needs_grad):
    """What one subscript gives, as plain values."""
    numbers = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    x = T.tensor(numbers, requires_grad=needs_grad)
    names = {
        "T": T,
        "np": np,
        "x": x,
        "m": T.tensor([[True, False, True], [False, False, True]]),
        "i": T.tensor([0, 1, 2]),
        "M": T.tensor(numbers % 5 > 2),
        "z": T.tensor(3.0),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            out = eval(subscript, names)
        except BUILTINS as error:
            return {"status": builtin_kind(error)}
    got = {
        "status": "ok",
        "shape": tuple(out.shape),
        "stride": tuple(out.stride()),
        "offset": out.storage_offset() if out.numel() else 0,
        "values": out.detach().numpy().copy(),
        "requires_grad": out.requires_grad,
        "is_alias": out.untyped_storage().data_ptr() == x.untyped_storage().data_ptr(),
    }
    if needs_grad and out.requires_grad and "uint8" not in subscript:  # PyTorch warns in backward
        grad = np.random.default_rng(0).standard_normal(tuple(out.shape)).astype(np.float32)
        seed = T.tensor(grad, requires_grad=True)
        (first,) = T.autograd.grad(out, [x], [seed], create_graph=True)
        got["first"] = first.detach().numpy().copy()
        (second,) = T.autograd.grad([(first * first).sum()], [seed])
        got["second"] = second.numpy().copy()
    return got


@pytest.mark.parametrize("needs_grad", [False, True])
@pytest.mark.parametrize("subscript", READS)
def test_reading_a_subscript_gives_what_pytorch_gives(subscript, needs_grad):
    ours, theirs = (read(T, subscript, needs_grad) for T in (tensorlab, torch))
    assert ours.keys() == theirs.keys()
    for name in theirs:
        assert_equal(ours[name], theirs[name], name)


# ------------------------------------------------------------------------------------------------ writing
def write(T, statement):
    """What all tensors hold after one statement, and the gradients of what could be written to."""
    numbers = np.arange(24).reshape(2, 3, 4)
    names = {
        "T": T,
        "np": np,
        "x": T.tensor(numbers.astype(np.float32)),
        "xi": T.tensor(numbers),
        "w": T.tensor(np.sin(numbers).astype(np.float32), requires_grad=True),
        "y": T.tensor(np.cos(numbers[0]).astype(np.float32), requires_grad=True),
        "M": T.tensor(numbers % 5 > 2),
    }
    names["h"] = names["w"] * 1
    got = {"status": "ok"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(statement, names)
        except BUILTINS as error:
            got["status"] = builtin_kind(error)
    for name in ("x", "xi", "h", "w"):
        got[name] = names[name].detach().numpy().copy()
        got[name + " version"] = names[name]._version
        got[name + " requires_grad"] = names[name].requires_grad
    if got["status"] == "ok":
        ((names["x"] * names["x"]).sum() + (names["h"] * names["h"]).sum()).backward()
        for name in ("w", "y"):
            grad = names[name].grad
            got[name + " grad"] = None if grad is None else grad.numpy().copy()
    return got


@pytest.mark.parametrize("statement", WRITES)
def test_writing_a_subscript_does_what_pytorch_does(statement):
    ours, theirs = write(tensorlab, statement), write(torch, statement)
    for name in theirs:
        assert_equal(ours[name], theirs[name], name)


# ------------------------------------------------------------ what chapter 7 relies on
def test_plain_subscripts_share_memory_and_index_tensors_copy():
    x = tensorlab.arange(24).reshape(2, 3, 4)
    names = {"x": x, "i": tensorlab.tensor([0]), "m": x > 5, "slice": slice}
    for text in ("x[0]", "x[...]", "x[None]", "x[1:, ::2]", "x[0, ..., 1]", "x[-1, :, None]"):
        out = eval(text, names)
        assert out.untyped_storage().data_ptr() == x.untyped_storage().data_ptr(), text
    for text in ("x[i]", "x[[0]]", "x[0, [0]]", "x[:, i]", "x[m]", "x[..., i]", "x[True, i]"):
        out = eval(text, names)
        assert out.untyped_storage().data_ptr() != x.untyped_storage().data_ptr(), text


def test_reading_and_adding_are_transposes_of_each_other():
    tensorlab.manual_seed(0)
    for shape, subscript in [
        ((5,), "[0, 0, 3]"),
        ((4, 3), "[1, -3, 1], [0, 0, -3]"),
        ((4, 3), "[[2], [2]], 1:"),
    ]:
        x = tensorlab.randn(*shape, dtype=tensorlab.float64, requires_grad=True)
        out = eval(f"x[{subscript}]", {"x": x})
        g = tensorlab.randn(*out.shape, dtype=tensorlab.float64)
        (back,) = tensorlab.autograd.grad(out, [x], g)
        assert abs((g * out).sum().item() - (back * x).sum().item()) < 1e-12, subscript


# ------------------------------------------------------------ where PyTorch is wrong
def test_an_index_out_of_range_changes_nothing():
    x = tensorlab.zeros(2, 3)
    with pytest.raises(IndexError, match="index 5 is out of range"):
        x[tensorlab.tensor([0, 5])] = 1
    with pytest.raises(RuntimeError, match="index 2 is out of range"):
        x.scatter_add_(0, tensorlab.tensor([[0, 1, 2]]), tensorlab.ones(1, 3))
    with pytest.raises(RuntimeError):
        x.index_add_(0, tensorlab.tensor([0, 2]), tensorlab.ones(2, 3))
    with pytest.raises(RuntimeError):
        x.masked_scatter_(tensorlab.tensor([True, True, True]), tensorlab.ones(5))
    assert x._version == 0
    assert x.tolist() == [[0, 0, 0], [0, 0, 0]]


def test_augmented_writing_works_on_a_stale_view():
    base = tensorlab.ones(2)
    y = tensorlab.tensor([3.0], requires_grad=True)
    view = base[:1]
    view[:] *= y
    assert base.tolist() == [3, 1]
    base.sum().backward()
    assert y.grad.tolist() == [1]


def test_a_shifted_copy_within_a_tensor_is_as_if_through_a_clone():
    x = tensorlab.tensor([[1, 2, 3], [4, 5, 6]])
    x[:, 1:] = x[:, :-1]
    assert x.tolist() == [[1, 1, 2], [4, 4, 5]]


def test_indices_saved_for_backward_must_not_change():
    x = tensorlab.ones(3, requires_grad=True)
    index = tensorlab.tensor([0, 1])
    for out in (x[index], x.index_select(0, index), x.gather(0, index)):
        index[0] = 2
        with pytest.raises(RuntimeError, match="version"):
            out.sum().backward()


# ------------------------------------------------------------------------------------------------ iteration, membership
def test_iterating_gives_views_of_the_first_dimension():
    x = tensorlab.tensor([[1, 2], [3, 4]])
    assert [row.tolist() for row in x] == [[1, 2], [3, 4]]
    for row in x:
        row[0] = 0
    assert x.tolist() == [[0, 2], [0, 4]]
    with pytest.raises(TypeError, match="0-d"):
        iter(tensorlab.tensor(1))


@pytest.mark.parametrize("part", [slice(1.5, None), slice(None, "a"), slice(None, None, 0.5)])
def test_a_part_of_a_slice_that_is_no_int_is_named_as_python_does(part):
    with pytest.raises(TypeError, match="slice indices must be integers or None or have"):
        tensorlab.ones(4)[part]


def test_membership_asks_whether_some_element_is_equal():
    x = tensorlab.tensor([1.0, 2.0])
    assert 2 in x
    assert 3 not in x
    assert tensorlab.tensor(1.0) in x
    with pytest.raises(RuntimeError):
        "a" in x


def test_numbers_of_numpy_can_be_written():
    x = tensorlab.zeros(2)
    x[0] = np.float32(3)
    x[1] = np.int64(4)
    assert x.tolist() == [3, 4]


@pytest.mark.parametrize(
    "sizes", [(2, 0), (3, 0), (0, 2), (2, 0, 1), (2, 1, 0), (2, 3, 0), (4, 0, 5)], ids=str
)
def test_indices_of_no_positions_read_and_write_nothing(sizes):
    """An empty result has no common step along its index dimensions, of which one is larger than 1."""
    x = tensorlab.arange(24.0).reshape(2, 3, 4).requires_grad_()
    none = tensorlab.zeros(sizes, dtype=tensorlab.int64)
    for subscript in ((none,), (none, none), (slice(None), none), (none, slice(None), none)):
        out = x[subscript]
        assert out.numel() == 0
        (grad,) = tensorlab.autograd.grad(out.sum(), x)
        assert not grad.any()
        values = tensorlab.zeros(out.shape, requires_grad=True)
        written = x * 1
        written[subscript] = values
        assert written.equal(x)
        grads = tensorlab.autograd.grad(written.sum(), [x, values])
        assert grads[0].equal(tensorlab.ones_like(x))
        assert grads[1].shape == out.shape


def test_put_refuses_elements_that_share_memory():
    agree(lambda T: T.ones(1, 3).expand(2, 3).put_(T.tensor([0]), T.tensor([5.0])))
    x = tensorlab.ones(1, 3)
    with pytest.raises(RuntimeError, match="put_: several elements of the tensor share one place"):
        x.expand(2, 3).put_(tensorlab.tensor([0]), tensorlab.tensor([5.0]))
    assert x.tolist() == [[1, 1, 1]]
