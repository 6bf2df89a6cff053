"""Mixed precision switched off: programs that write it into their training steps run, and
compute in float32. Switched on: test_autocast.py and test_grad_scaler.py."""

import contextlib
import pickle
import warnings

import pytest

import tensorlab
from tests.ops.agreement import agree
from tests.oracle import require_torch


def trained(T, context, scaler):
    """Train three steps as programs with mixed precision do, and return the weights and what
    the scaler says."""
    T.manual_seed(0)
    model = T.nn.Linear(3, 2)
    optimizer = T.optim.SGD(model.parameters(), lr=0.1)
    said = [scaler.get_scale(), scaler.is_enabled(), len(scaler.state_dict())]
    for _ in range(3):
        with context():
            loss = model(T.ones(4, 3)).square().mean()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        T.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
    scaler.load_state_dict(scaler.state_dict())
    return [model.weight.detach(), model.bias.detach(), loss.detach(), said]


STEPS = {
    "amp, cpu": lambda T: (
        lambda: T.amp.autocast("cpu", enabled=False),
        T.amp.GradScaler("cpu", enabled=False),
    ),
    "amp, cuda": lambda T: (
        lambda: T.autocast(device_type="cuda", dtype=T.float16),
        T.amp.GradScaler(),
    ),
    "cuda.amp": lambda T: (T.cuda.amp.autocast, T.cuda.amp.GradScaler(enabled=True)),
    "cuda.amp, off": lambda T: (
        lambda: T.cuda.amp.autocast(False),
        T.cuda.amp.GradScaler(enabled=False),
    ),
    "cpu.amp": lambda T: (
        lambda: T.cpu.amp.autocast(False),
        T.cpu.amp.GradScaler(enabled=False),
    ),
    "not a dtype for it": lambda T: (
        lambda: T.autocast("cpu", dtype=T.float32),
        T.amp.GradScaler(enabled=False),
    ),
    "nanoGPT": lambda T: (
        contextlib.nullcontext,
        T.cuda.amp.GradScaler(enabled=("bfloat16" == "float16")),
    ),
}


@pytest.mark.parametrize("step", STEPS)
def test_a_step_with_mixed_precision_switched_off_is_a_plain_step(step):
    agree(lambda T: trained(T, *STEPS[step](T)), tolerance=1e-6)


# What PyTorch warns of, with the class of the warning.
WARN = {
    "autocast, no device": lambda T: T.autocast("cuda"),
    "GradScaler, no device": lambda T: T.amp.GradScaler(),
    "autocast, not a dtype for it": lambda T: T.autocast("cpu", dtype=T.float64),
    "older autocast": lambda T: T.cuda.amp.autocast(enabled=False),
    "older GradScaler": lambda T: T.cuda.amp.GradScaler(enabled=False),
    "older GradScaler, no device": lambda T: T.cuda.amp.GradScaler(),
    "older custom_bwd": lambda T: T.cuda.amp.custom_bwd(print),
    "autocast, off": lambda T: T.autocast("cuda", enabled=False),
    "GradScaler, off": lambda T: T.amp.GradScaler(enabled=False),
}


@pytest.mark.parametrize("call", WARN)
def test_the_warnings_are_pytorchs(call):
    def classes(T):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            WARN[call](T)
        return [warning.category.__name__ for warning in seen]

    assert classes(tensorlab) == classes(require_torch())


def test_a_warning_shows_the_line_of_the_program():
    for make in (lambda: tensorlab.autocast("cuda"), lambda: tensorlab.amp.GradScaler()):
        with pytest.warns(UserWarning, match="there is no device 'cuda' here") as seen:
            make()
        assert seen[0].filename == __file__


REFUSED = """
    T.autocast(3)
    T.autocast("gpu", enabled=False)
    T.autocast()
    T.autocast("cpu", enabled=False)(3)
    T.get_autocast_dtype("gpu")
    T.amp.custom_fwd(print, device_type=None)
    T.amp.custom_bwd(print, device_type=None)
    T.amp.custom_fwd(print)
    T.amp.GradScaler(T.device("cpu"), enabled=False).is_enabled()
"""


@pytest.mark.parametrize("expression", [line.strip() for line in REFUSED.strip().splitlines()])
def test_bad_arguments_get_pytorchs_class(expression):
    agree(lambda T: eval(expression, {"T": T}))


def test_questions_are_answered():
    agree(lambda T: [T.is_autocast_enabled(), T.is_autocast_enabled("cpu")])
    agree(lambda T: [T.get_autocast_dtype("cpu"), T.get_autocast_dtype("cuda")])
    agree(lambda T: T.amp.GradScaler(enabled=False).is_enabled())


def test_a_function_keeps_its_name_under_autocast():
    @tensorlab.autocast("cpu", enabled=False)
    def double(x):
        """Twice x."""
        return 2 * x

    assert double(4) == 8
    assert (double.__name__, double.__doc__) == ("double", "Twice x.")


def test_settings_of_a_scaler_are_kept():
    scaler = tensorlab.amp.GradScaler("cpu", 8.0, 3.0, 0.25, 7, enabled=False)
    assert (scaler.get_growth_factor(), scaler.get_backoff_factor()) == (3.0, 0.25)
    assert scaler.get_growth_interval() == 7
    scaler.set_growth_factor(4.0)
    scaler.set_backoff_factor(0.125)
    scaler.set_growth_interval(9)
    copy = pickle.loads(pickle.dumps(scaler))
    assert (copy.get_growth_factor(), copy.get_backoff_factor()) == (4.0, 0.125)
    assert copy.get_growth_interval() == 9


def test_a_function_of_ones_own_takes_the_marks():
    def gradient(T):
        class Square(T.autograd.Function):
            @staticmethod
            @T.amp.custom_fwd(device_type="cpu", cast_inputs=T.float32)
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            @T.amp.custom_bwd(device_type="cpu")
            def backward(ctx, grad):
                return 2 * ctx.saved_tensors[0] * grad

        x = T.tensor([1.0, 3.0], requires_grad=True)
        Square.apply(x).sum().backward()
        return x.grad

    agree(gradient)


def test_a_compiled_step_takes_it_too():
    @tensorlab.compile
    def step(x):
        with tensorlab.autocast("cpu", enabled=False):
            return (x * 2).tanh()

    x = tensorlab.ones(3)
    for _ in range(3):
        assert step(x).tolist() == (x * 2).tanh().tolist()


def test_older_classes_have_their_names_and_can_be_pickled():
    for home in (tensorlab.cuda.amp, tensorlab.cpu.amp):
        with pytest.warns(FutureWarning, match=r"\.amp\.GradScaler"):
            scaler = home.GradScaler(enabled=False)
        with pytest.warns(FutureWarning, match=r"\.amp\.autocast") as seen:
            context = home.autocast(enabled=False)
        assert seen[0].filename == __file__
        for one in (scaler, context):
            assert type(pickle.loads(pickle.dumps(one))) is type(one)
        assert isinstance(scaler, tensorlab.amp.GradScaler)


@pytest.mark.parametrize(("device", "error"), [("gpu", RuntimeError), (3, ValueError)])
def test_a_scaler_for_no_device_is_refused_as_autocast_is(device, error):
    for make in (tensorlab.amp.GradScaler, tensorlab.autocast):
        with pytest.raises(error, match="device"):
            make(device, enabled=False)


def test_the_older_place_explains_what_it_lacks():
    with pytest.raises(AttributeError, match=r"tensorlab.cpu.amp has no 'nothing'"):
        _ = tensorlab.cpu.amp.nothing
