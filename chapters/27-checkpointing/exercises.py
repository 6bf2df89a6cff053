"""Exercises of chapter 27, checkpointing."""

import random

import tensorlab as torch
from tensorlab.learn import BugHunt, Exercise, Wrong, expect, require
from tensorlab.utils.checkpoint import checkpoint as shipped

IMPORTS = """
import tensorlab as torch
from tensorlab.utils.checkpoint import checkpoint
"""


class HowOften(Exercise):
    """How often does f run?

    Each entry begins with a fresh `x` that requires grad, and `f` computes `x.sin() * x`. How often is `f` called,
    in forward and backward together? Answer before you run anything.

        "plain":      f(x).sum().backward()
        "one":        checkpoint(f, x, use_reentrant=False).sum().backward()
        "twice":      y = checkpoint(f, x, use_reentrant=False).sum()
                      y.backward(retain_graph=True)
                      y.backward()
        "no grad":    with torch.no_grad(): checkpoint(f, x, use_reentrant=False)
        "in another": def g(x): return checkpoint(f, x.cos(), use_reentrant=False)
                      checkpoint(g, x, use_reentrant=False).sum().backward()
        "a sum":      here f computes x + 1
                      checkpoint(f, x, use_reentrant=False).sum().backward()
    """

    kind = "warm-up"
    idea = "With two hooks"
    stub = """
        calls = {
            "plain": None,
            "one": None,
            "twice": None,
            "no grad": None,
            "in another": None,
            "a sum": None,
        }
    """
    hints = [
        "Always once in forward. Then ask: does backward unpack a placeholder, and in how many passes?",
        "A recomputed tensor is freed as soon as it is used. A second pass finds the placeholders empty again.",
        "Why must `g` run again in backward? For the argument of the inner call. It is stopped as soon as everything "
        "that `g` itself has saved is there. And what does a sum save?",
    ]
    solution = """
        calls = {
            "plain": 1,
            "one": 2,
            "twice": 3,
            "no grad": 1,
            "in another": 2,
            "a sum": 1,
        }
    """
    reason = """
        A pass that needs a saved tensor runs `f` once. A sum saves nothing, so backward never asks for a
        placeholder. In the nested case, `g` saves two tensors of its own: the argument of the cosine, and the
        argument of the inner call. When `g` runs again, it is stopped as soon as it has these two, which is *before*
        it calls `f`. Then the inner call runs `f`. If `g` saved something after the inner call, as in
        the chapter, it would be three.
    """
    wrong = [
        Wrong(
            'calls = {"plain": 1, "one": 2, "twice": 2, "no grad": 1, "in another": 2, "a sum": 1}',
            says="each pass",
            why="`retain_graph` keeps what the nodes have saved, and they have saved placeholders.",
        ),
        Wrong(
            'calls = {"plain": 1, "one": 2, "twice": 3, "no grad": 1, "in another": 3, "a sum": 1}',
            says="early",
            why="This would be right with `early_stop=False`, or if `g` saved something after the inner call.",
        ),
        Wrong(
            'calls = {"plain": 1, "one": 2, "twice": 3, "no grad": 1, "in another": 2, "a sum": 2}',
            says="a sum",
            why="Backward runs a function again when it unpacks something, not because it comes along.",
        ),
    ]

    def check(calls):
        truth = measured_calls()
        require(
            isinstance(calls, dict) and calls.keys() == truth.keys(),
            f"`calls` must be a dict with the keys {', '.join(truth)}.",
        )
        require(calls.get("twice") != 2, "Look at 'twice': each pass recomputes for itself.")
        require(
            calls.get("in another") != 3, "Look at 'in another': the second run of g ends early."
        )
        require(calls.get("a sum") != 2, "Look at 'a sum': which tensors does it save?")
        expect(calls, truth, "how often f runs")


def measured_calls():
    found = {}
    count = 0

    def f(x):
        nonlocal count
        count += 1
        return x.sin() * x

    def plus(x):
        nonlocal count
        count += 1
        return x + 1

    def run(function, x):
        return shipped(function, x, use_reentrant=False).sum()

    def twice(x):
        y = run(f, x)
        y.backward(retain_graph=True)
        y.backward()

    def without(x):
        with torch.no_grad():
            run(f, x)

    programs = {
        "plain": lambda x: f(x).sum().backward(),
        "one": lambda x: run(f, x).backward(),
        "twice": twice,
        "no grad": without,
        "in another": lambda x: run(
            lambda x: shipped(f, x.cos(), use_reentrant=False), x
        ).backward(),
        "a sum": lambda x: run(plus, x).backward(),
    }
    for name, program in programs.items():
        count = 0
        program(torch.tensor([0.3, 0.7], requires_grad=True))
        found[name] = count
    return found


class TwoHooks(Exercise):
    """A checkpoint of your own

    Write `forgetful(function, x)`, a checkpoint made of `saved_tensors_hooks`. In forward, keep only a number for
    each saved tensor. The first number that is unpacked runs the function again, under other hooks that
    collect what is saved. The other numbers take their tensors from this collection. The function may use weights
    from outside, and a program may call `forgetful` several times. You don't have to stop early, to
    restore random numbers, or to serve a second backward pass.
    """

    kind = "implement"
    idea = "With two hooks"
    beside = "the check watches the memory that the answer uses"
    stub = """
        def forgetful(function, x):
            return function(x)  # not yet
    """
    hints = [
        "You need two pairs of hooks: `pack` and `unpack` for forward, `collect` and the identity for the second run. "
        "`pack` returns how many tensors were saved before.",
        "The second run happens in the middle of a backward pass, where grad mode is off. Without "
        "`torch.enable_grad()` nothing is recorded, so nothing is saved.",
        "Let `collect` append `tensor.detach()` to a list and return it. Make the list inside `forgetful`, and fill it "
        "when it's first needed: `if not found: ...run again...; return found[number]`.",
    ]
    solution = """
        def forgetful(function, x):
            hooks = torch.autograd.graph.saved_tensors_hooks
            found, saved = [], 0

            def pack(tensor):
                nonlocal saved
                saved += 1
                return saved - 1

            def collect(tensor):
                found.append(tensor.detach())
                return found[-1]

            def unpack(number):
                if not found:
                    with hooks(collect, lambda tensor: tensor), torch.enable_grad():
                        function(x)
                return found[number]

            with hooks(pack, unpack):
                return function(x)
    """
    reason = """
        A tensor is found again by its place in the order of saving. That order is the same in both runs if
        the function does the same, and this is why the shipped checkpoint compares the runs.
    """
    wrong = [
        Wrong(
            """
            class Again(torch.autograd.Function):
                @staticmethod
                def forward(ctx, function, x):
                    ctx.function = function
                    ctx.save_for_backward(x)
                    return function(x)

                @staticmethod
                def backward(ctx, grad):
                    x = ctx.saved_tensors[0].detach().requires_grad_()
                    with torch.enable_grad():
                        y = ctx.function(x)
                    return None, torch.autograd.grad(y, x, grad)[0]

            def forgetful(function, x):
                return Again.apply(function, x)
            """,
            says="of a weight inside",
            why="Only `x` gets a gradient. The weights inside the function have no edge in the graph.",
        ),
        Wrong(
            """
            found = []

            def forgetful(function, x):
                hooks = torch.autograd.graph.saved_tensors_hooks
                saved = 0

                def pack(tensor):
                    nonlocal saved
                    saved += 1
                    return saved - 1

                def collect(tensor):
                    found.append(tensor.detach())
                    return found[-1]

                def unpack(number):
                    if not found:
                        with hooks(collect, lambda tensor: tensor), torch.enable_grad():
                            function(x)
                    return found[number]

                with hooks(pack, unpack):
                    return function(x)
            """,
            says="earlier call",
            why="All calls share one list, so the second call finds what the first one has recomputed.",
        ),
        Wrong(
            """
            def forgetful(function, x):
                hooks = torch.autograd.graph.saved_tensors_hooks
                kept = []

                def pack(tensor):
                    kept.append(tensor.detach())
                    return len(kept) - 1

                with hooks(pack, lambda number: kept[number]):
                    return function(x)
            """,
            says="still in memory",
            why="The gradient is right, but everything is still kept, in another place.",
        ),
        Wrong(
            """
            def forgetful(function, x):
                hooks = torch.autograd.graph.saved_tensors_hooks
                saved = 0

                def pack(tensor):
                    nonlocal saved
                    saved += 1
                    return saved - 1

                def unpack(number):
                    found = []

                    def collect(tensor):
                        found.append(tensor.detach())
                        return found[-1]

                    with hooks(collect, lambda tensor: tensor), torch.enable_grad():
                        function(x)
                    return found[number]

                with hooks(pack, unpack):
                    return function(x)
            """,
            says="ran 1 + ",
            why="The gradient is right, but the function runs once for each saved tensor. For a deep part, that work "
            "grows with the square of its depth.",
        ),
        Wrong(
            """
            def forgetful(function, x):
                hooks = torch.autograd.graph.saved_tensors_hooks
                found, saved = [], 0

                def pack(tensor):
                    nonlocal saved
                    saved += 1
                    return saved - 1

                def collect(tensor):
                    found.append(tensor.detach())
                    return found[-1]

                def unpack(number):
                    if not found:
                        with hooks(collect, lambda tensor: tensor):
                            function(x)
                    return found[number]

                with hooks(pack, unpack):
                    return function(x)
            """,
            says="IndexError",
            why="In backward, grad mode is off, so the second run saves nothing.",
        ),
    ]

    def check(forgetful):
        weights = [torch.rand(4, dtype=torch.float64, requires_grad=True) for _ in range(2)]
        calls = 0

        def deep(x):
            nonlocal calls
            calls += 1
            for _ in range(10):
                x = x.sin() * x.exp()
            return x

        def weighted(x):
            nonlocal calls
            calls += 1
            return ((x * weights[0]).tanh() @ weights[1]).exp()

        def saves_nothing(x):
            return x + 1

        for f, sizes, about in (
            (deep, 7, ""),
            (deep, 7, " in a call after an earlier call"),
            (weighted, (3, 4), ""),
            (saves_nothing, (2, 3), " of x + 1"),
        ):
            x = (torch.rand(sizes, dtype=torch.float64) - 0.5).requires_grad_()
            wanted = [x, *weights] if f is weighted else [x]
            plain = f(x)
            truth, value = torch.autograd.grad(plain.sum(), wanted), plain.detach()
            del plain
            calls, before = 0, torch.live_tensors()
            y = forgetful(f, x)
            kept = torch.live_tensors() - before
            expect(y, value, f"the value{about}")
            require(kept < 10, f"After forward, {kept} tensors of the part are still in memory.")
            came = torch.autograd.grad(y.sum(), wanted, allow_unused=True)
            for tensor, one, right in zip(wanted, came, truth, strict=True):
                name = "x" if tensor is x else "a weight inside"
                expect(one, right, f"the gradient of {name}{about}")
            if f is saves_nothing:
                continue
            require(calls > 1, "The function ran only once, so what it saved was kept somewhere.")
            require(
                calls == 2,
                f"The function ran 1 + {calls - 1} times; once in forward and once more is enough.",
            )
        inputs = [torch.rand(7, dtype=torch.float64, requires_grad=True) for _ in range(2)]
        truth = torch.autograd.grad(deep(inputs[0]).sum() + deep(inputs[1]).sum(), inputs)
        loss = forgetful(deep, inputs[0]).sum() + forgetful(deep, inputs[1]).sum()
        for number, one in enumerate(torch.autograd.grad(loss, inputs)):
            expect(one, truth[number], f"gradient {number} of two calls in one graph")


class WhereToCut(Exercise):
    """Where to cut

    Real layers differ. Layer `i` saves `saved[i]` bytes, and its input has `inputs[i]` bytes. The parts begin at
    the layers in `cuts`, and the first cut is always 0. The peak is the sum of `inputs[i]` over the cuts, plus
    what the largest part saves. Write `best_cuts(saved, inputs)`: a sorted list of cuts with the smallest peak.
    """

    kind = "extend"
    idea = "Idea"
    stub = """
        def best_cuts(saved, inputs):
            return [0]  # not yet
    """
    hints = [
        "Suppose a *limit* on what a part may save is given. Which cuts have the smallest sum of inputs? That is a "
        "shortest path over the layers.",
        "The best limit is the sum of `saved[i:j]` for some i and j, so there are few limits to try.",
        "With a limit: `cost[0] = 0`, and `cost[j] = min(cost[i] + inputs[i])` over all i < j for which the part "
        "`saved[i:j]` is within the limit. Remember which i was best, and go back from the end.",
    ]
    solution = """
        def best_cuts(saved, inputs):
            n = len(saved)
            best = None
            for limit in {sum(saved[i:j]) for i in range(n) for j in range(i + 1, n + 1)}:
                cost, cuts = [0] + [None] * n, [[]] + [None] * n
                for j in range(1, n + 1):
                    for i in range(j):
                        if cost[i] is None or sum(saved[i:j]) > limit:
                            continue
                        if cost[j] is None or cost[i] + inputs[i] < cost[j]:
                            cost[j], cuts[j] = cost[i] + inputs[i], cuts[i] + [i]
                if cost[n] is not None and (best is None or cost[n] + limit < best[0]):
                    best = cost[n] + limit, cuts[n]
            return best[1]
    """
    reason = """
        There are two kinds of cost: one adds up, the other counts only where it is largest. Fix the second one, and the
        first becomes a shortest path. For equal layers you get the square root.
    """
    wrong = [
        Wrong(
            """
            def best_cuts(saved, inputs):
                every = max(1, round(len(saved) ** 0.5))
                return list(range(0, len(saved), every))
            """,
            says="and the peak is",
            why="That is the rule for equal layers. With one large layer in the middle, another cut is better.",
        ),
        Wrong(
            """
            def best_cuts(saved, inputs):
                cuts, total, limit = [0], 0, max(saved)
                for i, size in enumerate(saved):
                    if total + size > limit:
                        cuts.append(i)
                        total = 0
                    total += size
                return cuts
            """,
            says="too many inputs",
            why="The parts are as small as possible, but then the inputs of all of them are kept.",
        ),
        Wrong(
            """
            def best_cuts(saved, inputs):
                n = len(saved)
                small = sorted(range(1, n), key=lambda i: inputs[i])
                return sorted([0] + small[: max(0, round(n**0.5) - 1)])
            """,
            says="more than all others",
            why="It's good to cut where inputs are small. But these cuts may all be at one end.",
        ),
    ]

    def check(best_cuts):
        generator = random.Random(0)
        problems = [([1] * 9, [1] * 9), ([4, 1, 4, 5, 1, 4], [1, 1, 1, 1, 1, 1]), ([5], [3])]
        for number in range(24):
            n, least = generator.randint(2, 8), number % 2  # a layer may save nothing
            sizes = [[generator.randint(least, 9) for _ in range(n)] for _ in range(2)]
            problems.append(tuple(sizes))
        for saved, inputs in problems:
            cuts = best_cuts(list(saved), list(inputs))
            valid = isinstance(cuts, list) and cuts[:1] == [0] and sorted(set(cuts)) == cuts
            require(
                valid and cuts[-1] < len(saved),
                f"{cuts} isn't a sorted list of layers that begins with 0.",
            )
            yours, least = most_bytes(saved, inputs, cuts), fewest_bytes(saved, inputs)
            if yours == least:
                continue
            largest = max(parts_of(saved, cuts))
            text = f"For saved = {saved} and inputs = {inputs} your cuts are {cuts}"
            require(
                largest != max(saved), f"{text}: the parts are small, but you keep too many inputs."
            )
            require(2 * largest <= sum(saved), f"{text}: one part saves more than all others.")
            require(False, f"{text}, and the peak is {yours} bytes; {least} is possible.")


def parts_of(saved, cuts):
    """What each part saves."""
    return [sum(saved[a:b]) for a, b in zip(cuts, [*cuts[1:], len(saved)], strict=True)]


def most_bytes(saved, inputs, cuts):
    """The peak with these cuts."""
    return sum(inputs[i] for i in cuts) + max(parts_of(saved, cuts))


def fewest_bytes(saved, inputs):
    """The same for the best cuts, by trying all."""
    n = len(saved)
    choices = ([0, *(i for i in range(1, n) if bits >> i & 1)] for bits in range(0, 1 << n, 2))
    return min(most_bytes(saved, inputs, cuts) for cuts in choices)


class HuntInTheCheckpoint(BugHunt):
    """A test for a checkpoint

    `checkpoint(function, x)` gives the value and the gradients of `function(x)` and forgets what lies between. Nothing
    else about the program changes. Three people wrote it with a `Function`, and each made one mistake. Write
    `test(checkpoint)`: it passes on the right version and fails on each of theirs.
    """

    idea = "Break it"
    beside = "the test looks at graphs, which don't travel between processes"
    stub = """
        def test(checkpoint):
            x = torch.tensor([0.3, 0.7], requires_grad=True)
            y = checkpoint(lambda x: x.sin() * x, x)
            y.sum().backward()
            assert torch.allclose(x.grad, (x.cos() * x + x.sin()).detach())
    """
    hints = [
        "The function in the stub is harmless: it has no weights and no random numbers. Compare with plain autograd "
        "for a function that has both.",
        "With dropout, the gradient must be zero exactly where the output is. One of the three fails there.",
        "For the second bug, draw something between forward and backward. Is the random stream after backward where it "
        "was before? For the third, use a weight inside the function.",
    ]
    solution = """
        def test(checkpoint):
            weight = torch.tensor([2.0, 3.0], requires_grad=True)

            def f(x):
                return torch.nn.functional.dropout(x * weight, 0.5).sin()

            x = torch.ones(2, requires_grad=True)
            for seed in range(8):
                x.grad = weight.grad = None
                torch.manual_seed(seed)
                y = f(x)
                torch.rand(3)
                next_number = torch.rand(1)
                wanted = torch.autograd.grad(y.sum(), [x, weight])

                torch.manual_seed(seed)
                y = checkpoint(f, x)
                torch.rand(3)
                y.sum().backward()
                assert torch.equal(torch.rand(1), next_number)
                assert torch.equal(x.grad, wanted[0])
                assert weight.grad is not None
                assert torch.equal(weight.grad, wanted[1])
    """
    reason = """
        "Nothing else changes" means three things: the same random numbers inside, the same ones outside, and gradients
        for everything that the function uses. The test tries several seeds, because two masks of two numbers agree one
        time in four.
    """
    wrong = [
        Wrong(
            """
            def test(checkpoint):
                weight = torch.tensor([2.0, 3.0], requires_grad=True)
                x = torch.ones(2, requires_grad=True)
                checkpoint(lambda x: x * weight, x).sum().backward()
                assert torch.equal(weight.grad, torch.ones(2))
            """,
            says="(number 1, 2)",
            why="This only asks about weights.",
        ),
        Wrong(
            """
            def test(checkpoint):
                x = torch.ones(64, requires_grad=True)
                y = checkpoint(lambda x: torch.nn.functional.dropout(x, 0.5), x)
                y.sum().backward()
                assert torch.equal(x.grad != 0, y.detach() != 0)
            """,
            says="(number 2, 3)",
            why="This asks about the mask. But what if something else draws from the stream later?",
        ),
        Wrong(
            """
            def test(checkpoint):
                x = torch.ones(64, requires_grad=True)
                torch.manual_seed(0)
                y = checkpoint(lambda x: torch.nn.functional.dropout(x, 0.5), x)
                torch.manual_seed(0)
                y.sum().backward()
                first = torch.rand(1)
                torch.manual_seed(0)
                assert not torch.equal(first, torch.rand(1))
            """,
            says="must pass on the right",
            why="The right version leaves the stream alone: a seed that you set before backward still holds after it.",
        ),
    ]

    def right(function, x):
        return rewritten(function, x)

    def forgets_the_stream(function, x):
        """the second run draws other random numbers"""
        return rewritten(function, x, restores=False)

    def rewinds_the_stream(function, x):
        """after backward the stream is where the second run left it"""
        return rewritten(function, x, returns=False)

    def asks_for_one_gradient(function, x):
        """weights inside the function get no gradient"""
        return rewritten(function, x, asks=True)

    bugs = [forgets_the_stream, rewinds_the_stream, asks_for_one_gradient]


def rewritten(function, x, *, restores=True, returns=True, asks=False):
    """Checkpoint with a Function, and with one of three mistakes."""
    start = torch.get_rng_state()

    class Again(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return function(x)

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            x = x.detach().requires_grad_()
            now = torch.get_rng_state()
            if restores:
                torch.set_rng_state(start)
            with torch.enable_grad():
                y = function(x)
            if returns:
                torch.set_rng_state(now)
            if asks:
                return torch.autograd.grad(y, x, grad)[0]
            y.backward(grad)
            return x.grad

    return Again.apply(x)
