"""What every test gets: the same seed for every random stream, printed once at the top."""

import gc
import importlib
import os
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import hypothesis
import pytest

from tests.seeds import SEED, seed_everything

# How fast examples are made and run says something about the machine, not about the code.
hypothesis.settings.register_profile(
    "tensorlab", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("tensorlab")

# Programs that tests start say nothing that they weren't asked for; how long a machine takes is another matter.
os.environ["TENSORLAB_PROGRESS"] = "0"

ROOT = Path(__file__).resolve().parent.parent


def use_the_installed_package():
    """Test the installed tensorlab where the folder beside the tests has sources, but nothing compiled.

    So it is in an unpacked source distribution after `pip install .`.  Programs that tests start find it too.
    """
    compiled = (ROOT / f"tensorlab/_compiled{suffix}" for suffix in EXTENSION_SUFFIXES)
    if not (ROOT / "tensorlab").is_dir() or any(file.exists() for file in compiled):
        return
    path = list(sys.path)
    sys.path[:] = [folder for folder in path if folder and Path(folder) != ROOT]
    try:
        importlib.import_module("tensorlab")
    finally:
        sys.path[:] = path
    os.environ["PYTHONSAFEPATH"] = "1"


use_the_installed_package()
# What is on demand is there from the start: tests of all ops find the same ones in whatever order files are run.
importlib.import_module("tensorlab._on_demand").import_all()


def pytest_report_header(config):
    return f"seed: {SEED} before every test (TENSORLAB_TEST_SEED=n sets another)"


def hide_what_is_there_from_the_collector():
    """Keep what has come to stay, millions of objects, out of the sight of Python's collector.

    Many tests call gc.collect(), and each call would look at all of them; so would every process that is forked.
    """
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish():
    hide_what_is_there_from_the_collector()  # the collected tests


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item, nextitem):
    if nextitem is None or nextitem.path != item.path:
        hide_what_is_there_from_the_collector()  # modules that the file imported, and what they keep


@pytest.fixture
def seed():
    """The seed that all streams start from, for tests that make generators of their own."""
    return SEED


@pytest.fixture(autouse=True)
def every_warning():
    """Let each test have its warnings, also those that a program gets once."""
    from tensorlab._core.state import warning

    warning.state["always"] = True


@pytest.fixture(autouse=True)
def fixed_seeds():
    """Let each test begin at the same place of every random stream."""
    seed_everything()
