"""Settings: a recording is used only under those that it was made under, and each setter of the package is known."""

import contextlib
import importlib
import inspect
import warnings

import pytest
from tensorlab._core.state.settings_number import get_settings_number

import tensorlab as torch
from tensorlab import nn
from tensorlab._finder import all_modules
from tensorlab._planned import PlannedName
from tensorlab.autograd import is_multithreading_enabled, set_multithreading_enabled
from tensorlab.backends import cuda, cudnn, mha
from tensorlab.nn.attention import SDPBackend, sdpa_kernel

pytestmark = pytest.mark.usefixtures("fresh")


# ------------------------------------------------------------------------------------------------ values
def switched(owner, name, value):
    """A context in which an attribute has another value."""

    @contextlib.contextmanager
    def switch():
        before = getattr(owner, name)
        setattr(owner, name, value)
        try:
            yield
        finally:
            setattr(owner, name, before)

    return switch()


@contextlib.contextmanager
def told(setter, value, before):
    """A context in which a setter was called."""
    setter(value)
    try:
        yield
    finally:
        setter(before)


def anomaly():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.autograd.detect_anomaly()


asks_for_threads, asks_for_anomaly = torch.get_num_threads, torch.is_anomaly_enabled
asks_for_the_engine = is_multithreading_enabled

# what a program reads, and a context in which it reads something else
READS = {
    "default device": (lambda: torch.zeros(1).device.type, lambda: torch.device("meta")),
    "default device, asked for": (
        lambda: torch.get_default_device().type,
        lambda: torch.device("meta"),
    ),
    "default dtype": (
        lambda: str(torch.zeros(1).dtype),
        lambda: told(torch.set_default_dtype, torch.float64, torch.float32),
    ),
    "grad mode": (torch.is_grad_enabled, torch.no_grad),
    "inference mode": (torch.is_inference_mode_enabled, torch.inference_mode),
    "anomaly mode": (lambda: torch.is_anomaly_enabled(), anomaly),
    "anomaly mode, by another name": (lambda: asks_for_anomaly(), anomaly),
    "search for NaN": (
        lambda: torch.is_anomaly_check_nan_enabled(),
        lambda: torch.autograd.set_detect_anomaly(False, check_nan=False),
    ),
    "autocast": (lambda: torch.is_autocast_enabled("cpu"), lambda: torch.autocast("cpu")),
    "autocast's type": (
        lambda: str((torch.ones(2, 2) @ torch.ones(2, 2)).dtype),
        lambda: torch.autocast("cpu", dtype=torch.float16),
    ),
    "autocast's type, asked for": (
        lambda: str(torch.get_autocast_dtype("cpu")),
        lambda: told(
            lambda one: torch.set_autocast_dtype("cpu", one), torch.float16, torch.bfloat16
        ),
    ),
    "autocast's type elsewhere": (
        lambda: str(torch.get_autocast_dtype("cuda")),
        lambda: told(
            lambda one: torch.set_autocast_dtype("cuda", one), torch.bfloat16, torch.float16
        ),
    ),
    "autocast's cache": (
        torch.is_autocast_cache_enabled,
        lambda: told(torch.set_autocast_cache_enabled, False, True),
    ),
    "deterministic": (
        torch.are_deterministic_algorithms_enabled,
        lambda: told(torch.use_deterministic_algorithms, True, False),
    ),
    "matmul precision": (
        torch.get_float32_matmul_precision,
        lambda: told(torch.set_float32_matmul_precision, "high", "highest"),
    ),
    "repeated warnings": (
        torch.is_warn_always_enabled,
        lambda: told(torch.set_warn_always, True, False),
    ),
    "threads": (
        lambda: asks_for_threads(),
        lambda: told(torch.set_num_threads, 3, torch.get_num_threads()),
    ),
    "threads of the engine": (
        lambda: is_multithreading_enabled(),
        lambda: set_multithreading_enabled(False),
    ),
    "threads of the engine, by another name": (
        lambda: asks_for_the_engine(),
        lambda: set_multithreading_enabled(False),
    ),
    "print options": (
        lambda: repr(torch.tensor([1.23456789])),
        lambda: told(
            lambda one: torch.set_printoptions(precision=one),
            2,
            4,
        ),
    ),
    "flash attention": (
        lambda: cuda.flash_sdp_enabled(),
        lambda: told(cuda.enable_flash_sdp, False, True),
    ),
    "sdpa_kernel": (cuda.flash_sdp_enabled, lambda: sdpa_kernel(SDPBackend.MATH)),
    "fast path": (
        lambda: mha.get_fastpath_enabled(),
        lambda: told(mha.set_fastpath_enabled, False, True),
    ),
    "cudnn.enabled": (lambda: cudnn.enabled, lambda: switched(cudnn, "enabled", False)),
    "cudnn.flags": (lambda: cudnn.deterministic, lambda: cudnn.flags(deterministic=True)),
    "a switch of cuda": (
        lambda: cuda.matmul.allow_tf32,
        lambda: switched(cuda.matmul, "allow_tf32", True),
    ),
}


@pytest.mark.filterwarnings("ignore:compile")
@pytest.mark.parametrize("is_first", [True, False], ids=["inside first", "outside first"])
@pytest.mark.parametrize("name", READS)
def test_a_recording_is_not_used_under_another_setting(name, is_first):
    read, change = READS[name]

    def program(x):
        return x * 2, read()

    x = torch.ones(3)
    compiled, seen = torch.compile(program), {}
    for is_inside in (is_first, not is_first, is_first):
        with change() if is_inside else contextlib.nullcontext():
            expected = read()
            for _ in range(3):
                assert compiled(x)[1] == expected
        seen[is_inside] = expected
    assert seen[True] != seen[False], "the context changes nothing that the program sees"


@pytest.mark.filterwarnings("ignore:compile")
def test_what_is_made_on_meta_inside_stays_there():
    def program(x):
        with torch.device("meta"):
            y = torch.zeros(3) + 1
        return y, torch.ones(2, device="meta") * 2, x + 1

    compiled = torch.compile(program)
    for _ in range(4):
        assert [one.device.type for one in compiled(torch.ones(3))] == ["meta", "meta", "cpu"]


def test_a_setting_that_is_back_lets_recordings_hold_again():
    compiled = torch.compile(lambda x: x * 2)
    x = torch.ones(3)
    compiled(x)
    for _ in range(5):
        with told(torch.set_float32_matmul_precision, "high", "highest"):
            compiled(x)
        compiled(x)
    assert compiled.compiled.counts == {"replayed": 9, "recorded": 2, "as Python": 0}


def test_attention_is_recorded_again_when_another_way_is_allowed():
    query = torch.randn(1, 2, 4, 8)
    mask = torch.zeros(4, 4)
    compiled = torch.compile(nn.functional.scaled_dot_product_attention)
    for _ in range(2):
        assert torch.equal(
            compiled(query, query, query, mask),
            nn.functional.scaled_dot_product_attention(query, query, query, mask),
        )
    with sdpa_kernel([]), pytest.raises(RuntimeError, match="no backend that sdpa_kernel allows"):
        compiled(query, query, query, mask)


@pytest.mark.filterwarnings("ignore:compile", "ignore:detect_anomaly")
def test_in_anomaly_mode_the_line_of_the_program_is_told():
    def program(x):
        return (x.sqrt() * 0).sum()

    compiled = torch.compile(program)
    x = torch.zeros(2, requires_grad=True)
    compiled(x)
    with torch.autograd.detect_anomaly(), pytest.raises(RuntimeError, match="SqrtBackward0"):
        compiled(x).backward()


@pytest.mark.filterwarnings("ignore:compile")
@pytest.mark.parametrize("change", [anomaly, lambda: torch.device("meta")])
def test_calls_under_a_setting_that_refuses_do_not_count_for_those_after_it(change):
    compiled = torch.compile(lambda x: x * 2)
    x = torch.ones(3)
    with change():
        for _ in range(10):
            compiled(x)
    assert len(compiled.compiled.refusals) == 1
    for _ in range(3):
        compiled(x)
    assert compiled.compiled.counts == {"replayed": 2, "recorded": 1, "as Python": 10}


# ------------------------------------------------------------------------------------------------ every setter is known
# Those that `get_settings_number` hears of, each with two calls that set different things.
NUMBERED = {
    "set_deterministic_debug_mode": ("warn", "default"),
    "use_deterministic_algorithms": (True, False),
    "set_float32_matmul_precision": ("high", "highest"),
    "set_num_interop_threads": (3, 2),
    "set_warn_always": (True, False),
    "set_detect_anomaly": (True, False),
    "set_detect_data_writes": (True, False),
    "set_fastpath_enabled": (False, True),
    "enable_flash_sdp": (False, True),
    "enable_mem_efficient_sdp": (False, True),
    "enable_math_sdp": (False, True),
    "enable_cudnn_sdp": (False, True),
}
HARMLESS = {
    "set_printoptions": "by keyword: test_print_options_have_a_number",
    **dict.fromkeys(
        ("set_default_dtype", "set_default_tensor_type", "set_default_device"),
        "state of the thread that guards compare: READS",
    ),
    **dict.fromkeys(
        ("set_grad_enabled", "enable_grad"), "state of the thread that guards compare: READS"
    ),
    "set_batching": "asked by autograd once, when it is imported",
    "set_tangent": "a tangent of one box of a transform, whose calls a recording sees",
    "set_makers": "asked by the sparse package once, when it is imported",
    "set_data": "a rule for the assignment x.data = y, which guards see",
    "detect_anomaly": "set_detect_anomaly as a context",
    "set_multithreading_enabled": "code that asks for it is refused: READS",
    "set_num_threads": "kernels run on any number; code that asks for it is refused: READS",
    "set_flush_denormal": "changes nothing here",
    **dict.fromkeys(
        [
            *("set_autocast_cache_enabled", "set_autocast_cpu_dtype", "set_autocast_cpu_enabled"),
            *("set_autocast_dtype", "set_autocast_enabled", "set_autocast_gpu_dtype"),
        ],
        "guards compare what the thread has set, see READS",
    ),
    **dict.fromkeys(
        ("set_debug_level", "set_debug_level_from_env"), "only get_debug_level reads it"
    ),
    **dict.fromkeys(
        ("set_model_state_dict", "set_optimizer_state_dict", "set_state_dict"),
        "write the tensors of a model or an optimizer, which guards see",
    ),
    "enable_wrap": "wraps modules while they are made",
    "set_cache_limit": "memory that is kept for reuse, which no program sees",
    "set_rng_state": "the generator, which a replay draws from as the program does",
    "set_rng_state_all": "of CUDA, which is not here",
    "set_device": "of CUDA, which is not here",
    "set_stance": "says whether recordings are used at all",
    "set_logs": "what the compiler tells",
    "set_flags": "attributes of a module, which guards compare: READS",
    "set_checkpoint_debug_enabled": "checkpoint is refused",
    "set_checkpoint_early_stop": "checkpoint is refused",
    "set_module": "makes a decorator",
    "set_dir": "where downloads go; hub is refused",
    "set_sharing_strategy": "of multiprocessing, which is refused",
    "set_start_method": "of multiprocessing, which is refused",
    "set_default_load_endianness": "of files; serialization is refused",
    "set_default_mmap_options": "of files; serialization is refused",
    "set_crc32_options": "of files; serialization is refused",
    "set_tensor_class": "called once, by the package itself",
    "set_default": "behind set_default_device",
    "set_stream": "of devices with queues; a compiled function computes on the cpu",
    "set_device_index": "there is one accelerator",
    "set_device_idx": "there is one accelerator",
    "set_per_process_memory_fraction": "an allocation fails or doesn't; it changes no result",
    "set_threads": "behind set_num_threads",
    "set_torch_threads": "set_num_threads as a context",
}
LEFT_OUT = ("tensorlab.learn", "tensorlab.cli", "tensorlab.viz", "tensorlab.datasets")


def setters():
    """{name: function} of all public functions and classes that are named as setters are."""
    found = {}
    for module in all_modules():
        if module.startswith(LEFT_OUT) or module.endswith("__main__"):
            continue
        loaded = importlib.import_module(module)
        public = getattr(loaded, "__all__", None) or [
            name for name in vars(loaded) if not name.startswith("_")
        ]
        if "._core" in module or ".ops." in module:
            continue
        for name in public:
            one = getattr(loaded, name, None)
            is_here = getattr(one, "__module__", "").startswith("tensorlab")
            is_here = is_here and not isinstance(one, PlannedName)
            if name.startswith(("set_", "use_", "enable_")) and callable(one) and is_here:
                found[name] = one
    return found


def test_every_public_setter_is_guarded_or_named_with_a_reason():
    unknown = [name for name in setters() if name not in NUMBERED and name not in HARMLESS]
    assert not unknown, f"a recording may be used after {unknown}: what guards it?"


@pytest.mark.parametrize("name", NUMBERED)
def test_a_setter_changes_the_number_of_the_settings(name):
    setter = setters()[name]
    new, before = NUMBERED[name]
    setter(before)
    number = get_settings_number()
    setter(new)
    try:
        assert get_settings_number() != number
    finally:
        setter(before)
    assert get_settings_number() == number


def test_print_options_have_a_number():
    number = get_settings_number()
    for name in inspect.signature(torch.set_printoptions).parameters:
        torch.set_printoptions(**{name: "short" if name == "profile" else 7})
        assert get_settings_number() != number, name
        torch.set_printoptions(profile="default")
        assert get_settings_number() == number
