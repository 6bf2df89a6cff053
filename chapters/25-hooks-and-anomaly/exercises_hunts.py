"""Exercises of chapter 25, continued: five hunts, each for another tool of the chapter."""

import tensorlab as T
from tensorlab.learn import BugHunt, Wrong


def mended(weight):
    """The weight, with a hook that replaces NaN in its gradient by 0."""
    weight = weight * 1
    weight.register_hook(lambda gradient: gradient.nan_to_num(0.0))
    return weight


class HuntTheNan(BugHunt):
    """Hunt 1: the gradient that was mended

    `loss_of(weight, x)` sums the roots of the positive numbers among `weight * x`, where `weight` has one
    element. Its gradient was NaN at times. Someone fixed that: a hook inside replaces every NaN in the
    gradient by 0. Since then no NaN was seen, but with certain batches the weight does not learn. Three
    such programs are around. Write `test(loss_of)`, which passes on the sound one, hook and all, and fails
    on the three.
    """

    idea = "Anomaly mode: the NaN"
    stub = """
        def test(loss_of):
            weight = T.tensor([2.0], requires_grad=True)
            x = T.tensor([2.0, 8.0])
            loss = loss_of(weight, x)
            assert loss.item() == 6.0
            loss.backward()
            assert weight.grad.isfinite().all()
    """
    hints = [
        "The hook hides a NaN from everyone who looks at the result. Who looks at *each node's* results?",
        "Anomaly mode raises a RuntimeError as soon as a node makes a NaN, before the hook is called.",
        "Which batches? A root is delicate at 0 and below. One of the three is caught by 0 alone.",
    ]
    solution = """
        def test(loss_of):
            weight = T.tensor([2.0], requires_grad=True)
            x = T.tensor([2.0, 8.0, 0.0, -1.0])
            try:
                with T.autograd.set_detect_anomaly(True), warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # they repeat the error
                    loss_of(weight, x).backward()
            except RuntimeError as error:
                raise AssertionError("a NaN on the way") from error
    """
    reason = """
        The gradient of the weight is a sum over the batch. One NaN in it makes the sum NaN, and the hook
        makes that 0: the whole batch is lost, and nothing tells. A NaN is to be found where it is made, not
        wiped away where it arrives.
    """
    wrong = [
        Wrong(
            """
            def test(loss_of):
                weight = T.tensor([2.0], requires_grad=True)
                loss_of(weight, T.tensor([2.0, 8.0, 0.0, -1.0])).backward()
                assert not weight.grad.isnan().any()
            """,
            says="3 of 3 planted bugs",
            why="This is exactly what the hook was put in for. (`assert weight.grad.item() != 0` would "
            "do, here.)",
        ),
        Wrong(
            """
            def test(loss_of):
                weight = T.tensor([2.0], requires_grad=True)
                with T.autograd.set_detect_anomaly(True):
                    loss_of(weight, T.tensor([2.0, 8.0, -1.0])).backward()
            """,
            says="1 of 3 planted bugs",
            why="A batch with a negative number, and without 0.",
        ),
        Wrong(
            """
            def test(loss_of):
                weight = T.tensor([2.0], requires_grad=True)
                with T.autograd.set_detect_anomaly(True):
                    loss = loss_of(weight, T.tensor([2.0, 8.0, 0.0, -1.0]))
                    assert loss.isnan()
            """,
            says="The first half fails",
            why="The loss was never NaN. It is the gradient.",
        ),
    ]

    def right(weight, x):
        h = mended(weight) * x
        positive = h > 0
        return T.where(positive, T.where(positive, h, 1.0).sqrt(), 0.0).sum()

    def chooses_afterwards(weight, x):
        """`where` chooses among results: the root was taken everywhere, and its infinite slope meets a 0"""
        h = mended(weight) * x
        return T.where(h > 0, h.sqrt(), 0.0).sum()

    def masks_before(weight, x):
        """the mask makes zeros of what is not positive, and the root of 0 has an infinite slope"""
        h = mended(weight) * x
        return (h * (h > 0)).sqrt().sum()

    def takes_the_modulus(weight, x):
        """the root of the modulus is sound for negative numbers, and not at 0"""
        h = mended(weight) * x
        return (h.abs().sqrt() * (h > 0)).sum()

    bugs = [chooses_afterwards, masks_before, takes_the_modulus]


def descend(weights):
    """A step of gradient descent, and no gradients left."""
    with T.no_grad():
        for weight in weights:
            if weight.grad is not None:
                weight -= 0.01 * weight.grad
            weight.grad = None


class HuntTheIdleWeight(BugHunt):
    """Hunt 2: it learns, but not as it should

    `train_step(weights, x, wanted)` makes one step of a network of three weights, clears their gradients,
    and returns the loss. With each of three programs the loss falls; yet each does something else than one
    backward pass that reaches every weight once. Write `test(train_step)`.
    """

    idea = "After the leaf has its gradient"
    stub = """
        def test(train_step):
            T.manual_seed(0)
            weights = [T.randn(3, 4), T.randn(4, 4), T.randn(4, 1)]
            for weight in weights:
                weight.requires_grad_()
            x, wanted = T.randn(5, 3), T.randn(5, 1)
            first = train_step(weights, x, wanted)
            second = train_step(weights, x, wanted)
            assert second < first
    """
    hints = [
        "When the step returns, all gradients are gone. Who sees them while they are there?",
        "A post-accumulate hook on each weight. How often should each be called in one step?",
        "Count the calls for each weight in a list, and assert `[1, 1, 1]`.",
    ]
    solution = """
        def test(train_step):
            T.manual_seed(0)
            weights = [T.randn(3, 4), T.randn(4, 4), T.randn(4, 1)]
            calls = [0, 0, 0]

            def count(position):
                def hook(weight):
                    calls[position] += 1

                return hook

            for position, weight in enumerate(weights):
                weight.requires_grad_()
                weight.register_post_accumulate_grad_hook(count(position))
            train_step(weights, T.randn(5, 3), T.randn(5, 1))
            assert calls == [1, 1, 1]
    """
    reason = """
        A weight without a gradient and a weight with two are found by the same three numbers. In a program
        of your own, leave such hooks in for the first step and take them away then.
    """
    wrong = [
        Wrong(
            """
            def test(train_step):
                T.manual_seed(0)
                weights = [T.randn(3, 4), T.randn(4, 4), T.randn(4, 1)]
                for weight in weights:
                    weight.requires_grad_()
                before = [weight.detach().clone() for weight in weights]
                train_step(weights, T.randn(5, 3), T.randn(5, 1))
                for weight, old in zip(weights, before):
                    assert (weight != old).any()
            """,
            says="1 of 3 planted bugs",
            why="Weights that stay as they are have no gradient. But one program changes all of them, "
            "too much.",
        ),
        Wrong(
            """
            def test(train_step):
                T.manual_seed(0)
                weights = [T.randn(3, 4), T.randn(4, 4), T.randn(4, 1)]
                for weight in weights:
                    weight.requires_grad_()
                train_step(weights, T.randn(5, 3), T.randn(5, 1))
                assert all(weight.grad is not None for weight in weights)
            """,
            says="The first half fails",
            why="Gradients are cleared by the step, as they should be. After it there is nothing to see.",
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
    only watched: no gradient shall come through it. Values are right in all three broken programs, and no
    error is raised. Gradients are wrong, because somewhere a value is written over that backward needs.
    Write `test(loss_of)`.
    """

    idea = "The write that is not counted"
    stub = """
        def test(loss_of):
            T.manual_seed(0)
            x, weight = T.randn(4, 3), T.randn(3, 2, requires_grad=True)
            h = (x @ weight).tanh()
            expected = (h * h).sum() + h.clamp(min=0).sum()
            loss = loss_of(x, weight)
            assert abs((loss - expected).item()) < 1e-5
            loss.backward()
    """
    hints = [
        "In-place ops are counted, and would raise. Which writes are not counted?",
        "Those through `.data`. There is a switch for them: run forward *and* backward inside it.",
        "A node saves what it needs for gradients that are wanted. One program is caught only if "
        "`x` requires grad, too.",
    ]
    solution = """
        def test(loss_of):
            T.manual_seed(0)
            x, weight = T.randn(4, 3, requires_grad=True), T.randn(3, 2, requires_grad=True)
            try:
                with T.autograd.set_detect_data_writes(True):
                    loss_of(x, weight).backward()
            except RuntimeError as error:
                raise AssertionError("something was written over") from error
    """
    reason = """
        Under the switch `.data` shares the counter of its tensor, and the check of chapter 20 does the
        rest. In PyTorch you would have to search the source for `.data`, or compare gradients with finite
        differences.
    """
    wrong = [
        Wrong(
            """
            def test(loss_of):
                T.manual_seed(0)
                x, weight = T.randn(4, 3), T.randn(3, 2, requires_grad=True)
                with T.autograd.set_detect_data_writes(True):
                    loss_of(x, weight).backward()
            """,
            says="1 of 3 planted bugs",
            why="Where `x` needs no gradient, no node saves `weight`, and a write to it does no harm.",
        ),
        Wrong(
            """
            def test(loss_of):
                T.manual_seed(0)
                x, weight = T.randn(4, 3, requires_grad=True), T.randn(3, 2, requires_grad=True)
                loss = loss_of(x, weight)
                with T.autograd.set_detect_data_writes(True):
                    loss.backward()
            """,
            says="3 of 3 planted bugs",
            why="The writes happened in forward, outside of the switch. (And anomaly mode alone finds none of "
            "them: it names the lines of writes that are counted.)",
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

    class Leaky(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            keep(ctx, x, x > 0)
            return T.where(x > 0, x, 0.1 * x)

        @staticmethod
        def backward(ctx, grad):
            return T.where(restore(ctx), grad, 0.1 * grad)

    return Leaky


class HuntTheBytes(BugHunt):
    """Hunt 4: it does not fit

    `leaky(x)` returns $x$ where it is positive, and $x / 10$ elsewhere. It promises to keep *one byte* for
    each element of `x` until backward has run, and to keep it where hooks on saved tensors can move it
    away. Values and gradients are right in all programs. Three break the promise. Write `test(leaky)`.
    """

    idea = "What forward keeps"
    stub = """
        def test(leaky):
            x = T.tensor([-10.0, 5.0, 0.0], requires_grad=True)
            y = leaky(x)
            assert y.tolist() == [-1.0, 5.0, 0.0]
            y.sum().backward()
            assert x.grad.isclose(T.tensor([0.1, 1.0, 0.1])).all()
    """
    hints = [
        "A `pack` that adds up `tensor.nbytes` tells what is kept.",
        "One byte each: a tensor of 1000 elements keeps 1000 bytes. Less is as suspicious as more.",
        "Assert `==`, not `<=`. A program whose `pack` is never called has kept its tensor elsewhere.",
    ]
    solution = """
        def test(leaky):
            sizes = []

            def pack(tensor):
                sizes.append(tensor.nbytes)
                return tensor

            x = T.ones(1000, requires_grad=True)
            with T.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
                leaky(x)
            assert sum(sizes) == 1000
    """
    reason = """
        A mask of bool is a quarter of float32, and float32 a quarter of what a careless version keeps. But
        0 bytes means that the tensor is an attribute of `ctx`: invisible to offloading, to checkpointing,
        and to the check for writes.
    """
    wrong = [
        Wrong(
            """
            def test(leaky):
                sizes = []
                x = T.ones(1000, requires_grad=True)
                pack = lambda tensor: sizes.append(tensor.nbytes) or tensor
                with T.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
                    leaky(x)
                assert sum(sizes) <= 1000
            """,
            says="(number 3)",
            why="`<=` lets the program pass that keeps its tensor out of sight.",
        ),
        Wrong(
            """
            def test(leaky):
                count = []
                x = T.ones(1000, requires_grad=True)
                pack = lambda tensor: count.append(1) or tensor
                with T.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
                    leaky(x)
                assert len(count) == 1
            """,
            says="(number 1)",
            why="One tensor is kept, but of which size?",
        ),
        Wrong(
            """
            def test(leaky):
                x = T.ones(1000, requires_grad=True)
                before = T.memory_stats()["allocated_bytes"]
                y = leaky(x)
                kept = T.memory_stats()["allocated_bytes"] - before
                assert kept == 1000
            """,
            says="The first half fails",
            why="This counts the result too, and the allocator rounds up.",
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

    `watch(x, run, note)` calls `run()`, and meanwhile `note(largest)` for each gradient that reaches the
    tensor `x`, with the largest modulus in it as a float. It changes nothing, and when it has ended, also
    by an error in `run`, it is gone. Three people wrote one, each with a bug. Write `test(watch)`.
    """

    idea = "What a hook may answer"
    stub = """
        def test(watch):
            x = T.tensor([1.0, 2.0], requires_grad=True)
            noted = []
            watch(x, lambda: (x * T.tensor([3.0, 5.0])).sum().backward(), noted.append)
            assert noted == [5.0]
            assert x.grad.tolist() == [3.0, 5.0]
    """
    hints = [
        "Three promises: it changes nothing, it goes away, it goes away after an error as well. "
        "Your test can ask for "
        "each.",
        "What if the gradient has a negative number in it? And what happens in a backward *after* `watch`?",
        "Call `watch` with a `run` that raises, catch that, run backward once more, and assert "
        "that nothing was noted.",
    ]
    solution = """
        def test(watch):
            x = T.tensor([1.0, 2.0], requires_grad=True)
            noted = []

            def run():
                (x * T.tensor([3.0, -5.0])).sum().backward()

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
        A hook that stays is called in every pass from then on, and ten watchers make ten hooks: the program
        gets slower each epoch. `with x.register_hook(hook):` removes it whatever happens.
    """
    wrong = [
        Wrong(
            """
            def test(watch):
                x = T.tensor([1.0, 2.0], requires_grad=True)
                noted = []
                run = lambda: (x * T.tensor([3.0, -5.0])).sum().backward()
                watch(x, run, noted.append)
                assert x.grad.tolist() == [3.0, -5.0]
            """,
            says="2 of 3 planted bugs",
            why="The gradient is compared. That the hook has gone is not.",
        ),
        Wrong(
            """
            def test(watch):
                x = T.tensor([1.0, 2.0], requires_grad=True)
                noted = []
                run = lambda: (x * T.tensor([3.0, -5.0])).sum().backward()
                watch(x, run, noted.append)
                assert x.grad.tolist() == [3.0, -5.0]
                run()
                assert noted == [5.0]
            """,
            says="1 of 3 planted bugs",
            why="All is well as long as `run` ends well.",
        ),
        Wrong(
            """
            def test(watch):
                x = T.tensor([1.0, 2.0], requires_grad=True)
                noted = []
                run = lambda: (x * T.tensor([3.0, -5.0])).sum().backward()
                watch(x, run, noted.append)
                assert noted == [-5.0]
            """,
            says="The first half fails",
            why="The largest *modulus* is 5.",
        ),
    ]

    def right(x, run, note):
        with x.register_hook(lambda gradient: note(gradient.abs().max().item())):
            run()

    def writes(x, run, note):
        """the gradient is made positive in place, and goes on so"""
        with x.register_hook(lambda gradient: note(gradient.abs_().max().item())):
            run()

    def stays(x, run, note):
        """the hook is never taken away"""
        x.register_hook(lambda gradient: note(gradient.abs().max().item()))
        run()

    def stays_after_an_error(x, run, note):
        """the hook is taken away at the end, which an error in `run` does not reach"""
        handle = x.register_hook(lambda gradient: note(gradient.abs().max().item()))
        run()
        handle.remove()

    bugs = [writes, stays, stays_after_an_error]
