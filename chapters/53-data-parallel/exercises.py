"""Exercises of chapter 53, data parallel training."""

import random

import tensorlab as torch
from tensorlab.learn import BugHunt, Exercise, Wrong, expect, require

IMPORTS = """
import tensorlab as torch
"""

TRUE = {
    "gradients averaged, no hook on any parameter": False,
    "forward in no_sync, backward outside": False,
    "forward outside, backward in no_sync": True,
    "forward and backward through model.module": False,
    "two forward passes, then one backward through both": True,
    "forward under no_grad": False,
}


class IsItAveraged(Exercise):
    """Is it averaged?

    A model is wrapped in `DistributedDataParallel`. For each program, are the gradients averaged over the ranks?
    Answer with `True` or `False`. The first one is a model without a wrapper.
    """

    kind = "warm-up"
    idea = "Accumulating gradients"
    stub = """
        answers = {
            "gradients averaged, no hook on any parameter": None,
            "forward in no_sync, backward outside": None,
            "forward outside, backward in no_sync": None,
            "forward and backward through model.module": None,
            "two forward passes, then one backward through both": None,
            "forward under no_grad": None,
        }
    """
    hints = [
        "The wrapper decides in its forward pass. What happens there decides.",
        "Which of these programs run the wrapper's forward pass at all, with gradients on?",
        "A loss can be made of two outputs. The hooks fire when a gradient is complete, so once.",
    ]
    solution = """
        answers = {
            "gradients averaged, no hook on any parameter": False,
            "forward in no_sync, backward outside": False,
            "forward outside, backward in no_sync": True,
            "forward and backward through model.module": False,
            "two forward passes, then one backward through both": True,
            "forward under no_grad": False,
        }
    """
    reason = """
        Forward prepares, hooks average. If the wrapper's forward pass doesn't run, or runs in `no_sync`, the hooks
        don't do anything. Under `no_grad`, there are no gradients.
    """
    wrong = [
        Wrong(
            """
            answers = {"gradients averaged, no hook on any parameter": False,
                       "forward in no_sync, backward outside": True,
                       "forward outside, backward in no_sync": False,
                       "forward and backward through model.module": False,
                       "two forward passes, then one backward through both": True,
                       "forward under no_grad": False}
            """,
            says="Where did forward run",
            why="It's forward that counts.",
        ),
        Wrong(
            """
            answers = {"gradients averaged, no hook on any parameter": False,
                       "forward in no_sync, backward outside": False,
                       "forward outside, backward in no_sync": True,
                       "forward and backward through model.module": True,
                       "two forward passes, then one backward through both": True,
                       "forward under no_grad": False}
            """,
            says="goes around the wrapper",
            why="The hooks are there, but nothing has prepared them.",
        ),
    ]

    def check(answers):
        require(
            isinstance(answers, dict) and answers.keys() == TRUE.keys(),
            f"`answers` must be a dict with the keys {', '.join(TRUE)}.",
        )
        notes = {
            "forward in no_sync, backward outside": " Where did forward run?",
            "forward outside, backward in no_sync": " Where did forward run?",
            "forward and backward through model.module": " It goes around the wrapper.",
        }
        for text, true in TRUE.items():
            require(
                answers[text] is not None and bool(answers[text]) == true,
                f"Look again at: {text}.{notes.get(text, '')}",
            )


def true_buckets(sizes, first, cap):
    done, places, size = [], [], 0
    for place in reversed(range(len(sizes))):
        places.append(place)
        size += sizes[place]
        if size >= (cap if done else min(first, cap)):
            done.append(places)
            places, size = [], 0
    return [*done, places] if places else done


class IntoBuckets(Exercise):
    """Into buckets

    Write `buckets(sizes, first, cap)`. `sizes` are the bytes of the parameters, in the order of the model. The result
    is a list of buckets, each a list of positions, in the order in which they are reduced: gradients come from the end.
    A bucket is closed as soon as it has at least `cap` bytes; the first one as soon as it has at least the smaller of
    `first` and `cap`. What remains at the end is a bucket too.
    """

    kind = "implement"
    idea = "Buckets"
    stub = """
        def buckets(sizes, first, cap):
            return [list(range(len(sizes)))]
    """
    hints = [
        "Go through the positions from the last to 0, and keep an open bucket with its size.",
        "Close the bucket after you've added the parameter that fills it, not before.",
        "`if done else` tells the first bucket from the others. Don't forget an open bucket at the end.",
    ]
    solution = """
        def buckets(sizes, first, cap):
            done, places, size = [], [], 0
            for place in reversed(range(len(sizes))):
                places.append(place)
                size += sizes[place]
                if size >= (cap if done else min(first, cap)):
                    done.append(places)
                    places, size = [], 0
            return done + [places] if places else done
    """
    reason = """
        The last bucket holds the first layer, whose gradient comes last. Nothing can hide its `all_reduce`, so it had
        better not be large.
    """
    wrong = [
        Wrong(
            """
            def buckets(sizes, first, cap):
                done, places, size = [], [], 0
                for place in range(len(sizes)):
                    places.append(place)
                    size += sizes[place]
                    if size >= (cap if done else min(first, cap)):
                        done.append(places)
                        places, size = [], 0
                return done + [places] if places else done
            """,
            says="from the end",
            why="Backward begins at the last layer.",
        ),
        Wrong(
            """
            def buckets(sizes, first, cap):
                done, places, size = [], [], 0
                for place in reversed(range(len(sizes))):
                    limit = cap if done else min(first, cap)
                    if places and size + sizes[place] > limit:
                        done.append(places)
                        places, size = [], 0
                    places.append(place)
                    size += sizes[place]
                return done + [places] if places else done
            """,
            says="at least",
            why="It closes a bucket before it's full.",
        ),
        Wrong(
            """
            def buckets(sizes, first, cap):
                done, places, size = [], [], 0
                for place in reversed(range(len(sizes))):
                    places.append(place)
                    size += sizes[place]
                    if size >= (cap if done else min(first, cap)):
                        done.append(places)
                        places, size = [], 0
                return done
            """,
            says="is in no bucket",
            why="What is left over would never be averaged.",
        ),
        Wrong(
            """
            def buckets(sizes, first, cap):
                done, places, size = [], [], 0
                for place in reversed(range(len(sizes))):
                    places.append(place)
                    size += sizes[place]
                    if size >= cap:
                        done.append(places)
                        places, size = [], 0
                return done + [places] if places else done
            """,
            says="first one",
            why="The first bucket is small, so that communication starts early.",
        ),
    ]

    def check(buckets):
        cases = [([4, 4, 4], 4, 8), ([1, 1, 1, 1, 1], 2, 100), ([10], 1, 5), ([3, 3, 3], 100, 5)]
        for _ in range(14):
            sizes = [random.randrange(1, 30) for _ in range(random.randrange(1, 12))]
            cases.append((sizes, random.randrange(1, 20), random.randrange(5, 60)))
        for sizes, first, cap in cases:
            came, true = buckets(list(sizes), first, cap), true_buckets(sizes, first, cap)
            shown = f"For sizes {sizes}, first {first} and cap {cap}"
            require(
                isinstance(came, list) and all(isinstance(one, list) for one in came),
                f"{shown} you return {came!r}; a list of lists is wanted.",
            )
            flat = [place for one in came for place in one]
            missing = sorted(set(range(len(sizes))) - set(flat))
            require(not missing, f"{shown}, position {missing[:1]} is in no bucket.")
            require(
                flat == sorted(flat, reverse=True) and len(flat) == len(sizes),
                f"{shown} you return {came}. Each position comes once, and they come from the end.",
            )
            full = [sum(sizes[place] for place in one) for one in came[:-1]]
            limits = [min(first, cap), *[cap] * len(full)]
            note = ""
            if any(size < limit for size, limit in zip(full, limits, strict=False)):
                note = " A bucket is closed when it has at least its limit, not before."
            elif came and came[0] != true[0]:
                note = " The first one has a limit of its own."
            require(came == true, f"{shown}, {true} is expected, and you return {came}.{note}")


class UnequalParts(Exercise):
    """Parts that aren't equally large

    Each rank has the mean gradient of its own samples, and knows how many there were. Write `whole(gradients, counts)`:
    the gradient of the mean loss over all samples together. `gradients` is a list of tensors, one for each rank, and
    `counts` a list of ints. A rank without samples has a gradient of nan, because its mean is 0 / 0.
    """

    kind = "extend"
    idea = "Many ranks, one model"
    stub = """
        def whole(gradients, counts):
            return sum(gradients) / len(gradients)
    """
    hints = [
        "A mean times its count is a sum. What are sums good for?",
        "Divide by the number of all samples, not by the number of ranks.",
        "nan * 0 is nan. Leave ranks without samples out.",
    ]
    solution = """
        def whole(gradients, counts):
            total = torch.zeros_like(gradients[0])
            for gradient, count in zip(gradients, counts):
                if count:
                    total += gradient * count
            return total / sum(counts)
    """
    reason = """
        Sums can be added up, means can't. `join` with `divide_by_initial_world_size` and a padded sampler are two ways
        to live with parts of different size; weighting is the exact one.
    """
    wrong = [
        Wrong(
            """
            def whole(gradients, counts):
                return sum(g * n for g, n in zip(gradients, counts)) / sum(counts)
            """,
            says="without samples",
            why="nan times 0 is nan.",
        ),
        Wrong(
            """
            def whole(gradients, counts):
                used = [g for g, n in zip(gradients, counts) if n]
                return sum(used) / len(used)
            """,
            says="as much as",
            why="A rank with three samples would count as much as one with ninety.",
        ),
        Wrong(
            """
            def whole(gradients, counts):
                used = [(g, n) for g, n in zip(gradients, counts) if n]
                return sum(g * n for g, n in used) / len(used)
            """,
            says="number of all samples",
            why="It divides by the number of ranks.",
        ),
    ]

    def check(whole):
        for number in range(16):
            ranks = random.randrange(1, 6)
            counts = [random.randrange(1, 9) for _ in range(ranks)]
            if number > 4 and ranks > 1:
                counts[random.randrange(ranks)] = 0
            if sum(counts) == 0:
                counts[0] = 3
            samples = [torch.randn(count, 3, dtype=torch.float64) for count in counts]
            gradients = [
                x.mean(0) if len(x) else torch.full((3,), float("nan"), dtype=torch.float64)
                for x in samples
            ]
            true = torch.cat(samples).mean(0)
            came = whole([g.clone() for g in gradients], list(counts))
            shown = f"For counts {counts}"
            require(
                isinstance(came, torch.Tensor),
                f"{shown} you return {came!r}, which isn't a tensor.",
            )
            require(
                not came.isnan().any() or 0 not in counts,
                f"{shown} you return nan. What about a rank without samples?",
            )
            used = [g for g, n in zip(gradients, counts, strict=True) if n]
            note = ""
            if not torch.allclose(came, true):
                if torch.allclose(came, sum(used) / len(used)):
                    note = " A rank with few samples counts as much as one with many."
                if torch.allclose(came * len(used) / sum(counts), true):
                    note = " Divide by the number of all samples."
            require(
                torch.allclose(came, true), f"{shown} the gradient isn't that of all samples.{note}"
            )
            expect(came, true, f"{shown}, the gradient", tolerance=1e-9)


def gradient(w, x, y):
    return 2 * ((x @ w - y).unsqueeze(1) * x).mean(0)


def stepped(ws, xs, ys, lr, begin=True, divide=None, left_out=0, tail=0, only=None):
    """A step of every rank, with a few screws to turn."""
    ranks = len(ws)
    ws = [(ws[0] if begin else w).clone() for w in ws]
    grads = [gradient(w, x, y) for w, x, y in zip(ws, xs, ys, strict=True)]
    mean = sum(grads[left_out:]) / (divide or ranks - left_out)
    steps = [mean.clone() for _ in range(ranks)]
    if tail:
        for own, local in zip(steps, grads, strict=True):
            own[-tail:] = local[-tail:]
    return [
        w - lr * own if only is None or rank == only else w
        for rank, (w, own) in enumerate(zip(ws, steps, strict=True))
    ]


class HuntTheStep(BugHunt):
    """A test for a data parallel step

    `step(ws, xs, ys, lr)` plays one step of all ranks in one process. `ws` are the weights of the ranks, vectors of
    equal length; `xs[r]` and `ys[r]` are the samples of rank r, equally many for each. The loss is
    `((x @ w - y) ** 2).mean()`. Everyone begins with the weights of rank 0, averages the gradients, and steps with SGD;
    the result is the list of new weights. Six people wrote it, and five made one mistake each. Write `test(step)`.
    """

    idea = "Many ranks, one model"
    stub = """
        def test(step):
            w, x, y = torch.zeros(2), torch.eye(2), torch.ones(2)
            new = step([w], [x], [y], 0.5)
            assert torch.allclose(new[0], torch.tensor([0.5, 0.5]))
    """
    hints = [
        "With one rank, almost everything is right. Take at least two, with different samples.",
        "Do the ranks have to begin with equal weights?",
        "You know the answer without a formula: it's the step on the joined samples, by autograd.",
    ]
    solution = """
        def test(step):
            for ranks in (1, 2, 3):
                torch.manual_seed(ranks)
                ws = [torch.randn(4) for _ in range(ranks)]
                xs = [torch.randn(5, 4) for _ in range(ranks)]
                ys = [torch.randn(5) for _ in range(ranks)]
                w = ws[0].clone().requires_grad_()
                ((torch.cat(xs) @ w - torch.cat(ys)) ** 2).mean().backward()
                true = (w - 0.1 * w.grad).detach()
                new = step([one.clone() for one in ws], xs, ys, 0.1)
                assert len(new) == ranks
                for one in new:
                    assert torch.allclose(one, true, atol=1e-5)
    """
    reason = """
        The joined batch is the specification. Different weights at the beginning show whether rank 0's are taken over,
        and looking at all ranks and all weights shows who was left out.
    """
    wrong = [
        Wrong(
            """
            def test(step):
                torch.manual_seed(0)
                w = torch.randn(4)
                xs, ys = [torch.randn(5, 4) for _ in range(3)], [torch.randn(5) for _ in range(3)]
                v = w.clone().requires_grad_()
                ((torch.cat(xs) @ v - torch.cat(ys)) ** 2).mean().backward()
                for one in step([w.clone() for _ in range(3)], xs, ys, 0.1):
                    assert torch.allclose(one, (v - 0.1 * v.grad).detach(), atol=1e-5)
            """,
            says="(number 1)",
            why="All ranks begin with the same weights.",
        ),
        Wrong(
            """
            def test(step):
                torch.manual_seed(0)
                ws = [torch.randn(4) for _ in range(2)]
                xs, ys = [torch.randn(5, 4) for _ in range(2)], [torch.randn(5) for _ in range(2)]
                new = step(ws, xs, ys, 0.1)
                assert torch.equal(new[0], new[1])
            """,
            says="(number 2, 3)",
            why="Equal isn't enough: they can be equally wrong.",
        ),
    ]

    def right(ws, xs, ys, lr):
        return stepped(ws, xs, ys, lr)

    def own_beginning(ws, xs, ys, lr):
        """it doesn't take over rank 0's weights at the beginning"""
        return stepped(ws, xs, ys, lr, begin=False)

    def adds(ws, xs, ys, lr):
        """it adds the gradients up and doesn't divide"""
        return stepped(ws, xs, ys, lr, divide=1)

    def without_rank_0(ws, xs, ys, lr):
        """it leaves out rank 0's gradient, where there are other ranks"""
        return stepped(ws, xs, ys, lr, left_out=int(len(ws) > 1))

    def last_bucket(ws, xs, ys, lr):
        """it never averages the last bucket: the last weight's gradient stays local"""
        return stepped(ws, xs, ys, lr, tail=1)

    def only_rank_0(ws, xs, ys, lr):
        """only rank 0 takes the step"""
        return stepped(ws, xs, ys, lr, only=0)

    bugs = [own_beginning, adds, without_rank_0, last_bucket, only_rank_0]
