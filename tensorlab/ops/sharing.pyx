"""share_memory_: a storage moves into memory that other processes see, too.

The bytes get another address, and every tensor over the storage knows the address of its first element. So all of them have to
be found and told: usually there is only the one that was asked, which the number of references to the storage shows;
otherwise Python's list of all objects is gone through.
"""
import gc

from cpython.object cimport PyObject
from libc.string cimport memcpy

from tensorlab._core.state.devices cimport ON_CPU
from tensorlab._core.storage cimport WRITABLE, Storage, foreign_storage, release
from tensorlab._core.tensor cimport TensorBase

from tensorlab._core.interop.memory_file import CAN_SHARE, MemoryFile
from tensorlab.errors import MemoryLayoutError, NoDataError


def share_memory_(TensorBase self not None):
    """Move the tensor's storage into shared memory, in place, and return the tensor.

    Whatever is a view of the same storage moves along. A process that is forked from now on, or that the tensor is sent to
    through a queue, a pipe or the arguments of a process, sees what is written here, and the other way round. Calling it
    again changes nothing.

    Raises
    ------
    MemoryLayoutError
        If a NumPy array or a memoryview looks at the memory, which could not follow.
    OSError
        If there is not so much memory.
    NoDataError
        For a tensor on the device "meta".

    >>> import tensorlab
    >>> x = tensorlab.ones(3).share_memory_()
    >>> x.is_shared()
    True
    """
    cdef list seen_by = [self] if (<PyObject*>self.storage_).ob_refcnt == 1 else None
    share(self.storage_, seen_by)
    return self


def is_shared(TensorBase self not None):
    """Is the tensor's memory such that other processes can see it? An empty tensor's is: there is nothing to move.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.zeros(2)
    >>> x.is_shared(), x.share_memory_().is_shared()
    (False, True)
    """
    return self.storage_.device == ON_CPU and (self.storage_.nbytes_ == 0 or isinstance(self.storage_.owner, MemoryFile))


def share_storage(Storage storage not None):
    """Move a storage into shared memory; return its MemoryFile, or None for an empty one."""
    return share(storage, None)


cdef object share(Storage storage, list tensors):
    """Move a storage into shared memory; `tensors` are those over it, None if not known."""
    cdef object file
    cdef char* old
    cdef char* fresh
    cdef TensorBase x
    if storage.device != ON_CPU:
        raise NoDataError("share_memory_: on the device 'meta' there are shapes and no data to share")
    if storage.nbytes_ == 0:
        return None
    if isinstance(storage.owner, MemoryFile):
        return storage.owner
    storage.own()
    if storage.exports > 0:
        raise MemoryLayoutError(f"share_memory_: {storage.exports} array(s) or buffer(s) outside tensorlab look at this "
                                f"memory and can't move with it; delete them or share a clone")
    if not CAN_SHARE:
        raise MemoryLayoutError("share_memory_: this system can't send memory to other processes; send the tensor itself, which "
                                "is copied")
    old = storage.address
    file = MemoryFile.of_size(storage.nbytes_)
    fresh = first_byte(file.map)
    if tensors is None:
        tensors = tensors_over(storage)
    memcpy(fresh, old, storage.nbytes_)
    if storage.owner is None:
        release(old, storage.nbytes_)
    storage.address = fresh
    storage.owner = file
    storage.guard = WRITABLE
    for x in tensors:
        x.data_ = fresh + (x.data_ - old)
    return file


def storage_over(file, Py_ssize_t nbytes):
    """A storage over the first bytes of a MemoryFile that another process has sent."""
    return foreign_storage(first_byte(file.map), nbytes, file, WRITABLE)


cdef char* first_byte(object map) except NULL:
    cdef unsigned char[::1] memory = map
    return <char*>&memory[0]


cdef list tensors_over(Storage storage):
    """All tensors over a storage, those that a graph keeps for backward included.

    Python's collector knows them, but does not list what is frozen.
    """
    cdef list found = []
    cdef object each
    if gc.get_freeze_count() > 0:
        gc.unfreeze()
    for each in gc.get_objects():
        if isinstance(each, TensorBase) and (<TensorBase>each).storage_ is storage:
            found.append(each)
    return found
