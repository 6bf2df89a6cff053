"""The type stubs say what the built package has."""

import ast
import importlib
import inspect
import re
import sys
from pathlib import Path

import pytest
from tensorlab._core.dispatch.op import REGISTRY

import tensorlab

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "docs"))

from make_stubs import (  # noqa: E402
    MODULES,
    computes,
    definition,
    every_stub,
    is_of_tool,
    public_names,
    stub_path,
)
from stub_types import (  # noqa: E402
    ARGUMENT_TYPES,
    ARGUMENTS_OF,
    RESULT_TYPES,
    RESULTS_OF,
    argument_type,
    result_type,
)
from stub_types_of_packages import ARGUMENTS_IN, RESULTS_IN  # noqa: E402


@pytest.fixture(scope="module")
def stubs():
    return every_stub()


def test_the_stubs_are_those_of_the_built_package(stubs):
    stale = [path.name for path, text in stubs.items() if path.read_text(encoding="utf-8") != text]
    assert not stale, "run `make stubs`"
    assert set(stubs) == set((ROOT / "tensorlab").rglob("*.pyi"))


@pytest.mark.parametrize("module_name", MODULES)
def test_the_stubs_name_everything_that_is_public(module_name):
    module = importlib.import_module(module_name)
    tree = ast.parse(stub_path(module).read_text(encoding="utf-8"))
    named = set()
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            named.add(node.name)
        elif isinstance(node, ast.ImportFrom):
            named.update(alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.AnnAssign):
            named.add(node.target.id)
        elif isinstance(node, ast.Assign):
            named.update(target.id for target in node.targets)
    assert set(public_names(module)) <= named


# Modules whose names come and go, or that only hand on those of another one: their source is what checkers see.
WITHOUT_STUB = {
    "ao export jit nested onnx",  # planned
    "array_api backends functional multiprocessing signal",
    "errors ops printing random return_types settings threads typed_tensors version __config__",  # no API of their own
}


def test_every_public_module_has_a_stub():
    known = {name.removeprefix("tensorlab.") for name in MODULES}
    public = [name for name in tensorlab.__all__ if inspect.ismodule(getattr(tensorlab, name))]
    left_out = set(" ".join(WITHOUT_STUB).split())
    assert sorted(set(public) - known - left_out) == []


def test_what_is_no_op_returns_no_tensor_unless_it_says_so():
    def save(obj, path):
        pass

    save.__module__ = "tensorlab.serialization"
    assert not computes(save)
    assert computes(tensorlab.exp)
    assert computes(tensorlab.nn.init.zeros_)


def test_the_arguments_of_tools_are_not_those_of_ops_of_the_same_name():
    hook = tensorlab.autograd.graph.register_multi_grad_hook
    assert is_of_tool(hook)
    assert "mode: str='all'" in definition(hook, "register_multi_grad_hook", set())
    assert not is_of_tool(tensorlab.exp)


def test_each_argument_and_result_of_a_stub_has_a_type(stubs):
    for text in stubs.values():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                assert node.returns is not None, node.name
                arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                bare = [
                    one.arg
                    for one in arguments
                    if one.annotation is None and one.arg not in ("self", "cls")
                ]
                assert not bare, (node.name, bare)


# Where anything may come or go: what a user's module takes and gives, hooks, and what a pooling function returns.
FREE = {
    *(
        "forward",
        "__call__",
        "__getattr__",
        "load_state_dict",
        "function",
        "__setattr__",
        "__exit__",
    ),
    *(
        "state_dict",
        "register_forward_pre_hook",
        "register_forward_hook",
        "apply",
        "to",
        "type",
        "cuda",
    ),
    *("initialize_parameters", "get_extra_state", "set_extra_state", "register_backward_hook"),
    *(f"register_full_backward_{kind}hook" for kind in ("", "pre_")),
    *(f"register_{of}state_dict_{when}_hook" for of in ("", "load_") for when in ("pre", "post")),
}


@pytest.mark.parametrize("name", ["tensorlab.nn", "tensorlab.nn.functional"])
def test_nothing_in_a_network_is_of_any_type(name):
    tree = ast.parse(stub_path(importlib.import_module(name)).read_text(encoding="utf-8"))
    functions = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name not in FREE
    ]
    assert len(functions) > 70
    untyped = set()
    for node in functions:
        named = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        types = [node.returns, *(argument.annotation for argument in named)]
        if any(re.search(r"\bAny\b", ast.unparse(type)) for type in types if type is not None):
            untyped.add(ast.unparse(node))
    assert not untyped


def test_every_name_in_the_tables_of_types_stands_in_a_stub(stubs):
    words = set(re.findall(r"\w+", "\n".join(stubs.values())))
    names = [*ARGUMENT_TYPES, *RESULT_TYPES]
    of_packages = [key for table in (*ARGUMENTS_IN.values(), *RESULTS_IN.values()) for key in table]
    keys = [*ARGUMENTS_OF, *RESULTS_OF, *of_packages]
    names += [word for key in keys for word in re.findall(r"\w+", key)]
    assert sorted(set(names) - words) == []


# The words of schemas, and what stands for them in the stubs.
WORDS = {
    "Scalar": "float",
    "ScalarType": "_dtype",
    "MemoryFormat": "_memory_format",
    "Device": "_Device",
    "Layout": "_layout",
}


def test_functions_with_the_name_of_an_op_accept_and_return_what_its_schema_says(stubs):
    functions, compared = {}, 0
    for node in ast.parse(stubs[ROOT / "tensorlab/__init__.pyi"]).body:
        if isinstance(node, ast.FunctionDef):
            functions.setdefault(node.name, []).append(node)
    # The op of the first takes any number, the function an int; those of the others give indices or means, too.
    special = {
        "polygamma",
        "max_pool1d",
        "max_pool2d",
        "max_pool3d",
        "layer_norm",
        "group_norm",
        "batch_norm",
    }
    for name in functions.keys() & REGISTRY.keys() - special:
        signature = REGISTRY[name].signature
        kinds = {ast.unparse(node.returns) for node in functions[name]}
        if len(signature.results) > 1:
            assert kinds == {f"return_types.{name}"}, name
        else:
            assert (
                "tuple[Tensor, ...]" if signature.results[0][1].is_list else "Tensor"
            ) in kinds, name
        for parameter in signature.parameters:
            for node in functions[name]:
                for argument in [*node.args.args, *node.args.kwonlyargs]:
                    if argument.arg == parameter.name and len(functions[name]) == 1:
                        text = ast.unparse(argument.annotation)
                        assert WORDS.get(parameter.type.word, parameter.type.word) in text, (
                            name,
                            argument.arg,
                        )
                        assert not parameter.type.is_list or "Sequence" in text, (
                            name,
                            argument.arg,
                        )
                        compared += 1
    assert compared > 100


def test_a_signature_that_cython_wrote_becomes_one_that_a_user_reads():
    class Compiled:
        __doc__ = "f(TensorBase x, double y=0.5)\nText."

    class Annotated:
        __doc__ = (
            "f(x: TensorBase, y: double = 0.5, *, out=None)\nText.\n\nReturns\n-------\nTensor"
        )

    assert definition(Compiled, "f", {"Tensor"}) == ("def f(*args: Any, **kwargs: Any) -> Any: ...")
    assert definition(Annotated, "f", {"Tensor"}) == (
        "def f(x: Tensor, y: builtins.float=0.5, *, out: Tensor | Sequence[Tensor] | None=None) -> Tensor: ..."
    )


def test_a_type_comes_from_the_schema_of_the_op_before_the_table_of_names():
    assert argument_type("output_size", "repeat_interleave") == "int"
    assert argument_type("output_size", "AdaptiveAvgPool2d.__init__") == "int | Sequence[int]"
    assert argument_type("tensors", "stack") == "Sequence[Tensor]"
    assert argument_type("p", "norm") == "float | str"  # as written by hand
    assert result_type("sort", "Tensor") == "return_types.sort"
    assert result_type("Tensor.unbind", "Tensor") == "tuple[Tensor, ...]"
    assert result_type("UntypedStorage.resize_", "Any") == "Self"
    assert result_type("max_pool2d", "Tensor") == "Tensor"  # its op returns the indices, too
