"""Exercises of chapter 25, continued: five hunts, each for a different tool of the chapter."""

import tensorlab as torch
from tensorlab.learn import BugHunt, Wrong


def patched(weight):
    """The weight, with a hook that replaces NaN in its gradient by 0."""
    weight = weight * 1
    weight.register_hook(lambda gradient: gradient.nan_to_num(0.0))
    return weight


class HuntTheNan(BugHunt):
    """Hunt 1: the gradient that was patched

    `loss_of(weight, x)` sums the square roots of the positive numbers among `weight * x`, where `weight` has one
    element. Its gradient was sometimes NaN. A colleague fixed that: a hook inside replaces every NaN in the
    gradient by 0. Since then there have been no NaNs, but with some batches the weight doesn't learn. Three
    such programs exist. Write `test(loss_of)`: it passes on the correct program, which has the hook too, and fails
    on the three.
    """

    idea = "Anomaly mode: the NaN"
    beside = "the test looks at graphs, which don't travel between processes"
    stub = """
        def test(loss_of):
            weight = torch.tensor([2.0], requires_grad=True)
            x = torch.tensor([2.0, 8.0])
            loss = loss_of(weight, x)
            assert loss.item() == 6.0
            loss.backward()
            assert weight.grad.isfinite().all()
    """
    hints = [
        "The hook hides a NaN from a test that looks at the result. Which tool looks at *each node's* results?",
        "Anomaly mode raises a RuntimeError as soon as a node makes a NaN, before the hook is called.",
        "Which batches? A root is delicate at 0 and below. One of the three bugs shows only at 0.",
    ]
    solution = """
        def test(loss_of):
            weight = torch.tensor([2.0], requires_grad=True)
            x = torch.tensor([2.0, 8.0, 0.0, -1.0])
            try:
                with torch.autograd.set_detect_anomaly(True), warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # they repeat the error
                    loss_of(weight, x).backward()
            except RuntimeError as error:
                raise AssertionError("a NaN on the way") from error
    """
    reason = """
        The gradient of the weight is a sum over the batch. One NaN makes the sum NaN, and the hook
        turns that into 0. So the whole batch is lost, silently. Find a NaN where it's made; don't
        wipe it away where it arrives.
    """
    wrong = [
        Wrong(
            """
            def test(loss_of):
                weight = torch.tensor([2.0], requires_grad=True)
                loss_of(weight, torch.tensor([2.0, 8.0, 0.0, -1.0])).backward()
                assert not weight.grad.isnan().any()
            """,
            says="3 of 3 planted bugs",
            why="This is exactly what the hook prevents. (`assert weight.grad.item() != 0` would work here.)",
        ),
        Wrong(
            """
            def test(loss_of):
                weight = torch.tensor([2.0], requires_grad=True)
                with torch.autograd.set_detect_anomaly(True):
                    loss_of(weight, torch.tensor([2.0, 8.0, -1.0])).backward()
            """,
            says="1 of 3 planted bugs",
            why="The batch has a negative number, but no 0.",
        ),
        Wrong(
            """
            def test(loss_of):
                weight = torch.tensor([2.0], requires_grad=True)
                with torch.autograd.set_detect_anomaly(True):
                    loss = loss_of(weight, torch.tensor([2.0, 8.0, 0.0, -1.0]))
                    assert loss.isnan()
            """,
            says="The first half fails",
            why="The loss was never NaN. It is the gradient.",
        ),
    ]

    def right(weight, x):
        h = patched(weight) * x
        positive = h > 0
        return torch.where(positive, torch.where(positive, h, 1.0).sqrt(), 0.0).sum()

    def chooses_afterwards(weight, x):
        """`where` chooses among results: the root was taken everywhere, and its infinite slope meets a 0"""
        h = patched(weight) * x
        return torch.where(h > 0, h.sqrt(), 0.0).sum()

    def masks_before(weight, x):
        """the mask turns everything that isn't positive into 0, and the root of 0 has an infinite slope"""
        h = patched(weight) * x
        return (h * (h > 0)).sqrt().sum()

    def takes_the_modulus(weight, x):
        """the root of the absolute value is fine for negative numbers, but not at 0"""
        h = patched(weight) * x
        return (h.abs().sqrt() * (h > 0)).sum()

    bugs = [chooses_afterwards, masks_before, takes_the_modulus]


def descend(weights):
    """A step of gradient descent, and no gradients left."""
    with torch.no_grad():
        for weight in weights:
            if weight.grad is not None:
                weight -= 0.01 * weight.grad
            weight.grad = None


class HuntTheIdleWeight(BugHunt):
    """Hunt 2: it learns, but not as it should

    `train_step(weights, x, wanted)` makes one training step of a network with three weights, clears their gradients,
    and returns the loss. In each of three broken programs the loss falls. But each does something other than one
    backward pass that reaches every weight once. Write `test(train_step)`.
    """

    idea = "After the leaf has its gradient"
    beside = "the test looks at graphs, which don't travel between processes"
    stub = """
        def test(train_step):
            torch.manual_seed(0)
            weights = [torch.randn(3, 4), torch.randn(4, 4), torch.randn(4, 1)]
            for weight in weights:
                weight.requires_grad_()
            x, wanted = torch.randn(5, 3), torch.randn(5, 1)
            first = train_step(weights, x, wanted)
            second = train_step(weights, x, wanted)
            assert second < first
    """
    hints = [
        "When the step returns, all gradients are gone. Which hook sees them while they are there?",
        "Put a post-accumulate hook on each weight. How often should each be called in one step?",
        "Count the calls for each weight in a list, and assert `[1, 1, 1]`.",
    ]
    solution = """
        def test(train_step):
            torch.manual_seed(0)
            weights = [torch.randn(3, 4), torch.randn(4, 4), torch.randn(4, 1)]
            calls = [0, 0, 0]

            def count(position):
                def hook(weight):
                    calls[position] += 1

                return hook

            for position, weight in enumerate(weights):
                weight.requires_grad_()
                weight.register_post_accumulate_grad_hook(count(position))
            train_step(weights, torch.randn(5, 3), torch.randn(5, 1))
            assert calls == [1, 1, 1]
    """
    reason = """
        The same three numbers find a weight without a gradient and a weight with two. In your own
        programs, leave such hooks in for the first step, and remove them after it.
    """
    wrong = [
        Wrong(
            """
            def test(train_step):
                torch.manual_seed(0)
                weights = [torch.randn(3, 4), torch.randn(4, 4), torch.randn(4, 1)]
                for weight in weights:
                    weight.requires_grad_()
                before = [weight.detach().clone() for weight in weights]
                train_step(weights, torch.randn(5, 3), torch.randn(5, 1))
                for weight, old in zip(weights, before):
                    assert (weight != old).any()
            """,
            says="1 of 3 planted bugs",
            why="A weight without a gradient doesn't change. But one program changes all of them, by too much.",
        ),
        Wrong(
            """
            def test(train_step):
                torch.manual_seed(0)
                weights = [torch.randn(3, 4), torch.randn(4, 4), torch.randn(4, 1)]
                for weight in weights:
                    weight.requires_grad_()
                train_step(weights, torch.randn(5, 3), torch.randn(5, 1))
                assert all(weight.grad is not None for weight in weights)
            """,
            says="The first half fails",
            why="The step clears the gradients, as it should. After it there is nothing to see.",
        ),
    ]

    def right(weights, x, wanted):
        first, middle, last = weights
        loss = (((x @ first).tanh() @ middle).tanh() @ last - wanted).square().mean()
        loss.backward()
        descend(weights)
        return loss.item()

    def detaches(weights, x, wanted):
        """the first layer's result is detached, and its weight gets no gradient"""
        first, middle, last = weights
        hidden = (x @ first).tanh().detach()
        loss = ((hidden @ middle).tanh() @ last - wanted).square().mean()
        loss.backward()
        descend(weights)
        return loss.item()

    def reads_data(weights, x, wanted):
        """the middle weight is read through `.data`, and gets no gradient"""
        first, middle, last = weights
        loss = (((x @ first).tanh() @ middle.data).tanh() @ last - wanted).square().mean()
        loss.backward()
        descend(weights)
        return loss.item()

    def runs_twice(weights, x, wanted):
        """backward runs twice, and each weight gets its gradient twice"""
        first, middle, last = weights
        loss = (((x @ first).tanh() @ middle).tanh() @ last - wanted).square().mean()
        loss.backward(retain_graph=True)
        loss.backward()
        descend(weights)
        return loss.item()

    bugs = [detaches, reads_data, runs_twice]


class HuntTheHiddenWrite(BugHunt):
    """Hunt 3: wrong in silence

    `loss_of(x, weight)` is $\\sum h^2 + \\sum \\max(h, 0)$ with $h = \\tanh(x W)$, where the second sum is
    only watched: no gradient may come through it. In all three broken programs the values are right, and there is no
    error. But gradients are wrong, because something overwrites a value that backward needs.
    Write `test(loss_of)`.
    """

    idea = "The write that isn't counted"
    beside = "the test looks at graphs, which don't travel between processes"
    stub = """
        def test(loss_of):
            torch.manual_seed(0)
            x, weight = torch.randn(4, 3), torch.randn(3, 2, requires_grad=True)
            h = (x @ weight).tanh()
            expected = (h * h).sum() + h.clamp(min=0).sum()
            loss = loss_of(x, weight)
            assert abs((loss - expected).item()) < 1e-5
            loss.backward()
    """
    hints = [
        "In-place ops are counted, so backward would raise. Which writes aren't counted?",
        "Writes through `.data`. There is a switch for them. Run forward *and* backward inside it.",
        "A node saves what it needs for gradients that are wanted. One program is caught only if "
        "`x` requires grad, too.",
    ]
    solution = """
        def test(loss_of):
            torch.manual_seed(0)
            x, weight = torch.randn(4, 3, requires_grad=True), torch.randn(3, 2, requires_grad=True)
            try:
                with torch.autograd.set_detect_data_writes(True):
                    loss_of(x, weight).backward()
            except RuntimeError as error:
                raise AssertionError("something was written over") from error
    """
    reason = """
        While the switch is on, `.data` shares the counter of its tensor, and the check of chapter 20 does the
        rest. In PyTorch you'd have to search the source for `.data`, or compare gradients with finite
        differences.
    """
    wrong = [
        Wrong(
            """
            def test(loss_of):
                torch.manual_seed(0)
                x, weight = torch.randn(4, 3), torch.randn(3, 2, requires_grad=True)
                with torch.autograd.set_detect_data_writes(True):
                    loss_of(x, weight).backward()
            """,
            says="1 of 3 planted bugs",
            why="If `x` needs no gradient, no node saves `weight`, so a write to it does no harm.",
        ),
        Wrong(
            """
            def test(loss_of):
                torch.manual_seed(0)
                x, weight = torch.randn(4, 3, requires_grad=True), torch.randn(3, 2, requires_grad=True)
                loss = loss_of(x, weight)
                with torch.autograd.set_detect_data_writes(True):
                    loss.backward()
            """,
            says="3 of 3 planted bugs",
            why="The writes happened in forward, before the switch was on. (Anomaly mode alone finds none of "
            "them, because it only names the lines of writes that are counted.)",
        ),
    ]

    def right(x, weight):
        h = (x @ weight).tanh()
        return (h * h).sum() + h.detach().clamp(min=0).sum()

    def clamps_data(x, weight):
        """`h.data.clamp_` writes over the result that `tanh` and the product have saved"""
        h = (x @ weight).tanh()
        squares = (h * h).sum()
        return squares + h.data.clamp_(min=0).sum()

    def assigns_data(x, weight):
        """`h.data` gets other values after the product has saved `h`"""
        h = (x @ weight).tanh()
        squares = (h * h).sum()
        h.data = h.data.clamp(min=0)
        return squares + h.detach().sum()

    def decays_the_weight(x, weight):
        """the weight decays through `.data` inside forward, after it has been used"""
        h = (x @ weight).tanh()
        weight.data.mul_(0.99)
        return (h * h).sum() + h.detach().clamp(min=0).sum()

    bugs = [clamps_data, assigns_data, decays_the_weight]


def leaky_function(keep, restore):
    """A leaky ReLU that keeps something for backward and makes its mask from that."""

    class Leaky(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            keep(ctx, x, x > 0)
            return torch.where(x > 0, x, 0.1 * x)

        @staticmethod
        def backward(ctx, grad):
            return torch.where(restore(ctx), grad, 0.1 * grad)

    return Leaky


class HuntTheBytes(BugHunt):
    """Hunt 4: it does not fit

    `leaky(x)` returns $x$ where it is positive, and $x / 10$ elsewhere. It promises to keep *one byte* for
    each element of `x` until backward has run, and to save it in a way that saved-tensor hooks can see.
    Values and gradients are right in all programs, but three break the promise. Write `test(leaky)`.
    """

    idea = "What forward keeps"
    beside = "the test looks at graphs, which don't travel between processes"
    stub = """
        def test(leaky):
            x = torch.tensor([-10.0, 5.0, 0.0], requires_grad=True)
            y = leaky(x)
            assert y.tolist() == [-1.0, 5.0, 0.0]
            y.sum().backward()
            assert x.grad.isclose(torch.tensor([0.1, 1.0, 0.1])).all()
    """
    hints = [
        "A `pack` that adds up `tensor.nbytes` shows you what is kept.",
        "One byte each means 1000 bytes for 1000 elements. Less is as suspicious as more.",
        "Assert `==`, not `<=`. If `pack` is never called, the program keeps its tensor somewhere else.",
    ]
    solution = """
        def test(leaky):
            sizes = []

            def pack(tensor):
                sizes.append(tensor.nbytes)
                return tensor

            x = torch.ones(1000, requires_grad=True)
            with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
                leaky(x)
            assert sum(sizes) == 1000
    """
    reason = """
        A bool mask takes a quarter of the memory of a float32 one. And 0 bytes isn't better: it
        means that the tensor is an attribute of `ctx`, invisible to offloading, to checkpointing,
        and to the check for writes.
    """
    wrong = [
        Wrong(
            """
            def test(leaky):
                sizes = []
                x = torch.ones(1000, requires_grad=True)
                pack = lambda tensor: sizes.append(tensor.nbytes) or tensor
                with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
                    leaky(x)
                assert sum(sizes) <= 1000
            """,
            says="(number 3)",
            why="With `<=`, the program that hides its tensor passes.",
        ),
        Wrong(
            """
            def test(leaky):
                count = []
                x = torch.ones(1000, requires_grad=True)
                pack = lambda tensor: count.append(1) or tensor
                with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
                    leaky(x)
                assert len(count) == 1
            """,
            says="(number 1)",
            why="One tensor is kept, but how large is it?",
        ),
        Wrong(
            """
            def test(leaky):
                x = torch.ones(1000, requires_grad=True)
                before = torch.memory_stats()["allocated_bytes"]
                y = leaky(x)
                kept = torch.memory_stats()["allocated_bytes"] - before
                assert kept == 1000
            """,
            says="The first half fails",
            why="This counts the result as well, and the allocator rounds up.",
        ),
    ]

    def right(x):
        def keep(ctx, x, mask):
            ctx.save_for_backward(mask)

        return leaky_function(keep, lambda ctx: ctx.saved_tensors[0]).apply(x)

    def keeps_floats(x):
        """the mask is kept as float32, four bytes for each element"""

        def keep(ctx, x, mask):
            ctx.save_for_backward(mask.float())

        return leaky_function(keep, lambda ctx: ctx.saved_tensors[0] > 0).apply(x)

    def keeps_everything(x):
        """`x` is kept beside the mask, five bytes for each element"""

        def keep(ctx, x, mask):
            ctx.save_for_backward(x, mask)

        return leaky_function(keep, lambda ctx: ctx.saved_tensors[1]).apply(x)

    def hides_it(x):
        """the mask is an attribute of ctx, where no hook sees it"""

        def keep(ctx, x, mask):
            ctx.mask = mask

        return leaky_function(keep, lambda ctx: ctx.mask).apply(x)

    bugs = [keeps_floats, keeps_everything, hides_it]


class HuntTheHook(BugHunt):
    """Hunt 5: the watcher

    `watch(x, run, note)` calls `run()`. For each gradient that reaches the tensor `x` in the meantime, it calls
    `note(largest)` with the largest absolute value in it, as a float. It changes nothing, and it leaves nothing behind,
    even if `run` raises an error. Three people wrote one, each with a bug. Write `test(watch)`.
    """

    idea = "What a hook may return"
    beside = "the test looks at graphs, which don't travel between processes"
    stub = """
        def test(watch):
            x = torch.tensor([1.0, 2.0], requires_grad=True)
            noted = []
            watch(x, lambda: (x * torch.tensor([3.0, 5.0])).sum().backward(), noted.append)
            assert noted == [5.0]
            assert x.grad.tolist() == [3.0, 5.0]
    """
    hints = [
        "There are three promises: it changes nothing, it goes away, and it goes away after an error too. Your test "
        "can ask for each.",
        "What if the gradient has a negative number in it? And what happens in a backward *after* `watch`?",
        "Call `watch` with a `run` that raises, catch the error, run backward once more, and assert that nothing was "
        "noted.",
    ]
    solution = """
        def test(watch):
            x = torch.tensor([1.0, 2.0], requires_grad=True)
            noted = []

            def run():
                (x * torch.tensor([3.0, -5.0])).sum().backward()

            watch(x, run, noted.append)
            assert noted == [5.0]
            assert x.grad.tolist() == [3.0, -5.0]
            run()
            assert noted == [5.0]

            def fail():
                raise ValueError("planned")

            try:
                watch(x, fail, noted.append)
            except ValueError:
                pass
            run()
            assert noted == [5.0]
    """
    reason = """
        A hook that stays is called in every pass from then on, and ten calls of `watch` leave ten hooks, so the program
        gets slower each epoch. `with x.register_hook(hook):` removes it whatever happens.
    """
    wrong = [
        Wrong(
            """
            def test(watch):
                x = torch.tensor([1.0, 2.0], requires_grad=True)
                noted = []
                run = lambda: (x * torch.tensor([3.0, -5.0])).sum().backward()
                watch(x, run, noted.append)
                assert x.grad.tolist() == [3.0, -5.0]
            """,
            says="2 of 3 planted bugs",
            why="This compares the gradient, but doesn't ask whether the hook is gone.",
        ),
        Wrong(
            """
            def test(watch):
                x = torch.tensor([1.0, 2.0], requires_grad=True)
                noted = []
                run = lambda: (x * torch.tensor([3.0, -5.0])).sum().backward()
                watch(x, run, noted.append)
                assert x.grad.tolist() == [3.0, -5.0]
                run()
                assert noted == [5.0]
            """,
            says="1 of 3 planted bugs",
            why="This is fine as long as `run` raises no error.",
        ),
        Wrong(
            """
            def test(watch):
                x = torch.tensor([1.0, 2.0], requires_grad=True)
                noted = []
                run = lambda: (x * torch.tensor([3.0, -5.0])).sum().backward()
                watch(x, run, noted.append)
                assert noted == [-5.0]
            """,
            says="The first half fails",
            why="The largest *absolute value* is 5.",
        ),
    ]

    def right(x, run, note):
        with x.register_hook(lambda gradient: note(gradient.abs().max().item())):
            run()

    def writes(x, run, note):
        """the gradient is made positive in place, and goes on like that"""
        with x.register_hook(lambda gradient: note(gradient.abs_().max().item())):
            run()

    def stays(x, run, note):
        """the hook is never removed"""
        x.register_hook(lambda gradient: note(gradient.abs().max().item()))
        run()

    def stays_after_an_error(x, run, note):
        """the hook is removed at the end, which is not reached if `run` raises"""
        handle = x.register_hook(lambda gradient: note(gradient.abs().max().item()))
        run()
        handle.remove()

    bugs = [writes, stays, stays_after_an_error]
