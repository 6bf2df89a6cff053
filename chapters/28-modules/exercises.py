"""Exercises of chapter 28, modules."""

import copy
import random

import tensorlab as torch
from tensorlab import nn
from tensorlab.learn import BugHunt, Exercise, Wrong, describe, expect, require

IMPORTS = """
import tensorlab as torch
from tensorlab import nn
"""
FILES = ["tiny_module.py"]


class Puzzle(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))
        self.first = nn.Linear(2, 3)
        self.more = [nn.Linear(3, 3)]
        self.norm = nn.BatchNorm1d(3)
        self.step = torch.zeros(1)
        self.register_buffer("table", torch.arange(3.0), persistent=False)
        self.last = nn.Linear(3, 2, bias=False)
        self.again = self.last


class Keys(Exercise):
    """Which names are saved

    Here is a constructor. Write `keys`: the list of names in `model.state_dict()`, in its order.

        class Puzzle(nn.Module):
            def __init__(self):
                super().__init__()
                self.scale = nn.Parameter(torch.ones(1))
                self.first = nn.Linear(2, 3)
                self.more = [nn.Linear(3, 3)]
                self.norm = nn.BatchNorm1d(3)
                self.step = torch.zeros(1)
                self.register_buffer("table", torch.arange(3.0), persistent=False)
                self.last = nn.Linear(3, 2, bias=False)
                self.again = self.last

    A `BatchNorm1d` has the parameters `weight` and `bias`, and the buffers `running_mean`,
    `running_var`
    and `num_batches_tracked`.
    """

    kind = "warm-up"
    idea = "Saving and loading"
    stub = """
        keys = ["scale"]
    """
    hints = [
        "Go through the assignments in order, and ask of each value: parameter, buffer, "
        "module, or nothing?",
        "A state dict has an entry for each *name*, also for a tensor that has two.",
        "A buffer that isn't persistent is not saved.",
    ]
    solution = """
        keys = [
            "scale",
            "first.weight",
            "first.bias",
            "norm.weight",
            "norm.bias",
            "norm.running_mean",
            "norm.running_var",
            "norm.num_batches_tracked",
            "last.weight",
            "again.weight",
        ]
    """
    reason = """
        The list of layers and the plain tensor aren't registered. `table` is, but it isn't
        persistent.
        `last` and `again` are one layer under two names, and both are saved.
    """
    wrong = [
        Wrong(
            """
            keys = ["scale", "first.weight", "first.bias", "norm.weight", "norm.bias",
            "norm.running_mean"]
            keys += ["norm.running_var", "norm.num_batches_tracked", "last.weight"]
            """,
            says="under two names",
            why="That would be true for `parameters()`, which gives each tensor once.",
        ),
        Wrong(
            """
            keys = ["scale", "first.weight", "first.bias", "more.0.weight", "more.0.bias",
            "norm.weight"]
            keys += ["norm.bias", "norm.running_mean", "norm.running_var",
            "norm.num_batches_tracked"]
            keys += ["last.weight", "again.weight"]
            """,
            says="in a list",
            why="A plain list is neither a parameter nor a module.",
        ),
        Wrong(
            """
            keys = ["scale", "table", "first.weight", "first.bias", "norm.weight", "norm.bias"]
            keys += ["norm.running_mean", "norm.running_var", "norm.num_batches_tracked"]
            keys += ["last.weight", "again.weight"]
            """,
            says="not persistent",
            why="`persistent=False` means: moved with the model, and not saved.",
        ),
        Wrong(
            """
            keys = ["scale", "first.weight", "first.bias", "norm.weight", "norm.bias",
            "norm.running_mean"]
            keys += ["norm.running_var", "norm.num_batches_tracked", "step", "last.weight",
            "again.weight"]
            """,
            says="plain tensor",
            why="Only a `Parameter` or a buffer is registered.",
        ),
    ]

    def check(keys):
        require(
            isinstance(keys, list | tuple) and all(isinstance(key, str) for key in keys),
            f"keys is {keys!r}; write a list of strings.",
        )
        keys, true = list(keys), list(Puzzle().state_dict())
        require(
            not any(key.startswith("more") for key in keys),
            "`more` holds its layer in a list, and a list isn't registered.",
        )
        require(
            "step" not in keys, "`step` is a plain tensor; only parameters and buffers are saved."
        )
        require("table" not in keys, "`table` is a buffer, but not persistent.")
        require(
            ("last.weight" in keys) == ("again.weight" in keys),
            "One layer is known under two names, and a state dict has an entry for each.",
        )
        require(
            sorted(keys) != sorted(true) or keys == true,
            "All names are right. The order is another: parameters of a module, its "
            "buffers, then its modules.",
        )
        missing = [key for key in true if key not in keys]
        extra = [key for key in keys if key not in true]
        require(not extra, f"There is no {', '.join(extra)} in the state dict.")
        require(not missing, f"Names are missing, for instance one of these: {missing[:1]}.")
        expect(keys, true, "the keys")


class Shared(Exercise):
    """Who shares a tensor

    Write `shared(model)`: for each parameter that has more than one name in `model`, the list of
    its names in the order of
    `state_dict()`; all of these in a list, ordered by their first names.
    A model without shared parameters gives `[]`.
    """

    kind = "implement"
    idea = "Walking the tree"
    stub = """
        def shared(model):
            return []
    """
    hints = [
        "`named_parameters()` gives each tensor once. Which of its arguments changes that?",
        "Group the names by identity: `id(parameter)`, not by value.",
    ]
    solution = """
        def shared(model):
            names = {}
            for name, parameter in model.named_parameters(remove_duplicate=False):
                names.setdefault(id(parameter), []).append(name)
            return [group for group in names.values() if len(group) > 1]
    """
    reason = """
        A dict keeps the order of insertion, so groups come in the order of their first names. Equal
        values don't
        make a shared parameter: two layers of zeros are two layers.
    """
    wrong = [
        Wrong(
            """
            def shared(model):
                names = {}
                for name, parameter in model.named_parameters():
                    names.setdefault(id(parameter), []).append(name)
                return [group for group in names.values() if len(group) > 1]
            """,
            says="Expected [['0.weight', '2.weight']]",
            why="By default each tensor comes once, under its first name.",
        ),
        Wrong(
            """
            def shared(model):
                names = {}
                for name, parameter in model.named_parameters(remove_duplicate=False):
                    names.setdefault(str(parameter.tolist()), []).append(name)
                return [group for group in names.values() if len(group) > 1]
            """,
            says="equal values",
            why="Equal values can lie in two places.",
        ),
        Wrong(
            """
            def shared(model):
                found = {"2.weight": [["0.weight", "2.weight"]], "a.0.bias": [["a.0.weight", "b.weight"]]}
                found["a.0.bias"].append(["a.0.bias", "b.bias", "d.bias"])
                found["a.0.bias"] += [["a.1.weight", "c.0.weight"], ["a.1.bias", "c.0.bias"]]
                return next((found[name] for name in found if name in model.state_dict()), [])
            """,
            says="names are drawn",
            why="These are the answers to some models, known by heart.",
        ),
        Wrong(
            """
            def shared(model):
                names = {}
                for name, tensor in model.state_dict().items():
                    names.setdefault(tensor.data_ptr(), []).append(name)
                return [group for group in names.values() if len(group) > 1]
            """,
            says="isn't a parameter",
            why="A state dict has buffers, too.",
        ),
    ]

    def check(shared):
        for model, about in shared_models():
            names = {}
            for name, parameter in model.named_parameters(remove_duplicate=False):
                names.setdefault(id(parameter), []).append(name)
            true = [group for group in names.values() if len(group) > 1]
            came = shared(model)
            require(
                isinstance(came, list | tuple),
                f"shared returned {describe(came)}; return a list of lists.",
            )
            require(
                all(isinstance(group, list | tuple) for group in came),
                f"In {about}, shared returned {describe(came)}; each group is a list of names.",
            )
            came = [list(group) for group in came]
            require(bool(came) or not true, f"In {about}, shared found nothing. Expected {true}.")
            extra = [
                name for group in came for name in group if not any(name in one for one in true)
            ]
            own = {name for name, _ in model.named_parameters(remove_duplicate=False)}
            odd = [name for name in extra if name not in own]
            require(not odd, f"In {about}, {odd[:1]} isn't a parameter.")
            require(not extra, f"In {about}, {extra} have equal values but are different tensors.")
            expect(came, true, f"the shared parameters of {about}")


def shared_models():
    """Yield models and what they are."""
    yield nn.Linear(2, 2), "a Linear"
    yield nn.Sequential(nn.BatchNorm1d(2), nn.BatchNorm1d(2)), "two batch normalizations"
    tied = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 3), nn.Linear(3, 3))
    tied[2].weight = tied[0].weight
    yield tied, "a network with one tied weight"
    norm = nn.BatchNorm1d(3)
    outer = nn.Module()
    outer.a = nn.Sequential(nn.Linear(3, 3), norm)
    outer.b = outer.a[0]
    outer.c = nn.Sequential(norm)
    outer.d = nn.Linear(3, 3)
    outer.d.bias = outer.b.bias
    yield outer, "a model with a layer in two places"
    for _ in range(4):
        yield random_model(), "a model whose layers and names are drawn"


def random_model():
    """Return a tree of layers with names that are drawn; some of them share a tensor."""
    rng = random.Random()
    model, holders = nn.Module(), []
    for name in rng.sample("abcdefgh", 3):
        model.add_module(name, nn.Module())
        for inner in rng.sample("uvwxyz", rng.randint(1, 3)):
            layer = rng.choice([nn.Linear(2, 2), nn.LayerNorm(2), nn.BatchNorm1d(2)])
            getattr(model, name).add_module(inner, layer)
            holders.append(layer)
    for _ in range(rng.randint(1, 3)):
        one, other = rng.choice(holders), rng.choice(holders)
        if rng.random() < 0.5 or one.weight.shape != other.weight.shape:
            one.bias = other.bias
        else:
            one.weight = other.weight
    return model


class RunningMax(Exercise):
    """A layer with a memory

    Write the module `RunningMax(features)`. Its forward gets `x` of shape (batch, features) and
    returns `x / self.largest`, where
    `largest` has shape (features,) and is the largest absolute value of each feature that the layer
    has seen in training, and
    at least 1. In training it is updated before the division; in evaluation it stays. It must be
    saved, loaded,
    converted (`layer.double()`) and copied with the model. It isn't trained: no gradient flows into
    or through `largest`.
    """

    kind = "implement"
    idea = "Buffers"
    beside = "the answer is a class that the library itself calls"
    stub = """
        class RunningMax(nn.Module):
            def __init__(self, features):
                super().__init__()

            def forward(self, x):
                return x
    """
    hints = [
        "What is saved and moved, but not trained?",
        "`self.training` says in which mode the module is. Update under `torch.no_grad()`.",
        "`torch.maximum(self.largest, x.abs().amax(0))` is the new value. Assigning a "
        "tensor to a buffer's name keeps it a buffer.",
    ]
    solution = """
        class RunningMax(nn.Module):
            def __init__(self, features):
                super().__init__()
                self.register_buffer("largest", torch.ones(features))

            def forward(self, x):
                if self.training:
                    with torch.no_grad():
                        self.largest = torch.maximum(self.largest, x.abs().amax(0))
                return x / self.largest
    """
    reason = """
        `register_buffer` puts the name on the list, so all four jobs find it. The update makes a
        new tensor and doesn't write into the
        old one: a graph that saved the old one for its backward stays valid.
    """
    wrong = [
        Wrong(
            """
            class RunningMax(nn.Module):
                def __init__(self, features):
                    super().__init__()
                    self.largest = torch.ones(features)

                def forward(self, x):
                    if self.training:
                        self.largest = torch.maximum(self.largest, x.detach().abs().amax(0))
                    return x / self.largest
            """,
            says="doesn't have it",
            why="A plain tensor isn't registered.",
        ),
        Wrong(
            """
            class RunningMax(nn.Module):
                def __init__(self, features):
                    super().__init__()
                    self.largest = nn.Parameter(torch.ones(features))

                def forward(self, x):
                    if self.training:
                        with torch.no_grad():
                            self.largest.copy_(torch.maximum(self.largest, x.abs().amax(0)))
                    return x / self.largest
            """,
            says="optimizer would change",
            why="A Parameter is trained.",
        ),
        Wrong(
            """
            class RunningMax(nn.Module):
                def __init__(self, features):
                    super().__init__()
                    self.register_buffer("largest", torch.ones(features))

                def forward(self, x):
                    with torch.no_grad():
                        self.largest = torch.maximum(self.largest, x.abs().amax(0))
                    return x / self.largest
            """,
            says="in evaluation",
            why="Testing a model must not change it.",
        ),
        Wrong(
            """
            class RunningMax(nn.Module):
                def __init__(self, features):
                    super().__init__()
                    self.register_buffer("largest", torch.ones(features))

                def forward(self, x):
                    if self.training:
                        self.largest = torch.maximum(self.largest, x.abs().amax(0))
                    return x / self.largest
            """,
            says="gradient flows",
            why="Without `no_grad`, `largest` drags the graph of every batch along, and "
            "the gradient is another one.",
        ),
        Wrong(
            """
            class RunningMax(nn.Module):
                def __init__(self, features):
                    super().__init__()
                    self.register_buffer("largest", torch.ones(features))

                def forward(self, x):
                    if self.training:
                        self.largest = x.detach().abs().amax(0).clamp(min=1)
                    return x / self.largest
            """,
            says="all batches",
            why="It forgets the batches before.",
        ),
    ]

    def check(RunningMax):
        torch.manual_seed(28)
        layer = RunningMax(3)
        require(isinstance(layer, nn.Module), "RunningMax must be a Module.")
        seen = torch.ones(3)
        for size in (1.0, 5.0, 2.0, 0.1):
            x = (torch.randn(4, 3) * size).requires_grad_()
            seen = torch.maximum(seen, x.detach().abs().amax(0))
            came = layer(x)
            latest = torch.maximum(torch.ones(3), x.detach().abs().amax(0))
            forgets = torch.allclose(came, x / latest) and not torch.allclose(came, x / seen)
            require(
                not forgets, "`largest` must be the largest of all batches, not of the last one."
            )
            expect(came.detach(), (x / seen).detach(), "the result in training", tolerance=1e-6)
            (came * torch.arange(12.0).view(4, 3)).sum().backward()
            factors = torch.arange(12.0).view(4, 3) / seen
            require(
                torch.allclose(x.grad, factors),
                "A gradient flows through `largest`; compute it without recording.",
            )
        require(
            "largest" in layer.state_dict(),
            "Saving loses `largest`: the state dict doesn't have it.",
        )
        require(
            not list(layer.parameters()),
            "`largest` is among the parameters, so an optimizer would change it.",
        )
        layer.eval()
        large = torch.full((2, 3), 100.0)
        expect(layer(large), large / seen, "the result in evaluation", tolerance=1e-6)
        require(torch.allclose(layer.largest, seen), "A forward in evaluation changed `largest`.")
        copied = copy.deepcopy(layer)
        fresh = RunningMax(3)
        fresh.load_state_dict(layer.state_dict())
        for one, about in ((copied, "a copy"), (fresh.eval(), "a layer that loaded the state")):
            expect(one(large), large / seen, f"the result of {about}", tolerance=1e-6)
        layer.train()
        layer(large * 2)
        require(torch.allclose(copied.largest, seen), "A copy shares `largest` with the original.")
        wide = RunningMax(2).double()
        came = wide(torch.full((1, 2), 3.0, dtype=torch.float64))
        expect(str(came.dtype), "tensorlab.float64", "the type after layer.double()")
        expect(
            str(wide.largest.dtype),
            "tensorlab.float64",
            "the type of `largest` after layer.double()",
        )
        require(not wide.largest.requires_grad, "`largest` requires grad; it isn't trained.")


# ------------------------------------------------------------ the hunt
def right():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(4, 3), nn.Tanh())
            self.head = nn.Linear(3, 2)
            self.register_buffer("offset", torch.full((2,), 0.5))

        def forward(self, x):
            return self.head(self.body(x)) + self.offset

    return Model()


def body_in_a_list():
    """Layers in a list."""
    model = right()
    layers = list(model.body)
    del model.body
    model.body_layers = layers
    model.forward = lambda x: model.head(layers[1](layers[0](x))) + model.offset
    return model


def plain_offset():
    """The offset isn't registered."""
    model = right()
    del model.offset
    model.offset = torch.full((2,), 0.5)
    return model


def trained_offset():
    """The offset is a parameter."""
    model = right()
    del model.offset
    model.offset = nn.Parameter(torch.full((2,), 0.5))
    return model


def frozen_head():
    """A bias that gets no gradient."""
    model = right()
    model.head.bias.requires_grad_(False)
    return model


def offset_not_saved():
    """The offset isn't persistent."""
    model = right()
    model.register_buffer("offset", torch.full((2,), 0.5), persistent=False)
    return model


def tied_by_accident():
    """The head's bias is the offset's storage."""
    model = right()
    model.offset = model.head.bias.detach()
    return model


class Hunt(BugHunt):
    """Six models

    Write `test(make)`. Each call of `make()` returns a new model that should do the following:
    `model(x)` for `x` of shape (n, 4) is
    `head(tanh(body(x))) + offset`, with two linear layers (4 to 3, 3 to 2) whose four tensors are
    all trained, and an offset of shape (2,), first 0.5, that is saved and
    moved with the model, isn't trained, and shares its memory with nothing. Your test must raise if
    a promise is broken. One `make` is right, and six are wrong. Don't rely on what the
    attributes are called, or on which of them applies `tanh`.
    """

    idea = "Break it"
    beside = "the test looks into modules, which don't travel between processes"
    stub = """
        def test(make):
            model = make()
            assert model(torch.zeros(5, 4)).shape == (5, 2)
    """
    hints = [
        "Count: how many parameters, how many of them require grad, how many entries in "
        "the state dict?",
        "Change one tensor of the state dict. Did another one change?",
    ]
    solution = """
        def test(make):
            model = make()
            assert len(list(model.parameters())) == 4
            assert all(parameter.requires_grad for parameter in model.parameters())
            state = model.state_dict()
            assert len(state) == 5
            assert len({tensor.data_ptr() for tensor in state.values()}) == 5
    """
    reason = """
        Four parameters say that the layers are registered and the offset isn't trained, five
        entries that everything is saved. Different
        addresses say that no two are one.
    """
    wrong = [
        Wrong(
            """
            def test(make):
                model = make()
                assert len(list(model.parameters())) == 4
            """,
            says="on 4 of 6",
            why="That finds what isn't registered and what is too many. Saving is another job.",
        ),
        Wrong(
            """
            def test(make):
                model = make()
                model(torch.randn(3, 4)).sum().backward()
                assert all(parameter.grad is not None for parameter in model.parameters())
            """,
            says="on 5 of 6",
            why="A parameter that isn't found isn't asked for its gradient.",
        ),
    ]
    right = right
    bugs = [
        body_in_a_list,
        plain_offset,
        trained_offset,
        frozen_head,
        offset_not_saved,
        tied_by_accident,
    ]


class LoadWhatFits(Exercise):
    """Load what fits

    You change the last layer of a network and want to keep the rest. Write `load_what_fits(model,
    state)`: copy each tensor of the dict `state` into
    `model` whose name is in `model.state_dict()` with the same shape. Return the names in `state`
    that weren't used, in their order.
    A tensor of another type is converted. Parameters stay the same objects, and gradients aren't
    recorded.
    """

    kind = "extend"
    idea = "Saving and loading"
    stub = """
        def load_what_fits(model, state):
            model.load_state_dict(state)
            return []
    """
    hints = [
        "Sort the names of `state` first, into those that fit and those that don't.",
        "`load_state_dict(fitting, strict=False)` doesn't mind missing names.",
    ]
    solution = """
        def load_what_fits(model, state):
            own = model.state_dict()
            fits = {
                name: tensor for name, tensor in state.items() if name in own and tensor.shape ==
                own[name].shape
            }
            model.load_state_dict(fits, strict=False)
            return [name for name in state if name not in fits]
    """
    reason = """
        `strict=False` forgives names that are missing or too many. It never forgives a wrong shape,
        so those have to be
        taken out before.
    """
    wrong = [
        Wrong(
            """
            def load_what_fits(model, state):
                missing, unexpected = model.load_state_dict(state, strict=False)
                return unexpected
            """,
            says="another shape",
            why="`strict=False` is about names only.",
        ),
        Wrong(
            """
            def load_what_fits(model, state):
                own = model.state_dict()
                unused = []
                for name, tensor in state.items():
                    if name in own and tensor.shape == own[name].shape:
                        setattr(model, name, nn.Parameter(tensor))
                    else:
                        unused.append(name)
                return unused
            """,
            says="0.bias after",
            why="A dotted name is not an attribute, and a new Parameter is not the one "
            "that the optimizer holds.",
        ),
        Wrong(
            """
            def load_what_fits(model, state):
                own = model.state_dict()
                fits = {name: t for name, t in state.items() if name in own and t.numel() == own[name].numel()}
                model.load_state_dict({name: t.reshape(own[name].shape) for name, t in fits.items()}, strict=False)
                return [name for name in state if name not in fits]
            """,
            says="as many numbers",
            why="A weight of (3, 4) means something else than one of (4, 3).",
        ),
    ]

    def check(load_what_fits):
        torch.manual_seed(29)
        for dtype in (torch.float32, torch.float64):
            model = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Linear(3, 5))
            kept = dict(model.named_parameters())
            before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
            state = {
                "old.weight": torch.ones(2),
                "0.weight": torch.randn(4, 3, dtype=dtype),
                "0.bias": torch.randn(3, dtype=dtype),
                "1.running_mean": torch.randn(3, dtype=dtype),
                "2.weight": torch.randn(7, 3, dtype=dtype),
                "2.bias": torch.randn(7, dtype=dtype),
                "1.weight": torch.randn(3, dtype=dtype),
            }
            given = {name: tensor.clone() for name, tensor in state.items()}
            try:
                came = load_what_fits(model, state)
            except RuntimeError as error:
                require(
                    "size mismatch" not in str(error),
                    "It raises for a tensor of another shape; leave it out.",
                )
                require(False, f"It raised {type(error).__name__}: {error}")
            except Exception as error:
                require(False, f"It raised {type(error).__name__}: {error}")
            now = model.state_dict()
            require(
                now["0.weight"].equal(before["0.weight"]),
                "`0.weight` in the state has as many numbers as the model's, but "
                "rows and columns differ; it doesn't fit.",
            )
            require(
                isinstance(came, list | tuple),
                f"load_what_fits returned {describe(came)}; return a list of names.",
            )
            expect(
                list(came),
                ["old.weight", "0.weight", "2.weight", "2.bias"],
                "the names that weren't used",
            )
            for name in ("0.bias", "1.running_mean", "1.weight"):
                expect(now[name], given[name].float(), f"{name} after loading")
            for name in ("2.weight", "2.bias", "1.bias", "1.running_var"):
                expect(now[name], before[name], f"{name}, which should stay")
            for name, parameter in model.named_parameters():
                require(
                    parameter is kept[name],
                    f"{name} is another object now; an optimizer would train the old one.",
                )
                require(
                    parameter.requires_grad and parameter.is_leaf,
                    f"{name} is no longer a leaf that is trained.",
                )
            same = list(state) == list(given) and all(state[n].equal(given[n]) for n in given)
            require(same, "You changed the dict that was given.")
            with torch.no_grad():
                model[0].bias.add_(1)
            require(
                state["0.bias"].equal(given["0.bias"]),
                "The model shares memory with the state; copy the values.",
            )
