"""Exercises of chapter 1, a network in sixty lines."""

import itertools
import math
import random

import tensorlab as torch
from tensorlab import nn
from tensorlab.learn import BugHunt, Exercise, Wrong, expect, require
from tensorlab.nn import functional as F

IMPORTS = """
import tensorlab as torch
from tensorlab.nn import functional as F
"""


class Ignorance(Exercise):
    """What ignorance costs

    A classifier with 1,000 classes knows nothing: it gives every class the same probability. What is its
    loss, `ignorant`? Another is sure of itself and wrong: it gives the right class a probability of one
    in a million. What is its loss on that picture, `sure`? Two decimal places are enough.
    """

    kind = "warm-up"
    idea = "Idea"
    stub = """
        ignorant = None
        sure = None
    """
    hints = [
        "The loss is $-\\log p_y$. What is $p_y$, the probability of the right class, when all 1,000 are "
        "equally probable?",
        "$\\log$ is the natural logarithm, as everywhere in this book: `math.log` in Python.",
    ]
    solution = """
        ignorant = 6.91
        sure = 13.82
    """
    reason = """
        $\\log 1000$ and $\\log 1\\,000\\,000$. Being sure and wrong costs twice as much as knowing nothing. So a
        first loss *above* $\\log n$ says that a network is not ignorant but wrong: usually its first weights
        are too large, or its inputs are (try the program without `/ 16`).
    """
    wrong = [
        Wrong(
            "ignorant = 0.999\nsure = 0.999999",
            says="the share of errors",
            why="$1 - 1/1000$ confuses the loss with the share of errors.",
        ),
        Wrong(
            "ignorant = 3.0\nsure = 6.0",
            says="natural logarithm",
            why="These are logarithms to base 10.",
        ),
        Wrong(
            "ignorant = -6.91\nsure = -13.82",
            says="less than 0",
            why="The sign: $-\\log p$ of a $p$ below 1 is positive.",
        ),
    ]

    def check(ignorant, sure):
        logits = torch.zeros(1, 1000)
        truth = F.cross_entropy(logits, torch.tensor([0])).item()
        require(ignorant is not None and sure is not None, "Put a number instead of each None.")
        require(ignorant >= 0, "A loss is never less than 0: look at the sign of log p.")
        require(abs(ignorant - 0.999) > 0.01, "This is the share of errors. The loss is -log p.")
        require(abs(ignorant - 3) > 0.01, "In base 10, yes; log is the natural logarithm here.")
        about = "the loss of the ignorant one, within 0.01"
        require(abs(ignorant - truth) < 0.01, f"This is not {about}.")
        about = "the loss of the one that is sure and wrong, within 0.01"
        require(abs(sure - math.log(1e6)) < 0.01, f"This is not {about}.")


class Confusion(Exercise):
    """Which digits are confused?

    An accuracy does not say *which* digits a program confuses. Write `confusion(scores, labels)`: from
    scores with one row of ten for each picture, and the right digits, make a 10 × 10 tensor whose entry
    $(i, j)$ counts the pictures of digit $i$ that were read as $j$. Then try it on the model that you
    have trained.
    """

    kind = "implement"
    idea = "Its mistakes"
    stub = """
        def confusion(scores, labels):
            return torch.zeros(10, 10)  # not yet
    """
    hints = [
        "What was read is the digit with the highest score: `scores.argmax(1)`. Then a loop over the "
        "pictures is enough: count one up for each.",
        "`for label, found in zip(labels, scores.argmax(1)):` and `counts[label, found] += 1`.",
        "Without a loop: `F.one_hot(labels, 10)` has a row for each picture with a 1 at its digit. Which "
        "product of two such matrices adds up the pictures?",
    ]
    solution = """
        def confusion(scores, labels):
            found = scores.argmax(1)
            return F.one_hot(labels, 10).float().T @ F.one_hot(found, 10).float()
    """
    reason = """
        Row $n$ of the first factor, as a column, marks the digit of picture $n$; that of the second marks
        what was read. Their product sums over the pictures, and each adds one to a single entry. The loop
        is as good, and slower.
    """
    wrong = [
        Wrong(
            """
            def confusion(scores, labels):
                counts = torch.zeros(10, 10)
                counts[labels, scores.argmax(1)] += 1
                return counts
            """,
            says="only once",
            why="Where a pair occurs twice, `counts[labels, found] += 1` counts it once: it reads, adds and "
            "writes back, and the last write wins. Chapter {chapter}`7` says why.",
        ),
        Wrong(
            """
            def confusion(scores, labels):
                found = scores.argmax(1)
                return F.one_hot(found, 10).float().T @ F.one_hot(labels, 10).float()
            """,
            says="exchanged",
            why="Rows and columns are exchanged: this counts the pictures *read as* $i$ that were $j$.",
        ),
        Wrong(
            """
            def confusion(scores, labels):
                return F.one_hot(labels, 10).float().T @ scores.softmax(1)
            """,
            says="whole numbers",
            why="This adds up probabilities. It is a table worth looking at, but it counts no pictures.",
        ),
    ]

    def check(confusion):
        labels = torch.tensor([3, 3, 3, 5, 0, 9, 5])
        found = torch.tensor([3, 8, 8, 5, 0, 4, 3])
        counts = confusion(F.one_hot(found, 10) * 3.0, labels)
        expect(tuple(counts.shape), (10, 10), "the shape")
        require((counts == counts.round()).all().item(), "Counts are whole numbers.")
        about = "Two pictures of a 3 were read as 8"
        require(counts[3, 8].item() != 1, f"{about}, and are counted only once.")
        require(counts[8, 3].item() == 0, f"{about}: rows and columns are exchanged.")
        for i, j, number in ((3, 8, 2), (3, 3, 1), (5, 3, 1), (9, 4, 1), (0, 0, 1)):
            expect(counts[i, j].item(), number, f"pictures of a {i} that were read as {j}")
        expect(counts.sum().item(), 7, "the sum, with 7 pictures")
        labels, found = torch.randint(0, 7, (60,)), torch.randint(0, 9, (60,))
        counts = confusion(F.one_hot(found, 10) + torch.rand(60, 10) * 0.9, labels)
        truth = [[0] * 10 for _ in range(10)]
        for i, j in zip(labels.tolist(), found.tolist(), strict=True):
            truth[i][j] += 1
        expect(
            [[int(n) for n in row] for row in counts.tolist()],
            truth,
            "60 random pictures, none of a 7, 8 or 9",
        )


class InParts(Exercise):
    """A large batch in small parts

    Your batch does not fit into memory. Write `gradients_in_parts(model, pixels, labels, size)`, which never
    shows the model more than `size` pictures at a time, and leaves in every parameter's `.grad` exactly
    what `F.cross_entropy(model(pixels), labels).backward()` would leave there after `model.zero_grad()`.
    The last part may be smaller.
    """

    kind = "extend"
    idea = "Break it"
    beside = "the check watches the model that the answer gets"
    stub = """
        def gradients_in_parts(model, pixels, labels, size):
            model.zero_grad()
            F.cross_entropy(model(pixels), labels).backward()  # not yet: all at once
    """
    hints = [
        "`backward` adds to the gradients that are there. When should it begin with none, and when not?",
        "Cross-entropy is a *mean* over the pictures it is given. The mean over all is not the sum of the "
        "means of the parts.",
        "Weigh each part by its share of the pictures: `loss * len(part) / len(pixels)`.",
    ]
    solution = """
        def gradients_in_parts(model, pixels, labels, size):
            model.zero_grad()
            for start in range(0, len(pixels), size):
                part = slice(start, start + size)
                share = len(pixels[part]) / len(pixels)
                loss = F.cross_entropy(model(pixels[part]), labels[part])
                (loss * share).backward()
    """
    reason = """
        The mean over all pictures is the mean of the parts' means, each weighed by its share of the pictures;
        and the gradient of a sum is the sum of the gradients. What is a bug in a training loop, that
        `backward` adds, is a tool here. It is how large models are trained on small machines.
    """
    wrong = [
        Wrong(
            """
            def gradients_in_parts(model, pixels, labels, size):
                model.zero_grad()
                for start in range(0, len(pixels), size):
                    part = slice(start, start + size)
                    F.cross_entropy(model(pixels[part]), labels[part]).backward()
            """,
            says="3 times as large",
            why="The parts' means are added up, so the gradient is as many times too large as there are parts.",
        ),
        Wrong(
            """
            def gradients_in_parts(model, pixels, labels, size):
                model.zero_grad()
                parts = -(-len(pixels) // size)
                for start in range(0, len(pixels), size):
                    part = slice(start, start + size)
                    loss = F.cross_entropy(model(pixels[part]), labels[part])
                    (loss / parts).backward()
            """,
            says="last part is smaller",
            why="Right as long as all parts are equally large. In a smaller last part each picture would count "
            "for more.",
        ),
        Wrong(
            """
            def gradients_in_parts(model, pixels, labels, size):
                for start in range(0, len(pixels), size):
                    part = slice(start, start + size)
                    share = len(pixels[part]) / len(pixels)
                    model.zero_grad()
                    (F.cross_entropy(model(pixels[part]), labels[part]) * share).backward()
            """,
            says="the last part's alone",
            why="Who forgets the gradients before every part keeps those of the last.",
        ),
        Wrong(
            """
            def gradients_in_parts(model, pixels, labels, size):
                for start in range(0, len(pixels), size):
                    part = slice(start, start + size)
                    share = len(pixels[part]) / len(pixels)
                    (F.cross_entropy(model(pixels[part]), labels[part]) * share).backward()
            """,
            says="were there before",
            why="The model comes with the gradients of an earlier step, and they are added to.",
        ),
    ]

    def check(gradients_in_parts):
        torch.manual_seed(1)
        events = []  # the size of each part that the model sees, and a 0 for each backward

        class Watched(nn.Linear):
            def forward(self, pixels):
                events.append(len(pixels))
                return super().forward(pixels)

        # Three equal parts; a last one of one picture; two that the text doesn't show.
        cases = [(6, 2), (7, 2), (9, random.randint(4, 8)), (random.randint(5, 9), 3)]
        for count, size in cases:
            model = Watched(4, 3)
            pixels, labels = torch.randn(count, 4), torch.arange(count) % 3
            F.cross_entropy(model(pixels), labels).backward()
            truth = {name: one.grad.clone() for name, one in model.named_parameters()}
            part = slice((count - 1) // size * size, count)
            model.zero_grad()
            F.cross_entropy(model(pixels[part]), labels[part]).backward()
            last = model.weight.grad * (len(labels[part]) / count)
            for parameter in model.parameters():
                parameter.grad = torch.ones(parameter.shape)
            model.weight.register_hook(lambda gradient: events.append(0))
            events.clear()
            gradients_in_parts(model, pixels, labels, size)
            largest = max(events, default=0)
            require(largest <= size, f"The model saw {largest} pictures at once.")
            came = model.weight.grad
            require(came is not None, "The weight has no gradient afterwards.")

            def near(wanted, came=came):
                return torch.allclose(came, wanted, atol=1e-6)

            parts = -(-count // size)
            require(not near(last), "The gradient is the last part's alone.")
            require(
                not near(truth["weight"] + 1),
                "Gradients that were there before the call are still in the sum.",
            )
            require(
                not near(parts * truth["weight"]),
                f"With {parts} parts, the gradient is {parts} times as large as it should be.",
            )
            for name, parameter in model.named_parameters():
                about = f"the gradient of the {name}"
                if count % size:
                    about += ", where the last part is smaller than the others"
                require(parameter.grad is not None, f"{about} is missing.")
                expect(parameter.grad.tolist(), truth[name].tolist(), about, tolerance=1e-5)
            require(
                all(0 in pair for pair in itertools.pairwise(events)),
                "The model saw a part before backward was done with the one before it. So the graphs "
                "of several parts are in memory together; call backward for each.",
            )


class HuntAccuracy(BugHunt):
    """A test for accuracy

    `accuracy(scores, labels, size)` returns the share of rows of `scores` whose highest entry is at the
    label; it looks at `size` rows at a time, and the last part may be smaller. Two people wrote it, and
    both make a model look better or worse than it is. Write `test(accuracy)`, which passes on the
    right function and fails on each of theirs.
    """

    idea = "How good is it, honestly?"
    stub = """
        def test(accuracy):
            scores = F.one_hot(torch.tensor([0, 1, 2, 1]), 3)
            assert accuracy(scores, torch.tensor([0, 1, 2, 1]), 2) == 1.0
    """
    hints = [
        "When everything is right, most mistakes in counting do not show. Let some rows be wrong.",
        "The parts need not be equally large. Take five rows and a `size` of 2, with the only mistake in the "
        "last, incomplete part.",
        "Four of five are right then: 0.8. Compare with a small tolerance, for 0.8 is not exact in binary.",
    ]
    solution = """
        def test(accuracy):
            found = torch.tensor([0, 1, 2, 1, 0])
            labels = torch.tensor([0, 1, 2, 1, 2])  # the last is wrong, in a part of its own
            came = accuracy(F.one_hot(found, 3), labels, 2)
            assert abs(came - 4 / 5) < 1e-6
    """
    reason = """
        Four of five are right. Who averages the parts' shares gets $(1 + 1 + 0)/3$, and who drops the last part
        gets 1. Both have appeared in published numbers: a test set is rarely a multiple of the batch.
    """
    wrong = [
        Wrong(
            """
            def test(accuracy):
                found = torch.tensor([0, 1, 2, 1])
                labels = torch.tensor([0, 1, 2, 0])
                assert accuracy(F.one_hot(found, 3), labels, 2) == 3 / 4
            """,
            says="2 of 2 planted bugs",
            why="With two equal parts, averages of averages are right, and no part is incomplete.",
        ),
        Wrong(
            """
            def test(accuracy):
                found = torch.tensor([0, 1, 0])
                labels = torch.tensor([0, 1, 2])
                assert accuracy(F.one_hot(found, 3), labels, 2) == 0.5
            """,
            says="The first half fails",
            why="Two of three are right: the share is 2/3, and 0.5 is the average of the parts' shares, the "
            "very bug that is hunted.",
        ),
        Wrong(
            """
            def test(accuracy):
                found = torch.tensor([0, 1, 2, 1, 0])
                labels = torch.tensor([0, 1, 2, 1, 2])
                assert accuracy(F.one_hot(found, 3), labels, 2) < 1.0
            """,
            says="(number 1)",
            why="A mistake in the last part shows who drops it. How much it must count is not asked.",
        ),
    ]

    def right(scores, labels, size):
        hits = 0
        for start in range(0, len(labels), size):
            found = scores[start : start + size].argmax(1)
            hits += (found == labels[start : start + size]).sum().item()
        return hits / len(labels)

    def averages_averages(scores, labels, size):
        """the shares of the parts are averaged, and a smaller last part counts as much as the others"""
        shares = []
        for start in range(0, len(labels), size):
            found = scores[start : start + size].argmax(1)
            shares.append((found == labels[start : start + size]).float().mean().item())
        return sum(shares) / len(shares)

    def drops_the_last(scores, labels, size):
        """an incomplete last part is left out"""
        whole = len(labels) - len(labels) % size or len(labels)
        found = scores[:whole].argmax(1)
        return (found == labels[:whole]).sum().item() / whole

    bugs = [averages_averages, drops_the_last]
