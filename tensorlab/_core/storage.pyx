"""Storage: bytes with an owner, and the allocator that makes them cheap.

Where a block comes from, by size:

    0 bytes            nowhere: the address is NULL
    up to 1 KiB        a list of free blocks for each multiple of 64 bytes; making a small tensor is mostly this
    up to 64 KiB       the C library
    above              a cache of freed blocks by size class, else the C library, with huge pages from 2 MiB up

The cache is there because a fresh large block is expensive: the kernel maps and clears it page by page at the first write,
which for 40 MB takes four times as long as an addition. The C library has a cache of its own, but not for what lies at the end
of its heap: 192 KiB that a loop makes and drops were fresh pages each time, and took six times as long to fill. Size classes are
8 to a doubling, so at most 1/8 is wasted; only from 2 to 16 MiB, where a class is a whole huge page, it can be almost half.

Everything here runs under the GIL, which is its lock; a forked child inherits a consistent state. Kernels never allocate.
Leaves out: pools per thread, pinned memory.
"""
cimport cython
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from tensorlab._core.state.devices cimport (
    FIRST_OF_OTHERS, MAX_DEVICES, ON_CPU, ON_META, SHELL, device_name, memory_on
)
from tensorlab._core.state.devices cimport read_memory, write_memory

from tensorlab._core.device import device_of_code
from tensorlab.errors import AllocationError, DeviceError, MemoryLayoutError, NoDataError

cdef extern from *:
    """
    #include <stdlib.h>
    #if defined(__linux__)
    #include <sys/mman.h>
    static void tl_ask_for_huge_pages(void* p, size_t n) { madvise(p, n, MADV_HUGEPAGE); }   /* only a hint */
    #else
    static void tl_ask_for_huge_pages(void* p, size_t n) { (void)p; (void)n; }
    #endif

    /* under the address sanitizer (make debug) the rest of a block and the blocks kept for later must not be touched */
    #if defined(__SANITIZE_ADDRESS__)
    #include <sanitizer/asan_interface.h>
    #else
    #define ASAN_POISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
    #define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
    #endif
    """
    void forbid "ASAN_POISON_MEMORY_REGION"(const void* p, size_t n) noexcept nogil
    void allow "ASAN_UNPOISON_MEMORY_REGION"(const void* p, size_t n) noexcept nogil
    void tl_ask_for_huge_pages(void*, size_t) noexcept nogil
    void* aligned_alloc(size_t alignment, size_t size) noexcept nogil
    int count_leading_zeros "__builtin_clzl"(unsigned long) noexcept nogil

cdef enum:
    LINE = 64                       # bytes of a cache line; every block starts on one
    SMALL = 1024                    # up to here: free lists
    SMALL_CLASSES = 17
    SMALL_KEPT = 512                # free blocks kept for each small size
    LARGE = 65536                   # from here: the cache
    HUGE_PAGE = 2097152

cdef struct FreeBlock:              # a free small block holds the address of the next one
    FreeBlock* next

cdef struct Statistics:
    size_t allocated                # bytes in use, as rounded up
    size_t peak
    size_t cached                   # bytes in the cache of large blocks
    size_t cache_limit
    unsigned long allocations       # blocks given out since the start
    unsigned long cache_hits

cdef FreeBlock* small_blocks[SMALL_CLASSES]
cdef int[SMALL_CLASSES] small_counts
cdef Statistics statistics
cdef dict cache = {}                # bytes of a size class: list of addresses
statistics.cache_limit = 1 << 30


# ---------------------------------------------------------------- allocate and release
cdef inline size_t block_size(size_t nbytes) noexcept nogil:
    """Round up to what is really taken."""
    cdef size_t unit = LINE
    if nbytes >= LARGE:
        # an eighth of the largest power of two that is not above nbytes
        unit = <size_t>1 << (63 - 3 - count_leading_zeros(nbytes))
        if nbytes >= HUGE_PAGE and unit < HUGE_PAGE:
            unit = HUGE_PAGE
    return (nbytes + unit - 1) & ~(unit - 1)


cdef void* allocate(size_t nbytes) noexcept:
    """A block of at least `nbytes`, aligned to a cache line; NULL for 0 bytes or on failure."""
    cdef size_t size = block_size(nbytes)
    cdef FreeBlock* block
    cdef void* address
    if size <= SMALL:
        if nbytes == 0:
            return NULL
        block = small_blocks[size // LINE]
        if block != NULL:
            allow(block, sizeof(FreeBlock))
            small_blocks[size // LINE] = block.next
            small_counts[size // LINE] -= 1
            address = block
        else:
            address = aligned_alloc(LINE, size)
    elif size < LARGE:
        address = aligned_alloc(LINE, size)
    else:
        address = allocate_large(size)
    if address != NULL:
        allow(address, nbytes)
        forbid(<char*>address + nbytes, size - nbytes)
        statistics.allocations += 1
        statistics.allocated += size
        if statistics.allocated > statistics.peak:
            statistics.peak = statistics.allocated
    return address


cdef void* allocate_large(size_t size) noexcept:
    cdef list blocks = cache.get(size)
    cdef void* address
    if blocks:
        statistics.cached -= size
        statistics.cache_hits += 1
        return <void*><size_t>blocks.pop()
    if size > <size_t>1 << 62:
        return NULL
    address = aligned_alloc(HUGE_PAGE if size >= HUGE_PAGE else LINE, size)
    if address == NULL:                             # empty the cache, then try once more
        empty_cache()
        address = aligned_alloc(HUGE_PAGE if size >= HUGE_PAGE else LINE, size)
    if address != NULL and size >= HUGE_PAGE:
        tl_ask_for_huge_pages(address, size)
    return address


cdef void release(void* address, size_t nbytes) noexcept:
    """Take back a block that `allocate(nbytes)` gave."""
    cdef size_t size = block_size(nbytes)
    cdef FreeBlock* block = <FreeBlock*>address
    if address == NULL:
        return
    statistics.allocated -= size
    if size <= SMALL and small_counts[size // LINE] < SMALL_KEPT:
        allow(block, size)
        block.next = small_blocks[size // LINE]
        small_blocks[size // LINE] = block
        small_counts[size // LINE] += 1
        forbid(block, size)
    elif size >= LARGE and statistics.cached + size <= statistics.cache_limit:
        cache.setdefault(size, []).append(<size_t>address)
        forbid(address, size)
        statistics.cached += size
    else:
        free(address)


# ---------------------------------------------------------------- who watches
# While a history is recorded (cpu/memory.py): watcher(address, bytes), negative when they are given back.
cdef object watcher = None
cdef size_t memory_limit = 0            # bytes that may be in use; 0: as many as there are
cdef object explain_limit = None        # a function that writes the message for a request that goes beyond it


def watch_memory(function):
    """Let a function hear of each block of a storage; None ends it."""
    global watcher
    if function is not None and not callable(function):
        raise TypeError(f"watch_memory: expected a function or None, not {type(function).__name__}")
    watcher = function


def set_memory_limit(Py_ssize_t nbytes, explain):
    """Let an allocation beyond so many bytes fail with what explain(nbytes) says; 0 for no limit."""
    global memory_limit, explain_limit
    memory_limit, explain_limit = nbytes, explain


def get_memory_limit():
    return memory_limit


def empty_cache():
    """Give all cached blocks back to the system. Live tensors are not touched.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.empty_cache()
    """
    cdef size_t address
    cdef FreeBlock* block
    cdef int k
    for blocks in cache.values():
        for address in blocks:
            free(<void*>address)
    cache.clear()
    statistics.cached = 0
    for k in range(SMALL_CLASSES):
        while small_blocks[k] != NULL:
            block = small_blocks[k]
            allow(block, sizeof(FreeBlock))
            small_blocks[k] = block.next
            free(block)
        small_counts[k] = 0


def memory_stats():
    """What the allocator has done, as a dict.

    Returns
    -------
    dict of int
        allocated_bytes, peak_bytes (blocks in use now, and the most there ever were; sizes as rounded up), cached_bytes,
        cache_limit_bytes, allocations (blocks given out since the start), cache_hits (large ones that came from the cache).

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.zeros(1000)
    >>> tensorlab.memory_stats()["allocated_bytes"] >= x.nbytes
    True
    """
    return {"allocated_bytes": statistics.allocated, "peak_bytes": statistics.peak, "cached_bytes": statistics.cached,
            "cache_limit_bytes": statistics.cache_limit, "allocations": statistics.allocations,
            "cache_hits": statistics.cache_hits}


def reset_peak_memory_stats():
    """Let `peak_bytes` of `memory_stats()` start again from what is in use now.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.reset_peak_memory_stats()
    """
    statistics.peak = statistics.allocated


def set_cache_limit(Py_ssize_t nbytes):
    """Keep at most `nbytes` bytes of freed large blocks (1 GiB unless set)."""
    if nbytes < 0:
        raise ValueError(f"set_cache_limit: a number of bytes of at least 0 is needed, not {nbytes}")
    statistics.cache_limit = nbytes
    if statistics.cached > statistics.cache_limit:
        empty_cache()


# ---------------------------------------------------------------- storage
@cython.final
@cython.freelist(256)
@cython.no_gc                   # an owner of memory is not expected to refer back; 15 ns for each tensor
@cython.binding(False)
cdef class Storage:
    """Bytes with an owner: what tensors are views of. Public as `UntypedStorage`.

    The bytes are our own, or someone else's (a NumPy array's, a buffer's), kept alive as long as the storage lives. A
    storage on the device "meta" has a size and no bytes; on a registered device its owner is what stands for them there.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.arange(3)
    >>> x.untyped_storage().size(), x[1:].untyped_storage().data_ptr() == x.data_ptr()
    (24, True)
    """

    def __cinit__(self):
        self.address = NULL

    def __dealloc__(self):
        if self.owner is None and self.address != NULL:
            if watcher is not None:
                watcher(<size_t>self.address, -<Py_ssize_t>block_size(self.nbytes_))
            release(self.address, self.nbytes_)

    def __len__(self):
        return self.nbytes_

    def nbytes(self):
        """Size in bytes."""
        return self.nbytes_

    def size(self):
        """Size in bytes."""
        return self.nbytes_

    def data_ptr(self):
        """Address of the first byte, for reading and writing; 0 for an empty storage."""
        self.own()
        return <size_t>self.address

    def element_size(self):
        """1: a storage knows bytes, not elements."""
        return 1

    @property
    def is_foreign(self):
        """True if the bytes belong to another object, such as a NumPy array."""
        return self.owner is not None and self.guard != BORROWED and self.device == ON_CPU

    def __getitem__(self, Py_ssize_t i):
        if not -self.nbytes_ <= i < self.nbytes_:
            raise IndexError(f"storage: byte {i} of {self.nbytes_} does not exist")
        self.check_memory("storage")
        return (<unsigned char*>self.address)[i if i >= 0 else i + self.nbytes_]

    def tolist(self):
        """The bytes as a list of ints."""
        self.check_memory("tolist")
        return [(<unsigned char*>self.address)[i] for i in range(self.nbytes_)]

    def copy_(self, Storage source not None):
        """Copy the bytes of a storage of the same size into this one."""
        if source.nbytes_ != self.nbytes_:
            raise MemoryLayoutError(f"copy_: the storages have {self.nbytes_} and {source.nbytes_} bytes; "
                                    f"they must be equal")
        self.check_writable("copy_")
        if self.device == ON_META:
            return self
        if source.device != ON_CPU:
            source = fetched(source)
        if self.device != ON_CPU:
            send(self, source)
        else:
            memcpy(self.address, source.address, self.nbytes_)
        return self

    def clone(self):
        """A new storage with the same bytes."""
        return storage_on(self.device, self.nbytes_).copy_(self)

    def resize_(self, Py_ssize_t nbytes):
        """Change the number of bytes, keeping those that fit.

        The block stays where it is, because tensors know its address: it can grow up to what the allocator rounded it up to.

        Raises
        ------
        MemoryLayoutError
            If the block would have to move, the bytes are foreign, or another object (a NumPy array, a memoryview) looks
            at them.
        """
        self.own()
        if nbytes >= 0 and self.owner is None and self.exports == 0:
            if self.device == ON_CPU and block_size(nbytes) != block_size(self.nbytes_):
                raise MemoryLayoutError(f"resize_: the storage of {self.nbytes_} bytes cannot become one of {nbytes}: it would "
                                        f"have to move, and tensors know its address. Make a new tensor")
            if self.device == ON_CPU:
                allow(self.address, nbytes)
                forbid(self.address + nbytes, block_size(nbytes) - nbytes)
            if nbytes > self.nbytes_ and self.device == ON_CPU:
                memset(self.address + self.nbytes_, 0, nbytes - self.nbytes_)
            self.nbytes_ = nbytes
        else:
            self.resize(nbytes)
        return self

    def check_writable(self, str where):
        """Raise if the bytes are read-only; copy them if they are shared with a lazy clone."""
        if self.guard == READ_ONLY:
            raise MemoryLayoutError(f"{where}: the tensor's memory is read-only (it belongs to another object); clone it first")
        self.own()

    def check_memory(self, str where):
        """Raise if there are no bytes to be read here."""
        if self.device == ON_META:
            raise NoDataError(f"{where}: on the device 'meta' there are shapes and no data")
        if self.device & SHELL:
            refuse_shell()
        if self.device != ON_CPU:
            raise DeviceError(f"{where}: the bytes are on {device_name(self.device)!r}; copy them with to('cpu') first")

    def __getattr__(self, str name):
        if name == "device":            # Python's attribute: the C field of that name is a code
            return device_of_code(self.device & ~SHELL)
        raise AttributeError(f"UntypedStorage has no attribute {name!r}")

    def cpu(self):
        """The storage, or a copy of it on the cpu."""
        return self if self.device == ON_CPU else new_storage(self.nbytes_).copy_(self)

    @property
    def is_meta(self):
        """True if it has a size and no bytes."""
        return self.device == ON_META

    cdef int own(self) except -1:
        """Share the bytes with no lazy clone any more."""
        if self.guard > READ_ONLY:
            end_sharing(self)
        return 0

    cdef int resize(self, Py_ssize_t nbytes) except -1:
        cdef void* address
        cdef Py_ssize_t kept = min(nbytes, self.nbytes_)
        if nbytes < 0:
            raise MemoryLayoutError(f"resize_: {nbytes} bytes asked for; it must be at least 0")
        if nbytes == self.nbytes_:
            return 0
        self.own()
        if self.owner is not None:
            raise MemoryLayoutError("resize_: the memory belongs to another object and cannot be resized; clone it")
        if self.exports > 0:
            raise MemoryLayoutError(f"resize_: {self.exports} array(s) or buffer(s) outside tensorlab look at this "
                                    f"memory; delete them or clone the tensor first")
        if self.device != ON_CPU:           # on meta, or a shell's; of others the owner is another object
            self.nbytes_ = nbytes
            return 0
        address = allocate(nbytes)
        if address == NULL and nbytes > 0:
            raise AllocationError(f"cannot allocate {nbytes} bytes")
        if kept > 0:
            memcpy(address, self.address, kept)
        if nbytes > kept:
            memset(<char*>address + kept, 0, nbytes - kept)
        release(self.address, self.nbytes_)
        self.address = <char*>address
        self.nbytes_ = nbytes
        return 0

    def __repr__(self):
        kind = ", foreign" if self.is_foreign else f" on {device_name(self.device)}" if self.device != ON_CPU else ""
        return f"<UntypedStorage of {self.nbytes_} bytes{kind}>"

cdef object end_sharing = None              # ops/lazy_clone.pyx hands it down, which knows the tensors over a storage


def set_end_sharing(function):
    """Take the function that gives a storage bytes of its own."""
    global end_sharing
    end_sharing = function


cdef Storage new_storage(Py_ssize_t nbytes):
    """Fresh bytes; their values are whatever was there."""
    cdef Storage storage = Storage.__new__(Storage)
    if nbytes > 0:
        if memory_limit and statistics.allocated + block_size(nbytes) > memory_limit:
            raise AllocationError(explain_limit(nbytes))
        storage.address = <char*>allocate(nbytes)
        if storage.address == NULL:
            raise AllocationError(f"cannot allocate {nbytes} bytes: the machine has not that much memory")
        if watcher is not None:
            watcher(<size_t>storage.address, <Py_ssize_t>block_size(nbytes))
    storage.nbytes_ = nbytes
    return storage


cdef Storage storage_on(int device, Py_ssize_t nbytes):
    """Fresh bytes on a device. Only on the cpu they have an address, so code that reads or writes asks first (memory_of)."""
    cdef Storage storage
    if device == ON_CPU:
        return new_storage(nbytes)
    if device & SHELL:
        refuse_shell()
    storage = Storage.__new__(Storage)
    storage.nbytes_ = nbytes
    storage.device = device
    if device >= FIRST_OF_OTHERS:
        storage.owner = memory_on(device, nbytes)
    return storage


def new_meta_storage(Py_ssize_t nbytes):
    """A storage on the device "meta". Pickles are put together with it."""
    return storage_on(ON_META, nbytes)


cdef Storage shell_storage(int device, Py_ssize_t nbytes):
    """What stands for the memory of a wrapper: it says on which device the tensor is, and has no bytes."""
    cdef Storage storage = Storage.__new__(Storage)
    storage.nbytes_ = nbytes
    storage.device = device if device == ON_META else device | SHELL
    return storage


cdef int refuse_shell() except -1:
    raise NoDataError("a kernel was given a wrapper, a tensor that holds others and has no memory itself; the layer of its class "
                      "must pass on what it holds instead (see handle_class)")


cdef PyObject* pending[SHELL + MAX_DEVICES]     # by code, those of shells included

cdef Storage pending_storage(int device):
    """What stands for the memory of a result of which only the layout is known yet: it says on which device it will be."""
    return <Storage>pending[device]


cdef int make_pending() except -1:
    cdef Storage storage
    cdef int device
    for device in range(SHELL + MAX_DEVICES):
        storage = Storage.__new__(Storage)
        storage.device, storage.is_pending = device, True
        Py_INCREF(storage)                      # kept for good
        pending[device] = <PyObject*>storage
    return 0

make_pending()


# ---------------------------------------------------------------- from device to device
cdef Storage fetched(Storage storage):
    """The same bytes on the cpu: the storage itself if it is there."""
    cdef Storage here
    if storage.device == ON_CPU:
        return storage
    if storage.device == ON_META:
        raise NoDataError("on the device 'meta' there are shapes and no data that could be copied to another device")
    if storage.device & SHELL:
        refuse_shell()
    here = new_storage(storage.nbytes_)
    read_memory(storage.device, storage.owner, here.address, storage.nbytes_)
    return here


cdef int send(Storage storage, Storage source) except -1:
    """Write the bytes of a storage on the cpu to one on a registered device, as many as it has."""
    if storage.device & SHELL:
        refuse_shell()
    return write_memory(storage.device, storage.owner, source.address, storage.nbytes_)


cdef Storage foreign_storage(void* address, Py_ssize_t nbytes, object owner, int guard):
    """Bytes of another object, which lives at least as long."""
    cdef Storage storage = Storage.__new__(Storage)
    storage.address = <char*>address
    storage.nbytes_ = nbytes
    storage.owner = owner
    storage.guard = guard
    return storage


empty_storage = new_storage(0)
