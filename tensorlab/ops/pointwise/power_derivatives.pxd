"""All derivatives of x ** y, by both operands."""

cdef object derivative_of_power(object x, object exponent, int k, int n)
