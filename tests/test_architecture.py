"""The folders are the architecture: no module imports from above, and every module has its place.

The order is declared in tests/layers.toml.  Imports are read from the text of every .py, .pyx and
.pxd file, those inside of functions included: a late import is still a dependency.
"""

import ast
import re
import tomllib
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
PACKAGE = TESTS.parent / "tensorlab"
IMPORT = re.compile(
    r"^[ \t]*(?:from\s+(?P<source>[.\w]+)\s+c?import\s*(?P<names>\([^)]*\)|[^\n#]+)"
    r"|c?import\s+(?P<modules>[^\n#]+))",
    re.MULTILINE,
)
STRING = re.compile(r'"""(?:.|\n)*?"""|' + r"'''(?:.|\n)*?'''")


def load_order(path=TESTS / "layers.toml"):
    """Return every declared module's full name, lowest first."""
    layers = tomllib.loads(path.read_text(encoding="utf-8"))["layer"]
    names = [name for layer in layers for name in layer["modules"]]
    return ["tensorlab" if name == "__init__" else f"tensorlab.{name}" for name in names]


def source_files(package=PACKAGE):
    suffixes = {".py", ".pyx", ".pxd"}
    return sorted(path for path in package.rglob("*") if path.suffix in suffixes)


def module_name(path, package=PACKAGE):
    """Return the dotted name of a source file; a package's __init__ has the package's name."""
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_names(text, module, is_package, is_python):
    """Return every dotted name under tensorlab that the source `text` of `module` imports.

    `from tensorlab.ops import tanh` yields tensorlab.ops.tanh: the caller decides what is a module.
    """
    parent = module if is_package else module.rpartition(".")[0]
    found = []

    def add_from(source, names):
        dots = len(source) - len(source.lstrip("."))
        if dots:
            parts = parent.split(".")
            base = ".".join(parts[: len(parts) - dots + 1])
            source = ".".join(filter(None, (base, source.lstrip("."))))
        found.extend(f"{source}.{name}" for name in names)

    if is_python:
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                found.extend(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                source = "." * node.level + (node.module or "")
                add_from(source, [alias.name for alias in node.names])
    else:
        for match in IMPORT.finditer(STRING.sub("", text)):
            if match["source"]:
                names = re.sub(r"#[^\n]*|[()]", "", match["names"]).split(",")
                add_from(match["source"], [name.split()[0] for name in names if name.strip()])
            else:
                found.extend(name.split()[0] for name in match["modules"].split(","))
    return [name for name in found if name == "tensorlab" or name.startswith("tensorlab.")]


def innermost_module(name, modules):
    """Return the module that the imported `name` lives in: the longest prefix that is one."""
    while name not in modules and "." in name:
        name = name.rpartition(".")[0]
    return name


def upward_imports(order, files, package=PACKAGE):
    """Return one sentence for every import that points upwards."""
    rank = {name: position for position, name in enumerate(order)}
    modules = {module_name(path, package) for path in files} | set(order)
    problems = []
    for path in files:
        module = module_name(path, package)
        names = imported_names(
            path.read_text(encoding="utf-8"),
            module,
            is_package=path.stem == "__init__",
            is_python=path.suffix == ".py",
        )
        for target in sorted({innermost_module(name, modules) for name in names}):
            known = module in rank and target in rank
            if known and target != module and rank[target] > rank[module]:
                problems.append(f"{path.relative_to(package.parent)} imports {target} from above")
    return problems


def test_every_module_is_declared_once():
    order = load_order()
    existing = {module_name(path) for path in source_files()} | {"tensorlab._build_info"}
    # A package's empty __init__ needs no place of its own: nothing is in it to import.
    empty = {
        module_name(path)
        for path in source_files()
        if path.stem == "__init__" and not path.read_text(encoding="utf-8").strip()
    }
    assert sorted(existing - set(order) - empty) == [], "not in tests/layers.toml"
    assert sorted(set(order) - existing) == [], "in tests/layers.toml, but there is no such file"
    assert len(order) == len(set(order)), "a module stands twice in tests/layers.toml"


def test_no_module_imports_from_above():
    assert upward_imports(load_order(), source_files()) == []


def test_the_folders_of_the_core_stand_one_after_another():
    """So a folder imports only from those before it."""
    order = [name.split(".") for name in load_order()]
    folders = [name[2] for name in order if name[1:2] == ["_core"] and len(name) > 3]
    runs = [folder for i, folder in enumerate(folders) if i == 0 or folders[i - 1] != folder]
    assert len(runs) == len(set(runs)), runs


def test_the_core_and_the_ops_import_no_array_library_but_in_arrays():
    allowed = {"tensorlab._core.interop.arrays"}
    for path in source_files(PACKAGE):
        if module_name(path).startswith("tensorlab._core") and module_name(path) not in allowed:
            text = STRING.sub("", path.read_text(encoding="utf-8"))
            assert not re.search(r"^\s*(?:from|import|cimport)\s+numpy\b", text, re.M), path.name


def test_the_package_never_imports_pytorch():
    for path in source_files():
        text = STRING.sub("", path.read_text(encoding="utf-8"))
        assert not re.search(r"^\s*(?:from|import|cimport)\s+torch\b", text, re.M), path.name


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("low.pyx", "from tensorlab.high cimport f\n"),
        ("low.pxd", "cimport tensorlab.high as h\n"),
        ("low.py", "def late():\n    from tensorlab import high\n"),
        ("low.py", "from .high import f\n"),
        ("low.pyx", "from tensorlab.high import (\n    f,  # why\n    g,\n)\n"),
    ],
)
def test_an_import_from_above_is_found_in_every_spelling(tmp_path, name, text):
    package = tmp_path / "tensorlab"
    package.mkdir()
    (package / "high.py").write_text("")
    (package / name).write_text(text)
    order = ["tensorlab.low", "tensorlab.high", "tensorlab"]
    files = source_files(package)
    assert upward_imports(order, files, package) == [
        f"tensorlab/{name} imports tensorlab.high from above"
    ]
    assert upward_imports(order[1::-1] + order[2:], files, package) == []
