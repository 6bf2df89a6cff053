"""A number that stands for the settings of the process, for guards."""

cdef long settings_number() noexcept
