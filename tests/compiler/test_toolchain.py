"""The toolchain finds a compiler, runs it once for all kernels, and says clearly what went wrong where it fails."""

import ctypes
import re
import stat
import sys
import time
from pathlib import Path

import pytest

from tensorlab import _build_info
from tensorlab.compiler import disk_cache, toolchain

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import build_flags  # noqa: E402

TEMPLATE = """void {name}(void *const *tensors, const int64_t *numbers, int64_t begin, int64_t end) {{
    int64_t *out = tensors[0];
    for (int64_t i = begin; i < end; i++) out[i] = {value} + numbers[0];
}}
"""


def source(name, value=7):
    return '#include "tl_math.h"\n' + TEMPLATE.format(name=name, value=value)


def value_at(address):
    """What such a kernel writes, with 100 as its number."""
    out, numbers = (ctypes.c_int64 * 1)(), (ctypes.c_int64 * 1)(100)
    tensors = (ctypes.c_void_p * 1)(ctypes.addressof(out))
    kernel = ctypes.CFUNCTYPE(
        None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64
    )
    kernel(address)(ctypes.addressof(tensors), ctypes.addressof(numbers), 0, 1)
    return out[0]


@pytest.fixture(autouse=True)
def fresh(tmp_path, monkeypatch):
    """An empty cache, and a process that has loaded nothing."""
    monkeypatch.setenv("TENSORLAB_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(toolchain, "loaded", {})
    toolchain.found_compiler.cache_clear()
    yield
    toolchain.found_compiler.cache_clear()


def fake_compiler(tmp_path, script, name="fakecc"):
    """A program that stands in for a compiler."""
    path = tmp_path / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def test_all_kernels_are_compiled_by_one_run(monkeypatch):
    runs = []
    real = toolchain.run
    monkeypatch.setattr(toolchain, "run", lambda command: runs.append(command) or real(command))
    addresses = toolchain.load([source("one", 1), source("two", 2), source("one", 1)])
    assert [value_at(addresses[name]) for name in ("one", "two")] == [101, 102]
    assert len(runs) == 1


def test_what_was_compiled_before_is_not_compiled_again(monkeypatch):
    first = toolchain.load([source("again")])
    monkeypatch.setattr(toolchain, "run", None)
    assert toolchain.load([source("again")]) == first
    assert toolchain.load([source("again").replace("{", "{  /* of other sizes */", 1)]) == first
    monkeypatch.setattr(toolchain, "loaded", {})  # as another process
    assert value_at(toolchain.load([source("again")])["again"]) == 107


def test_only_kernels_that_are_new_are_compiled(monkeypatch):
    texts, real = [], toolchain.compile_text

    def compile_text(text, *others):
        texts.append(text)
        return real(text, *others)

    monkeypatch.setattr(toolchain, "compile_text", compile_text)
    first = toolchain.load([source("one", 1)])
    both = toolchain.load([source("two", 2), source("one", 1)])
    assert both["one"] == first["one"]
    assert value_at(both["two"]) == 102
    assert texts == [source("one", 1), source("two", 2)]


def test_no_kernels_need_no_compiler(monkeypatch):
    monkeypatch.setenv("TENSORLAB_CC", "/nowhere/cc")
    assert toolchain.load([]) == {}


def test_two_sources_with_one_name_are_refused():
    with pytest.raises(ValueError, match="a kernel named twice"):
        toolchain.load([source("once", 1), source("twice", 1), source("twice", 2)])


@pytest.mark.parametrize("number", ["flags", "headers", "compiler", "processor"])
def test_the_key_depends_on_everything_that_makes_the_code(monkeypatch, number, tmp_path):
    toolchain.load([source("key")])
    if number == "flags":
        monkeypatch.setattr(toolchain, "FLAGS", [*toolchain.FLAGS, "-DONE"])
    elif number == "headers":
        monkeypatch.setattr(toolchain, "headers_text", lambda: "other")
    elif number == "processor":
        monkeypatch.setattr(toolchain, "processor", lambda: "other")
    else:
        program = toolchain.find_compiler().command[0]
        monkeypatch.setenv("TENSORLAB_CC", fake_compiler(tmp_path, f'exec {program} "$@"'))
    toolchain.load([source("key")])
    assert len(list(disk_cache.folder().glob("*.kernels"))) == 2


def test_the_named_compiler_comes_first_and_may_have_arguments(monkeypatch, tmp_path):
    program = toolchain.find_compiler().command[0]
    mark = tmp_path / "mark"
    script = fake_compiler(tmp_path, f'echo "$1" > {mark}\nshift\nexec {program} "$@"')
    monkeypatch.setenv("TENSORLAB_CC", f"{script} first")
    assert value_at(toolchain.load([source("named")])["named"]) == 107
    assert mark.read_text() == "first\n"


@pytest.mark.parametrize("present", ["cc", "gcc", "clang"])
def test_each_usual_name_is_found(monkeypatch, tmp_path, present):
    monkeypatch.delenv("TENSORLAB_CC", raising=False)
    path = fake_compiler(tmp_path, "exit 0", present)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert toolchain.find_compiler().command == (path,)


def test_cc_comes_before_gcc_and_gcc_before_clang(monkeypatch, tmp_path):
    monkeypatch.delenv("TENSORLAB_CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("clang", "gcc", "cc"):
        path = fake_compiler(tmp_path, "exit 0", name)
        assert toolchain.find_compiler().command == (path,)
        toolchain.found_compiler.cache_clear()


def test_ziglang_is_the_last_resort(monkeypatch, tmp_path):
    monkeypatch.delenv("TENSORLAB_CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    package = tmp_path / "ziglang"
    package.mkdir()
    (package / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    compiler = toolchain.find_compiler()
    assert compiler.command == (sys.executable, "-m", "ziglang", "cc")
    assert f"-mcpu={_build_info.march}" in toolchain.flags_for(compiler)


def test_a_machine_without_a_compiler_gets_told_what_to_install(monkeypatch, tmp_path):
    monkeypatch.delenv("TENSORLAB_CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(toolchain.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(toolchain.NoCompiler, match="none of cc, gcc and clang .* apt install gcc"):
        toolchain.load([source("none")])


def test_a_named_compiler_that_does_not_exist_is_named_in_the_error(monkeypatch):
    monkeypatch.setenv("TENSORLAB_CC", "/nowhere/cc -m64")
    with pytest.raises(toolchain.NoCompiler, match=re.escape("TENSORLAB_CC is '/nowhere/cc -m64'")):
        toolchain.load([source("none")])


def test_an_error_of_the_compiler_is_shown(monkeypatch):
    with pytest.raises(toolchain.CompilerFailed, match=r"(?s)ended with status 1.*nonsense"):
        toolchain.load([source("broken", "nonsense")])
    assert issubclass(toolchain.CompilerFailed, RuntimeError)
    assert not list(disk_cache.folder().iterdir())


def test_a_compiler_that_makes_nothing_has_failed(monkeypatch, tmp_path):
    monkeypatch.setenv("TENSORLAB_CC", fake_compiler(tmp_path, "exit 0"))
    with pytest.raises(toolchain.CompilerFailed, match="made nothing"):
        toolchain.load([source("nothing")])


def test_a_compiler_that_makes_no_library_has_failed(monkeypatch, tmp_path):
    script = 'while [ "$1" != -o ]; do shift; done; echo nonsense > "$2"'
    monkeypatch.setenv("TENSORLAB_CC", fake_compiler(tmp_path, script))
    with pytest.raises(toolchain.CompilerFailed, match="cannot be loaded"):
        toolchain.load([source("nonsense")])
    assert not list(disk_cache.folder().iterdir())


def test_a_compiler_that_hangs_is_stopped_with_its_children(monkeypatch, tmp_path):
    mark = tmp_path / "alive"
    script = f"(sleep 3; touch {mark}) &\nsleep 60"
    monkeypatch.setenv("TENSORLAB_CC", fake_compiler(tmp_path, script))
    monkeypatch.setenv("TENSORLAB_CC_TIMEOUT", "0.3")
    start = time.monotonic()
    with pytest.raises(toolchain.CompilerTimeout, match=r"within 0\.3 s \(TENSORLAB_CC_TIMEOUT\)"):
        toolchain.load([source("slow")])
    assert time.monotonic() - start < 2.5
    time.sleep(3.2)
    assert not mark.exists()


def test_the_limit_of_time_is_twenty_seconds_or_a_number(monkeypatch):
    monkeypatch.delenv("TENSORLAB_CC_TIMEOUT", raising=False)
    assert toolchain.timeout() == 20
    monkeypatch.setenv("TENSORLAB_CC_TIMEOUT", "soon")
    with pytest.raises(ValueError, match="TENSORLAB_CC_TIMEOUT is 'soon'"):
        toolchain.timeout()


def test_without_a_cache_kernels_are_compiled_all_the_same(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TENSORLAB_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert value_at(toolchain.load([source("uncached")])["uncached"]) == 107


def test_an_entry_without_the_kernel_is_compiled_anew(monkeypatch):
    toolchain.load([source("other")])
    (entry,) = disk_cache.folder().glob("*.kernels")
    content = disk_cache.get(entry.stem)
    monkeypatch.setattr(disk_cache, "get", lambda key: content)
    assert value_at(toolchain.load([source("wanted")])["wanted"]) == 107


def test_loading_leaves_no_files_behind():
    toolchain.load([source("clean")])
    names = [path.name for path in disk_cache.folder().iterdir()]
    assert len(names) == 1
    assert re.fullmatch(r"[0-9a-f]{64}\.kernels", names[0])
    assert stat.S_IMODE((disk_cache.folder() / names[0]).stat().st_mode) == 0o600


def test_a_copy_with_several_builds_gets_the_flags_of_the_best_one(monkeypatch):
    assert {"baseline": [], **build_flags.CAPABILITIES} == toolchain.CAPABILITY_FLAGS
    monkeypatch.setattr(_build_info, "variants", ["avx2", "avx512"])
    monkeypatch.setattr(toolchain, "processor_level", lambda: 1)
    assert toolchain.flags_for(toolchain.Compiler(("cc",), ""))[-1] == "-mbmi2"


def test_the_flags_are_those_that_tensorlab_was_built_with():
    flags = toolchain.flags_for(toolchain.Compiler(("cc",), ""))
    for flag in _build_info.flags.split():
        if flag.startswith(("-m", "-ffp", "-fno-math", "-fno-trapping", "-O")):
            assert flag in flags
