"""Exercises of chapter 44, mixed precision."""

import math
import random

import tensorlab as torch
from tensorlab.learn import BugHunt, Exercise, Wrong, expect, require

IMPORTS = """
import tensorlab as torch
from tensorlab import nn
"""

QUESTIONS = {
    "256 + 1 in bfloat16": lambda: torch.tensor(256.0).bfloat16() + 1,
    "2048 + 1 in float16": lambda: torch.tensor(2048.0).half() + 1,
    "40000 * 2 in float16": lambda: torch.tensor(40000.0).half() * 2,
    "2**-24 / 4 in float16": lambda: torch.tensor(2.0**-24).half() / 4,
    "2**-24 / 4 in bfloat16": lambda: torch.tensor(2.0**-24).bfloat16() / 4,
    "sum of 600 ones in bfloat16": lambda: torch.ones(600).bfloat16().sum(),
}


class WhatIsLeft(Exercise):
    """What is left?

    Give each result as a float. `2**-24` is the smallest positive number of float16. Run nothing.
    """

    kind = "warm-up"
    idea = "Two ways to fill sixteen bits"
    stub = """
        results = {
            "256 + 1 in bfloat16": None,
            "2048 + 1 in float16": None,
            "40000 * 2 in float16": None,
            "2**-24 / 4 in float16": None,
            "2**-24 / 4 in bfloat16": None,
            "sum of 600 ones in bfloat16": None,
        }
    """
    hints = [
        "How many binary digits do 257 and 2049 have, and how many does the type hold?",
        "The largest number of float16 is 65504. What comes after the largest number?",
        "bfloat16 has the range of float32, and `sum` rounds only once.",
    ]
    solution = """
        results = {
            "256 + 1 in bfloat16": 256.0,
            "2048 + 1 in float16": 2048.0,
            "40000 * 2 in float16": float("inf"),
            "2**-24 / 4 in float16": 0.0,
            "2**-24 / 4 in bfloat16": 2.0**-26,
            "sum of 600 ones in bfloat16": 600.0,
        }
    """
    reason = """
        257 needs nine digits and bfloat16 has eight; 2049 needs twelve and float16 has eleven. Range is the other
        thing: float16 has nothing above 65504 and nothing below $2^{-24}$, and bfloat16 has trouble with neither.
    """
    wrong = [
        Wrong(
            """
            results = {"256 + 1 in bfloat16": 257.0, "2048 + 1 in float16": 2048.0,
                       "40000 * 2 in float16": float("inf"), "2**-24 / 4 in float16": 0.0,
                       "2**-24 / 4 in bfloat16": 2.0**-26, "sum of 600 ones in bfloat16": 600.0}
            """,
            says="256 + 1 in bfloat16",
            why="257 is 100000001 in binary: nine digits, one too many.",
        ),
        Wrong(
            """
            results = {"256 + 1 in bfloat16": 256.0, "2048 + 1 in float16": 2048.0,
                       "40000 * 2 in float16": 65504.0, "2**-24 / 4 in float16": 0.0,
                       "2**-24 / 4 in bfloat16": 2.0**-26, "sum of 600 ones in bfloat16": 600.0}
            """,
            says="Nothing stops at the largest number",
            why="Floating numbers overflow to infinity.",
        ),
        Wrong(
            """
            results = {"256 + 1 in bfloat16": 256.0, "2048 + 1 in float16": 2048.0,
                       "40000 * 2 in float16": float("inf"), "2**-24 / 4 in float16": 0.0,
                       "2**-24 / 4 in bfloat16": 2.0**-26, "sum of 600 ones in bfloat16": 256.0}
            """,
            says="rounds only once",
            why="A loop would get stuck at 256. `sum` adds up in float32.",
        ),
    ]

    def check(results):
        require(
            isinstance(results, dict) and results.keys() == QUESTIONS.keys(),
            f"`results` must be a dict with the keys {', '.join(QUESTIONS)}.",
        )
        require(
            results["40000 * 2 in float16"] != 65504.0,
            "Look at 40000 * 2 in float16. Nothing stops at the largest number.",
        )
        require(
            results["sum of 600 ones in bfloat16"] != 256.0,
            "Look at the sum of 600 ones: it isn't a loop, and rounds only once.",
        )
        for text, compute in QUESTIONS.items():
            require(
                isinstance(results[text], int | float) and results[text] == compute().item(),
                f"Look again at {text}: {results[text]!r} isn't what comes out.",
            )


def largest_factor(grads):
    """The largest power of two that keeps all gradients finite in float16."""
    largest = max((grad.abs().max().item() for grad in grads if grad.numel()), default=0.0)
    if largest == 0:
        return 1.0
    power = math.floor(math.log2(65504 / largest))
    while math.isinf(torch.tensor(largest * 2.0**power).half().item()):
        power -= 1
    while not math.isinf(torch.tensor(largest * 2.0 ** (power + 1)).half().item()):
        power += 1
    return 2.0**power


class BestFactor(Exercise):
    """The largest factor

    `GradScaler` searches, because it can't see the gradients before they are scaled. You can. Write
    `best_factor(grads)`: `grads` is a list of float32 tensors, and the result is the largest power of two by which they
    can be multiplied so that each of them is finite in float16. It's 1.0 if all gradients are 0. The power may be
    negative.
    """

    kind = "implement"
    idea = "Three rules"
    stub = """
        def best_factor(grads):
            return 2.0**16
    """
    hints = [
        "Only the largest absolute value of all tensors matters.",
        "The largest number of float16 is 65504. How often can you double before you pass it?",
        "Rounding helps a little: 65519 rounds to 65504 and is finite. Converting tells you: `torch.tensor(x).half()`.",
    ]
    solution = """
        def best_factor(grads):
            largest = max((g.abs().max().item() for g in grads if g.numel()), default=0.0)
            if largest == 0:
                return 1.0
            factor = 2.0**-60
            while torch.tensor(largest * factor * 2).half().isfinite():
                factor *= 2
            return factor
    """
    reason = """
        All gradients get the same factor, so the largest decides. Doubling until it overflows is what `GradScaler` does
        over thousands of steps; here it takes one look.
    """
    wrong = [
        Wrong(
            """
            def best_factor(grads):
                largest = max(g.max().item() for g in grads)
                factor = 2.0**-60
                while torch.tensor(largest * factor * 2).half().isfinite():
                    factor *= 2
                return factor
            """,
            says="negative",
            why="A gradient of -1000 overflows just like 1000.",
        ),
        Wrong(
            """
            def best_factor(grads):
                largest = grads[0].abs().max().item()
                if largest == 0:
                    return 1.0
                factor = 2.0**-60
                while torch.tensor(largest * factor * 2).half().isfinite():
                    factor *= 2
                return factor
            """,
            says="all tensors",
            why="All of them get one factor.",
        ),
        Wrong(
            """
            def best_factor(grads):
                largest = max((g.abs().max().item() for g in grads if g.numel()), default=0.0)
                return 1.0 if largest == 0 else 65504 / largest
            """,
            says="power of two",
            why="A factor that isn't a power of two changes digits.",
        ),
        Wrong(
            """
            import math

            def best_factor(grads):
                largest = max((g.abs().max().item() for g in grads if g.numel()), default=0.0)
                return 1.0 if largest == 0 else max(1.0, 2.0 ** math.floor(math.log2(65504 / largest)))
            """,
            says="below 1",
            why="Gradients above 65504 have to be made smaller.",
        ),
    ]

    def check(best_factor):
        cases = [[torch.tensor([2.0**-20])], [torch.tensor([1.0, -1000.0])], [torch.zeros(3)]]
        cases += [
            [torch.tensor([1e-6]), torch.tensor([3.0])],
            [torch.tensor([1e9])],
            [torch.empty(0), torch.ones(2)],
        ]
        cases += [[torch.tensor([65519.0])], [torch.tensor([65520.0])]]
        for _ in range(20):
            scale = 10.0 ** random.uniform(-8, 3)
            shapes = [random.choice([(3,), (2, 2), (1,)]) for _ in range(random.randrange(1, 4))]
            cases.append([torch.randn(shape) * scale for shape in shapes])
        for grads in cases:
            came, true = best_factor([grad.clone() for grad in grads]), largest_factor(grads)
            shown = ", ".join(str(grad.tolist()) for grad in grads)
            require(
                isinstance(came, int | float) and came > 0 and math.log2(came).is_integer(),
                f"For {shown} you return {came!r}. The factor must be a power of two.",
            )
            require(
                came <= true
                or all(grad.min() >= 0 for grad in grads)
                or came == best_factor([g.abs() for g in grads]),
                f"For {shown} your factor is {came}. A negative gradient can overflow, too.",
            )
            require(
                came <= true or len(grads) == 1,
                f"For {shown} your factor is {came}, and something overflows. Did you look at all tensors?",
            )
            require(
                came >= true or true >= 1,
                f"For {shown} your factor is {came}, which can't be right: {true} works.",
            )
            require(
                came <= true or true >= 1,
                f"For {shown} your factor is {came}. It has to be below 1 here.",
            )
            expect(came, true, f"the factor for {shown}", tolerance=0)


def by_the_rule(bad, init, growth, backoff, interval):
    factors, factor, good = [], init, 0
    for is_bad in bad:
        if is_bad:
            factor, good = factor * backoff, 0
        else:
            good += 1
            if good == interval:
                factor, good = factor * growth, 0
        factors.append(factor)
    return factors


class TheRule(Exercise):
    """The rule of the factor

    Write `factors(bad, init, growth, backoff, interval)`. `bad` is a list of bools, one for each step: was a gradient
    infinite? The result is the list of factors after each step, by the rule of `GradScaler`. Use plain floats.
    """

    kind = "extend"
    idea = "Loss scaling in ten lines"
    stub = """
        def factors(bad, init, growth, backoff, interval):
            return [init for _ in bad]
    """
    hints = [
        "You need one more number besides the factor: how many good steps in a row there have been.",
        "Which two events set this number back to 0?",
        "Both do: a bad step, and a growth. Otherwise the factor would grow at every step from then on.",
    ]
    solution = """
        def factors(bad, init, growth, backoff, interval):
            found, factor, good = [], init, 0
            for is_bad in bad:
                good = 0 if is_bad else good + 1
                if is_bad:
                    factor *= backoff
                elif good == interval:
                    factor, good = factor * growth, 0
                found.append(factor)
            return found
    """
    reason = """
        The counter is what makes the search cheap. One bad step in 2000 tries is the price for a factor that is as
        large as it can be.
    """
    wrong = [
        Wrong(
            """
            def factors(bad, init, growth, backoff, interval):
                found, factor, good = [], init, 0
                for is_bad in bad:
                    if is_bad:
                        factor *= backoff
                    else:
                        good += 1
                        if good == interval:
                            factor, good = factor * growth, 0
                    found.append(factor)
                return found
            """,
            says="in a row",
            why="A bad step breaks the row.",
        ),
        Wrong(
            """
            def factors(bad, init, growth, backoff, interval):
                found, factor, good = [], init, 0
                for is_bad in bad:
                    good = 0 if is_bad else good + 1
                    if is_bad:
                        factor *= backoff
                    elif good >= interval:
                        factor *= growth
                    found.append(factor)
                return found
            """,
            says="after a growth",
            why="The count begins anew after a growth as well.",
        ),
        Wrong(
            """
            def factors(bad, init, growth, backoff, interval):
                found, factor, good = [], init, 0
                for is_bad in bad:
                    found.append(factor)
                    good = 0 if is_bad else good + 1
                    if is_bad:
                        factor *= backoff
                    elif good == interval:
                        factor, good = factor * growth, 0
                return found
            """,
            says="before each step",
            why="The factor after a step is the one that the next step uses.",
        ),
    ]

    def check(factors):
        cases = [([False] * 5, 4.0, 2.0, 0.5, 2), ([False, True, False, False], 8.0, 2.0, 0.5, 2)]
        for _ in range(12):
            bad = [random.random() < 0.25 for _ in range(random.randrange(1, 30))]
            growth, backoff = random.choice([2.0, 1.5, 4.0]), random.choice([0.5, 0.25])
            cases.append(
                (bad, 2.0 ** random.randrange(1, 20), growth, backoff, random.randrange(1, 5))
            )
        for bad, *settings in cases:
            came, true = factors(list(bad), *settings), by_the_rule(bad, *settings)
            shown = f"bad = {[int(one) for one in bad]}, settings {settings}"
            require(
                isinstance(came, list) and len(came) == len(bad),
                "factors must return a list with one factor for each step.",
            )
            require(
                came != [settings[0], *true[:-1]] or came == true,
                f"For {shown} you return the factors before each step. The factors after each are wanted.",
            )
            for i, (one, right) in enumerate(zip(came, true, strict=True)):
                grew = right > (true[i - 1] if i else settings[0])
                note = (
                    "Count the good steps in a row."
                    if one > right and any(bad[: i + 1]) and not grew
                    else ""
                )
                if one > right and not any(bad[: i + 1]):
                    note = "What happens to the count after a growth?"
                require(
                    isinstance(one, float | int) and math.isclose(one, right, rel_tol=1e-5),
                    f"For {shown} the factor after step {i} is {right}, and yours is {one!r}. {note}",
                )


class HuntTheOrder(BugHunt):
    """A test for a training step

    `step(model, optimizer, scaler, loss, limit)` is one training step with a `GradScaler`, which clips the gradients to
    the length `limit`. Five people wrote it, and each made one mistake. Write `test(step)`: it passes on the right
    version and fails on each of theirs.
    """

    idea = "Break it"
    stub = """
        def test(step):
            model = nn.Linear(2, 1)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            scaler = torch.amp.GradScaler("cpu", enabled=False)
            step(model, optimizer, scaler, model(torch.ones(3, 2)).mean(), 1.0)
    """
    hints = [
        "A scaler that is switched off hides every mistake. What are the weights after a step that clips?",
        "What should happen to the weights if the loss is infinite? And what should happen to `scaler.get_scale()`?",
        "A second step finds out whether `zero_grad` was called, if its gradient is different and isn't clipped.",
    ]
    solution = """
        def test(step):
            w = nn.Parameter(torch.tensor([3.0, 4.0]))
            optimizer = torch.optim.SGD([w], lr=0.5)
            scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=1)
            model = nn.ParameterList([w])
            step(model, optimizer, scaler, (w * w).sum() / 2, 1.0)
            assert torch.allclose(w, torch.tensor([2.7, 3.6]))
            step(model, optimizer, scaler, w.sum() / 4, 1.0)
            assert torch.allclose(w, torch.tensor([2.575, 3.475]))
            assert scaler.get_scale() == 32.0
            step(model, optimizer, scaler, (w * float("inf")).sum(), 1.0)
            assert torch.allclose(w, torch.tensor([2.575, 3.475]))
            assert scaler.get_scale() == 16.0
    """
    reason = """
        The first gradient is $w$, of length 5, so the limit clips it to $w/5$. The second is short enough to stay as it
        is, so what is left over from the first would show. Two good steps make the factor grow, and an infinite one is
        left out.
    """
    wrong = [
        Wrong(
            """
            def test(step):
                w = nn.Parameter(torch.tensor([3.0, 4.0]))
                optimizer = torch.optim.SGD([w], lr=0.5)
                scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
                step(nn.ParameterList([w]), optimizer, scaler, (w * w).sum() / 2, 100.0)
                assert torch.allclose(w, torch.tensor([1.5, 2.0]))
            """,
            says="(number 1, 2, 4, 5)",
            why="A limit that's never reached can't show where the clipping is, and one step shows no rest.",
        ),
        Wrong(
            """
            def test(step):
                w = nn.Parameter(torch.tensor([3.0, 4.0]))
                optimizer = torch.optim.SGD([w], lr=0.5)
                scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
                model = nn.ParameterList([w])
                step(model, optimizer, scaler, (w * w).sum() / 2, 1.0)
                assert torch.allclose(w, torch.tensor([2.7, 3.6]))
                step(model, optimizer, scaler, w.sum() / 4, 1.0)
                assert torch.allclose(w, torch.tensor([2.575, 3.475]))
            """,
            says="(number 2, 4)",
            why="Nothing here is infinite, and nothing looks at the factor.",
        ),
    ]

    def right(model, optimizer, scaler, loss, limit):
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), limit)
        scaler.step(optimizer)
        scaler.update()

    def clips_first(model, optimizer, scaler, loss, limit):
        """it clips before it unscales"""
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), limit)
        scaler.step(optimizer)
        scaler.update()

    def keeps_the_factor(model, optimizer, scaler, loss, limit):
        """it puts the old factor back at the end, so the factor never changes"""
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), limit)
        scaler.step(optimizer)
        scaler.update(scaler.get_scale())

    def unscales_twice(model, optimizer, scaler, loss, limit):
        """it divides the gradients once more by the factor"""
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        for param in model.parameters():
            param.grad /= scaler.get_scale()
        torch.nn.utils.clip_grad_norm_(model.parameters(), limit)
        scaler.step(optimizer)
        scaler.update()

    def steps_anyway(model, optimizer, scaler, loss, limit):
        """it calls optimizer.step itself, so that infinite gradients aren't left out"""
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), limit)
        optimizer.step()
        scaler.update()

    def keeps_gradients(model, optimizer, scaler, loss, limit):
        """it doesn't set the gradients to zero, so the second step adds scaled gradients to unscaled ones"""
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), limit)
        scaler.step(optimizer)
        scaler.update()

    bugs = [clips_first, keeps_the_factor, unscales_twice, steps_anyway, keeps_gradients]
