"""Who is to be asked about a call; for functions that ask for themselves."""

cdef list heard_by(list arguments, list others)
