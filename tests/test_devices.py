"""Devices that are not there: programs that ask get PyTorch's answers, programs that insist a clear error."""

import importlib

import pytest

import tensorlab
from tests.ops.agreement import agree
from tests.oracle import require_torch

ANSWERS = """
    T.cuda.is_available()
    T.cuda.device_count()
    T.cuda.is_initialized()
    T.cuda.is_bf16_supported()
    T.cuda.get_arch_list()
    T.cuda.manual_seed(1)
    T.cuda.manual_seed_all(1)
    T.cuda.seed()
    T.cuda.seed_all()
    T.cuda.empty_cache()
    T.cuda.get_rng_state_all()
    T.cuda.set_rng_state_all([])
    T.cuda.memory_allocated()
    T.cuda.max_memory_allocated()
    T.cuda.memory_reserved()
    T.cuda.max_memory_reserved()
    len(T.cuda.memory_stats())
    isinstance(T.ones(2), T.cuda.FloatTensor)
    T.cuda.FloatTensor.__name__
    T.mps.is_available()
    T.mps.device_count()
    T.mps.manual_seed(1)
    T.xpu.is_available()
    T.xpu.device_count()
    T.xpu.manual_seed(1)
    T.xpu.manual_seed_all(1)
    T.xpu.empty_cache()
    T.cpu.is_available()
    T.cpu.device_count()
    T.cpu.current_device()
    T.cpu.synchronize()
    T.accelerator.is_available()
    T.accelerator.current_accelerator()
    T.accelerator.device_count()
    T.backends.cudnn.is_available()
    T.backends.cudnn.version()
    T.backends.cudnn.is_acceptable(T.ones(2))
    T.backends.cudnn.enabled
    T.backends.cudnn.benchmark
    T.backends.cudnn.deterministic
    T.backends.cudnn.allow_tf32
    T.backends.cuda.is_built()
    T.backends.cuda.matmul.allow_tf32
    T.backends.cuda.flash_sdp_enabled()
    T.backends.cuda.mem_efficient_sdp_enabled()
    T.backends.cuda.math_sdp_enabled()
    T.backends.cuda.cudnn_sdp_enabled()
    T.backends.cuda.is_flash_attention_available()
    T.backends.cuda.enable_cudnn_sdp(True)
    T.backends.mps.is_available()
    T.backends.mps.is_built()
    T.backends.openmp.is_available()
    T.version.cuda
    T.version.hip
    T.get_default_device().type
    T.set_default_device("cpu")
    T.are_deterministic_algorithms_enabled()
    T.is_deterministic_algorithms_warn_only_enabled()
    T.get_deterministic_debug_mode()
    T.get_float32_matmul_precision()
    T.is_warn_always_enabled()
    T.use_deterministic_algorithms(1)
    T.set_deterministic_debug_mode("x")
    T.set_deterministic_debug_mode(7)
    T.set_num_interop_threads(0)
    T.set_default_tensor_type(T.LongTensor)
    T.set_default_tensor_type("torch.LongTensor")
    T.set_default_tensor_type(T.float32)
    T.set_default_tensor_type(T.cuda.FloatTensor)
    T.set_default_tensor_type(3)
    T.typename(3)
    T.typename(int)
    T.typename(T.ones(2).half()).rpartition(".")[2]
    T.autograd.Variable(T.ones(2))
    T.autograd.Variable(T.ones(2), requires_grad=True)
    T.autograd.Variable([1.0])
    isinstance(T.ones(2), T.autograd.Variable)
    str(T.device("cpu"))
    str(T.device("cpu", 0))
    str(T.device("cuda:1"))
    str(T.device("cuda", T.tensor(1)))
    str(T.device(T.device("cuda:1")))
    str(T.device(type="cuda", index=1))
    T.device("cuda:1", 1)
    T.device(T.device("cuda:0"), 1)
    T.device("cuda:")
    T.device("cuda:x")
    T.device("cuda:01")
    T.device("cuda:-1")
    T.device("cuda:\u0663")
    T.device("cuda", -1)
    T.device("cuda", "1")
    T.device("cuda", 1.0)
    T.device("cuda", True)
    T.device(True)
    T.device(None)
    setattr(T.device("cpu"), "index", 1)
    repr(T.device("cpu"))
    repr(T.device("cuda:1"))
    T.device("cuda", 1) == T.device("cuda:1")
    hash(T.device("cuda", 1)) == hash(T.device("cuda:1"))
    T.device("cuda") == T.device("cuda:0")
    T.device("cuda:0") == T.device("meta:0")
    T.device("cuda:0") == T.device("cuda:1")
    T.device("cpu") == "cpu"
    repr(T.contiguous_format).partition(".")[2]
    repr(T.preserve_format).partition(".")[2]
    repr(T.channels_last).partition(".")[2]
    str(T.channels_last_3d).partition(".")[2]
    T.cuda.synchronize()
    T.cuda.current_device()
    T.cuda.get_device_name(0)
    T.cuda.get_device_capability()
    T.cuda.get_device_properties(0)
    T.cuda.get_rng_state()
    T.cuda.mem_get_info()
    T.cuda.ipc_collect()
    T.cuda.init()
    T.cuda.FloatTensor([1.0])
    T.mps.synchronize()
    T.mps.empty_cache()
    T.xpu.synchronize()
    T.ones(2).cuda()
    T.ones(2).xpu()
    T.ones(2).pin_memory()
    T.nn.Linear(2, 2).cuda()
    T.nn.Linear(2, 2).to("cuda")
"""


@pytest.mark.parametrize("expression", [line.strip() for line in ANSWERS.strip().splitlines()])
def test_a_question_about_devices_is_answered_as_by_pytorch_without_any(expression):
    try:
        agree(lambda T: eval(expression, {"T": T}))
    finally:  # in PyTorch a default device is a mode, under which l1_loss forgets its weight
        require_torch().set_default_device(None)


@pytest.mark.parametrize(
    "call", [lambda: tensorlab.cuda.set_device(0), lambda: tensorlab.cuda.reset_peak_memory_stats()]
)
def test_what_pytorch_forgot_to_refuse_is_refused(call):
    with pytest.raises(RuntimeError, match="no accelerator"):
        call()


@pytest.mark.parametrize(
    ("setter", "getter", "value", "first"),
    [
        ("use_deterministic_algorithms", "are_deterministic_algorithms_enabled", True, False),
        ("set_deterministic_debug_mode", "get_deterministic_debug_mode", 2, 0),
        ("set_float32_matmul_precision", "get_float32_matmul_precision", "high", "highest"),
        ("set_num_interop_threads", "get_num_interop_threads", 3, None),
        ("set_warn_always", "is_warn_always_enabled", True, False),
    ],
)
def test_a_setting_is_kept(setter, getter, value, first):
    first = getattr(tensorlab, getter)() if first is None else first
    assert getattr(tensorlab, getter)() == first
    getattr(tensorlab, setter)(value)
    assert getattr(tensorlab, getter)() == value
    getattr(tensorlab, setter)(first)
    assert getattr(tensorlab, getter)() == first


def test_warn_only_is_told_apart():
    tensorlab.use_deterministic_algorithms(True, warn_only=True)
    assert tensorlab.is_deterministic_algorithms_warn_only_enabled()
    tensorlab.use_deterministic_algorithms(False)
    assert not tensorlab.are_deterministic_algorithms_enabled()


@pytest.mark.filterwarnings("ignore:set_default_tensor_type is deprecated")
@pytest.mark.parametrize("kind", [tensorlab.DoubleTensor, "tensorlab.DoubleTensor"])
def test_the_default_type_can_be_set_by_its_old_name(kind):
    tensorlab.set_default_tensor_type(kind)
    try:
        assert tensorlab.ones(1).dtype is tensorlab.float64
    finally:
        tensorlab.set_default_tensor_type(tensorlab.FloatTensor)
    assert tensorlab.ones(1).dtype is tensorlab.float32


def test_an_unknown_precision_is_refused():
    with pytest.raises(ValueError, match="^set_float32_matmul_precision: 'foo'"):
        tensorlab.set_float32_matmul_precision("foo")


def test_switches_of_cudnn_last_as_long_as_their_context():
    cudnn = importlib.import_module("tensorlab.backends.cudnn")
    assert cudnn is tensorlab.backends.cudnn
    with cudnn.flags(enabled=False, deterministic=True):
        assert (cudnn.enabled, cudnn.deterministic) == (False, True)
    assert (cudnn.enabled, cudnn.deterministic) == (True, False)
    cudnn.benchmark = True
    assert cudnn.set_flags(_benchmark=False)[1] is True
    assert cudnn.benchmark is False


def test_a_variable_writes_through_to_its_tensor():
    x = tensorlab.zeros(2)
    tensorlab.autograd.Variable(x).add_(1)
    assert x.tolist() == [1, 1]
    assert x._version == 1
