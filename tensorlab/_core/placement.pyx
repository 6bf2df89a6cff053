"""The default device, one for each thread, as factories ask for it: is it "meta"?

`with device("meta")` and `set_default_device` set it. A C variable, because every factory looks at it.
"""

cdef extern from *:
    """
    #if defined(_MSC_VER)
    #define TL_THREAD __declspec(thread)
    #else
    #define TL_THREAD __thread
    #endif
    static TL_THREAD int tl_meta_by_default = 0;
    static void tl_set_meta_by_default(int value) { tl_meta_by_default = value; }
    """
    int meta_by_default "tl_meta_by_default"
    void store_default "tl_set_meta_by_default"(int value) noexcept


cdef bint is_meta_by_default() noexcept:
    return meta_by_default


def get_meta_by_default():
    """Does this thread make tensors on "meta" where no device is named?"""
    return <bint>meta_by_default


def set_meta_by_default(bint value):
    """Make it so, or not."""
    store_default(value)
