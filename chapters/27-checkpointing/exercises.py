"""Exercises of chapter 27, checkpointing."""

import random

import tensorlab as T
from tensorlab.learn import BugHunt, Exercise, Wrong, expect, require
from tensorlab.utils.checkpoint import checkpoint as shipped

IMPORTS = """
import tensorlab as T
from tensorlab.utils.checkpoint import checkpoint
"""


class HowOften(Exercise):
    """How often does f run?

    Each of these begins with a fresh `x` that requires grad, and `f` computes `x.sin() * x`. Count all calls of
    `f`, in forward and backward, before you run anything.

        "plain":      f(x).sum().backward()
        "one":        checkpoint(f, x, use_reentrant=False).sum().backward()
        "twice":      y = checkpoint(f, x, use_reentrant=False).sum()
                      y.backward(retain_graph=True)
                      y.backward()
        "no grad":    with T.no_grad(): checkpoint(f, x, use_reentrant=False)
        "in another": def g(x): return checkpoint(f, x.cos(), use_reentrant=False)
                      checkpoint(g, x, use_reentrant=False).sum().backward()
        "a sum":      f computes x + 1 here
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
        "Once in forward, always. Then ask: does backward unpack a placeholder, and in how many passes?",
        "Recomputed tensors are given away as they are used: a second pass finds the placeholders empty again.",
        "What must `g` run for, in backward? For the argument of the inner call. But it runs the inner call, too, "
        "until all that *it* has saved is there. And what does a sum save?",
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
        A pass that needs something runs `f` once. Nothing needs anything of a sum, so backward never touches a
        placeholder. In the nested case `g` saves two tensors for its own part: the cosine's argument, and the
        argument of the inner call. When it runs again it is stopped as soon as it has these, that is *before*
        it calls `f` again; then the inner call runs `f`. Had `g` saved something after the inner call, as in
        the chapter, it would be three.
    """
    wrong = [
        Wrong(
            'calls = {"plain": 1, "one": 2, "twice": 2, "no grad": 1, "in another": 2, "a sum": 1}',
            says="each pass",
            why="`retain_graph` keeps what nodes have saved, and they have saved placeholders.",
        ),
        Wrong(
            'calls = {"plain": 1, "one": 2, "twice": 3, "no grad": 1, "in another": 3, "a sum": 1}',
            says="early",
            why="This would be right with `early_stop=False`, or if `g` saved something after the inner call.",
        ),
        Wrong(
            'calls = {"plain": 1, "one": 2, "twice": 3, "no grad": 1, "in another": 2, "a sum": 2}',
            says="a sum",
            why="Backward runs a function again when it unpacks something, and not because it passes by.",
        ),
    ]

    def check(calls):
        truth = measured_calls()
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
        with T.no_grad():
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
        program(T.tensor([0.3, 0.7], requires_grad=True))
        found[name] = count
    return found


class TwoHooks(Exercise):
    """A checkpoint of your own

    Write `forgetful(function, x)`, a checkpoint made of `saved_tensors_hooks`. In forward, keep only a number for
    each saved tensor. The first number that is unpacked runs the function again, under hooks of its own that
    collect what is saved; the others take from the collection. No early stop, no random numbers, one backward
    pass: none of these is asked for.
    """

    kind = "implement"
    idea = "With two hooks"
    stub = """
        def forgetful(function, x):
            return function(x)  # not yet
    """
    hints = [
        "Two pairs of hooks: `pack` and `unpack` for forward, `collect` and the identity for the second run. `pack` "
        "returns how many were saved before.",
        "The second run happens in the middle of a backward pass, where grad mode is off. Without "
        "`T.enable_grad()` nothing is recorded, so nothing is saved.",
        "Let `collect` append `tensor.detach()` and return it. Keep the collection in a list that both pairs see, "
        "and empty until it is asked for: `if not found: ...run again...; return found[number]`.",
    ]
    solution = """
        def forgetful(function, x):
            hooks = T.autograd.graph.saved_tensors_hooks
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
                    with hooks(collect, lambda tensor: tensor), T.enable_grad():
                        function(x)
                return found[number]

            with hooks(pack, unpack):
                return function(x)
    """
    reason = """
        The order in which tensors are saved is the name under which they are found again. It is the same in both
        runs if the function does the same, and that is why the shipped one checks it.
    """
    wrong = [
        Wrong(
            """
            def forgetful(function, x):
                hooks = T.autograd.graph.saved_tensors_hooks
                kept = []

                def pack(tensor):
                    kept.append(tensor.detach())
                    return len(kept) - 1

                with hooks(pack, lambda number: kept[number]):
                    return function(x)
            """,
            says="still in memory",
            why="The gradient is right, and everything is kept, only in another place.",
        ),
        Wrong(
            """
            def forgetful(function, x):
                hooks = T.autograd.graph.saved_tensors_hooks
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

                    with hooks(collect, lambda tensor: tensor), T.enable_grad():
                        function(x)
                    return found[number]

                with hooks(pack, unpack):
                    return function(x)
            """,
            says="ran 1 + ",
            why="Right, and it runs the function once for each saved tensor: of a deep part that is work in "
            "proportion to the square of its depth.",
        ),
        Wrong(
            """
            def forgetful(function, x):
                hooks = T.autograd.graph.saved_tensors_hooks
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
            why="In backward grad mode is off: the second run saves nothing.",
        ),
    ]

    def check(forgetful):
        calls = 0

        def f(x):
            nonlocal calls
            calls += 1
            for _ in range(10):
                x = x.sin() * x.exp()
            return x

        x = T.tensor([0.1, -0.2], dtype=T.float64, requires_grad=True)
        plain = f(x)
        (truth,) = T.autograd.grad(plain.sum(), x)
        del plain
        calls, before = 0, T.live_tensors()
        y = forgetful(f, x)
        kept = T.live_tensors() - before
        require(kept < 10, f"After forward {kept} tensors of the part are still in memory.")
        y.sum().backward()
        expect(x.grad, truth, "the gradient")
        require(
            calls == 2,
            f"The function ran 1 + {calls - 1} times; once in forward and once more is enough.",
        )


class WhereToCut(Exercise):
    """Where to cut

    Layers differ. Layer `i` saves `saved[i]` bytes, and its input has `inputs[i]` bytes. If the parts begin at
    the layers in `cuts` (0 is always one), then at most the sum of `inputs[i]` over the cuts is in use, and the
    part that saves most. Write `best_cuts(saved, inputs)`: a sorted list of cuts for which that is least.
    """

    kind = "extend"
    idea = "Idea"
    stub = """
        def best_cuts(saved, inputs):
            return [0]  # not yet
    """
    hints = [
        "For a *given* limit on what a part may save, which cuts have the smallest inputs in sum? That is a shortest "
        "path over the layers.",
        "The limit is the sum of `saved[i:j]` for some i and j, so there are few limits to try.",
        "With a limit: `cost[0] = 0`, and `cost[j] = min(cost[i] + inputs[i])` over all i < j for which the part "
        "`saved[i:j]` is within the limit. Remember the i, and walk back from the end.",
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
        Two kinds of cost, one that adds up and one that counts only where it is largest: fix the second, and the first
        becomes a shortest path. For equal layers the square root comes out.
    """
    wrong = [
        Wrong(
            """
            def best_cuts(saved, inputs):
                every = max(1, round(len(saved) ** 0.5))
                return list(range(0, len(saved), every))
            """,
            says="bytes are in use",
            why="The rule for equal layers. One large layer in the middle, and another cut is better.",
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
            why="The smallest possible parts, and then the inputs of all of them are kept.",
        ),
        Wrong(
            """
            def best_cuts(saved, inputs):
                n = len(saved)
                small = sorted(range(1, n), key=lambda i: inputs[i])
                return sorted([0] + small[: max(0, round(n**0.5) - 1)])
            """,
            says="more than all others",
            why="Cutting where inputs are small is good; but the cuts may all be at one end.",
        ),
    ]

    def check(best_cuts):
        generator = random.Random(0)
        problems = [([1] * 9, [1] * 9), ([4, 1, 4, 5, 1, 4], [1, 1, 1, 1, 1, 1])]
        for _ in range(12):
            n = generator.randint(2, 8)
            sizes = [[generator.randint(1, 9) for _ in range(n)] for _ in range(2)]
            problems.append(tuple(sizes))
        for saved, inputs in problems:
            cuts = best_cuts(list(saved), list(inputs))
            valid = isinstance(cuts, list) and cuts[:1] == [0] and sorted(set(cuts)) == cuts
            require(
                valid and cuts[-1] < len(saved),
                f"{cuts} is no sorted list of cuts that begins with 0.",
            )
            yours, least = most_bytes(saved, inputs, cuts), fewest_bytes(saved, inputs)
            if yours == least:
                continue
            largest = max(parts_of(saved, cuts))
            text = f"For saved = {saved} and inputs = {inputs} your cuts are {cuts}"
            require(largest != max(saved), f"{text}: the smallest parts, but too many inputs.")
            require(2 * largest <= sum(saved), f"{text}: one part saves more than all others.")
            require(False, f"{text}, and at most {yours} bytes are in use; {least} is possible.")


def parts_of(saved, cuts):
    """What each part saves."""
    return [sum(saved[a:b]) for a, b in zip(cuts, [*cuts[1:], len(saved)], strict=True)]


def most_bytes(saved, inputs, cuts):
    """What is in use at most with these cuts."""
    return sum(inputs[i] for i in cuts) + max(parts_of(saved, cuts))


def fewest_bytes(saved, inputs):
    """The same for the best cuts, by trying all."""
    n = len(saved)
    choices = ([0, *(i for i in range(1, n) if bits >> i & 1)] for bits in range(0, 1 << n, 2))
    return min(most_bytes(saved, inputs, cuts) for cuts in choices)


class HuntInTheCheckpoint(BugHunt):
    """A test for a checkpoint

    `checkpoint(function, x)` gives the value and the gradients of `function(x)`, forgets what is between, and is not
    noticed otherwise. Three people wrote it with a Function, and each made one mistake. Write
    `test(checkpoint)`, which passes on the right one and fails on each of theirs.
    """

    idea = "Break it"
    stub = """
        def test(checkpoint):
            x = T.tensor([0.3, 0.7], requires_grad=True)
            y = checkpoint(lambda x: x.sin() * x, x)
            y.sum().backward()
            assert T.allclose(x.grad, (x.cos() * x + x.sin()).detach())
    """
    hints = [
        "The function of the stub is too well behaved: no weights, no random numbers. Compare with what plain autograd "
        "gives for one that has both.",
        "Dropout: the gradient must be zero exactly where the output is. One of the three fails there.",
        "For the second: draw something between forward and backward. Is the random stream after backward where it was "
        "before? For the third: a weight inside the function.",
    ]
    solution = """
        def test(checkpoint):
            weight = T.tensor([2.0, 3.0], requires_grad=True)

            def f(x):
                return T.nn.functional.dropout(x * weight, 0.5).sin()

            x = T.ones(2, requires_grad=True)
            for seed in range(8):
                x.grad = weight.grad = None
                T.manual_seed(seed)
                y = f(x)
                T.rand(3)
                next_number = T.rand(1)
                wanted = T.autograd.grad(y.sum(), [x, weight])

                T.manual_seed(seed)
                y = checkpoint(f, x)
                T.rand(3)
                y.sum().backward()
                assert T.equal(T.rand(1), next_number)
                assert T.equal(x.grad, wanted[0])
                assert weight.grad is not None
                assert T.equal(weight.grad, wanted[1])
    """
    reason = """
        "As if it were not there" has three sides: the same random numbers inside, the same ones outside, and gradients
        for all that the function uses. Several seeds, because two masks of two numbers agree one time in four.
    """
    wrong = [
        Wrong(
            """
            def test(checkpoint):
                weight = T.tensor([2.0, 3.0], requires_grad=True)
                x = T.ones(2, requires_grad=True)
                checkpoint(lambda x: x * weight, x).sum().backward()
                assert T.equal(weight.grad, T.ones(2))
            """,
            says="(number 1, 2)",
            why="This asks about weights only.",
        ),
        Wrong(
            """
            def test(checkpoint):
                x = T.ones(64, requires_grad=True)
                y = checkpoint(lambda x: T.nn.functional.dropout(x, 0.5), x)
                y.sum().backward()
                assert T.equal(x.grad != 0, y.detach() != 0)
            """,
            says="(number 2, 3)",
            why="This asks about the mask. What else draws from the stream, later?",
        ),
        Wrong(
            """
            def test(checkpoint):
                x = T.ones(64, requires_grad=True)
                T.manual_seed(0)
                y = checkpoint(lambda x: T.nn.functional.dropout(x, 0.5), x)
                T.manual_seed(0)
                y.sum().backward()
                first = T.rand(1)
                T.manual_seed(0)
                assert not T.equal(first, T.rand(1))
            """,
            says="must pass on the right",
            why="The right one leaves the stream where it is: what you seed before backward is there after it.",
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
    start = T.get_rng_state()

    class Again(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return function(x)

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            x = x.detach().requires_grad_()
            now = T.get_rng_state()
            if restores:
                T.set_rng_state(start)
            with T.enable_grad():
                y = function(x)
            if returns:
                T.set_rng_state(now)
            if asks:
                return T.autograd.grad(y, x, grad)[0]
            y.backward(grad)
            return x.grad

    return Again.apply(x)
