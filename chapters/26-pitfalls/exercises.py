"""Exercises of chapter 26, pitfalls."""

import tensorlab as torch
from tensorlab.learn import BugHunt, Exercise, Wrong, expect, require

IMPORTS = "import tensorlab as torch"


class WhichExhibit(Exercise):
    """Name the exhibit

    Seven people complain about their training. Give the number of the exhibit that explains each complaint.

    - A: The loss is constant to the last digit. Directly after `backward()` all gradients are there and not
      zero, and the optimizer holds the very tensors of the net.
    - B: Every step takes a little longer than the one before. The loss falls as it should.
    - C: A perfect prediction has a loss of 10.5.
    - D: The best weights that were saved are exactly as good as the last ones, every time.
    - E: It works. When the batches are split in four parts, it only works with a quarter of the learning rate.
    - F: Everything is fine for a day. Then one sample has a feature that is exactly 0, and all weights are nan.
    - G: Validation doesn't run backward, but its memory grows with the number of batches.
    """

    kind = "warm-up"
    idea = "Idea"
    stub = """
        exhibits = {
            "A": None,
            "B": None,
            "C": None,
            "D": None,
            "E": None,
            "F": None,
            "G": None,
        }
    """
    hints = [
        "First the room. Room 1: no path. Room 2: something is left over, or gone, between two passes. Room 3: "
        "a write. Room 4: the numbers themselves.",
        "A, B, E and G are about repetition (room 2). D is about who shares memory with whom (room 3). C and F "
        "are about numbers (room 4).",
        "A: which line stands between backward and step? B: what has to be kept so that backward can go further each "
        "time? G: what does a sum of losses hold?",
    ]
    solution = """
        exhibits = {"A": 12, "B": 10, "C": 23, "D": 19, "E": 14, "F": 21, "G": 13}
    """
    reason = """
        A: a gradient that is there after backward and does nothing was cleared before the step. B and G: if the time
        grows, backward goes through a longer graph each time; if the memory grows, something holds a graph. F: the
        gradient at the corner was always nan, but no sample had asked for it.
    """
    wrong = [
        Wrong(
            'exhibits = {"A": 24, "B": 10, "C": 23, "D": 19, "E": 14, "F": 21, "G": 13}',
            says="very tensors",
            why="The same symptom, but the complaint rules this out: the optimizer holds the right tensors.",
        ),
        Wrong(
            'exhibits = {"A": 12, "B": 13, "C": 23, "D": 19, "E": 14, "F": 21, "G": 10}',
            says="Time or memory",
            why="A total that holds graphs costs memory; a graph that backward goes through again costs time.",
        ),
        Wrong(
            'exhibits = {"A": 12, "B": 10, "C": 23, "D": 20, "E": 11, "F": 22, "G": 13}',
            says="weights, not gradients",
            why="Three neighbours of the right answers: 20 keeps a gradient, 11 adds by accident, and 22 "
            "needs scores that are large, not a feature that is 0.",
        ),
    ]

    def check(exhibits):
        truth = {"A": 12, "B": 10, "C": 23, "D": 19, "E": 14, "F": 21, "G": 13}
        require(exhibits["A"] != 24, "A: the optimizer holds the very tensors of the net.")
        swapped = (exhibits["B"], exhibits["G"]) == (13, 10)
        require(not swapped, "B and G: Time or memory? What grows in which?")
        require(exhibits["D"] != 20, "D: these are weights, not gradients.")
        require(exhibits["E"] != 11, "E: here the adding is intended. What is added four times?")
        require(exhibits["F"] != 22, "F: the feature is 0, not large.")
        for letter, number in truth.items():
            expect(exhibits[letter], number, f"the exhibit for {letter}")


class UnequalParts(Exercise):
    """A batch in unequal parts

    Write `gradient_in_parts(w, data, parts, loss_of)`. It splits `data` with `data.chunk(parts)`, whose last part
    may be shorter, and runs one backward for each part. Afterwards `w.grad` is the gradient of `loss_of(w, data)`.
    `loss_of` takes the mean over the samples that it is given. What was in `w.grad` before doesn't count.
    """

    kind = "implement"
    idea = "Break it"
    stub = """
        def gradient_in_parts(w, data, parts, loss_of):
            for part in data.chunk(parts):
                loss_of(w, part).backward()
    """
    hints = [
        "Exhibit 14 divides by the number of parts. When is that right?",
        "The mean over all is the sum of the means of the parts, each weighted by its share of the samples.",
        "`(loss_of(w, part) * len(part) / len(data)).backward()`; and before the loop `w.grad = None`.",
    ]
    solution = """
        def gradient_in_parts(w, data, parts, loss_of):
            w.grad = None
            for part in data.chunk(parts):
                (loss_of(w, part) * len(part) / len(data)).backward()
    """
    reason = """
        It works because `backward` adds: each part brings its share, and only one part's graph is
        in memory at a time. Ten samples in four chunks are 3, 3, 3 and 1, so with a quarter for each part
        the last sample would count three times.
    """
    wrong = [
        Wrong(
            """
            def gradient_in_parts(w, data, parts, loss_of):
                w.grad = None
                for part in data.chunk(parts):
                    (loss_of(w, part) / parts).backward()
            """,
            says="equal size",
            why="Right for parts of equal size; here the last one is shorter.",
        ),
        Wrong(
            """
            def gradient_in_parts(w, data, parts, loss_of):
                for part in data.chunk(parts):
                    (loss_of(w, part) * len(part) / len(data)).backward()
            """,
            says="in w.grad before",
            why="It adds to what an earlier backward left in `w.grad`.",
        ),
        Wrong(
            """
            def gradient_in_parts(w, data, parts, loss_of):
                w.grad = None
                loss_of(w, data).backward()
            """,
            says="parts at a time",
            why="The right gradient, but with the graph of the whole batch in memory. Parts are there to avoid that.",
        ),
        Wrong(
            """
            def gradient_in_parts(w, data, parts, loss_of):
                w.grad = None
                losses = [loss_of(w, part) * len(part) for part in data.chunk(parts)]
                (sum(losses) / len(data)).backward()
            """,
            says="in memory together",
            why="The sum is right, but it holds the graphs of all parts until its only backward.",
        ),
    ]

    def check(gradient_in_parts):
        sizes, events = [], []

        def loss_of(w, part):
            sizes.append(len(part))
            events.append("forward")
            loss = (w * part - 1).square().mean()
            loss.register_hook(lambda gradient: events.append("backward"))
            return loss

        def truth(w, data, loss_of):
            w = w.detach().requires_grad_()
            loss_of(w, data).backward()
            return w.grad

        data = torch.arange(1.0, 11.0)
        w = torch.tensor(0.5, requires_grad=True)
        gradient_in_parts(w, data[:8], 4, loss_of)
        require(sizes, "gradient_in_parts never calls loss_of.")
        require(
            max(sizes) < 8,
            "The whole batch went through loss_of. Call it with one part at a time, not with all parts at a time.",
        )
        require(w.grad is not None, "w.grad is None: no backward has run.")
        require(
            events == ["forward", "backward"] * (len(events) // 2),
            "The next part went forward before backward had run for the last one, so the graphs of several parts were "
            "in memory together.",
        )
        right = truth(w, data[:8], loss_of).item()
        expect(w.grad.item(), right, "w.grad for 8 samples in 4 equal parts", tolerance=1e-4)
        w = torch.tensor(0.5, requires_grad=True)
        gradient_in_parts(w, data, 4, loss_of)
        right = truth(w, data, loss_of).item()
        require(
            abs(w.grad.item() - right) < 1e-3,
            f"Right for parts of equal size. For 10 samples in 4 parts, w.grad is {w.grad.item():.4f}, but the "
            f"gradient of the whole batch is {right:.4f}.",
        )
        gradient_in_parts(w, data, 4, loss_of)
        require(
            abs(w.grad.item() - right) < 1e-3,
            "The second call adds to what was in w.grad before.",
        )

        def other_loss(w, part):
            return ((part @ w).tanh() - 0.3).abs().mean()

        for samples, parts in ((7, 2), (9, 5), (5, 5), (11, 3), (6, 1)):
            data, w = torch.randn(samples, 3), torch.randn(3, requires_grad=True)
            before = w.tolist()
            gradient_in_parts(w, data, parts, other_loss)
            right = truth(w, data, other_loss)
            what = f"w.grad for {samples} random samples with three features, in {parts} parts, with another loss"
            expect(w.grad, right, what, tolerance=1e-4)
            expect(w.tolist(), before, "w after the call, which must not change it")


class FourInOne(Exercise):
    """Four mistakes in twelve lines

    `train` should return three things: the trained weights, of shape (features, 1); a copy of the weights that had the
    smallest loss; and the mean loss of all steps, as a plain number. `target` has shape (samples). The program runs,
    but it contains four exhibits. Fix all four, and keep the learning rate of 0.1.
    """

    kind = "extend"
    idea = "Break it"
    stub = """
        def train(x, target, steps):
            w = torch.zeros(x.shape[1], 1, requires_grad=True)
            optimizer = torch.optim.SGD([w], lr=0.1)
            best, least, total = None, float("inf"), 0.0
            for _ in range(steps):
                loss = ((x @ w - target) ** 2).mean()
                if loss < least:
                    best, least = w.detach(), loss
                total = total + loss
                loss.backward()
                optimizer.zero_grad()
                optimizer.step()
            return w, best, total / steps
    """
    hints = [
        "One exhibit of room 4, two of room 2, one of room 3. What is the shape of `x @ w - target`?",
        "Which line stands between `backward` and `step`? What does `w.detach()` share with `w`? What does `total` "
        "hold?",
        "`target.unsqueeze(1)`; `zero_grad` before `backward`; `w.detach().clone()`; `loss.item()` in the total, and "
        "for `least` as well.",
    ]
    solution = """
        def train(x, target, steps):
            w = torch.zeros(x.shape[1], 1, requires_grad=True)
            optimizer = torch.optim.SGD([w], lr=0.1)
            best, least, total = None, float("inf"), 0.0
            for _ in range(steps):
                loss = ((x @ w - target.unsqueeze(1)) ** 2).mean()
                if loss.item() < least:
                    best, least = w.detach().clone(), loss.item()
                total = total + loss.item()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            return w, best, total / steps
    """
    reason = """
        Exhibits 23, 12, 19 and 13. Each of them alone is easy to see, but together they hide each other: as long as the
        weights don't move, the best are the last. `(total / steps).item()` in the last line gives a number, too, but
        until then the total holds the graph of every step.
    """
    wrong = [
        Wrong(
            """
            def train(x, target, steps):
                w = torch.zeros(x.shape[1], 1, requires_grad=True)
                optimizer = torch.optim.SGD([w], lr=0.1)
                best, least, total = None, float("inf"), 0.0
                for _ in range(steps):
                    loss = ((x @ w - target) ** 2).mean()
                    if loss.item() < least:
                        best, least = w.detach().clone(), loss.item()
                    total = total + loss.item()
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                return w, best, total / steps
            """,
            says="each prediction against each target",
            why="The shapes are still (samples, 1) and (samples).",
        ),
        Wrong(
            """
            def train(x, target, steps):
                w = torch.zeros(x.shape[1], 1, requires_grad=True)
                optimizer = torch.optim.SGD([w], lr=0.1)
                best, least, total = None, float("inf"), 0.0
                for _ in range(steps):
                    loss = ((x @ w - target.unsqueeze(1)) ** 2).mean()
                    if loss.item() < least:
                        best, least = w.detach(), loss.item()
                    total = total + loss.item()
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                return w, best, total / steps
            """,
            says="memory of w",
            why="`detach` doesn't copy.",
        ),
        Wrong(
            """
            def train(x, target, steps):
                w = torch.zeros(x.shape[1], 1, requires_grad=True)
                optimizer = torch.optim.SGD([w], lr=0.1)
                best, least, total = None, float("inf"), 0.0
                for _ in range(steps):
                    loss = ((x @ w - target.unsqueeze(1)) ** 2).mean()
                    if loss < least:
                        best, least = w.detach().clone(), loss
                    total = total + loss
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                return w, best, total / steps
            """,
            says="is a tensor",
            why="The total holds the graph of every step, and so does the mean.",
        ),
        Wrong(
            """
            def train(x, target, steps):
                w = torch.zeros(x.shape[1], 1, requires_grad=True)
                optimizer = torch.optim.SGD([w], lr=0.1)
                best, least, total = None, float("inf"), 0.0
                for _ in range(steps):
                    loss = ((x @ w - target.unsqueeze(1)) ** 2).mean()
                    if loss.item() < least:
                        best, least = w.detach().clone(), loss.item()
                    total = total + loss.item()
                    loss.backward()
                    optimizer.step()
                return w, best, total / steps
            """,
            says="never cleared",
            why="Without any `zero_grad` the gradients pile up: exhibit 11 instead of 12.",
        ),
    ]

    def check(train):
        def by_hand(x, target, steps):
            """The weights, those with the smallest loss, and the mean loss."""
            w, losses, seen = torch.zeros(x.shape[1]), [], []
            for _ in range(steps):
                residual = x @ w - target
                losses.append(residual.square().mean().item())
                seen.append(w)
                w = w - 0.1 * 2 * (x.t() @ residual) / len(x)
            return w, seen[losses.index(min(losses))], sum(losses) / steps

        x = torch.tensor([[1.0, 0.5], [-1.0, 1.0], [0.5, -1.0], [1.0, 1.5]])
        target = x @ torch.tensor([1.0, -2.0])
        w, best, mean = train(x, target, 3)
        truth, before, mean_truth = by_hand(x, target, 3)
        require(
            w.detach().abs().max().item() > 0,
            "The weights haven't moved: is there a gradient when `step` is called?",
        )
        one_step, *_ = train(x, target, 1)
        sixteen = torch.zeros(2, 1, requires_grad=True)
        ((x @ sixteen - target) ** 2).mean().backward()
        require(
            (one_step + 0.1 * sixteen.grad).abs().max().item() > 1e-6,
            "The first step follows the gradient of (samples, samples) numbers: each prediction against each target.",
        )
        piled = torch.zeros(2)
        grads = torch.zeros(2)
        for _ in range(3):
            grads = grads + 2 * (x.t() @ (x @ piled - target)) / len(x)
            piled = piled - 0.1 * grads
        require(
            (w.detach().flatten() - piled).abs().max().item() > 1e-5,
            "The second step follows the sum of two gradients: they are never cleared.",
        )
        expect(w.detach().flatten(), truth, "the weights after 3 steps", tolerance=1e-5)
        require(
            best.data_ptr() != w.data_ptr(),
            "`best` shares the memory of w, so it changes with every step.",
        )
        expect(best.flatten(), before, "the best weights, before the last step", tolerance=1e-5)
        require(
            not isinstance(mean, torch.Tensor),
            "The mean loss is a tensor, with the graphs of all steps.",
        )
        expect(mean, mean_truth, "the mean loss", tolerance=1e-5)
        _, best, _ = train(4 * x, 4 * target, 2)  # the steps are too long, and the loss grows
        expect(
            best.flatten().tolist(),
            [0.0, 0.0],
            "the best weights where the loss grows: those of the first step",
        )
        for samples, features, steps in ((6, 3, 5), (5, 1, 7), (3, 4, 2)):
            x, target = 2 * torch.randn(samples, features), torch.randn(samples)
            w, best, mean = train(x, target, steps)
            truth, before, mean_truth = by_hand(x, target, steps)
            what = f"after {steps} steps on {samples} random samples with {features} features"
            expect(tuple(w.shape), (features, 1), f"the shape of the weights {what}")
            scale = 1 + max(truth.abs().max().item(), mean_truth)
            expect(
                w.detach().flatten() / scale, truth / scale, f"the weights {what}", tolerance=1e-4
            )
            expect(
                best.flatten() / scale, before / scale, f"the best weights {what}", tolerance=1e-4
            )
            expect(mean / scale, mean_truth / scale, f"the mean loss {what}", tolerance=1e-4)


class HuntTheStep(BugHunt):
    """A test for one training step

    `step(w, loss_of, lr)` makes one step of gradient descent on the leaf `w`, in place. It returns the loss from
    before the step as a plain number. Four people wrote it, and each version contains one exhibit of this museum. Write
    `test(step)`, which passes on the right version and fails on each of theirs.
    """

    idea = "Break it"
    stub = """
        def test(step):
            w = torch.tensor([1.0, 2.0], requires_grad=True)
            assert step(w, lambda w: (w * w).sum(), 0.25) == 5.0
    """
    hints = [
        "The loss is right in all four. What else does the text promise: about `w`, a second step, the result?",
        "With the loss `(w * w).sum()` and a step of 0.25 the weights are halved each time. Make two steps.",
        "`assert isinstance(loss, float)`; `w.tolist()` after one step and after two; `w.is_leaf`.",
    ]
    solution = """
        def test(step):
            w = torch.tensor([1.0, 2.0], requires_grad=True)
            loss = step(w, lambda w: (w * w).sum(), 0.25)
            assert isinstance(loss, float)
            assert loss == 5.0
            assert w.tolist() == [0.5, 1.0]
            assert w.is_leaf and w.requires_grad
            step(w, lambda w: (w * w).sum(), 0.25)
            assert w.tolist() == [0.25, 0.5]
    """
    reason = """
        Two steps on two numbers, chosen so that you know the right result without a computer. A test of a single step
        can't see what is left over for the next.
    """
    wrong = [
        Wrong(
            """
            def test(step):
                w = torch.tensor([1.0, 2.0], requires_grad=True)
                loss = step(w, lambda w: (w * w).sum(), 0.25)
                assert isinstance(loss, float)
                assert w.tolist() == [0.5, 1.0]
            """,
            says="(number 1)",
            why="One step cannot show what is left over for the second.",
        ),
        Wrong(
            """
            def test(step):
                w = torch.tensor([1.0, 2.0], requires_grad=True)
                for _ in range(2):
                    step(w, lambda w: (w * w).sum(), 0.25)
                assert w.tolist() == [0.25, 0.5]
            """,
            says="(number 3)",
            why="It looks at the weights, but not at what the step returns.",
        ),
        Wrong(
            """
            def test(step):
                w = torch.tensor([1.0, 2.0], requires_grad=True)
                losses = [step(w, lambda w: (w * w).sum(), 0.25) for _ in range(2)]
                assert losses[1] < losses[0]
            """,
            says="(number 1, 3, 4)",
            why="A falling loss says little: it falls with a wrong gradient as well.",
        ),
    ]

    def right(w, loss_of, lr):
        w.grad = None
        loss = loss_of(w)
        loss.backward()
        with torch.no_grad():
            w -= lr * w.grad
        return loss.item()

    def never_clears(w, loss_of, lr):
        """gradients are never cleared, so the second step goes along two of them"""
        loss = loss_of(w)
        loss.backward()
        with torch.no_grad():
            w -= lr * w.grad
        return loss.item()

    def moves_another(w, loss_of, lr):
        """the step makes another tensor, and the caller's doesn't move"""
        w.grad = None
        loss = loss_of(w)
        loss.backward()
        with torch.no_grad():
            w = w - lr * w.grad
        return loss.item()

    def returns_the_graph(w, loss_of, lr):
        """the loss is returned as a tensor, with its graph"""
        w.grad = None
        loss = loss_of(w)
        loss.backward()
        with torch.no_grad():
            w -= lr * w.grad
        return loss

    def goes_back_twice(w, loss_of, lr):
        """backward runs twice through a retained graph, and the gradient is twice as large"""
        w.grad = None
        loss = loss_of(w)
        loss.backward(retain_graph=True)
        loss.backward()
        with torch.no_grad():
            w -= lr * w.grad
        return loss.item()

    bugs = [never_clears, moves_another, returns_the_graph, goes_back_twice]
