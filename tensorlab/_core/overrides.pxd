"""Who is to be asked about a call; for functions that ask for themselves."""

cdef list find_overrides(list arguments, list others)
