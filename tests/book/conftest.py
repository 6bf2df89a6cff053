"""What makes the book stands on packages that come with `make book`."""

from importlib.util import find_spec

NEED_SPHINX = (
    *(
        "api_reference",
        "book_tools",
        "cells_in_pytorch",
        "check_pages",
        "executed_pages",
        "op_pages",
    ),
    *("sidebar", "site"),
)

collect_ignore = [] if find_spec("sphinx") else [f"test_{name}.py" for name in NEED_SPHINX]
