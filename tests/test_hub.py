"""hub: models from a folder, and a clear word for what would be downloaded."""

import sys

import pytest

import tensorlab
from tensorlab import hub
from tests.oracle import require_torch

HUBCONF = """
import math
from helper_of_the_hub import width

dependencies = ["numpy"]


def small(n=width, *, bias=True):
    \"\"\"A small model.\"\"\"
    import helper_of_the_hub

    return n * 2, bias, helper_of_the_hub.width


def _hidden():
    pass


class Large:
    \"\"\"A large one.\"\"\"
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "hubconf.py").write_text(HUBCONF, encoding="utf-8")
    (tmp_path / "helper_of_the_hub.py").write_text("width = 7", encoding="utf-8")
    yield tmp_path
    sys.modules.pop("helper_of_the_hub", None)


def test_entries_are_called_as_by_pytorch(folder):
    before, torch = list(sys.path), require_torch()
    for package in (tensorlab, torch):
        load = package.hub.load
        assert load(str(folder), "small", source="local") == (14, True, 7)
        assert load(folder, "small", 3, source="LOCAL", bias=False) == (6, False, 7)
        with pytest.raises(RuntimeError, match="Cannot find callable large in hubconf"):
            load(folder, "large", source="local")
        with pytest.raises(ValueError, match="source"):
            load(folder, "small", source="web")
        with pytest.raises(ValueError, match="str"):
            load(folder, 3, source="local")
    assert sys.path == before


def test_entries_are_listed_and_explained(folder):
    assert hub.list(folder) == ["Large", "small"]
    assert hub.help(folder, "small") == "A small model."
    assert hub.help(folder, "Large") == "A large one."
    with pytest.raises(
        RuntimeError, match="Cannot find callable _hidden in hubconf.py; it has small, Large"
    ):
        hub.load(folder, "_hidden", source="local")
    with pytest.raises(RuntimeError, match="Cannot find callable dependencies"):
        hub.help(folder, "dependencies")


def test_what_needs_the_network_says_so(tmp_path):
    with pytest.raises(
        NotImplementedError, match="'user/models' would be downloaded.*source='local'"
    ):
        hub.load("user/models", "small")
    before = list(sys.path)
    for call in (lambda: hub.list("user/models"), lambda: hub.help(tmp_path, "small")):
        with pytest.raises(FileNotFoundError, match="has no hubconf.py; expected a local folder"):
            call()
    assert sys.path == before


def test_missing_dependencies_are_named(folder):
    text = HUBCONF.replace('["numpy"]', '["numpy", "no_such_module", "nor_this"]')
    (folder / "hubconf.py").write_text(text, encoding="utf-8")
    with pytest.raises(RuntimeError, match="Missing dependencies: no_such_module, nor_this"):
        hub.load(folder, "small", source="local")


def test_an_error_in_the_file_comes_out(folder):
    (folder / "hubconf.py").write_text("1 / 0", encoding="utf-8")
    before = list(sys.path)
    with pytest.raises(ZeroDivisionError):
        hub.list(folder)
    assert sys.path == before


def test_a_folder_goes_before_other_places(folder, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    (other / "helper_of_the_hub.py").write_text("width = 100", encoding="utf-8")
    sys.path.insert(0, str(other))
    try:
        assert hub.load(folder, "small", source="local")[0] == 14
    finally:
        sys.path.remove(str(other))
