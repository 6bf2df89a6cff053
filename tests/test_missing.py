"""Names that are not there: the error says what is meant, or which chapter brings them."""

import collections
import importlib
import pathlib
import re
import subprocess
import sys
import tomllib

import pytest

import tensorlab
from tensorlab._finder import all_modules
from tensorlab._missing import nearest
from tensorlab._missing_names import LEFT_OUT, PLANNED, by_dotted_name
from tensorlab._planned import PlannedName
from tests.oracle import require_torch

ROOT = pathlib.Path(__file__).resolve().parent.parent


@pytest.mark.parametrize(
    ("module", "name", "message"),
    [
        ("tensorlab", "parse_schema", "planned with chapter 40, custom-ops"),
        ("tensorlab", "float4_e2m1fn_x2", "no type has fewer than 8 bits"),
        ("tensorlab", "zero_like", "did you mean 'zeros_like'"),
        ("tensorlab", "nothing_like_it", "$"),
        ("tensorlab.nn", "quantized", "planned with chapter 45"),
        ("tensorlab.nn", "Linaer", "did you mean 'Linear'"),
        ("tensorlab.nn", "relu", "did you mean tensorlab.nn.functional.relu"),
        ("tensorlab", "Linear", "did you mean tensorlab.nn.Linear"),
        ("tensorlab", "DataLoader", "did you mean tensorlab.utils.data.DataLoader"),
        ("tensorlab.optim", "StepLR", "did you mean tensorlab.optim.lr_scheduler.StepLR"),
        ("tensorlab", "hspmm", "still to come. Until then, use @ and the functions"),
        (
            "tensorlab",
            "values_copy",
            "call the function without _copy in its name, and then clone()",
        ),
        ("tensorlab.optim.adam", "adam", "use the class"),
        ("tensorlab.nn.functional", "interpolat", "did you mean 'interpolate'"),
        ("tensorlab.optim", "RMSProp", "did you mean 'RMSprop'"),
        ("tensorlab.cuda", "Stream", "planned with chapter 42"),
        ("tensorlab.cuda", "is_avaliable", "did you mean 'is_available'"),
        ("tensorlab.utils", "module_tracker", "planned with chapter 43"),
        ("tensorlab.utils.data", "Dataste", "did you mean 'Dataset'"),
        ("tensorlab.backends", "cudn", "did you mean 'cudnn'"),
    ],
)
def test_a_missing_name_is_explained(module, name, message):
    package = tensorlab
    for part in module.split(".")[1:]:
        package = getattr(package, part)
    assert not hasattr(package, name)
    with pytest.raises(AttributeError, match=f"^{re.escape(module)} has no {name!r}.*{message}"):
        getattr(package, name)


# ---------------------------------------------------------------- every public name of PyTorch
NAMESPACES = {
    line.partition(": ")[0].partition(".")[2]: line.partition(": ")[2].split()
    for line in (ROOT / "tests/pytorch_names.txt").read_text(encoding="utf-8").splitlines()
}
# A function of this name stands before the module, in PyTorch as well.
BEHIND_A_FUNCTION = {"multiprocessing.spawn"}


def namespace(dotted):
    """Return the module, or what stands for one, of a dotted name in tensorlab; an AttributeError if it has none."""
    try:
        return importlib.import_module(f"tensorlab.{dotted}".rstrip("."))
    except ImportError:
        found = tensorlab
        for part in dotted.split("."):
            found = getattr(found, part)
        return found


def answer(dotted, name):
    """Return "present", "planned" or "left out" for a public name of PyTorch, or the error that says nothing."""
    try:
        value = getattr(namespace(dotted), name)
    except AttributeError as error:
        text = str(error)
        if re.search(
            r" yet; it is (planned with chapter \d+, |still to come).*\. Until then, \w", text
        ):
            return "planned"
        return "left out" if re.search(r"has no '\w+': \w", text) else text
    return "planned" if isinstance(value, PlannedName) else "present"


def coverage():
    """Return {answer: number of names} over all namespaces."""
    return collections.Counter(
        answer(dotted, name)
        for dotted, names in NAMESPACES.items()
        if dotted not in BEHIND_A_FUNCTION
        for name in names
    )


def test_every_public_name_of_pytorch_is_present_planned_or_left_out_with_a_reason():
    found = coverage()
    assert set(found) == {"present", "planned", "left out"}
    assert found["present"] > 1700


@pytest.mark.parametrize(
    "dotted", ["", "nn", "nn.functional", "autograd", "optim", "cuda", "utils.data"]
)
def test_the_recorded_names_are_those_of_pytorch(dotted):
    require_torch()
    from tests.record_pytorch_names import names_of

    theirs = importlib.import_module(f"torch.{dotted}".rstrip("."))
    assert names_of(theirs) == NAMESPACES[dotted]


def test_every_method_of_pytorchs_tensor_is_present_or_says_why_not():
    theirs = require_torch().Tensor
    for name in dir(theirs):
        if name.startswith("_") or hasattr(tensorlab.Tensor, name):
            continue
        with pytest.raises(AttributeError, match=r"has no attribute '\w+'( yet; it is |: )\w"):
            getattr(tensorlab.ones(1), name)
        assert name not in dir(tensorlab.ones(1))


def test_nothing_that_is_here_is_called_missing():
    """Names with a star cover what comes later, too, so only whole names are asked."""
    for dotted in by_dotted_name():
        package, _, name = dotted.rpartition(".")
        if dotted.endswith("*") or package == "utils.tensorboard":
            continue
        try:
            value = getattr(namespace(package), name)
        except AttributeError:
            continue
        assert isinstance(value, PlannedName), dotted


def test_the_tables_say_what_to_do_in_the_middle_of_a_sentence():
    for text in [until for _, until, *_ in PLANNED] + [reason for reason, *_ in LEFT_OUT]:
        assert not text.endswith("."), text
        assert text[0].islower() or text.startswith("tensorlab"), text


def test_a_guess_looks_at_letters_before_their_case():
    assert nearest("RMSProp", ["rmsprop", "RMSprop", "Rprop"]) == "RMSprop"
    assert nearest("something", ["else"]) is None


def test_a_question_imports_nothing_and_a_class_is_found_in_what_is_not_imported_yet():
    program = """
import sys, tensorlab
hasattr(tensorlab, "does_it_have_this")
print("tensorlab.utils.data" in sys.modules)
try:
    tensorlab.DataLoader
except AttributeError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [
        "False",
        "tensorlab has no 'DataLoader'; did you mean tensorlab.utils.data.DataLoader?",
    ]


def test_a_module_that_is_not_imported_says_how():
    program = """
import tensorlab
for package, name in ((tensorlab, "safetensors"), (tensorlab.utils, "tensorboard")):
    try:
        getattr(package, name)
    except AttributeError as error:
        print(error)
from tensorlab import safetensors
assert tensorlab.safetensors is safetensors
assert tensorlab.viz.__name__ == "tensorlab.viz"
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [
        "tensorlab has no 'safetensors' until you import tensorlab.safetensors",
        "tensorlab.utils has no 'tensorboard' until you import tensorlab.utils.tensorboard",
    ]


def modules_that_explain():
    names = [name for name in all_modules() if "._" not in name]
    modules = [tensorlab, *map(importlib.import_module, names)]
    # of ops, any name may be a namespace of ops
    return [one for one in modules if "__getattr__" in vars(one) and one is not tensorlab.ops]


@pytest.mark.parametrize("module", modules_that_explain(), ids=lambda module: module.__name__)
def test_every_module_refuses_a_missing_name(module):
    name = re.escape(module.__name__)
    with pytest.raises(AttributeError, match=f"^{name} has no 'nothing_like_it'"):
        _ = module.nothing_like_it


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("xpu", ": there is one device"),
        ("wieght", "$"),
    ],
)
def test_a_missing_method_of_modules_is_explained(name, message):
    model = tensorlab.nn.Linear(1, 1)
    assert not hasattr(model, name)
    with pytest.raises(
        AttributeError, match=f"^'Linear' object has no attribute {name!r}{message}"
    ):
        getattr(model, name)
    assert name not in dir(model)


def test_a_missing_method_of_modules_can_be_defined_or_assigned():
    class Moved(tensorlab.nn.Linear):
        def mtia(self):
            return "moved"

    assert Moved(1, 1).mtia() == "moved"
    model = tensorlab.nn.Linear(1, 1)
    model.mtia = "assigned"
    model.register_buffer("xpu", tensorlab.zeros(1))
    assert model.mtia == "assigned"
    assert "mtia" in dir(model)
    assert list(dict(model.named_buffers())) == ["xpu"]
    with pytest.raises(AttributeError, match="^type object 'Module' has no attribute 'mtia'"):
        _ = tensorlab.nn.Module.mtia


def test_modules_have_no_getattr_which_would_slow_down_every_attribute():
    assert not any("__getattr__" in vars(cls) for cls in tensorlab.nn.Linear.__mro__)


def test_a_subclass_may_ask_module_for_what_it_does_not_know():
    class Wrapped(tensorlab.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = tensorlab.nn.Linear(2, 3)

        def __getattr__(self, name):
            try:
                return super().__getattr__(name)
            except AttributeError:
                return getattr(self.inner, name)

    assert Wrapped().out_features == 3


def test_private_protocol_names_get_pythons_own_error():
    with pytest.raises(AttributeError, match="module 'tensorlab' has no attribute '__wrapped__'"):
        _ = tensorlab.__wrapped__


def test_every_chapter_that_is_promised_is_in_the_contents():
    parts = tomllib.loads((ROOT / "docs/contents.toml").read_text(encoding="utf-8"))["part"]
    chapters = {chapter["folder"] for part in parts for chapter in part["chapter"]}
    assert {chapter for chapter, *_ in PLANNED} <= chapters | {""}


def test_the_version_is_that_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert tensorlab.__version__ == tensorlab.version.__version__ == project["version"]
