"""Exercises of chapter 26, pitfalls."""

import tensorlab as T
from tensorlab.learn import BugHunt, Exercise, Wrong, expect, require

IMPORTS = "import tensorlab as T"


class WhichExhibit(Exercise):
    """Name the exhibit

    Seven complaints from people who train. Give for each the number of the exhibit that explains it.

    - A: The loss is constant to the last digit. Directly after `backward()` all gradients are there and not
      zero, and the optimizer holds the very tensors of the net.
    - B: Every step takes a little longer than the one before. The loss falls as it should.
    - C: A perfect prediction has a loss of 10.5.
    - D: The best weights that were saved are exactly as good as the last ones. Every time.
    - E: With batches in four parts it only works with a quarter of the learning rate.
    - F: All is well for a day; then one sample has a feature that is exactly 0, and all weights are nan.
    - G: Validation runs no backward, and still memory grows with the number of batches.
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
        "A: which line between backward and step? B: what must still be there for backward to go further each "
        "time? G: what does a sum of losses hold?",
    ]
    solution = """
        exhibits = {"A": 12, "B": 10, "C": 23, "D": 19, "E": 14, "F": 21, "G": 13}
    """
    reason = """
        A gradient that is there after backward and does nothing was cleared before the step. Time that grows is a
        graph that grows backwards, memory that grows is a graph that is held. In F no one had ever asked for
        the gradient at the corner, until a sample did.
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
            why="Three neighbours of the right answers: 20 keeps a gradient, 11 adds without meaning to, and 22 "
            "needs scores that are large, not a feature that is 0.",
        ),
    ]

    def check(exhibits):
        truth = {"A": 12, "B": 10, "C": 23, "D": 19, "E": 14, "F": 21, "G": 13}
        require(exhibits["A"] != 24, "A: the optimizer holds the very tensors of the net.")
        swapped = (exhibits["B"], exhibits["G"]) == (13, 10)
        require(not swapped, "B and G: Time or memory? What grows in which?")
        require(exhibits["D"] != 20, "D: these are weights, not gradients.")
        require(exhibits["E"] != 11, "E: the adding is meant here. What is added four times?")
        require(exhibits["F"] != 22, "F: the feature is 0, not large.")
        for letter, number in truth.items():
            expect(exhibits[letter], number, f"the exhibit for {letter}")


class UnequalParts(Exercise):
    """A batch in unequal parts

    Write `gradient_in_parts(w, data, parts, loss_of)`. It splits `data` with `data.chunk(parts)`, whose last part
    may be shorter, and leaves in `w.grad` the gradient of `loss_of(w, data)`, by one backward for each part.
    `loss_of` takes the mean over the samples that it is given. What was in `w.grad` before does not count.
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
        That `backward` adds is what makes it possible: each part brings its share, and only one part's graph is
        in memory at a time. Ten samples in four chunks are 3, 3, 3 and 1, so a quarter each would
        count the last sample three times.
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
            says="before",
            why="What an earlier backward has left in `w.grad` is added to.",
        ),
        Wrong(
            """
            def gradient_in_parts(w, data, parts, loss_of):
                w.grad = None
                loss_of(w, data).backward()
            """,
            says="parts at a time",
            why="The right gradient, and the graph of the whole batch in memory, which was to be avoided.",
        ),
    ]

    def check(gradient_in_parts):
        data = T.arange(1.0, 11.0)
        sizes = []

        def loss_of(w, part):
            sizes.append(len(part))
            return (w * part - 1).square().mean()

        def truth(data):
            w = T.tensor(0.5, requires_grad=True)
            (w * data - 1).square().mean().backward()
            return w.grad.item()

        w = T.tensor(0.5, requires_grad=True)
        gradient_in_parts(w, data[:8], 4, loss_of)
        require(
            max(sizes) < 8, "The whole batch went through loss_of; it was to be parts at a time."
        )
        expect(
            w.grad.item(), truth(data[:8]), "w.grad for 8 samples in 4 equal parts", tolerance=1e-4
        )
        w = T.tensor(0.5, requires_grad=True)
        gradient_in_parts(w, data, 4, loss_of)
        require(
            abs(w.grad.item() - truth(data)) < 1e-3,
            f"Right for parts of equal size. For 10 samples in 4 parts: {w.grad.item():.4f}, but the whole has "
            f"{truth(data):.4f}.",
        )
        gradient_in_parts(w, data, 4, loss_of)
        require(
            abs(w.grad.item() - truth(data)) < 1e-3,
            "Called a second time it adds to what was in w.grad before.",
        )


class FourInOne(Exercise):
    """Four mistakes in twelve lines

    `train` is to return the trained weights of shape (features, 1), a copy of the weights that had the smallest
    loss, and the mean loss of all steps as a plain number. `target` has shape (samples). The program runs, and has
    four exhibits in it. Mend all four.
    """

    kind = "extend"
    idea = "Break it"
    stub = """
        def train(x, target, steps):
            w = T.zeros(x.shape[1], 1, requires_grad=True)
            optimizer = T.optim.SGD([w], lr=0.1)
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
            w = T.zeros(x.shape[1], 1, requires_grad=True)
            optimizer = T.optim.SGD([w], lr=0.1)
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
        Exhibits 23, 12, 19 and 13. Each alone is easy to see; together they hide each other: as long as the weights do
        not move, the best are the last. `(total / steps).item()` in the last line gives a number, too, but until
        then the total holds the graph of every step.
    """
    wrong = [
        Wrong(
            """
            def train(x, target, steps):
                w = T.zeros(x.shape[1], 1, requires_grad=True)
                optimizer = T.optim.SGD([w], lr=0.1)
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
                w = T.zeros(x.shape[1], 1, requires_grad=True)
                optimizer = T.optim.SGD([w], lr=0.1)
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
            why="`detach` is no copy.",
        ),
        Wrong(
            """
            def train(x, target, steps):
                w = T.zeros(x.shape[1], 1, requires_grad=True)
                optimizer = T.optim.SGD([w], lr=0.1)
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
                w = T.zeros(x.shape[1], 1, requires_grad=True)
                optimizer = T.optim.SGD([w], lr=0.1)
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
            why="Without any `zero_grad` the gradients pile up: exhibit 11 in place of 12.",
        ),
    ]

    def check(train):
        x = T.tensor([[1.0, 0.5], [-1.0, 1.0], [0.5, -1.0], [1.0, 1.5]])
        target = x @ T.tensor([1.0, -2.0])

        def by_hand(steps):
            w, losses = T.zeros(2), []
            for _ in range(steps):
                residual = x @ w - target
                losses.append(residual.square().mean().item())
                before, w = w, w - 0.1 * 2 * (x.t() @ residual) / len(x)
            return w, before, sum(losses) / steps

        w, best, mean = train(x, target, 3)
        truth, before, mean_truth = by_hand(3)
        require(w.detach().abs().max().item() > 0, "The weights have not moved.")
        one_step, *_ = train(x, target, 1)
        sixteen = T.zeros(2, 1, requires_grad=True)
        ((x @ sixteen - target) ** 2).mean().backward()
        require(
            (one_step + 0.1 * sixteen.grad).abs().max().item() > 1e-6,
            "The first step is along the gradient of (samples, samples) numbers: each prediction against each target.",
        )
        piled = T.zeros(2)
        grads = T.zeros(2)
        for _ in range(3):
            grads = grads + 2 * (x.t() @ (x @ piled - target)) / len(x)
            piled = piled - 0.1 * grads
        require(
            (w.detach().flatten() - piled).abs().max().item() > 1e-5,
            "The second step goes along two gradients: they are never cleared.",
        )
        expect(w.detach().flatten(), truth, "the weights after 3 steps", tolerance=1e-5)
        require(best.data_ptr() != w.data_ptr(), "`best` looks at the memory of w, which moves on.")
        expect(best.flatten(), before, "the best weights, of the last loss", tolerance=1e-5)
        require(
            not isinstance(mean, T.Tensor),
            "The mean loss is a tensor, with the graphs of all steps.",
        )
        expect(mean, mean_truth, "the mean loss", tolerance=1e-5)
        x, target = x * 4, target * 4  # so that the steps are too long, and the loss grows
        w, best, _ = train(x, target, 2)
        expect(
            best.flatten().tolist(),
            [0.0, 0.0],
            "the best weights where the loss grows: those of the first step",
        )


class HuntTheStep(BugHunt):
    """A test for one training step

    `step(w, loss_of, lr)` makes one step of gradient descent on the leaf `w`, in place, and returns the loss from
    before the step as a plain number. Four people wrote it, each with one exhibit of this museum in it. Write
    `test(step)`, which passes on the right one and fails on each of theirs.
    """

    idea = "Break it"
    stub = """
        def test(step):
            w = T.tensor([1.0, 2.0], requires_grad=True)
            assert step(w, lambda w: (w * w).sum(), 0.25) == 5.0
    """
    hints = [
        "The loss is right in all four. What else is promised: of `w`, of the second step, of what is returned?",
        "With the loss `(w * w).sum()` and a step of 0.25 the weights are halved each time. Make two steps.",
        "`assert isinstance(loss, float)`; `w.tolist()` after one step and after two; `w.is_leaf`.",
    ]
    solution = """
        def test(step):
            w = T.tensor([1.0, 2.0], requires_grad=True)
            loss = step(w, lambda w: (w * w).sum(), 0.25)
            assert isinstance(loss, float)
            assert loss == 5.0
            assert w.tolist() == [0.5, 1.0]
            assert w.is_leaf and w.requires_grad
            step(w, lambda w: (w * w).sum(), 0.25)
            assert w.tolist() == [0.25, 0.5]
    """
    reason = """
        Two steps on two numbers, chosen so that the truth is known without a computer. A test of one step only
        cannot see what is left over for the next.
    """
    wrong = [
        Wrong(
            """
            def test(step):
                w = T.tensor([1.0, 2.0], requires_grad=True)
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
                w = T.tensor([1.0, 2.0], requires_grad=True)
                for _ in range(2):
                    step(w, lambda w: (w * w).sum(), 0.25)
                assert w.tolist() == [0.25, 0.5]
            """,
            says="(number 3)",
            why="The weights are asked for, not what is returned.",
        ),
        Wrong(
            """
            def test(step):
                w = T.tensor([1.0, 2.0], requires_grad=True)
                losses = [step(w, lambda w: (w * w).sum(), 0.25) for _ in range(2)]
                assert losses[1] < losses[0]
            """,
            says="(number 1, 3, 4)",
            why="That the loss falls says little: it falls with a wrong gradient as well.",
        ),
    ]

    def right(w, loss_of, lr):
        w.grad = None
        loss = loss_of(w)
        loss.backward()
        with T.no_grad():
            w -= lr * w.grad
        return loss.item()

    def never_clears(w, loss_of, lr):
        """gradients are never cleared, so the second step goes along two of them"""
        loss = loss_of(w)
        loss.backward()
        with T.no_grad():
            w -= lr * w.grad
        return loss.item()

    def moves_another(w, loss_of, lr):
        """the step makes another tensor, and the caller's does not move"""
        w.grad = None
        loss = loss_of(w)
        loss.backward()
        with T.no_grad():
            w = w - lr * w.grad
        return loss.item()

    def returns_the_graph(w, loss_of, lr):
        """the loss is returned as a tensor, with its graph"""
        w.grad = None
        loss = loss_of(w)
        loss.backward()
        with T.no_grad():
            w -= lr * w.grad
        return loss

    def goes_back_twice(w, loss_of, lr):
        """backward runs twice through a retained graph, and the gradient is twice as large"""
        w.grad = None
        loss = loss_of(w)
        loss.backward(retain_graph=True)
        loss.backward()
        with T.no_grad():
            w -= lr * w.grad
        return loss.item()

    bugs = [never_clears, moves_another, returns_the_graph, goes_back_twice]
