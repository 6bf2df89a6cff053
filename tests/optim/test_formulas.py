"""Optimizers take PyTorch's steps over many options, exchange states with it, and refuse what it refuses."""

import importlib
import inspect
import pickle

import numpy as np
import pytest

import tensorlab
from tensorlab import nn, optim
from tensorlab.optim.sparse_adam import update_rows
from tests.oracle import assert_same_values, require_torch

CASES = {
    "SGD": [
        {"lr": 0.1, "momentum": 0.9},
        {"lr": 0.1, "weight_decay": 0.1, "nesterov": True, "momentum": 0.5},
        {"maximize": True},
    ],
    "Adam": [{}, {"amsgrad": True, "weight_decay": 0.1, "lr": 0.1}],
    "AdamW": [{"lr": 0.1}],
    "RMSprop": [{"lr": 0.1, "momentum": 0.5, "centered": True}],
    "Adadelta": [{}, {"lr": 0.5, "rho": 0.5, "eps": 1e-3, "weight_decay": 0.1}, {"maximize": True}],
    "Adagrad": [
        {},
        {
            "lr": 0.1,
            "lr_decay": 0.1,
            "weight_decay": 0.1,
            "initial_accumulator_value": 0.5,
            "eps": 0.1,
        },
        {"maximize": True},
    ],
    "Adamax": [
        {},
        {"lr": 0.1, "betas": (0.5, 0.7), "eps": 0.1, "weight_decay": 0.1},
        {"maximize": True},
    ],
    "NAdam": [
        {},
        {"lr": 0.1, "betas": (0.5, 0.7), "eps": 0.1, "weight_decay": 0.1, "momentum_decay": 0.1},
        {"weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True},
    ],
    "RAdam": [
        {},
        {"lr": 0.1, "betas": (0.5, 0.9), "eps": 0.1, "weight_decay": 0.1},
        {
            "betas": (0.5, 0.99),
            "weight_decay": 0.1,
            "decoupled_weight_decay": True,
            "maximize": True,
        },
    ],
    "Rprop": [{}, {"lr": 0.1, "etas": (0.3, 1.7), "step_sizes": (0.05, 0.2)}, {"maximize": True}],
    "ASGD": [
        {},
        {"lr": 0.1, "lambd": 0.1, "alpha": 0.5, "t0": 3, "weight_decay": 0.1},
        {"maximize": True},
    ],
    "Adafactor": [
        {},
        {"lr": 0.5, "beta2_decay": -0.5, "eps": (1e-3, 0.1), "d": 2.0, "weight_decay": 0.1},
        {"lr": 0.5, "weight_decay": 1},
        {"maximize": True},
    ],
    "Muon": [
        {},
        {
            "lr": 0.1,
            "momentum": 0.5,
            "nesterov": False,
            "ns_steps": 3,
            "eps": 0.1,
            "weight_decay": 0.0,
        },
        {"adjust_lr_fn": "match_rms_adamw", "ns_coefficients": (2.0, -1.5, 0.5)},
        {"adjust_lr_fn": "original"},
    ],
}
ALL = [
    pytest.param(name, options, id=f"{name} {options}")
    for name, cases in CASES.items()
    for options in cases
]


class Run:
    """Some steps of an optimizer on given gradients."""

    def __init__(self, T, name, options, dtype="float64"):
        self.T, self.dtype = T, dtype
        self.random = np.random.default_rng(3)
        shapes = [(4, 3), (3, 5)] if name == "Muon" else [(4, 3), (5,), (2, 3, 2)]
        self.params = [T.nn.Parameter(self.draw(shape)) for shape in shapes]
        self.optimizer = getattr(T.optim, name)(self.params, **options)

    def draw(self, shape):
        values = self.random.standard_normal(shape)
        return self.T.tensor(values.tolist(), dtype=getattr(self.T, self.dtype))

    def steps(self, n):
        for _ in range(n):
            for param in self.params:
                param.grad = self.draw(tuple(param.shape))
            self.optimizer.step()
        return self


def tolerance_of(name, dtype="float64"):
    if name == "Muon":
        return 2e-3  # bfloat16
    return 1e-10 if dtype == "float64" else 3e-5


def assert_same_state(ours, theirs, tolerance):
    assert type(ours) is type(theirs) or (
        isinstance(ours, tensorlab.Tensor) and hasattr(theirs, "numel")
    )
    if isinstance(ours, dict):
        assert list(ours) == list(theirs)
        for key, value in ours.items():
            assert_same_state(value, theirs[key], tolerance)
    elif isinstance(ours, (list, tuple)):
        assert len(ours) == len(theirs)
        for x, y in zip(ours, theirs, strict=True):
            assert_same_state(x, y, tolerance)
    elif isinstance(ours, tensorlab.Tensor):
        assert_same_values(ours, theirs, tolerance)
    else:
        assert ours == theirs


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "options"), ALL)
def test_steps_and_states_are_those_of_pytorch(name, options, dtype):
    runs = [Run(T, name, options, dtype).steps(12) for T in (tensorlab, require_torch())]
    tolerance = tolerance_of(name, dtype)
    for x, y in zip(runs[0].params, runs[1].params, strict=True):
        assert_same_values(x, y, tolerance)
    assert_same_state(runs[0].optimizer.state_dict(), runs[1].optimizer.state_dict(), tolerance)


def as_arrays(x, T):
    """Return a state dict with the tensors of another package turned into those of T."""
    if hasattr(x, "detach"):
        return T.tensor(
            x.detach().numpy().tolist(), dtype=getattr(T, str(x.dtype).partition(".")[2])
        )
    if isinstance(x, dict):
        return {key: as_arrays(value, T) for key, value in x.items()}
    if isinstance(x, (list, tuple)):
        return type(x)(as_arrays(value, T) for value in x)
    return x


@pytest.mark.parametrize(("name", "options"), ALL)
def test_states_go_to_pytorch_and_back(name, options):
    torch = require_torch()
    for T, other in ((tensorlab, torch), (torch, tensorlab)):
        first = Run(T, name, options).steps(3)
        state = pickle.loads(pickle.dumps(as_arrays(first.optimizer.state_dict(), other)))
        second = Run(other, name, options).steps(3)
        second.optimizer = getattr(other.optim, name)(second.params, **options)
        second.optimizer.load_state_dict(state)
        first.steps(3)
        second.steps(3)
        ours, theirs = (first, second) if T is tensorlab else (second, first)
        for x, y in zip(ours.params, theirs.params, strict=True):  # rates in the state were float32
            assert_same_values(x, y, max(tolerance_of(name), 1e-6))


# PyTorch's SGD detaches the first velocity; test_differentiable.py asks finite differences instead.
DIFFERENTIABLE = [name for name in CASES if name not in ("Adafactor", "Muon", "SGD")]


@pytest.mark.parametrize("name", DIFFERENTIABLE)
@pytest.mark.parametrize("index", [0, -1])
def test_a_step_can_be_differentiated(name, index):
    options = {**CASES[name][index], "differentiable": True}
    found = []
    for T in (tensorlab, require_torch()):
        start = T.tensor([1.0, -2.0, 0.5], dtype=T.float64, requires_grad=True)
        grad = T.tensor([0.3, -0.7, 0.2], dtype=T.float64, requires_grad=True)
        param = start.clone()
        optimizer = getattr(T.optim, name)([param], **options)
        param.grad = grad * 1
        optimizer.step()
        found.append(T.autograd.grad((param * param).sum(), [start, grad], allow_unused=True))
    for x, y in zip(*found, strict=True):
        assert (x is None) == (y is None)
        if x is not None:  # PyTorch counts steps in float32
            assert_same_values(x, y, 1e-5)


@pytest.mark.parametrize("name", CASES)
def test_a_rate_may_be_a_tensor(name):
    for rate in (0.05, 0.2):
        rates = (rate, tensorlab.tensor(rate, dtype=tensorlab.float64))
        runs = [Run(tensorlab, name, {"lr": lr}).steps(3) for lr in rates]
        for x, y in zip(runs[0].params, runs[1].params, strict=True):
            tensorlab.testing.assert_close(x, y)
    with pytest.raises(ValueError, match="Tensor lr must be 1-element"):
        Run(tensorlab, name, {"lr": tensorlab.ones(2)})


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("Adadelta", {"lr": -1}),
        ("Adadelta", {"rho": 1.1}),
        ("Adadelta", {"rho": -0.1}),
        ("Adadelta", {"eps": -1}),
        ("Adadelta", {"weight_decay": -1}),
        ("Adagrad", {"lr": -1}),
        ("Adagrad", {"lr_decay": -1}),
        ("Adagrad", {"initial_accumulator_value": -1}),
        ("Adagrad", {"eps": -1}),
        ("Adagrad", {"weight_decay": -1}),
        ("Adagrad", {"fused": True, "differentiable": True}),
        ("Adagrad", {"fused": True, "foreach": True}),
        ("Adamax", {"betas": (1.0, 0.5)}),
        ("Adamax", {"betas": (0.5, 1.0)}),
        ("Adamax", {"eps": -1}),
        ("NAdam", {"momentum_decay": -1}),
        ("NAdam", {"lr": -1}),
        ("NAdam", {"betas": (0.5, -0.1)}),
        ("RAdam", {"weight_decay": -1}),
        ("RAdam", {"betas": (0.5, 1.0)}),
        ("Rprop", {"etas": (1.0, 1.2)}),
        ("Rprop", {"etas": (0.5, 1.0)}),
        ("Rprop", {"etas": (0.0, 1.2)}),
        ("ASGD", {"weight_decay": -1}),
        ("ASGD", {"lr": -1}),
        ("Adafactor", {"beta2_decay": 0.1}),
        ("Adafactor", {"eps": (-1, 0.1)}),
        ("Adafactor", {"eps": (None, -0.1)}),
        ("Adafactor", {"d": 0.9}),
        ("Adafactor", {"weight_decay": -1}),
        ("Muon", {"momentum": -1}),
        ("Muon", {"weight_decay": -1}),
        ("Muon", {"adjust_lr_fn": "other"}),
        ("Muon", {"lr": -1}),
        ("SparseAdam", {"lr": 0.0}),
        ("SparseAdam", {"eps": 0.0}),
        ("SparseAdam", {"betas": (1.0, 0.5)}),
        ("LBFGS", {"lr": -1}),
        ("Adam", {"betas": (0.9, "tensor")}),
        ("Adam", {"lr": "tensor", "foreach": True}),
    ],
)
def test_options_out_of_range_are_refused_as_in_pytorch(name, options):
    for T in (tensorlab, require_torch()):
        given = {
            key: tuple(T.tensor(0.99) if v == "tensor" else v for v in value)
            if isinstance(value, tuple)
            else (T.tensor(0.01) if value == "tensor" else value)
            for key, value in options.items()
        }
        with pytest.raises((ValueError, RuntimeError)) as raised:
            getattr(T.optim, name)([T.nn.Parameter(T.ones(2, 2))], **given)
        kind = RuntimeError if options.get("fused") else ValueError
        assert isinstance(raised.value, kind)


def refusals(T, name):
    """What each option of an optimizer alone is refused with, over values that are seldom right."""
    numbers = (-1.0, -0.5, 0.0, 0.5, 1.0, 1.5)
    values = [*numbers, *((x, 0.5) for x in numbers), *((0.5, x) for x in numbers), "x"]
    kind = getattr(T.optim, name)
    for option in inspect.signature(getattr(optim, name)).parameters:
        for value in values if option not in ("params", "foreach", "fused") else ():
            try:
                kind([T.nn.Parameter(T.ones(2, 2))], **{option: value})
            except Exception as error:
                yield option, value, type(error).__name__
            else:
                yield option, value, None


@pytest.mark.parametrize("name", [*CASES, "SparseAdam", "LBFGS"])
def test_each_option_is_refused_where_pytorch_refuses_it(name):
    assert list(refusals(tensorlab, name)) == list(refusals(require_torch(), name))


def test_the_sums_of_adagrad_are_shared():
    class Sum:
        is_shared = False

        def share_memory_(self):
            self.is_shared = True

    params = [nn.Parameter(tensorlab.ones(2)) for _ in range(2)]
    optimizer = optim.Adagrad([{"params": [one]} for one in params])
    for param in params:
        optimizer.state[param]["sum"] = Sum()
    optimizer.share_memory()
    assert all(optimizer.state[param]["sum"].is_shared for param in params)


def test_a_rate_that_learns_gets_the_gradient_that_pytorch_gives_it():
    found = []
    for T in (tensorlab, require_torch()):
        lr = T.tensor(0.25, requires_grad=True)
        start = T.tensor([1.0, -2.0], requires_grad=True)
        param = start.clone()
        param.retain_grad()  # without it, only a leaf may be optimized
        optimizer = T.optim.SGD([param], lr=lr, differentiable=True)
        for grad in ([3.0, 1.0], [0.5, 2.0]):
            param.grad = T.tensor(grad)
            optimizer.step()
        (param * param).sum().backward()
        found.append([param, lr.grad, start.grad])
        with pytest.raises(ValueError, match="can't optimize a non-leaf"):
            T.optim.SGD([start.clone()])
        computed = start.clone()
        computed.retain_grad()
        assert len(T.optim.SGD([computed]).param_groups) == 1
    for ours, theirs in zip(*found, strict=True):
        assert_same_values(ours, theirs)


def test_muon_takes_matrices_only():
    for T in (tensorlab, require_torch()):
        with pytest.raises(ValueError, match="only supports 2D parameters"):
            T.optim.Muon([T.nn.Parameter(T.ones(2))])
    param = nn.Parameter(tensorlab.ones(2, 2))
    param.grad = tensorlab.ones(2, 2)
    with pytest.raises(ValueError, match="less than 100"):
        optim.Muon([param], ns_steps=100).step()
    with pytest.raises(ValueError, match="must be 3 numbers"):
        optim.Muon([param], ns_coefficients=(1.0, 2.0)).step()


# ---------------------------------------------------------------- L-BFGS
LBFGS = [
    {},
    {"lr": 0.1, "max_iter": 3},
    {"line_search_fn": "strong_wolfe"},
    {"line_search_fn": "strong_wolfe", "max_iter": 7, "history_size": 2},
    {"max_eval": 4, "history_size": 1},
    {"tolerance_grad": 0.5},
    {"tolerance_change": 0.05},
    {"line_search_fn": "strong_wolfe", "max_eval": 6, "lr": 3.0},
    {"line_search_fn": "strong_wolfe", "lr": 1e-3},
]


def valleys(T, x, y):
    rosenbrock = (1 - x[0]) ** 2 + 5 * (x[1] - x[0] ** 2) ** 2
    return rosenbrock + (y.sin() * T.arange(1.0, 4.0, dtype=T.float64)).sum() + (y * y).sum() / 20


@pytest.mark.filterwarnings("ignore:Converting a tensor")
@pytest.mark.parametrize("options", LBFGS, ids=str)
def test_lbfgs_takes_the_iterations_of_pytorch(options):
    found = []
    for T in (tensorlab, require_torch()):
        x = T.nn.Parameter(T.tensor([-1.2, 1.0], dtype=T.float64))
        y = T.nn.Parameter(T.tensor([0.3, 2.0, -1.0], dtype=T.float64))
        unused = T.nn.Parameter(T.zeros(1, dtype=T.float64))
        optimizer = T.optim.LBFGS([x, y, unused], **options)

        def closure(optimizer=optimizer, T=T, x=x, y=y):
            optimizer.zero_grad()
            loss = valleys(T, x, y)
            loss.backward()
            return loss

        losses = [optimizer.step(closure).item() for _ in range(3)]
        state = optimizer.state_dict()["state"]
        counts = {key: value for key, value in state[0].items() if key in ("func_evals", "n_iter")}
        found.append((losses, x, y, counts, sorted(state[0])))
    ours, theirs = found
    assert ours[3:] == theirs[3:]
    assert ours[0] == pytest.approx(theirs[0], rel=1e-8)
    assert_same_values(ours[1], theirs[1], 1e-7)
    assert_same_values(ours[2], theirs[2], 1e-7)


def test_lbfgs_stops_where_the_gradient_is_as_small_as_is_tolerated():
    counts = []
    for T in (tensorlab, require_torch()):
        for x in (T.nn.Parameter(T.full((1,), value)) for value in (0.5, 0.75)):
            optimizer = T.optim.LBFGS([x], tolerance_grad=0.5, lr=0.125)
            optimizer.step(lambda x=x: x.square().mul(0.5).sum().backward() or x.square().sum())
            counts.append(optimizer.state_dict()["state"][0]["func_evals"])
    assert counts[:2] == counts[2:]
    assert counts[0] == 1


def test_lbfgs_stops_where_the_gradient_is_nothing_and_takes_one_group():
    x = nn.Parameter(tensorlab.zeros(2))
    optimizer = optim.LBFGS([x])

    def closure():
        optimizer.zero_grad()
        loss = (x * x).sum()
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == 0
    assert optimizer.state[x] == {"func_evals": 1, "n_iter": 0}
    with pytest.raises(ValueError, match="doesn't support per-parameter options"):
        optim.LBFGS([{"params": [x]}, {"params": [nn.Parameter(tensorlab.ones(1))]}])
    optimizer = optim.LBFGS([x], line_search_fn="other")
    with tensorlab.no_grad():
        x.fill_(1)
    with pytest.raises(RuntimeError, match="only 'strong_wolfe' is supported"):
        optimizer.step(closure)


# ---------------------------------------------------------------- SparseAdam
@pytest.mark.filterwarnings("ignore:Sparse invariant checks")
def test_sparse_adam_refuses_dense_gradients_and_changes_only_rows_that_are_there():
    torch = require_torch()
    param = nn.Parameter(tensorlab.ones(2))
    param.grad = tensorlab.ones(2)
    with pytest.raises(RuntimeError, match="does not support dense gradients"):
        optim.SparseAdam([param]).step()
    start = np.arange(12.0).reshape(4, 3)
    ours, theirs = (
        tensorlab.tensor(start.tolist()),
        torch.nn.Parameter(torch.tensor(start.tolist())),
    )
    reference = torch.optim.SparseAdam([theirs], lr=0.1, betas=(0.5, 0.7), eps=0.1)
    state = {"step": 0, "exp_avg": tensorlab.zeros(4, 3), "exp_avg_sq": tensorlab.zeros(4, 3)}
    group = {"lr": 0.1, "betas": (0.5, 0.7), "eps": 0.1}
    for rows in ([0, 2], [2, 3], [1, 2]):
        values = np.sin(np.arange(6.0).reshape(2, 3) + rows[0])
        theirs.grad = torch.sparse_coo_tensor([rows], torch.tensor(values.tolist()), (4, 3))
        reference.step()
        state["step"] += 1
        update_rows(ours, tensorlab.tensor(rows), tensorlab.tensor(values.tolist()), state, group)
        assert_same_values(ours, theirs, 1e-5)


# ---------------------------------------------------------------- hooks, names, pickles
def both(program):
    found = [program(T) for T in (tensorlab, require_torch())]
    assert found[0] == found[1]
    return found[0]


def optimizer_of(T):
    return importlib.import_module(f"{T.__name__}.optim.optimizer")


def one_parameter(T):
    param = T.nn.Parameter(T.ones(1))
    param.grad = T.ones(1)
    return param


def test_hooks_of_steps_run_around_them_in_order():
    def program(T):
        notes, param = [], one_parameter(T)
        optimizer = T.optim.SGD([param], lr=0.5)
        hooks = optimizer_of(T)
        handles = [
            hooks.register_optimizer_step_pre_hook(
                lambda o, a, k: notes.append(("all before", len(a), k))
            ),
            hooks.register_optimizer_step_post_hook(
                lambda o, a, k: notes.append(("all after", len(a), k))
            ),
            optimizer.register_step_pre_hook(
                lambda o, a, k: notes.append(("before", param.item()))
            ),
            optimizer.register_step_post_hook(
                lambda o, a, k: notes.append(("after", param.item()))
            ),
        ]
        optimizer.register_step_pre_hook(lambda o, a, k: ((o, lambda: 7.0), k))
        notes.append(optimizer.step())
        for handle in handles:
            handle.remove()
        notes.append(optimizer.step())
        other = T.optim.Adam([one_parameter(T)])
        other.register_step_pre_hook(lambda o, a, k: 3)
        try:
            other.step()
        except RuntimeError:
            notes.append("refused")
        return notes

    assert both(program)[-1] == "refused"


def test_hooks_of_state_dicts():
    def program(T):
        notes = []
        optimizer = T.optim.SGD([one_parameter(T)], lr=0.5, momentum=0.5)
        optimizer.step()
        optimizer.register_state_dict_pre_hook(lambda o: notes.append("pre"))
        optimizer.register_state_dict_post_hook(lambda o, s: {**s, "more": 1})
        optimizer.register_state_dict_post_hook(lambda o, s: notes.append(sorted(s)), prepend=True)
        state = optimizer.state_dict()
        notes.append(sorted(state))
        optimizer.register_load_state_dict_pre_hook(
            lambda o, s: {**s, "param_groups": [{**s["param_groups"][0], "lr": 9.0}]}
        )
        optimizer.register_load_state_dict_post_hook(
            lambda o: notes.append(o.param_groups[0]["lr"])
        )
        optimizer.load_state_dict(state)
        return notes

    both(program)


def test_named_parameters_and_required_options():
    def program(T):
        model = T.nn.Linear(2, 1)
        optimizer = T.optim.Adam(model.named_parameters())
        notes = [
            optimizer.param_groups[0]["param_names"],
            optimizer.state_dict()["param_groups"][0]["param_names"],
        ]
        for call in (
            lambda: optimizer.add_param_group({"params": [one_parameter(T)]}),
            lambda: T.optim.SGD([("a", one_parameter(T)), one_parameter(T)]),
            lambda: T.optim.Optimizer([one_parameter(T)], {"lr": optimizer_of(T).required}),
        ):
            try:
                call()
            except ValueError:
                notes.append("ValueError")
        optimizer.add_param_group({"params": [("more", one_parameter(T))]})
        notes.append([group["param_names"] for group in optimizer.param_groups])
        plain = T.optim.Adam(model.parameters())
        named = T.optim.Adam(model.named_parameters())
        named.load_state_dict(plain.state_dict())
        notes.append(named.param_groups[0]["param_names"])
        return notes

    both(program)
    assert repr(optim.optimizer.required) == "<required parameter>"


def test_an_optimizer_is_pickled_without_its_hooks():
    param = one_parameter(tensorlab)
    optimizer = optim.Adagrad([param])
    optimizer.step()
    optimizer.register_step_pre_hook(lambda *a: None)
    twin = pickle.loads(pickle.dumps(optimizer))
    assert twin.param_groups[0]["lr"] == 0.01
    assert len(twin._optimizer_step_pre_hooks) == 0
    assert next(iter(twin.state.values()))["step"].item() == 1


def test_a_step_of_a_class_of_ones_own_is_hooked_once():
    calls = []

    class Own(optim.SGD):
        def step(self, closure=None):
            calls.append("step")
            return super().step(closure)

    optimizer = Own([one_parameter(tensorlab)], lr=0.5)
    optimizer.register_step_post_hook(lambda *a: calls.append("after"))
    optimizer.step()
    assert calls == ["step", "after"]


def test_the_formula_of_a_fused_step_is_the_step():
    for name in ("SGD", "Adam", "AdamW"):
        for options in CASES[name]:
            plain = Run(tensorlab, name, options).steps(5)
            params = [p.detach().clone() for p in Run(tensorlab, name, options).params]
            run = Run(tensorlab, name, options)
            run.params = params
            run.optimizer = getattr(optim, name)(params, **{**options, "differentiable": True})
            run.random = np.random.default_rng(3)
            for param in params:
                run.draw(tuple(param.shape))
            run.steps(5)
            for x, y in zip(plain.params, run.params, strict=True):
                tensorlab.testing.assert_close(x.detach(), y.detach())


@pytest.mark.parametrize("name", ["SGD", "Adagrad", "RMSprop"])
def test_a_model_that_is_converted_between_two_steps_learns_on(name):
    found = []
    for T in (tensorlab, require_torch()):
        p = T.nn.Parameter(T.tensor([1.0, -2.0]))
        options = {"momentum": 0.9} if name != "Adagrad" else {}
        optimizer = getattr(T.optim, name)([p], lr=0.1, **options)
        for dtype in (T.float32, T.float64, T.float64):
            p.data = p.data.to(dtype)
            p.grad = T.tensor([0.5, 1.5], dtype=dtype)
            optimizer.step()
        found.append(p)
    assert_same_values(found[0], found[1], 1e-6)


def test_the_average_of_asgd_is_the_parameter_itself_before_it_begins():
    p = nn.Parameter(tensorlab.tensor([1.3, -0.7]))
    optimizer = optim.ASGD([p], lr=0.3, t0=100)
    for _ in range(5):
        p.grad = p.detach() / 3
        optimizer.step()
        assert optimizer.state[p]["ax"].tolist() == p.tolist()


@pytest.mark.parametrize("name", [name for name in CASES if name != "Muon"])
def test_a_parameter_without_a_gradient_is_left_alone(name):
    with_gradient, without = (nn.Parameter(tensorlab.ones(2)) for _ in range(2))
    optimizer = getattr(optim, name)([without, with_gradient])
    with_gradient.grad = tensorlab.ones(2)
    optimizer.step()
    assert without.tolist() == [1, 1]
    assert name == "Adagrad" or not optimizer.state.get(without)  # which makes its sums at once
    assert with_gradient.tolist() != [1, 1]


def test_a_weight_decay_of_one_counts():
    found = []
    for T in (tensorlab, require_torch()):
        p = T.nn.Parameter(T.tensor([1.0, -2.0]))
        optimizer = T.optim.RMSprop([p], lr=0.1, weight_decay=1)
        p.grad = T.tensor([0.5, 1.5])
        optimizer.step()
        found.append(p)
    assert_same_values(found[0], found[1], 1e-6)
