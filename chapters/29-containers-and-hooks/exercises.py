"""Exercises of chapter 29, containers and hooks."""

import tensorlab as torch
from tensorlab import nn
from tensorlab.learn import BugHunt, Exercise, Wrong, describe, expect, require

IMPORTS = """
import tensorlab as torch
from tensorlab import nn
"""


class InTheEnd(Exercise):
    """What comes out

    A module returns its argument times 10. It has these hooks, registered in this order: a forward
    hook that adds 1 to the result, a forward pre-hook that
    adds 2 to the argument, a forward hook that returns None, and a forward hook with
    `prepend=True` that doubles the result. Write `result(x)`: what a call of the module with the
    number `x` returns. Use no modules.
    """

    kind = "warm-up"
    idea = "Hooks"
    stub = """
        def result(x):
            return 10 * x
    """
    hints = [
        "Put them into the order in which they run. What runs before forward?",
        "`prepend=True` puts a hook in front of those of its kind. None changes nothing.",
    ]
    solution = """
        def result(x):
            return 10 * (x + 2) * 2 + 1
    """
    reason = """
        First the pre-hook, then forward, then the forward hooks: the prepended one, and then the
        others in the order of registration.
    """
    wrong = [
        Wrong(
            "def result(x):\n    return (10 * (x + 2) + 1) * 2",
            says="prepend",
            why="The doubling was registered last, but it runs first.",
        ),
        Wrong(
            "def result(x):\n    return (10 * x + 2) * 2 + 1",
            says="before forward",
            why="A pre-hook changes the argument, not the result.",
        ),
        Wrong(
            "def result(x):\n    return None",
            says="only looks",
            why="A hook that returns None leaves the result alone.",
        ),
    ]

    def check(result):
        module = nn.Identity()
        module.forward = lambda x: 10 * x
        module.register_forward_hook(lambda m, args, y: y + 1)
        module.register_forward_pre_hook(lambda m, args: (args[0] + 2,))
        module.register_forward_hook(lambda m, args, y: None)
        module.register_forward_hook(lambda m, args, y: 2 * y, prepend=True)
        for x in (0, 1, -3, 2.5, 40):
            came, true = result(x), module(x)
            require(came is not None, f"result({x}) is None. A hook that returns None only looks.")
            require(
                isinstance(came, int | float), f"result({x}) is {describe(came)}; return a number."
            )
            require(
                came != (10 * (x + 2) + 1) * 2,
                f"result({x}) isn't {came}: `prepend` puts the doubling in front of the + 1.",
            )
            require(
                came != (10 * x + 2) * 2 + 1,
                f"result({x}) isn't {came}: a pre-hook runs before forward, so it changes x.",
            )
            expect(came, true, f"result({x})")


class Collect(Exercise):
    """Look and leave no trace

    Write `collect(model, names, x)`: call the model once with `x`, and return a dict from each of
    the `names` (dotted, as in `named_modules`) to what that module returned, detached. If a module
    runs several times in the call, keep the last result. Afterwards the model has
    no hook more than before, even if the call raises; the error then goes on to the caller.
    """

    kind = "implement"
    idea = "Looking in"
    stub = """
        def collect(model, names, x):
            return {name: model(x) for name in names}
    """
    hints = [
        "`model.get_submodule(name)` finds a module by its dotted name.",
        "Each hook has to know its own name. What does a lambda in a loop see when it runs?",
        "`try: ... finally:` runs the cleaning up in any case.",
    ]
    solution = """
        def collect(model, names, x):
            found, handles = {}, []
            for name in names:
                def note(module, args, result, name=name):
                    found[name] = result.detach()

                handles.append(model.get_submodule(name).register_forward_hook(note))
            try:
                model(x)
            finally:
                for handle in handles:
                    handle.remove()
            return found
    """
    reason = """
        `name=name` fixes the name when the function is made. `finally` runs whether the call ends
        well or not.
    """
    wrong = [
        Wrong(
            """
            def collect(model, names, x):
                found, handles = {}, []
                for name in names:
                    def note(module, args, result):
                        found[name] = result.detach()

                    handles.append(model.get_submodule(name).register_forward_hook(note))
                try:
                    model(x)
                finally:
                    for handle in handles:
                        handle.remove()
                return found
            """,
            says="the last name",
            why="All functions share one variable `name`.",
        ),
        Wrong(
            """
            def collect(model, names, x):
                found, handles = {}, []
                for name in names:
                    def note(module, args, result, name=name):
                        found[name] = result.detach()

                    handles.append(model.get_submodule(name).register_forward_hook(note))
                model(x)
                for handle in handles:
                    handle.remove()
                return found
            """,
            says="after an error",
            why="An error skips the loop that removes.",
        ),
        Wrong(
            """
            def collect(model, names, x):
                found = {}
                for name in names:
                    def note(module, args, result, name=name):
                        found[name] = result.detach()

                    model.get_submodule(name).register_forward_hook(note)
                model(x)
                return found
            """,
            says="hooks left",
            why="The hooks are never removed.",
        ),
        Wrong(
            """
            def collect(model, names, x):
                found, handles = {}, []
                for name in names:
                    def note(module, args, result, name=name):
                        found[name] = result

                    handles.append(model.get_submodule(name).register_forward_hook(note))
                try:
                    model(x)
                finally:
                    for handle in handles:
                        handle.remove()
                return found
            """,
            says="has a graph",
            why="Each result keeps everything that its backward needs.",
        ),
        Wrong(
            """
            def collect(model, names, x):
                found = {}
                with torch.no_grad():
                    for name, module in model.named_children():
                        x = module(x)
                        if name in names:
                            found[name] = x
                return found
            """,
            says="once",
            why="It calls the parts, not the model, and doesn't see what lies deeper.",
        ),
    ]

    def check(collect):
        torch.manual_seed(29)
        shared = nn.Linear(4, 4)
        inner = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
        model = nn.Sequential(inner, shared, nn.ReLU(), shared, nn.Linear(4, 2))
        calls = []
        model.register_forward_hook(lambda m, args, y: calls.append(y))
        modules = list(model.modules())
        before = [len(m._forward_hooks) for m in modules]
        x = torch.randn(3, 4)
        first = inner(x)
        second = shared(first)
        last = shared(second.relu())
        true = {"0.0": inner[0](x), "0": first, "1": last, "2": second.relu(), "4": model[4](last)}
        for names in (["0", "4"], ["0.0", "2"], ["1"], list(true), []):
            calls.clear()
            came = collect(model, names, x)
            about = f"collect(model, {names}, x)"
            require(isinstance(came, dict), f"{about} is {describe(came)}; return a dict.")
            require(len(calls) == 1, f"{about} calls the model {len(calls)} times, not once.")
            left = sum(len(m._forward_hooks) for m in modules) - sum(before)
            require(left <= 0, f"{about}: {left} hooks left in the model.")
            require(
                len(names) < 2 or set(came) != {names[-1]},
                f"{about} has only the last name: a function in a loop reads `name` when it runs.",
            )
            require(
                set(came) == set(names), f"{about} has the names {sorted(came)}; expected {names}."
            )
            for name in names:
                require(
                    isinstance(came[name], torch.Tensor),
                    f"{about}: {name!r} is {came[name]!r}; expected a tensor.",
                )
                require(
                    not came[name].requires_grad,
                    f"{about}: the result of {name!r} has a graph; detach it.",
                )
                expect(came[name], true[name].detach(), f"the result of {name!r}", tolerance=1e-6)
        broken = nn.Sequential(nn.Linear(4, 4), nn.Linear(3, 3))
        raised = False
        try:
            collect(broken, ["0", "1"], x)
        except RuntimeError:
            raised = True
        require(raised, "The model raises an error; collect has to pass it on.")
        left = sum(len(m._forward_hooks) for m in broken.modules())
        require(left == 0, f"There are {left} hooks in the model after an error.")


class Limit(Exercise):
    """Gradients that stay small

    Write `limit_gradients(module, most)`: from now on, in each backward pass, the gradients that
    the module passes on to its arguments have all elements between -`most` and `most`. The
    gradients of its own parameters are as before. An argument may be something else than a tensor.
    Return the handle.
    """

    kind = "implement"
    idea = "Gradients of a module"
    beside = "the answer hangs hooks on modules of the check"
    stub = """
        def limit_gradients(module, most):
            return module.register_full_backward_hook(lambda module, grad_input, grad_output: None)
    """
    hints = [
        "`grad_input` is a tuple with a gradient, or None, for each argument.",
        "What the hook returns takes its place: a tuple of as many.",
    ]
    solution = """
        def limit_gradients(module, most):
            def hook(module, grad_input, grad_output):
                return tuple(None if g is None else g.clamp(-most, most) for g in grad_input)

            return module.register_full_backward_hook(hook)
    """
    reason = """
        A full backward hook that returns something replaces `grad_input`, and nothing else: the
        parameters got their gradients inside.
    """
    wrong = [
        Wrong(
            """
            def limit_gradients(module, most):
                def hook(module, grad_output):
                    return tuple(g.clamp(-most, most) for g in grad_output)

                return module.register_full_backward_pre_hook(hook)
            """,
            says="its own parameters",
            why="That limits what comes in, so the parameters feel it.",
        ),
        Wrong(
            """
            def limit_gradients(module, most):
                def hook(module, grad_input, grad_output):
                    return tuple(g.clamp(-most, most) for g in grad_input)

                return module.register_full_backward_hook(hook)
            """,
            says="that is not a tensor",
            why="An argument that is not a tensor has None for its gradient.",
        ),
        Wrong(
            """
            def limit_gradients(module, most):
                def hook(module, grad_input, grad_output):
                    return tuple(None if g is None else g.clamp(max=most) for g in grad_input)

                return module.register_full_backward_hook(hook)
            """,
            says="below",
            why="Gradients can be negative.",
        ),
        Wrong(
            """
            def limit_gradients(module, most):
                def hook(module, grad_input, grad_output):
                    tuple(None if g is None else g.clamp(-most, most) for g in grad_input)

                return module.register_full_backward_hook(hook)
            """,
            says="nothing is limited",
            why="The hook computes the tuple and doesn't return it.",
        ),
    ]

    def check(limit_gradients):
        class Product(nn.Module):
            def __init__(self):
                super().__init__()
                self.factor = nn.Parameter(torch.tensor([3.0, -2.0, 1.0]))

            def forward(self, x, y, times):
                return times * x * y * self.factor

        x = torch.tensor([1.0, -4.0, 0.5], requires_grad=True)
        for y, needs in (([2.0, 0.1, -7.0], True), ([-5.0, 0.2, 3.0], False)):
            for most in (0.5, 2.0):
                module = Product()
                y = torch.tensor(y) if isinstance(y, list) else y.detach()
                y.requires_grad_(needs)
                for tensor in (x, y):
                    tensor.grad = None
                try:
                    handle = limit_gradients(module, most)
                    module(x, y, 1).sum().backward()
                except (AttributeError, TypeError) as error:
                    require(
                        False,
                        f"The gradient of an argument that is not a tensor is None, and your hook raised: {error}",
                    )
                plain = [module.factor.detach() * y.detach(), module.factor.detach() * x.detach()]
                about = f"with most={most}"
                expect(
                    module.factor.grad,
                    (x * y).detach(),
                    f"the gradient of its own parameters {about}",
                    tolerance=1e-6,
                )
                for name, tensor, full in zip("xy", (x, y), plain, strict=True):
                    if not tensor.requires_grad:
                        require(tensor.grad is None, f"{name} needs no gradient, but has one.")
                        continue
                    came = tensor.grad
                    limited = full.clamp(-most, most)
                    require(
                        not came.equal(full) or full.equal(limited),
                        f"The gradient of {name} is {came.tolist()} {about}: nothing is limited.",
                    )
                    require(
                        came.min() >= -most - 1e-6,
                        f"The gradient of {name} is {came.tolist()} {about}: it is below -{most}.",
                    )
                    expect(came, limited, f"the gradient of {name} {about}", tolerance=1e-6)
                require(hasattr(handle, "remove"), f"Return the handle, not {handle!r}.")
                handle.remove()
                x.grad = None
                module(x, y, 1).sum().backward()
                expect(x.grad, plain[0], "x.grad after handle.remove()", tolerance=1e-6)


# ------------------------------------------------------------------------------ the hunt
class Right(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def right(layers):
    return Right(layers)


class InAList(Right):
    def __init__(self, layers):
        nn.Module.__init__(self)
        self.layers = list(layers)


def in_a_list(layers):
    """The layers are in a plain list."""
    return InAList(layers)


class Backwards(Right):
    def forward(self, x):
        for layer in reversed(self.layers):
            x = layer(x)
        return x


def backwards(layers):
    """The layers are called from the last to the first."""
    return Backwards(layers)


class Around(Right):
    def forward(self, x):
        for layer in self.layers:
            x = layer.forward(x)
        return x


def around_the_hooks(layers):
    """`forward` of the layers is called, so their hooks don't run."""
    return Around(layers)


class Copied(Right):
    def __init__(self, layers):
        import copy

        super().__init__([copy.deepcopy(layer) for layer in layers])


def copied(layers):
    """It holds copies of the layers."""
    return Copied(layers)


class Detached(Right):
    def forward(self, x):
        for layer in self.layers:
            x = layer(x.detach())
        return x


def detached(layers):
    """The graph is cut before each layer."""
    return Detached(layers)


class Once(Right):
    def __init__(self, layers):
        nn.Module.__init__(self)
        self.layers = nn.ModuleDict({type(layer).__name__: layer for layer in layers})

    def forward(self, x):
        for layer in self.layers.values():
            x = layer(x)
        return x


def one_of_each_kind(layers):
    """Of layers of one class, only the last is kept."""
    return Once(layers)


class Hunt(BugHunt):
    """Six stacks

    Write `test(make)`. It gets a function `make(layers)` that builds a module from a list of
    modules. Called with `x`, it calls them one after the other, in order, each as a module should
    be called. All of them are registered, and they are the same objects. Gradients reach every
    parameter. Your test must raise if that isn't so. One function is right, and six are wrong.
    """

    idea = "Containers"
    beside = "the test looks into modules, which don't travel between processes"
    stub = """
        def test(make):
            layer = nn.Linear(3, 3)
            model = make([layer])
            x = torch.ones(2, 3)
            assert torch.equal(model(x), layer(x))
    """
    hints = [
        "Take two layers of one class, with something between them.",
        "Count the parameters, compare objects with `is`, and call backward.",
        "A forward hook on a layer tells you whether the layer was called as it should be.",
    ]
    solution = """
        def test(make):
            layers = [nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3)]
            model, calls = make(layers), []
            for layer in layers:
                layer.register_forward_hook(lambda module, args, result: calls.append(module))
            x = torch.ones(2, 3)
            y = model(x)
            assert calls == layers
            assert torch.equal(y, layers[2](layers[1](layers[0](x))))
            own = [p for layer in layers for p in layer.parameters()]
            found = list(model.parameters())
            assert len(found) == len(own) and all(a is b for a, b in zip(own, found))
            y.sum().backward()
            assert all(p.grad is not None for p in own)
    """
    reason = """
        The hook is the best witness: it says which objects were called, in which order, and that
        they were called as modules.
    """
    wrong = [
        Wrong(
            """
            def test(make):
                layers = [nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 3)]
                model = make(layers)
                x = torch.ones(2, 3)
                assert torch.equal(model(x), layers[2](layers[1](layers[0](x))))
                assert len(list(model.parameters())) == 4
            """,
            says="on 3 of 6",
            why="Hooks, copies and gradients aren't looked at.",
        ),
    ]
    right = right
    bugs = [in_a_list, backwards, around_the_hooks, copied, detached, one_of_each_kind]


class Standardise(Exercise):
    """A weight that is made anew in each call

    Write `standardise(layer)` for an `nn.Linear`: the parameter "weight" is replaced by a parameter
    "weight_raw" with the same values, and `layer.weight` becomes `weight_raw` with each row brought
    to mean 0 and length 1: at once, and again before each forward. Gradients flow to `weight_raw`.
    Return a handle; after `remove()`, the weight stays what it was in the last call.
    """

    kind = "extend"
    idea = "The call"
    beside = "the answer hangs hooks on modules of the check"
    stub = """
        def standardise(layer):
            return layer.register_forward_pre_hook(lambda module, args: None)
    """
    hints = [
        "`del layer.weight` takes the parameter out. Then `layer.weight` may be any tensor.",
        "The pre-hook computes the weight from `module.weight_raw`, with gradients on, and assigns "
        "it.",
        "Make it once when you register, too, so that `layer.weight` is there before the first "
        "call.",
    ]
    solution = """
        def standardise(layer):
            raw = layer.weight
            del layer.weight
            layer.weight_raw = nn.Parameter(raw.detach().clone())

            def make(module, args):
                centred = module.weight_raw - module.weight_raw.mean(1, keepdim=True)
                module.weight = centred / centred.norm(dim=1, keepdim=True)

            make(layer, ())
            return layer.register_forward_pre_hook(make)
    """
    reason = """
        This is how weight normalisation was first built in PyTorch: a parameter under another name,
        and a pre-hook that makes the weight. `nn.utils.parametrize` does it without a hook.
    """
    wrong = [
        Wrong(
            """
            def standardise(layer):
                def make(module, args):
                    with torch.no_grad():
                        w = module.weight
                        w -= w.mean(1, keepdim=True)
                        w /= w.norm(dim=1, keepdim=True)

                return layer.register_forward_pre_hook(make)
            """,
            says="expected bias and weight_raw",
            why="It changes the parameter itself.",
        ),
        Wrong(
            """
            def standardise(layer):
                raw = layer.weight
                del layer.weight
                layer.weight_raw = nn.Parameter(raw.detach().clone())
                centred = layer.weight_raw - layer.weight_raw.mean(1, keepdim=True)
                layer.weight = centred / centred.norm(dim=1, keepdim=True)
                return layer.register_forward_pre_hook(lambda module, args: None)
            """,
            says="not made anew",
            why="The weight is made once. The second backward runs through a graph that is gone.",
        ),
        Wrong(
            """
            def standardise(layer):
                raw = layer.weight
                del layer.weight
                layer.weight_raw = nn.Parameter(raw.detach().clone())

                def make(module, args):
                    w = module.weight_raw.detach()
                    centred = w - w.mean(1, keepdim=True)
                    module.weight = centred / centred.norm(dim=1, keepdim=True)

                make(layer, ())
                return layer.register_forward_pre_hook(make)
            """,
            says="No gradient",
            why="`detach` cuts the graph, so training doesn't reach it.",
        ),
        Wrong(
            """
            def standardise(layer):
                raw = layer.weight
                del layer.weight
                layer.weight_raw = nn.Parameter(raw.detach().clone())

                def make(module, args):
                    w = module.weight_raw
                    centred = w - w.mean(1, keepdim=True)
                    module.weight = centred / centred.std(dim=1, keepdim=True)

                make(layer, ())
                return layer.register_forward_pre_hook(make)
            """,
            says="length",
            why="The standard deviation isn't the length: it divides by the number of elements.",
        ),
    ]

    def check(standardise):
        torch.manual_seed(5)
        for outs, ins in ((3, 4), (2, 7)):
            layer = nn.Linear(ins, outs)
            raw = layer.weight.detach().clone()
            handle = standardise(layer)
            names = sorted(name for name, _ in layer.named_parameters())
            require(
                isinstance(getattr(layer, "weight", None), torch.Tensor),
                "Before the first call the layer has no weight; make it when you register, too.",
            )
            require(
                names == ["bias", "weight_raw"],
                f"The layer's parameters are {names}; expected bias and weight_raw.",
            )
            expect(layer.weight_raw.detach(), raw, "weight_raw", tolerance=0)
            x = torch.randn(5, ins)
            for step in range(3):
                y = layer(x)
                now = layer.weight_raw.detach()
                centred = now - now.mean(1, keepdim=True)
                true = centred / centred.norm(dim=1, keepdim=True)
                weight = layer.weight.detach()
                lengths = weight.norm(dim=1)
                require(
                    step == 0 or torch.allclose(weight, true, atol=1e-5),
                    f"In call {step + 1} the weight isn't that of weight_raw: it was not made anew.",
                )
                require(
                    torch.allclose(lengths, torch.ones(outs), atol=1e-5),
                    f"The rows have the lengths {lengths.tolist()}; each length should be 1.",
                )
                expect(weight, true, "the weight", tolerance=1e-5)
                expect(
                    y.detach(),
                    x @ true.T + layer.bias.detach(),
                    "the layer's result",
                    tolerance=1e-4,
                )
                layer.weight_raw.grad = None
                require(
                    y.requires_grad and layer.weight.requires_grad,
                    "No gradient flows to weight_raw: the weight has no graph.",
                )
                (y * y).sum().backward()
                require(layer.weight_raw.grad is not None, "No gradient flows to weight_raw.")
                with torch.no_grad():
                    layer.weight_raw += torch.randn(outs, ins)
            require(hasattr(handle, "remove"), f"Return the handle, not {handle!r}.")
            kept = layer.weight.detach().clone()
            handle.remove()
            layer(x)
            expect(layer.weight.detach(), kept, "the weight in a call after remove()")
