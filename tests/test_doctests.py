"""Every example in a docstring of the package gives what it says, compiled modules included."""

import doctest
import importlib
import re

import pytest

import tensorlab
from tensorlab._finder import all_modules
from tensorlab.errors import MissingExtra

FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def modules():
    """Return the names of all modules of the package."""
    return ["tensorlab", *all_modules()]


def docstrings(module):
    """Yield (name, docstring) of a module, its functions and classes, and their methods."""
    seen = set()

    def visit(name, value, depth):
        text = getattr(value, "__doc__", None)
        if isinstance(text, str) and ">>>" in text and text not in seen:
            seen.add(text)
            yield name, text
        if isinstance(value, type) and depth < 2:
            for key, member in vars(value).items():
                yield from visit(f"{name}.{key}", member, depth + 1)

    yield from visit(module.__name__, module, 0)
    for key, value in vars(module).items():
        if getattr(value, "__module__", None) == module.__name__:
            yield from visit(f"{module.__name__}.{key}", value, 0)


@pytest.mark.parametrize("name", modules())
def test_examples_give_what_they_say(name):
    try:
        module = importlib.import_module(name)
    except MissingExtra as error:
        pytest.skip(str(error))
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    report = []
    for title, text in docstrings(module):
        names = {"tensorlab": tensorlab, "torch": tensorlab, **vars(module)}
        examples = doctest.DocTestParser().get_doctest(text, names, title, None, 0)
        runner.run(examples, out=report.append, clear_globs=False)
    assert runner.failures == 0, re.sub(r"\n{2,}", "\n", "".join(report))


# Base classes that no program makes, and old names of others.
WITHOUT_EXAMPLE = {
    *("Container", "NLLLoss2d", "RNNBase", "RNNCellBase"),
    *("SparseAdam", "_LRScheduler"),  # gradients are dense here, so it always refuses
}


@pytest.mark.parametrize(
    "package", ["nn", "optim", "optim.lr_scheduler", "optim.swa_utils", "utils.data"]
)
def test_every_class_that_a_program_makes_has_an_example(package):
    module = importlib.import_module(f"tensorlab.{package}")
    classes = [getattr(module, name) for name in module.__all__]
    bare = {
        one.__name__
        for one in classes
        if isinstance(one, type) and ">>>" not in (one.__doc__ or "")
    }
    assert bare <= WITHOUT_EXAMPLE


def test_every_name_of_multiprocessing_says_what_it_does():
    shared = tensorlab.multiprocessing
    # Classes and a module of Python's; the text at the top of ours describes them.
    pythons = [
        "AuthenticationError",
        "BufferTooShort",
        "Process",
        "ProcessError",
        "TimeoutError",
        "reducer",
    ]
    bare = [name for name in shared.__all__ if not (getattr(shared, name).__doc__ or "").strip()]
    assert set(bare) <= set(pythons)
    assert all(name in shared.__doc__ for name in pythons if name != "reducer")
