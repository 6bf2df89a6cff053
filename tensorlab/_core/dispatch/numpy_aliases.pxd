cdef set translates_itself                # functions whose own pointers call own_names

cdef tuple own_names(tuple given, object function)
