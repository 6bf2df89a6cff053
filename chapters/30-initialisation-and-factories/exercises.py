"""Exercises of chapter 30, initialisation and factories."""

import math

import tensorlab as torch
from tensorlab import nn
from tensorlab.learn import BugHunt, Exercise, Wrong, called_names, describe, expect, require

IMPORTS = """
import tensorlab as torch
from tensorlab import nn
from tiny_init import fans, size
"""
FILES = ["tiny_init.py"]


class Factor(Exercise):
    """By which factor

    Write `factor(fan_in, std, layers, relu)`: by which number a network of `layers` equal layers
    multiplies the size
    (root of the mean square) of its input. Each layer sums over `fan_in` inputs with random weights
    of mean 0 and standard deviation
    `std`, without bias. If `relu` is True, a relu follows each layer. The network is wide, so that
    averages are exact.
    """

    kind = "warm-up"
    idea = "Idea"
    stub = """
        def factor(fan_in, std, layers, relu):
            return std
    """
    hints = [
        "What happens to the mean *square* in one layer? And the size is its root.",
        "relu takes half of the squares.",
    ]
    solution = """
        def factor(fan_in, std, layers, relu):
            square = fan_in * std**2 / (2 if relu else 1)
            return square ** (layers / 2)
    """
    reason = """
        One layer multiplies the mean square by `fan_in * std**2`, and relu by one half. The size is
        the root, and
        depth is a power.
    """
    wrong = [
        Wrong(
            """
            def factor(fan_in, std, layers, relu):
                return (fan_in * std / (2 if relu else 1)) ** layers
            """,
            says="variance",
            why="Sums of random terms grow with the root of their number.",
        ),
        Wrong(
            """
            def factor(fan_in, std, layers, relu):
                return (fan_in**0.5 * std / (2 if relu else 1)) ** layers
            """,
            says="half of the squares",
            why="relu halves the mean square, so the size shrinks by the root of 2.",
        ),
        Wrong(
            """
            def factor(fan_in, std, layers, relu):
                return (fan_in * std**2 / (2 if relu else 1)) ** layers
            """,
            says="root",
            why="That is the factor of the mean square.",
        ),
        Wrong(
            """
            def factor(fan_in, std, layers, relu):
                return layers * (fan_in * std**2 / (2 if relu else 1)) ** 0.5
            """,
            says="each layer multiplies",
            why="Factors multiply; they don't add up.",
        ),
    ]

    def check(factor):
        for fan_in, std, layers, relu in (
            (4, 0.5, 1, False),
            (100, 0.2, 5, True),
            (64, 0.25, 3, False),
            (64, 0.25, 3, True),
            (16, 0.1, 2, True),
            (50, 0.2, 1, True),
            (9, 0.7, 7, False),
        ):
            one = fan_in * std**2 / (2 if relu else 1)
            true = math.sqrt(one) ** layers
            came = factor(fan_in, std, layers, relu)
            require(
                isinstance(came, int | float), f"factor returned {describe(came)}; return a number."
            )
            if math.isclose(came, true, rel_tol=1e-9):
                continue
            call = f"factor({fan_in}, {std}, {layers}, {relu}) isn't {came:.4g}."

            def near(value, came=came):
                return math.isclose(came, value, rel_tol=1e-6)

            require(
                not near(one**layers),
                f"{call} Yours is the factor of the mean square; take the root.",
            )
            require(
                not (relu and near((math.sqrt(fan_in) * std / 2) ** layers)),
                f"{call} relu takes half of the squares, not half of the size.",
            )
            require(
                not near((fan_in * std / (2 if relu else 1)) ** layers),
                f"{call} A sum of n random terms has n times the variance of one.",
            )
            require(
                layers == 1 or not near(layers * math.sqrt(one)),
                f"{call} There are {layers} layers, and each layer multiplies.",
            )
            require(False, f"{call} Work out the mean square after one layer first.")


class He(Exercise):
    """He's start

    Write `he_(weight, mode="fan_in")`: fill a weight of shape (out, in) or (out, in, kernel
    sizes...) with normal numbers of mean 0 and
    variance 2 / fan, where the fan is that of `mode`, "fan_in" or "fan_out". It works in place,
    returns `weight`, and
    leaves no trace in autograd. Draw all numbers with one call of `normal_`, so that they are those
    of
    `kaiming_normal_`; functions of `nn.init` are not allowed.
    """

    kind = "implement"
    idea = "A start for relu"
    stub = """
        def he_(weight, mode="fan_in"):
            return weight
    """
    hints = [
        "`fans(weight)` of `tiny_init.py` gives both numbers.",
        "`weight.normal_(0, std)` takes the standard deviation, not the variance. A "
        "parameter may only be written to under `torch.no_grad()`.",
    ]
    solution = """
        def he_(weight, mode="fan_in"):
            fan_in, fan_out = fans(weight)
            std = (2 / (fan_in if mode == "fan_in" else fan_out)) ** 0.5
            with torch.no_grad():
                return weight.normal_(0, std)
    """
    reason = """
        The places of the kernel count: an output of a convolution sums over `in * places` numbers.
    """
    wrong = [
        Wrong(
            """
            def he_(weight, mode="fan_in"):
                fan = weight.shape[1] if mode == "fan_in" else weight.shape[0]
                with torch.no_grad():
                    return weight.normal_(0, (2 / fan) ** 0.5)
            """,
            says="kernel",
            why="For a convolution, the places of the kernel are part of the sum.",
        ),
        Wrong(
            """
            def he_(weight, mode="fan_in"):
                fan = fans(weight)[0 if mode == "fan_in" else 1]
                with torch.no_grad():
                    return weight.normal_(0, 2 / fan)
            """,
            says="standard deviation",
            why="2 / fan is the variance.",
        ),
        Wrong(
            """
            def he_(weight, mode="fan_in"):
                fan = fans(weight)[1 if mode == "fan_in" else 0]
                with torch.no_grad():
                    return weight.normal_(0, (2 / fan) ** 0.5)
            """,
            says="the other fan",
            why="A weight has shape (out, in): the second dimension is what an output sums over.",
        ),
        Wrong(
            """
            def he_(weight, mode="fan_in"):
                fan = fans(weight)[0 if mode == "fan_in" else 1]
                return weight.data.normal_(0, (2 / fan) ** 0.5)
            """,
            says="another tensor",
            why="`.data` is a tensor of its own. What it returns isn't the parameter.",
        ),
    ]

    def check(he_):
        for shape in ((3, 5), (40, 20), (8, 3, 5), (6, 4, 3, 2), (2, 3, 2, 2, 2)):
            for mode in ("fan_in", "fan_out"):
                weight = nn.Parameter(torch.zeros(shape))
                torch.manual_seed(sum(shape))
                with called_names() as names:
                    came = he_(weight) if mode == "fan_in" else he_(weight, mode)
                state = torch.get_rng_state()
                used = sorted(name for name in names if "kaiming" in name or "xavier" in name)
                require(not used, f"he_ calls {', '.join(used)}; write it with `normal_`.")
                require(
                    came is weight, "he_ must return the tensor it was given, not another tensor."
                )
                require(
                    weight.requires_grad and weight.is_leaf,
                    "The weight is no longer a leaf that requires grad.",
                )
                torch.manual_seed(sum(shape))
                true = nn.init.kaiming_normal_(torch.zeros(shape), mode=mode, nonlinearity="relu")
                if not torch.allclose(weight.detach(), true, atol=1e-6):
                    ratio = (weight.detach() / true).mean().item()
                    about = f"For a weight of shape {shape} and {mode!r}"
                    spread = (weight.detach() / true).std().item()
                    require(
                        spread < 1e-3 * abs(ratio) + 1e-9,
                        f"{about}, the numbers are others: draw with one call of `normal_`.",
                    )
                    places = math.prod(shape[2:])
                    sizes = (shape[1], shape[0]) if mode == "fan_in" else (shape[0], shape[1])
                    swapped = math.sqrt(sizes[0] / sizes[1])
                    require(
                        places == 1 or not math.isclose(ratio, math.sqrt(places), rel_tol=1e-3),
                        f"{about}, all numbers are {ratio:.3g} times as large: the places of the kernel count, too.",
                    )
                    require(
                        not math.isclose(ratio, swapped, rel_tol=1e-3),
                        f"{about}, all numbers are {ratio:.3g} times as large: you took the other fan.",
                    )
                    fan = sizes[0] * places
                    require(
                        not math.isclose(ratio, math.sqrt(2 / fan), rel_tol=1e-3),
                        f"{about}, all numbers are {ratio:.3g} times as large: `normal_` takes the standard deviation.",
                    )
                    require(
                        False,
                        f"{about}, all numbers are {ratio:.3g} times as large as they should be.",
                    )
                require(
                    state.equal(torch.get_rng_state()), "You draw more numbers than the weight has."
                )


class Measured(Exercise):
    """A start by measurement

    Formulas need to know the nonlinearity. You can also measure. Write `scale_layers(model, x)` for
    an `nn.Sequential`: go through it in order with the
    batch `x`. After each `nn.Linear`, divide the weight by the standard deviation (over everything)
    of what the layer returned, and its bias, if it has one, too, so
    that the output has standard deviation 1. Then go on with the new output. Other modules are only
    applied. Return the output of the last one. Nothing is recorded.
    """

    kind = "implement"
    idea = "Idea"
    stub = """
        def scale_layers(model, x):
            return model(x)
    """
    hints = [
        "A Linear is linear in weight and bias together: dividing both divides its output.",
        "Use `y.std()`, scale, and compute the output again, or divide it by the same number.",
    ]
    solution = """
        def scale_layers(model, x):
            with torch.no_grad():
                for module in model:
                    y = module(x)
                    if isinstance(module, nn.Linear):
                        std = y.std()
                        module.weight /= std
                        if module.bias is not None:
                            module.bias /= std
                        y = module(x)
                    x = y
            return x
    """
    reason = """
        Each layer is measured with the signal that the layers before it deliver after *their*
        scaling. This is the
        idea of "layer-sequential unit variance" (Mishkin and Matas, 2016).
    """
    wrong = [
        Wrong(
            """
            def scale_layers(model, x):
                with torch.no_grad():
                    for module in model:
                        y = module(x)
                        if isinstance(module, nn.Linear):
                            module.weight /= y.std()
                            y = module(x)
                        x = y
                return x
            """,
            says="bias is as it was",
            why="The bias is part of the output, so it has to shrink as well.",
        ),
        Wrong(
            """
            def scale_layers(model, x):
                with torch.no_grad():
                    stds = []
                    y = x
                    for module in model:
                        y = module(y)
                        stds.append(y.std())
                    for module, std in zip(model, stds):
                        if isinstance(module, nn.Linear):
                            module.weight /= std
                            if module.bias is not None:
                                module.bias /= std
                    return model(x)
            """,
            says="first layer is right",
            why="It measures all layers before it scales any.",
        ),
        Wrong(
            """
            def scale_layers(model, x):
                with torch.no_grad():
                    for module in model:
                        y = module(x)
                        if isinstance(module, nn.Linear):
                            var = y.var()
                            module.weight /= var
                            if module.bias is not None:
                                module.bias /= var
                            y = module(x)
                        x = y
                return x
            """,
            says="the variance",
            why="Dividing by s divides the standard deviation by s, and the variance by "
            "its square.",
        ),
    ]

    def check(scale_layers):
        torch.manual_seed(31)
        shapes = [
            nn.Sequential(nn.Linear(6, 8)),
            nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 9), nn.ReLU(), nn.Linear(9, 5)),
            nn.Sequential(
                nn.Tanh(), nn.Linear(6, 8, bias=False), nn.Sigmoid(), nn.Linear(8, 8), nn.ReLU()
            ),
        ]
        for model in shapes:
            x = torch.randn(40, 6) * 3 + 0.5
            given, kept = x.clone(), list(model.parameters())
            before = [parameter.detach().clone() for parameter in kept]
            came = scale_layers(model, x)
            require(
                isinstance(came, torch.Tensor),
                f"scale_layers returned {describe(came)}; return the output.",
            )
            require(x.equal(given), "You write into x.")
            require(not came.requires_grad, "The result has a graph; nothing should be recorded.")
            same = all(a is b for a, b in zip(kept, model.parameters(), strict=True))
            require(same, "A parameter is another object now; scale in place.")
            require(all(p.requires_grad for p in kept), "A parameter no longer requires grad.")
            y, first = x, True
            for i, module in enumerate(model):
                y = module(y).detach()
                if isinstance(module, nn.Linear):
                    std = y.std().item()
                    about = f"The output of layer {i} of {len(model)} has standard deviation {std:.4g}, not 1."
                    ratio = (module.weight / before[first_index(kept, module.weight)]).detach()
                    even = ratio.std() < 1e-4 * ratio.mean().abs()
                    require(bool(even), f"Layer {i}: the weights aren't divided by one number.")
                    if module.bias is not None and abs(std - 1) > 1e-3:
                        unscaled = module.bias.equal(before[first_index(kept, module.bias)])
                        require(not unscaled, f"{about} Its bias is as it was.")
                    by_variance = abs(std * old_std(ratio) - 1) < 1e-3
                    wrong_power = abs(std - 1) > 1e-3 and first and by_variance
                    require(not wrong_power, f"{about} You divided by the variance.")
                    require(
                        abs(std - 1) < 1e-3 or first,
                        f"{about} The first layer is right: measure each layer after the ones before it were scaled.",
                    )
                    require(abs(std - 1) < 1e-3, about)
                    first = False
            expect(came, y, "the result", tolerance=1e-5)


def first_index(tensors, one):
    return next(i for i, tensor in enumerate(tensors) if tensor is one)


def old_std(ratio):
    """The standard deviation before, if the weights were divided by its square."""
    return (1 / ratio.mean().item()) ** 0.5


# ------------------------------------------------------------ the hunt
def right(layer):
    with torch.no_grad():
        layer.weight.normal_(0, math.sqrt(2 / layer.in_features))
        layer.bias.zero_()


def by_fan_out(layer):
    """Takes the fan-out."""
    with torch.no_grad():
        layer.weight.normal_(0, math.sqrt(2 / layer.out_features))
        layer.bias.zero_()


def variance_for_std(layer):
    """Takes the variance for the standard deviation."""
    with torch.no_grad():
        layer.weight.normal_(0, 2 / layer.in_features)
        layer.bias.zero_()


def bound_for_std(layer):
    """A uniform distribution with the standard deviation as its bound."""
    with torch.no_grad():
        bound = math.sqrt(2 / layer.in_features)
        layer.weight.uniform_(-bound, bound)
        layer.bias.zero_()


def one_row_for_all(layer):
    """All units start equal."""
    with torch.no_grad():
        row = torch.randn(1, layer.in_features) * math.sqrt(2 / layer.in_features)
        layer.weight.copy_(row.expand_as(layer.weight))
        layer.bias.zero_()


def random_bias(layer):
    """The bias isn't zero."""
    with torch.no_grad():
        layer.weight.normal_(0, math.sqrt(2 / layer.in_features))
        layer.bias.normal_(0, 0.5)


def only_positive(layer):
    """No negative weights."""
    with torch.no_grad():
        layer.weight.normal_(0, math.sqrt(2 / layer.in_features)).abs_()
        layer.bias.zero_()


def new_parameter(layer):
    """The weight is replaced, so an optimizer holds the old one."""
    weight = torch.randn(layer.out_features, layer.in_features) * math.sqrt(2 / layer.in_features)
    layer.weight = nn.Parameter(weight)
    with torch.no_grad():
        layer.bias.zero_()


class Hunt(BugHunt):
    """Seven starts

    Write `test(start)`. It gets a function `start(layer)` that gives an `nn.Linear` with a bias He's start:
    the weight gets independent numbers of mean 0 and variance
    2 / fan-in, the bias zeros, and the parameters stay the same objects. Your test must raise if it
    doesn't. One function is right, and seven are wrong. You may choose the layers.
    """

    idea = "A start for relu"
    stub = """
        def test(start):
            layer = nn.Linear(100, 100)
            start(layer)
            assert layer.weight.shape == (100, 100)
    """
    hints = [
        "A layer with as many outputs as inputs can't tell fan-in from fan-out. A large "
        "layer makes averages sharp.",
        "Check the mean, the standard deviation, the bias, that rows differ, and "
        "`layer.weight is weight`.",
    ]
    solution = """
        def test(start):
            layer = nn.Linear(400, 100)
            weight = layer.weight
            start(layer)
            assert layer.weight is weight
            assert abs(weight.std().item() / (2 / 400) ** 0.5 - 1) < 0.05
            assert abs(weight.mean().item()) < 0.005
            assert not weight[0].equal(weight[1])
            assert not layer.bias.any()
    """
    reason = """
        40 000 numbers have a standard deviation that is known to half a percent, so a test may be
        strict. With four times as many inputs as outputs
        the two fans differ by a factor of 2.
    """
    wrong = [
        Wrong(
            """
            def test(start):
                layer = nn.Linear(200, 200)
                start(layer)
                assert abs(layer.weight.std().item() / 0.1 - 1) < 0.3
                assert not layer.bias.any()
            """,
            says="on 3 of 7",
            why="A square layer can't tell the fans apart, and nothing asks whether units differ.",
        ),
        Wrong(
            """
            def test(start):
                layer = nn.Linear(400, 100)
                start(layer)
                y = layer(torch.randn(1000, 400)).relu()
                assert 0.7 < size(y) < 1.3
            """,
            says="on 4 of 7",
            why="The size of the output is right for some wrong starts, too.",
        ),
    ]
    right = right
    bugs = [
        by_fan_out,
        variance_for_std,
        bound_for_std,
        one_row_for_all,
        random_bias,
        only_positive,
        new_parameter,
    ]


class Bytes(Exercise):
    """Without allocating

    Write `model_bytes(make)`: how many bytes the parameters and buffers of a model take, without
    making it in memory. `make(device)` builds the model on a device. A tensor that is
    shared between layers counts once.
    """

    kind = "extend"
    idea = "Factories"
    stub = """
        def model_bytes(make):
            return 0
    """
    hints = [
        "Which device has shapes and dtypes but no memory?",
        "`tensor.nbytes`, or `numel() * element_size()`. `parameters()` and `buffers()` "
        "give each tensor once.",
    ]
    solution = """
        def model_bytes(make):
            model = make("meta")
            return sum(tensor.nbytes for tensor in (*model.parameters(), *model.buffers()))
    """
    reason = """
        On "meta" nothing is allocated and nothing is initialised, so even a model of terabytes is
        built in milliseconds. Each walk gives a shared tensor once.
    """
    wrong = [
        Wrong(
            """
            def model_bytes(make):
                model = make("cpu")
                return sum(tensor.nbytes for tensor in (*model.parameters(), *model.buffers()))
            """,
            says="allocates",
            why="Right, until the model doesn't fit.",
        ),
        Wrong(
            """
            def model_bytes(make):
                return sum(parameter.nbytes for parameter in make("meta").parameters())
            """,
            says="buffers",
            why="Running means take memory as well.",
        ),
        Wrong(
            """
            def model_bytes(make):
                return sum(tensor.nbytes for tensor in make("meta").state_dict().values())
            """,
            says="counts once",
            why="A state dict has an entry for each name.",
        ),
        Wrong(
            """
            def model_bytes(make):
                model = make("meta")
                return 4 * sum(tensor.numel() for tensor in (*model.parameters(), *model.buffers()))
            """,
            says="4 bytes",
            why="float64 and int64 take eight.",
        ),
    ]

    def check(model_bytes):
        def plain(device):
            return nn.Linear(3, 5, device=device)

        def in_double(device):
            return nn.Linear(3, 5, device=device, dtype=torch.float64)

        def with_buffers(device):
            return nn.Sequential(nn.Linear(3, 4, device=device), nn.BatchNorm1d(4, device=device))

        def with_a_table(device):
            model = nn.Linear(2, 2, device=device)
            model.register_buffer("table", torch.empty(10, device=device), persistent=False)
            return model

        def tied(device):
            model = nn.Sequential(nn.Linear(4, 4, device=device), nn.Linear(4, 4, device=device))
            model[1].weight = model[0].weight
            return model

        def huge(device):
            return nn.Linear(200_000, 200_000, device=device)

        for make in (plain, in_double, with_buffers, tied, with_a_table, huge):
            asked = []

            def watched(device, make=make, asked=asked):
                asked.append(str(device))
                return make("meta")

            model = make("meta")
            true = sum(tensor.nbytes for tensor in (*model.parameters(), *model.buffers()))
            came = model_bytes(watched)
            about = f"a model called `{make.__name__}`"
            require(isinstance(came, int), f"model_bytes returned {describe(came)}; return an int.")
            require(
                asked and all(device == "meta" for device in asked),
                f"You asked for device {asked[0] if asked else 'nothing'!r}, which allocates the model.",
            )
            require(
                came != sum(p.nbytes for p in model.parameters()) or came == true,
                f"For {about}: {came}, but {true} with its buffers.",
            )
            named = sum(t.nbytes for t in model.state_dict().values())
            require(
                came != named or came == true or make is with_a_table,
                f"For {about}: {came}. A shared tensor counts once: {true}.",
            )
            elements = 4 * sum(t.numel() for t in (*model.parameters(), *model.buffers()))
            require(
                came != elements or came == true,
                f"For {about}: {came}. Not every type has 4 bytes.",
            )
            expect(came, true, f"the bytes of {about}")
