"""Packages that are planned can be imported and asked; what they are still to bring says so
when it is used."""

import copy
import importlib
import importlib.util
import os
import pickle
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import tensorlab
from tensorlab._planned import PlannedName
from tensorlab.errors import NotThereYet
from tests.oracle import require_torch

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = [
    "ao",
    "ao.quantization",
    "distributed",
    "distributed.fsdp",
    "export",
    "fft",
    "func",
    "jit",
    "linalg",
    "nested",
    "nn.parallel",
    "onnx",
    "sparse",
]
# What PyTorch's packages hold besides their names: modules and types that they import, and
# their own text.
NOT_NAMES = {
    "distributed": "autograd breakpoint config constants log logging record_comm sys timedelta torch "
    "traceback typing utils",
    "fft": "Tensor",
    "func": "debug_unwrap rearrange",
    "linalg": "common_notes Tensor",
}
# What PyTorch's packages hold without a word about it in the documentation.
NOT_DOCUMENTED = {
    "distributed": """AllToAllOptions AllreduceCoalescedOptions AllreduceOptions BackendConfig
        BarrierOptions BroadcastOptions BuiltinCommHookType DebugLevel GatherOptions GroupName
        Logger ProcessGroupGloo QueueEmptyError RankType rpc ReduceOptions ReduceScatterOptions
        Reducer ScatterOptions all_gather_single c10d_logger default_pg_timeout distributed_c10d
        get_pg_count logging_handlers reduce_scatter_single register_rendezvous_handler
        remote_device set_debug_level_from_env shrink_group supports_complex""",
    "distributed.fsdp": "DataParallelMeshDims",
    "ao.quantization": """AffineQuantizedObserverBase Granularity MappingType MatchAllNode
        ObserverOrFakeQuantize Pattern PerAxis PerBlock PerGroup PerRow PerTensor PerToken
        QConfigAny QConfigDynamic RecordingObserver ReuseInputObserver TorchAODType
        UniformQuantizationObserverBase ZeroPointDomain""",
    "nn.parallel": "data_parallel gather parallel_apply replicate scatter DistributedDataParallelCPU",
    "sparse": "SparseSemiStructuredTensorCUSPARSELT SparseSemiStructuredTensorCUTLASS solve",
}


# Names that programs still write and PyTorch 2.13 no longer has.
OLDER_NAMES = {"OperatorExportTypes", "TrainingMode", "dynamo_export"}


def import_package(root, name):
    return importlib.import_module(f"{root}.{name}")


def planned_names(package):
    """Return the planned names of a package: a dict of PlannedName."""
    everything = vars(import_package("tensorlab", package))
    return {name: value for name, value in everything.items() if isinstance(value, PlannedName)}


@pytest.mark.parametrize("package", PACKAGES)
def test_each_name_of_pytorchs_package_is_there_or_planned(package):
    require_torch()
    theirs = import_package("torch", package)
    names = getattr(theirs, "__all__", [n for n in vars(theirs) if not n.startswith("_")])
    left_out = f"{NOT_NAMES.get(package, '')} {NOT_DOCUMENTED.get(package, '')}".split()
    if (
        package == "ao.quantization"
    ):  # some 80 defaults and tables beside the names that programs write
        names = [
            name for name in names if name[0].isupper() or name.startswith(("prepare", "quan"))
        ]
        names = [name for name in names if not name.endswith("jit")]
    ours = import_package("tensorlab", package)
    assert [name for name in names if not hasattr(ours, name) and name not in left_out] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_a_planned_name_is_one_of_pytorchs(package):
    require_torch()
    theirs = import_package("torch", package)
    assert [
        name
        for name in planned_names(package)
        if not hasattr(theirs, name)
        and name not in OLDER_NAMES
        and importlib.util.find_spec(f"torch.{package}.{name}") is None
    ] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_a_planned_name_says_what_to_do_until_it_comes(package):
    for name, value in planned_names(package).items():
        whole = f"tensorlab.{package}.{name}"
        assert repr(value) == f"<{whole}, still to come>"
        with pytest.raises(
            NotThereYet, match=rf"^{whole} is still to come.*\. Until then, \w.*[.)]$"
        ):
            value(3)


USES = {
    "called": lambda name: name(1, key=2),
    "entered": lambda name: name.__enter__(),
    "with": lambda name: exec("with name: pass", {"name": name}),
    "for": lambda name: list(name),
    "if": lambda name: bool(name),
    "subscript": lambda name: name[0],
    "len": lambda name: len(name),
    "attribute called": lambda name: name.SUM(),
}


@pytest.mark.parametrize("use", USES)
def test_any_use_of_a_planned_name_raises(use):
    with pytest.raises(
        NotImplementedError, match=r"ExportedProgram.* planned with chapter 51, export-and-onnx"
    ):
        USES[use](tensorlab.export.ExportedProgram)


def test_a_class_can_not_be_derived_from_a_planned_one():
    with pytest.raises(NotThereYet, match="ExportedProgram is still to come"):

        class Mine(tensorlab.export.ExportedProgram):
            pass


def test_a_planned_name_stands_in_annotations_defaults_and_isinstance():
    program, size = tensorlab.export.ExportedProgram, tensorlab.export.Dim

    def export(x, dim=size.AUTO, program: program | None = None, other: None | program = None):  # noqa: RUF036
        return dim

    assert repr(export(1)) == "<tensorlab.export.Dim.AUTO, still to come>"
    assert not isinstance(3, program)
    assert not issubclass(int, program)
    with pytest.raises(AttributeError, match="has no attribute '_repr_html_'"):
        _ = program._repr_html_


def test_questions_have_true_answers():
    distributed = tensorlab.distributed
    answers = [name for name in distributed.__all__ if name.startswith("is_")]
    assert len(answers) == 9
    has_mpi = importlib.util.find_spec("mpi4py") is not None
    truths = {"is_available": True, "is_mpi_available": has_mpi, "is_gloo_available": has_mpi}
    for name in set(answers) - {"is_backend_available"}:
        assert getattr(distributed, name)() is truths.get(name, False)
    assert distributed.is_backend_available("threads")
    assert distributed.is_backend_available("gloo") is has_mpi
    assert not distributed.is_backend_available("nccl")
    assert tensorlab.onnx.is_in_onnx_export() is False
    assert tensorlab.jit.is_scripting() is False
    assert tensorlab.jit.is_tracing() is False


def test_a_program_under_a_launcher_is_told_so(monkeypatch):
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "7")
    assert tensorlab.distributed.is_torchelastic_launched()


def test_marks_of_torchscript_leave_a_function_as_it_is():
    def double(x):
        return 2 * x

    jit = tensorlab.jit
    for mark in (jit.ignore, jit.unused, jit.export, jit.script_if_tracing, jit.ignore(drop=True)):
        assert mark(double) is double
    assert jit.annotate(list[int], [3]) == [3]
    assert jit.Attribute(0.5, float) == (0.5, float)


def test_what_is_there_under_another_name_is_the_same():
    assert tensorlab.linalg.matmul is tensorlab.matmul


def test_planned_packages_are_imported_when_they_are_asked_for():
    program = """
import sys, tensorlab
before = {name for name in sys.modules if name.startswith("tensorlab.")}
assert tensorlab.linalg is sys.modules["tensorlab.linalg"] and "linalg" in dir(tensorlab)
import tensorlab.distributed.fsdp
from tensorlab import *
print(*sorted(name for name in before if name.partition(".")[2] in tensorlab._PLANNED_PACKAGES))
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []


def test_every_chapter_that_a_planned_name_promises_is_in_the_contents():
    parts = tomllib.loads((ROOT / "docs/contents.toml").read_text(encoding="utf-8"))["part"]
    chapters = {chapter["folder"] for part in parts for chapter in part["chapter"]} | {None}
    for package in PACKAGES:
        assert {value._chapter for value in planned_names(package).values()} <= chapters


@pytest.mark.parametrize(
    ("package", "name"),
    [
        ("linalg", "LinAlgError"),
        ("distributed", "DistBackendError"),
        ("jit", "Error"),
        ("onnx", "OnnxExporterError"),
    ],
)
def test_a_planned_error_lets_the_programs_own_errors_pass(package, name):
    error = getattr(import_package("tensorlab", package), name)
    assert issubclass(error, RuntimeError)

    def program():
        try:
            int("no number")
        except error:
            return "caught"

    with pytest.raises(ValueError, match="no number"):
        program()


def test_a_planned_name_can_be_copied_and_pickled():
    for twin in (
        copy.deepcopy(tensorlab.onnx.export),
        copy.copy(tensorlab.onnx.export),
        pickle.loads(pickle.dumps(tensorlab.onnx.export)),
    ):
        assert repr(twin) == "<tensorlab.onnx.export, still to come>"
        with pytest.raises(NotThereYet, match="save the weights with safetensors"):
            twin(3)
