"""Cython's translation of one module to C, where another process can import it.

setup.py is no module that could be imported while pip runs it, so it can't hold what its helper processes call.
"""


def translate(extension, folder, directives, shared):
    """Let Cython translate a module, if it has to; returns its C files, and what they were made of.

    It runs in a process of its own, since Cython is a Python program that keeps one processor busy.
    `shared` names the module with what is the same in all, or is None.
    """
    from Cython.Build import cythonize

    (made,) = cythonize(
        [extension],
        build_dir=folder,
        compiler_directives=directives,
        show_all_warnings=False,
        quiet=True,
        shared_utility_qualified_name=shared,
    )
    return made.sources, made.depends
