"""_lazy_clone: a clone that copies nothing until a write (copy-on-write).

The original and its lazy clone have a storage each, but the clone's storage holds the original's address:

    before a write      x --> lender   [LENT]      address A --------> the bytes
                        y --> borrower [BORROWED]  address A ------------^
    after y.add_(1)     x --> lender   [WRITABLE]  address A --------> the bytes
                        y --> borrower [WRITABLE]  address B --------> their copy, and one added

Code that is about to write, or lets others write (`numpy()`, `data_ptr()`, DLPack), asks check_writable, which looks at one
field of the storage; if that says LENT or BORROWED, the sharing ends here. It is always the borrower that moves: tensors
know the address of their first element, and the lender may have any number of them, while the tensors over a borrower
are noted as they are made (tensor.note_borrower), so they can be told the new address. A borrower whose lender has
no other user left takes the bytes over without copying them.

Only memory of our own is lent, and none that a NumPy array or a memoryview looks at: no one would tell us of writes there.
Such tensors are copied at once.
"""
cimport cython
from cpython.object cimport PyObject
from libc.string cimport memcpy

from tensorlab._core.dispatch.dispatch cimport run_1
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.no_instances cimport forbid_new
from tensorlab._core.storage cimport BORROWED, LENT, WRITABLE, Storage, foreign_storage, new_storage
from tensorlab._core.tensor cimport TensorBase, new_tensor, note_borrower, set_layout

from tensorlab._core.storage import set_end_sharing

cdef dict borrowings = {}           # id of a lender: the Borrowings that read its bytes, as addresses: they must not live on here


@cython.final
@cython.no_gc                       # it refers to no tensor but weakly
cdef class Borrowing:
    """What a borrower has as the owner of its bytes."""
    cdef Storage lender             # whose bytes they are; kept alive
    cdef PyObject* borrower         # the storage whose owner this is, so it lives as long
    cdef readonly list tensors      # weak references to the tensors over the borrower

    def __dealloc__(self):
        cdef list others = borrowings[id(self.lender)]
        others.remove(<size_t><PyObject*>self)
        if not others:
            del borrowings[id(self.lender)]
            self.lender.guard = WRITABLE


# ---------------------------------------------------------------- sharing and its end
cdef Storage borrow(Storage lender):
    """A storage that reads the bytes of `lender`."""
    cdef Borrowing borrowing = Borrowing.__new__(Borrowing)
    cdef Storage borrower
    borrowing.lender = lender
    borrowing.tensors = []
    borrowings.setdefault(id(lender), []).append(<size_t><PyObject*>borrowing)
    borrower = foreign_storage(lender.address, lender.nbytes_, borrowing, BORROWED)
    borrowing.borrower = <PyObject*>borrower
    lender.guard = LENT
    return borrower


def end_sharing(Storage storage not None):
    """Give a storage bytes of its own (it borrows), or each that borrows from it (it lends)."""
    cdef size_t address
    cdef Storage borrower
    if storage.guard == BORROWED:
        move_out(storage)
        return
    for address in list(borrowings[id(storage)]):
        borrower = <Storage>(<Borrowing><PyObject*>address).borrower
        move_out(borrower)


cdef int move_out(Storage borrower) except -1:
    """Copy the bytes and tell the tensors; or take the bytes over, if the lender has no other
    user."""
    cdef Borrowing borrowing = <Borrowing>borrower.owner
    cdef Storage lender = borrowing.lender
    cdef Storage fresh
    cdef char* old = borrower.address
    cdef TensorBase x
    # 2 references to the lender: the variable here, and the borrowing
    if (<PyObject*>lender).ob_refcnt == 2 and len(borrowings[id(lender)]) == 1:
        lender.address = NULL
        lender.nbytes_ = 0
    else:
        fresh = new_storage(borrower.nbytes_)
        memcpy(fresh.address, old, borrower.nbytes_)
        borrower.address = fresh.address
        fresh.address = NULL                        # its bytes are the borrower's now
        fresh.nbytes_ = 0
    borrower.guard = WRITABLE
    borrower.owner = None
    for reference in borrowing.tensors:
        x = <TensorBase>reference()
        if x is not None and x.storage_ is borrower:
            x.data_ = borrower.address + (x.data_ - old)
    return 0


set_end_sharing(end_sharing)


# ---------------------------------------------------------------- _lazy_clone
cdef Op LAZY_CLONE = Op("lazy_clone(Tensor x) -> Tensor", aten="_lazy_clone", rearranges=True)

@LAZY_CLONE.derivative("x")
def lazy_clone_derivative(grad):
    return grad

@LAZY_CLONE.infer
def lazy_clone_infer(TensorBase x):
    cdef Storage storage = x.storage_
    cdef TensorBase out = new_tensor()
    out.dtype_ = x.dtype_
    set_layout(out, x.ndim_, x.sizes, x.strides)
    if storage.guard == BORROWED:
        storage = (<Borrowing>storage.owner).lender
    if storage.owner is not None or storage.exports > 0 or storage.address == NULL:
        out.storage_ = x.storage_.clone()
        out.data_ = out.storage_.address + (x.data_ - x.storage_.address)
    else:
        out.storage_ = borrow(storage)
        out.data_ = x.data_
        note_borrower(out)
    return out

def _lazy_clone(TensorBase input not None):
    """A clone that shares the memory of `input` until either of them is written; then the values are copied.

    Its strides and offset are those of `input`; a tensor over memory of others (NumPy's, a buffer's) is copied at once.

    >>> import tensorlab
    >>> x = tensorlab.zeros(3)
    >>> y = x._lazy_clone()
    >>> x.add_(1)
    tensor([1., 1., 1.])
    >>> y
    tensor([0., 0., 0.])
    """
    return run_1(LAZY_CLONE, input)


def _is_lazy_clone(TensorBase input not None):
    """Does `input` share its memory with a lazy clone, or with the tensor that it is one of?"""
    return input.storage_.guard >= LENT


def _storage_address(TensorBase input not None):
    """Address of the first byte of the storage, only for looking: unlike `data_ptr()` it ends no sharing."""
    return <size_t>input.storage_.address


forbid_new(Borrowing)
