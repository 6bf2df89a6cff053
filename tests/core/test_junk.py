"""Nothing that Python code can write ends the interpreter: every compiled class and function is called with nonsense.

The walks run in a process of their own (junk.py), so a crash is a failure here that names the call.
"""

import pytest

from tests.core.junk import findings
from tests.core.junk_walks import extension_classes, name_of


def test_methods_of_compiled_classes_look_at_self():
    """A function of Cython's that binds does not; one that does not bind becomes a method descriptor, which does."""
    unchecked = [
        f"{name_of(cls)}.{name}"
        for cls in extension_classes()
        for name, entry in vars(cls).items()
        if type(entry).__name__ == "cython_function_or_method"
    ]
    assert unchecked == [], (
        "put @cython.binding(False) on these classes (auto_pickle(False) for __reduce_cython__); decision 0031"
    )


@pytest.mark.parametrize("walk", ["wrong_selves", "right_selves", "empty_objects"])
def test_compiled_classes_survive_nonsense(walk):
    assert findings(walk, shares=31) == []


@pytest.mark.parametrize("walk", ["broken_calls", "bad_arguments"])
def test_functions_survive_some_nonsense(walk):
    assert findings(walk, shares=599) == []


@pytest.mark.parametrize("walk", ["changing_ints", "lying_sequences"])
def test_views_lie_within_their_storage_whatever_reading_an_argument_does(walk):
    """Arguments become C numbers before the layout of any tensor is looked at."""
    assert findings(walk, shares=13) == []


@pytest.mark.nightly
@pytest.mark.parametrize(
    "walk",
    [
        *["wrong_selves", "right_selves", "empty_objects", "broken_calls", "bad_arguments"],
        *["changing_ints", "lying_sequences"],
    ],
)
def test_everything_survives_all_nonsense(walk):
    assert findings(walk) == []
