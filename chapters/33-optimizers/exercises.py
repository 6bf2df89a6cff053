"""Exercises of chapter 33, optimizers."""

import copy
import math

import tensorlab as torch
from tensorlab import nn
from tensorlab.learn import BugHunt, Exercise, Wrong, describe, expect, require

IMPORTS = """
import tensorlab as torch
from tensorlab import nn
"""
FILES = ["tiny_optim.py"]


class LargestRate(Exercise):
    """The limit of the rate

    Plain gradient descent on the loss $a_1 w_1^2 + a_2 w_2^2 + \\dots + a_n w_n^2$. Write
    `largest_rate(a)`: the limit below which every learning rate brings all $w$ to 0, and above
    which one of them grows. `a` is a list of positive numbers. Look closely at the loss: it isn't
    quite the one of the text.
    """

    kind = "warm-up"
    idea = "Idea"
    stub = """
        def largest_rate(a):
            return 2 / a[0]
    """
    hints = [
        "What is the gradient of the loss by one of the w, and by which factor does a step "
        "multiply that w?",
        "The curvature of $a w^2$ is $2a$. Which of the axes sets the limit?",
    ]
    solution = """
        def largest_rate(a):
            return 1 / max(a)
    """
    reason = """
        The gradient of $a w^2$ is $2 a w$, so a step multiplies by $1 - 2 \\eta a$. That stays
        above $-1$ if $\\eta < 1/a$, for the largest $a$ as well.
    """
    wrong = [
        Wrong(
            "def largest_rate(a):\n    return 2 / max(a)",
            says="curvature",
            why="That is the limit for the loss with one half in front.",
        ),
        Wrong(
            "def largest_rate(a):\n    return 1 / min(a)",
            says="flattest",
            why="The flattest axis sets how long you wait, not the limit.",
        ),
        Wrong(
            "def largest_rate(a):\n    return len(a) / sum(a)",
            says="average",
            why="Each axis shrinks or grows by itself.",
        ),
        Wrong(
            "def largest_rate(a):\n    return 0.5 / max(a)",
            says="single step",
            why="At this rate the steepest axis arrives in one step; there is room above it.",
        ),
    ]

    def check(largest_rate):
        for a in ([3.0], [0.5, 5.0], [5.0, 0.5, 2.0], [0.25, 0.125], [1.0, 7.0, 7.0, 0.1]):
            came, steepest = largest_rate(list(a)), max(a)
            require(
                isinstance(came, int | float),
                f"largest_rate returned {describe(came)}; return a number.",
            )
            if math.isclose(came, 1 / steepest, rel_tol=1e-9):
                continue
            about = f"largest_rate({a}) is {came:.4g}."
            require(
                not math.isclose(came, 2 / steepest),
                f"{about} Work out the gradient of a w²: its curvature isn't a.",
            )
            require(
                len(a) == 1 or not math.isclose(came, 1 / min(a)),
                f"{about} That is what the flattest axis would allow.",
            )
            require(
                not math.isclose(came, len(a) / sum(a)),
                f"{about} An average can't help an axis that is steeper.",
            )
            require(
                not math.isclose(came, 0.5 / steepest),
                f"{about} There the steepest axis arrives in a single step; larger rates work, too.",
            )
            factor = 1 - 2 * came * steepest
            require(
                False,
                f"{about} At this rate a step multiplies the steepest w by {factor:.4g}; "
                "at the limit it would be -1.",
            )


class RMSprop(Exercise):
    """RMSprop

    Write the update of RMSprop for one parameter, as `Adam.update` in `tiny_optim.py` is written.
    Keep a running mean of the squared gradient in the dict `state`, which is empty before the first
    step: it starts at 0, and each step takes `alpha` times the old one plus `1 - alpha` times the new
    square. Then move `param`, in place, against the gradient divided by the root of that mean plus
    `eps`. There is no bias correction. The function is called under `no_grad`; it must not change
    `grad`.
    """

    kind = "implement"
    idea = "Rates of their own"
    stub = """
        def rmsprop(param, grad, state, lr, alpha=0.99, eps=1e-8):
            param.sub_(lr * grad)
    """
    hints = [
        "Which lines of `Adam.update` belong to the square?",
        "`if not state:` tells the first step. `square.mul_(alpha).addcmul_(grad, grad, "
        "value=1 - alpha)` keeps the tensor that the dict holds.",
    ]
    solution = """
        def rmsprop(param, grad, state, lr, alpha=0.99, eps=1e-8):
            if not state:
                state["square"] = torch.zeros_like(param)
            square = state["square"]
            square.mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
            param.sub_(lr * grad / (square.sqrt() + eps))
    """
    reason = """
        Without correction the first step is $1 / \\sqrt{1 - \\alpha}$ times the rate, ten times for
        0.99. That is one reason why Adam has its two divisors.
    """
    wrong = [
        Wrong(
            """
            def rmsprop(param, grad, state, lr, alpha=0.99, eps=1e-8):
                square = state.get("square", torch.zeros_like(param))
                square = alpha * square + (1 - alpha) * grad * grad
                param.sub_(lr * grad / (square.sqrt() + eps))
            """,
            says="second step",
            why="The new mean is never put into the dict, so each step starts at 0.",
        ),
        Wrong(
            """
            def rmsprop(param, grad, state, lr, alpha=0.99, eps=1e-8):
                if not state:
                    state["square"] = torch.zeros_like(param)
                square = state["square"].mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
                param.sub_(lr * grad / (square + eps).sqrt())
            """,
            says="outside of the root",
            why="Inside, eps is a bound of 1e-4 instead of 1e-8.",
        ),
        Wrong(
            """
            def rmsprop(param, grad, state, lr, alpha=0.99, eps=1e-8):
                if not state:
                    state["square"] = torch.zeros_like(param)
                square = state["square"].mul_(1 - alpha).addcmul_(grad, grad, value=alpha)
                param.sub_(lr * grad / (square.sqrt() + eps))
            """,
            says="forgets",
            why="alpha is what is kept of the old mean.",
        ),
        Wrong(
            """
            def rmsprop(param, grad, state, lr, alpha=0.99, eps=1e-8):
                if not state:
                    state["square"] = torch.zeros_like(param)
                square = state["square"].mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
                param = param - lr * grad / (square.sqrt() + eps)
            """,
            says="didn't move",
            why="That gives a local name to a new tensor; the parameter stays as it was.",
        ),
        Wrong(
            """
            def rmsprop(param, grad, state, lr, alpha=0.99, eps=1e-8):
                if not state:
                    state["square"] = torch.zeros_like(param)
                square = state["square"].mul_(alpha).add_(grad.square_(), alpha=1 - alpha)
                param.sub_(lr * grad / (square.sqrt() + eps))
            """,
            says="changes the gradient",
            why="`square_` writes into the gradient that it reads.",
        ),
    ]

    def check(rmsprop):
        torch.manual_seed(33)
        for options in ({}, {"alpha": 0.9}, {"eps": 0.1}, {"alpha": 0.5, "eps": 1e-3}):
            alpha, eps = options.get("alpha", 0.99), options.get("eps", 1e-8)
            shapes = ((5,), (2, 3))
            params = [nn.Parameter(torch.randn(shape, dtype=torch.float64)) for shape in shapes]
            states = [{} for _ in shapes]
            squares = [torch.zeros(shape, dtype=torch.float64) for shape in shapes]
            for step in range(1, 5):
                for param, state, i in zip(params, states, range(2), strict=True):
                    lr = 0.1 / step
                    grad = torch.randn(param.shape, dtype=torch.float64) * 10 ** (1 - step)
                    if i == 0 and step > 1:
                        grad[0] = 0
                    given, before, old = grad.clone(), param.detach().clone(), squares[i].clone()
                    squares[i] = alpha * old + (1 - alpha) * grad * grad
                    with torch.no_grad():
                        rmsprop(param, grad, state, lr, **options)
                    require(grad.equal(given), "rmsprop changes the gradient.")
                    moved = before - param.detach()
                    require(moved.any(), "The parameter didn't move. Write into it.")
                    true = lr * given / (squares[i].sqrt() + eps)
                    if torch.allclose(moved, true, rtol=1e-7, atol=1e-12):
                        continue
                    about = (
                        f"Step {step} of a parameter, with lr={lr:.3g}, alpha={alpha}, eps={eps}:"
                    )
                    inside = lr * given / (squares[i] + eps).sqrt()
                    require(
                        not torch.allclose(moved, inside, rtol=1e-7, atol=1e-12),
                        f"{about} eps belongs outside of the root.",
                    )
                    swapped = (1 - alpha) * old + alpha * given * given
                    require(
                        alpha == 0.5
                        or not torch.allclose(
                            moved, lr * given / (swapped.sqrt() + eps), rtol=1e-7
                        ),
                        f"{about} The mean forgets too much: alpha is the share of the old one.",
                    )
                    first = lr * given / (((1 - alpha) * given * given).sqrt() + eps)
                    require(
                        step == 1 or not torch.allclose(moved, first, rtol=1e-7),
                        f"{about} in the second step and later, the mean must go on from the one before.",
                    )
                    expect(moved, true, f"{about} the distance", tolerance=1e-7)


class Groups(Exercise):
    """Decay for matrices only

    Biases, and the scales of normalisations, shouldn't be pulled to 0: they have one dimension.
    Write `groups(model, weight_decay)`. It returns a list of parameter groups, ready for
    `torch.optim.AdamW`: parameters with two or more dimensions get `weight_decay`, all others get
    0. Frozen parameters, which don't require grad, are left out. A parameter that is shared by
    several layers comes once.
    """

    kind = "implement"
    idea = "Groups, state, closures"
    stub = """
        def groups(model, weight_decay):
            return [{"params": list(model.parameters()), "weight_decay": weight_decay}]
    """
    hints = [
        "`parameters()` gives each parameter once, and `p.ndim` is the number of dimensions.",
        "Two lists, two dicts. The group without decay has to say so: otherwise it gets the "
        "optimizer's default, and AdamW's default isn't 0.",
    ]
    solution = """
        def groups(model, weight_decay):
            trained = [p for p in model.parameters() if p.requires_grad]
            return [
                {"params": [p for p in trained if p.ndim >= 2], "weight_decay": weight_decay},
                {"params": [p for p in trained if p.ndim < 2], "weight_decay": 0.0},
            ]
    """
    reason = """
        The shape tells matrices from biases and scales. Names don't: the scale of a LayerNorm is
        called `weight`, too.
    """
    wrong = [
        Wrong(
            """
            def groups(model, weight_decay):
                named = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
                return [
                    {"params": [p for n, p in named if not n.endswith("bias")], "weight_decay": weight_decay},
                    {"params": [p for n, p in named if n.endswith("bias")], "weight_decay": 0.0},
                ]
            """,
            says="scale of a normalisation",
            why="The scale of a normalisation is named `weight`.",
        ),
        Wrong(
            """
            def groups(model, weight_decay):
                named = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
                decayed = [p for n, p in named if n.endswith("weight") and p.ndim != 1]
                others = [p for n, p in named if not any(p is one for one in decayed)]
                return [
                    {"params": decayed, "weight_decay": weight_decay},
                    {"params": others, "weight_decay": 0.0},
                ]
            """,
            says="Names don't tell",
            why="The matrices of an LSTM are called `weight_ih_l0` and `weight_hh_l0`.",
        ),
        Wrong(
            """
            def groups(model, weight_decay):
                every = list(model.parameters())
                return [
                    {"params": [p for p in every if p.ndim >= 2], "weight_decay": weight_decay},
                    {"params": [p for p in every if p.ndim < 2], "weight_decay": 0.0},
                ]
            """,
            says="frozen",
            why="A frozen parameter has no business in an optimizer.",
        ),
        Wrong(
            """
            def groups(model, weight_decay):
                trained = [p for p in model.parameters() if p.requires_grad]
                return [
                    {"params": [p for p in trained if p.ndim >= 2], "weight_decay": weight_decay},
                    {"params": [p for p in trained if p.ndim < 2]},
                ]
            """,
            says="its default",
            why="AdamW decays by 0.01 unless a group says otherwise.",
        ),
        Wrong(
            """
            def groups(model, weight_decay):
                trained = [p for m in model.modules() for p in m._parameters.values()]
                trained = [p for p in trained if p is not None and p.requires_grad]
                return [
                    {"params": [p for p in trained if p.ndim >= 2], "weight_decay": weight_decay},
                    {"params": [p for p in trained if p.ndim < 2], "weight_decay": 0.0},
                ]
            """,
            says="times",
            why="A tied weight belongs to two modules and is one parameter.",
        ),
    ]

    def check(groups):
        def tied():
            model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
            model[2].weight = model[0].weight
            return model

        def frozen():
            model = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2))
            model[0].requires_grad_(False)
            return model

        def scaled():
            model = nn.Linear(2, 2)
            model.temperature = nn.Parameter(torch.ones(()))
            return model

        def recurrent():
            return nn.Sequential(nn.LSTM(3, 2))

        def odd():
            model = nn.Module()
            model.table = nn.Parameter(torch.ones(2, 3))
            model.weight = nn.Parameter(torch.ones(3))
            model.kernel_bias = nn.Parameter(torch.ones(2, 2))
            return model

        makers = {
            "two linear layers": lambda: nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2)),
            "a convolution and a batch norm": lambda: nn.Sequential(
                nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2)
            ),
            "a layer norm": lambda: nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4)),
            "an embedding": lambda: nn.Sequential(nn.Embedding(5, 3), nn.Linear(3, 5, bias=False)),
            "a linear layer and a scalar": scaled,
            "a tied weight": tied,
            "a frozen layer": frozen,
            "an LSTM": recurrent,
            "names of its own": odd,
        }
        for name, make in makers.items():
            for decay in (0.1, 0.5):
                model = make()
                found = groups(model, decay)
                about = f"For a model with {name}:"
                require(
                    isinstance(found, list | tuple) and all(isinstance(g, dict) for g in found),
                    f"groups returned {describe(found)}; return a list of dicts.",
                )
                found = [dict(group, params=list(group["params"])) for group in found]
                given = [p for group in found for p in group["params"]]
                require(
                    all(isinstance(p, torch.Tensor) for p in given),
                    f'{about} "params" has something other than parameters.',
                )
                for label, param in model.named_parameters():
                    times = sum(one is param for one in given)
                    require(
                        param.requires_grad or not times,
                        f"{about} {label} is frozen and doesn't belong to any group.",
                    )
                    require(times or not param.requires_grad, f"{about} {label} is missing.")
                    require(times < 2, f"{about} {label} comes {times} times.")
                require(
                    all(any(one is p for p in model.parameters()) for one in given),
                    f"{about} the groups have tensors that aren't the model's parameters.",
                )
                for group in torch.optim.AdamW(found).param_groups:
                    for param in group["params"]:
                        label = next(n for n, p in model.named_parameters() if p is param)
                        true, came = (decay if param.ndim >= 2 else 0), group["weight_decay"]
                        about_one = f"{about} {label} of shape {tuple(param.shape)} gets {came}, not {true}."
                        if came == true:
                            continue
                        require(
                            came != 0.01,
                            f"{about_one} A group that doesn't say its decay gets AdamW's, its default.",
                        )
                        require(
                            name not in ("an LSTM", "names of its own"),
                            f"{about_one} Names don't tell matrices; the number of dimensions does.",
                        )
                        require(
                            not (param.ndim == 1 and label.endswith("weight")),
                            f"{about_one} That is the scale of a normalisation, whatever it's called.",
                        )
                        require(False, about_one)


# ------------------------------------------------------------ the hunt
def adamw_step(
    param, grad, state, lr, betas, eps, weight_decay, *, l2=False, decay=None, eps_inside=False
):
    """The parts that the right function and the broken ones share."""
    if not state:
        state.update(t=0, mean=torch.zeros_like(param), square=torch.zeros_like(param))
    state["t"] += 1
    if l2:
        grad = grad + weight_decay * param
    else:
        param.mul_(1 - (lr * weight_decay if decay is None else decay))
    state["mean"].mul_(betas[0]).add_(grad, alpha=1 - betas[0])
    state["square"].mul_(betas[1]).addcmul_(grad, grad, value=1 - betas[1])
    mean = state["mean"] / (1 - betas[0] ** state["t"])
    square = state["square"] / (1 - betas[1] ** state["t"])
    size = (square + eps).sqrt() if eps_inside else square.sqrt() + eps
    param.sub_(lr * mean / size)


def right(param, grad, state, lr, betas, eps, weight_decay):
    adamw_step(param, grad, state, lr, betas, eps, weight_decay)


def l2_penalty(param, grad, state, lr, betas, eps, weight_decay):
    """The decay goes into the gradient."""
    adamw_step(param, grad, state, lr, betas, eps, weight_decay, l2=True)


def decay_without_rate(param, grad, state, lr, betas, eps, weight_decay):
    """The decay isn't multiplied by the rate."""
    adamw_step(param, grad, state, lr, betas, eps, weight_decay, decay=weight_decay)


def eps_inside(param, grad, state, lr, betas, eps, weight_decay):
    """eps is added inside of the root."""
    adamw_step(param, grad, state, lr, betas, eps, weight_decay, eps_inside=True)


def swapped_betas(param, grad, state, lr, betas, eps, weight_decay):
    """The two betas are swapped."""
    adamw_step(param, grad, state, lr, betas[::-1], eps, weight_decay)


def without_correction(param, grad, state, lr, betas, eps, weight_decay):
    """No bias correction."""
    if not state:
        state.update(t=1000000)
        state.update(mean=torch.zeros_like(param), square=torch.zeros_like(param))
    adamw_step(param, grad, state, lr, betas, eps, weight_decay)


def counts_once(param, grad, state, lr, betas, eps, weight_decay):
    """The number of steps stays 1."""
    if state:
        state["t"] = 0
    adamw_step(param, grad, state, lr, betas, eps, weight_decay)


def forgets_the_mean(param, grad, state, lr, betas, eps, weight_decay):
    """The mean starts at 0 in each step."""
    if state:
        state["mean"].zero_()
    adamw_step(param, grad, state, lr, betas, eps, weight_decay)


def changes_the_gradient(param, grad, state, lr, betas, eps, weight_decay):
    """The gradient is multiplied by the rate in place."""
    adamw_step(param, grad, state, lr, betas, eps, weight_decay)
    grad.mul_(lr)


class Hunt(BugHunt):
    """Eight Adams

    Write `test(adamw)`. It gets a function `adamw(param, grad, state, lr, betas, eps,
    weight_decay)` that takes one step of AdamW with one parameter, in place, as `Adam.update` in
    `tiny_optim.py` does. `state` is a dict, empty before the first step; what it keeps there
    is up to the function. Call it under `torch.no_grad()`. Your test must raise if a step isn't right.
    One function is right, and eight are wrong.
    """

    idea = "Rates of their own"
    stub = """
        def test(adamw):
            param, state = torch.ones(1), {}
            adamw(param, torch.ones(1), state, 0.1, (0.9, 0.999), 1e-8, 0.0)
            assert param.item() < 1
    """
    hints = [
        "In the first step, Adam only goes by the rate. Which bugs can only be seen in "
        "the second step?",
        "`torch.optim.AdamW` is right. Take large values for eps and weight_decay, so that their "
        "place matters, and look at the gradient afterwards.",
    ]
    solution = """
        def test(adamw):
            torch.manual_seed(0)
            mine, state = torch.randn(4, dtype=torch.float64), {}
            param = mine.clone().requires_grad_()
            options = {"lr": 0.1, "betas": (0.8, 0.95), "eps": 0.1, "weight_decay": 0.3}
            optimizer = torch.optim.AdamW([param], **options)
            for _ in range(4):
                param.grad = torch.randn(4, dtype=torch.float64)
                given = param.grad.clone()
                with torch.no_grad():
                    adamw(mine, given, state, *options.values())
                optimizer.step()
                assert given.equal(param.grad)
                assert torch.allclose(mine, param.detach(), rtol=1e-9)
    """
    reason = """
        Several steps, gradients that differ, and options far away from their defaults: with
        eps = 1e-8 its place could never be seen.
    """
    wrong = [
        Wrong(
            """
            def test(adamw):
                param, state = torch.ones(1), {}
                adamw(param, torch.ones(1), state, 0.1, (0.9, 0.999), 1e-8, 0.0)
                assert abs(param.item() - 0.9) < 1e-4
            """,
            says="on 7 of 8",
            why="A first step without decay is the rate, in nearly every version.",
        ),
        Wrong(
            """
            def test(adamw):
                param, state = torch.ones(1, requires_grad=True), {}
                mine = torch.ones(1)
                optimizer = torch.optim.AdamW([param])
                for _ in range(5):
                    param.grad = torch.ones(1)
                    adamw(mine, torch.ones(1), state, 0.001, (0.9, 0.999), 1e-8, 0.01)
                    optimizer.step()
                assert torch.allclose(mine, param.detach(), rtol=1e-3)
            """,
            says="on 4 of 8",
            why="Constant gradients and default options hide most of them.",
        ),
    ]
    right = right
    bugs = [
        l2_penalty,
        decay_without_rate,
        eps_inside,
        swapped_betas,
        without_correction,
        counts_once,
        forgets_the_mean,
        changes_the_gradient,
    ]


class LionStep(Exercise):
    """Lion

    Lion (Chen and others, 2023) was found by a search over programs. It keeps one running mean `m`
    per parameter, half of Adam's state, and only uses a *sign*:

        c = beta1 * m + (1 - beta1) * g
        w = w - lr * (sign(c) + weight_decay * w)
        m = beta2 * m + (1 - beta2) * g

    `g` is the gradient, `m` starts at 0, and `w` on the right is the parameter before the step.
    Write the method `step`, which changes the parameters in place.
    It calls the closure, if there is one, with gradients on, and returns what that returned;
    parameters without a gradient are skipped. Keep `m` in `self.state[param]`, so that
    `state_dict` saves it. The gradient stays as it is.
    """

    kind = "extend"
    idea = "The shipped step"
    beside = "the answer is a class that the library itself calls"
    stub = """
        class Lion(torch.optim.Optimizer):
            def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
                super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

            @torch.no_grad()
            def step(self, closure=None):
                for group in self.param_groups:
                    for param in group["params"]:
                        pass
    """
    hints = [
        "Take all options from `group`, in each step: schedulers change them there.",
        "Compute `c` out of place before you change `m`. `with torch.enable_grad():` around the closure.",
        "`self.state[param]` is an empty dict in the first step.",
    ]
    solution = """
        class Lion(torch.optim.Optimizer):
            def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
                super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

            @torch.no_grad()
            def step(self, closure=None):
                loss = None
                if closure is not None:
                    with torch.enable_grad():
                        loss = closure()
                for group in self.param_groups:
                    beta1, beta2 = group["betas"]
                    for param in group["params"]:
                        if param.grad is None:
                            continue
                        state = self.state[param]
                        if not state:
                            state["mean"] = torch.zeros_like(param)
                        mean = state["mean"]
                        direction = (beta1 * mean + (1 - beta1) * param.grad).sign()
                        param.mul_(1 - group["lr"] * group["weight_decay"])
                        param.sub_(group["lr"] * direction)
                        mean.mul_(beta2).add_(param.grad, alpha=1 - beta2)
                return loss
    """
    reason = """
        Two betas on one mean: the direction listens more to the newest gradient than the memory
        does. As every number moves by exactly the rate, Lion wants a smaller rate than Adam.
    """
    wrong = [
        Wrong(
            """
            class Lion(torch.optim.Optimizer):
                def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
                    super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

                @torch.no_grad()
                def step(self, closure=None):
                    loss = None
                    if closure is not None:
                        with torch.enable_grad():
                            loss = closure()
                    for group in self.param_groups:
                        beta1, beta2 = group["betas"]
                        for param in group["params"]:
                            if param.grad is None:
                                continue
                            state = self.state[param]
                            if not state:
                                state["mean"] = torch.zeros_like(param)
                            mean = state["mean"]
                            mean.mul_(beta1).add_(param.grad, alpha=1 - beta1)
                            param.mul_(1 - group["lr"] * group["weight_decay"])
                            param.sub_(group["lr"] * mean.sign())
                    return loss
            """,
            says="second beta",
            why="One mean for both is another optimizer, momentum with signs.",
        ),
        Wrong(
            """
            class Lion(torch.optim.Optimizer):
                def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
                    super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

                @torch.no_grad()
                def step(self, closure=None):
                    loss = None
                    if closure is not None:
                        loss = closure()
                    for group in self.param_groups:
                        beta1, beta2 = group["betas"]
                        for param in group["params"]:
                            if param.grad is None:
                                continue
                            state = self.state[param]
                            if not state:
                                state["mean"] = torch.zeros_like(param)
                            mean = state["mean"]
                            direction = (beta1 * mean + (1 - beta1) * param.grad).sign()
                            param.mul_(1 - group["lr"] * group["weight_decay"])
                            param.sub_(group["lr"] * direction)
                            mean.mul_(beta2).add_(param.grad, alpha=1 - beta2)
                    return loss
            """,
            says="gradients on",
            why="The closure calls backward, and under no_grad there is nothing to go back through.",
        ),
        Wrong(
            """
            class Lion(torch.optim.Optimizer):
                def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
                    super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay})
                    self.means = {}

                @torch.no_grad()
                def step(self, closure=None):
                    loss = None
                    if closure is not None:
                        with torch.enable_grad():
                            loss = closure()
                    for group in self.param_groups:
                        beta1, beta2 = group["betas"]
                        for param in group["params"]:
                            if param.grad is None:
                                continue
                            mean = self.means.setdefault(param, torch.zeros_like(param))
                            direction = (beta1 * mean + (1 - beta1) * param.grad).sign()
                            param.mul_(1 - group["lr"] * group["weight_decay"])
                            param.sub_(group["lr"] * direction)
                            mean.mul_(beta2).add_(param.grad, alpha=1 - beta2)
                    return loss
            """,
            says="state dict",
            why="What isn't in `self.state` isn't saved.",
        ),
        Wrong(
            """
            class Lion(torch.optim.Optimizer):
                def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
                    super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

                @torch.no_grad()
                def step(self, closure=None):
                    loss = None
                    if closure is not None:
                        with torch.enable_grad():
                            loss = closure()
                    for group in self.param_groups:
                        beta1, beta2 = group["betas"]
                        for param in group["params"]:
                            if param.grad is None:
                                continue
                            state = self.state[param]
                            if not state:
                                state["mean"] = torch.zeros_like(param)
                            mean = state["mean"]
                            grad = param.grad + group["weight_decay"] * param
                            param.sub_(group["lr"] * (beta1 * mean + (1 - beta1) * grad).sign())
                            mean.mul_(beta2).add_(grad, alpha=1 - beta2)
                    return loss
            """,
            says="outside of the sign",
            why="In the sign the decay would be all or nothing.",
        ),
    ]

    def check(Lion):
        require(isinstance(Lion, type), f"Lion is {Lion!r}; it should stay a class.")
        first = torch.zeros(2, requires_grad=True)
        defaults = {"lr": 1e-4, "betas": (0.9, 0.99), "weight_decay": 0.0}
        expect(Lion([first]).defaults, defaults, "the default options")
        torch.manual_seed(5)
        params = [torch.randn(40, dtype=torch.float64, requires_grad=True) for _ in range(3)]
        last = [p.detach().clone() for p in params]
        means = [torch.zeros(40, dtype=torch.float64) for _ in params]
        options = [
            {"lr": 0.1, "betas": (0.9, 0.6), "weight_decay": 0.0},
            {"lr": 0.05, "betas": (0.7, 0.3), "weight_decay": 0.5},
        ]
        optimizer = Lion(
            [{"params": params[:1], **options[0]}, {"params": params[1:], **options[1]}]
        )
        for step in range(8):
            if step == 4:
                options[0]["lr"] = optimizer.param_groups[0]["lr"] = 0.3
            if step == 6:
                held, saved = optimizer, copy.deepcopy(optimizer.state_dict())
                optimizer = Lion([{"params": params[:1]}, {"params": params[1:]}])
                optimizer.load_state_dict(saved)
                del held
            grads = [torch.randn(40, dtype=torch.float64) for _ in params]
            for i, (param, grad) in enumerate(zip(params, grads, strict=True)):
                param.grad = None if i == 2 and step < 3 else grad.clone()
            came = optimizer.step()
            require(came is None, f"step() without a closure returned {describe(came)}, not None.")
            for i, (param, grad) in enumerate(zip(params, grads, strict=True)):
                about = f"Step {step + 1}, parameter {i}:"
                if param.grad is None:
                    require(param.equal(last[i]), f"{about} it has no gradient, but it moved.")
                    continue
                require(param.grad.equal(grad), f"{about} the gradient was changed.")
                group, before = options[min(i, 1)], last[i]
                (beta1, beta2), lr = group["betas"], group["lr"]
                decay, old = group["weight_decay"], means[i]
                true = before - lr * ((beta1 * old + (1 - beta1) * grad).sign() + decay * before)
                means[i] = beta2 * old + (1 - beta2) * grad
                last[i] = param.detach().clone()
                if torch.allclose(last[i], true, rtol=1e-9, atol=1e-12):
                    continue
                require(not last[i].equal(before), f"{about} it didn't move.")
                moved = (before - last[i]) / lr
                signs = moved.abs().sub(1).abs().max() < 1e-6
                require(
                    not (decay and signs),
                    f"{about} each number moved by exactly the rate; the decay belongs outside of the sign.",
                )
                require(
                    step < 6,
                    f"{about} it's wrong after a state dict was loaded. Is the mean in `self.state`, "
                    "so that it's in the state dict?",
                )
                require(
                    step == 0,
                    f"{about} the numbers are wrong. Is the mean kept with the second beta, after the "
                    "direction was computed with the first?",
                )
                expect(last[i], true, f"{about} the parameter", tolerance=1e-9)
        sizes = [
            sum(v.numel() for v in optimizer.state[p].values() if isinstance(v, torch.Tensor))
            for p in params
        ]
        require(
            max(sizes) <= params[0].numel() + 1,
            f"The state of a parameter has {max(sizes)} numbers; Lion needs {params[0].numel()}.",
        )
        weight = torch.full((3,), 2.0, requires_grad=True)
        optimizer, modes = Lion([weight], lr=0.5), []

        def closure():
            modes.append(torch.is_grad_enabled())
            loss = weight.square().sum()
            if loss.requires_grad:
                weight.grad = None
                loss.backward()
            return loss

        came = optimizer.step(closure)
        require(len(modes) == 1, f"The closure was called {len(modes)} times in one step.")
        require(modes[0], "The closure must be called with gradients on.")
        require(
            isinstance(came, torch.Tensor) and came.item() == 12,
            f"step(closure) returned {describe(came)}; return what the closure returned.",
        )
        expect(weight.detach(), torch.full((3,), 1.5), "the parameter after a step with a closure")
