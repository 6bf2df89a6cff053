"""Exercises of chapter 34, schedulers and resume."""

import copy
import math

import tensorlab as torch
from tensorlab import nn
from tensorlab.learn import BugHunt, Exercise, Wrong, describe, expect, require
from tensorlab.optim import lr_scheduler

IMPORTS = """
import copy
import math

import tensorlab as torch
from tensorlab import nn
"""


class Stairs(Exercise):
    """Which rate, at which step

    A program calls `scheduler.step()` after every *batch*, and has `batches` batches per epoch. The
    scheduler is
    `StepLR(optimizer, step_size=size, gamma=gamma)` with the initial rate `lr`. Write
    `rate(epoch, lr, size, gamma, batches)`: the rate of the first batch of epoch `epoch`, counted
    from 0.
    """

    kind = "warm-up"
    idea = "Where the rate lives"
    stub = """
        def rate(epoch, lr, size, gamma, batches):
            return lr
    """
    hints = [
        "How many times was `step()` called before that batch?",
        "A stair comes after each `size` calls. How many whole stairs are in them?",
    ]
    solution = """
        def rate(epoch, lr, size, gamma, batches):
            return lr * gamma ** (epoch * batches // size)
    """
    reason = """
        A scheduler counts its calls. It knows nothing of epochs, whatever its parameters are
        called.
    """
    wrong = [
        Wrong(
            """
            def rate(epoch, lr, size, gamma, batches):
                return lr * gamma ** (epoch // size)
            """,
            says="counts its calls",
            why="That would be right with one call per epoch.",
        ),
        Wrong(
            """
            def rate(epoch, lr, size, gamma, batches):
                return lr * gamma ** (epoch * batches / size)
            """,
            says="between two stairs",
            why="The rate falls in stairs, so only whole ones count.",
        ),
        Wrong(
            """
            def rate(epoch, lr, size, gamma, batches):
                return lr * gamma ** ((epoch + 1) * batches // size)
            """,
            says="last batch",
            why="That is the rate after the epoch.",
        ),
        Wrong(
            """
            def rate(epoch, lr, size, gamma, batches):
                return lr * gamma * (epoch * batches // size)
            """,
            says="multiplies",
            why="Each stair multiplies the rate once more: a power.",
        ),
    ]

    def check(rate):
        for epoch, lr, size, gamma, batches in (
            (0, 0.1, 3, 0.5, 4),
            (1, 0.1, 3, 0.5, 4),
            (2, 0.3, 5, 0.8, 4),
            (5, 1.0, 7, 0.9, 3),
            (6, 0.2, 10, 0.5, 1),
            (4, 0.2, 2, 0.7, 2),
            (3, 2.0, 9, 0.1, 3),
        ):
            true = stairs(epoch * batches, lr, size, gamma)
            came = rate(epoch, lr, size, gamma, batches)
            require(
                isinstance(came, int | float), f"rate returned {describe(came)}; return a number."
            )
            if math.isclose(came, true, rel_tol=1e-9):
                continue
            call = f"rate({epoch}, {lr}, {size}, {gamma}, {batches}) isn't {came:.4g}."

            def near(value, came=came):
                return math.isclose(came, value, rel_tol=1e-9)

            require(
                not near(lr * gamma ** (epoch // size)),
                f"{call} step() was called {epoch * batches} times; the scheduler counts its calls.",
            )
            require(
                not near(lr * gamma ** (epoch * batches / size)),
                f"{call} Yours is between two stairs; count whole ones.",
            )
            require(
                not near(stairs((epoch + 1) * batches, lr, size, gamma)),
                f"{call} Yours is the rate after the last batch of the epoch.",
            )
            require(
                not near(lr * gamma * (epoch * batches // size)),
                f"{call} Each stair multiplies the rate by gamma once more.",
            )
            require(False, f"{call} Count the calls of step() before that batch.")


def stairs(calls, lr, size, gamma):
    """The rate after some calls of step()."""
    return lr * gamma ** (calls // size)


class Trapezoid(Exercise):
    """Up, along, and down

    Many large models are trained with three straight lines. Write `trapezoid(step, warm, cool,
    total)`, a share of the highest rate: it rises in a
    line over the first `warm` steps, so that step 0 has 1/`warm` and step `warm` - 1 has 1. It
    stays at 1. Over the last `cool` steps it falls in a line, so that step `total` - `cool`
    has 1 - 1/`cool`, and step `total` - 1 has 0. From step `total` on it is 0. `warm` and `cool` may be
    0; if `cool` is, step `total` - 1 still has 1. Together they are at most `total`.
    """

    kind = "implement"
    idea = "A schedule is a function"
    stub = """
        def trapezoid(step, warm, cool, total):
            return 1.0
    """
    hints = [
        "Three cases, one `if` each. Which of them divide, and can that be by zero?",
        "On the way down, `total - 1 - step` steps are left, of `cool`.",
    ]
    solution = """
        def trapezoid(step, warm, cool, total):
            if step >= total:
                return 0.0
            if step < warm:
                return (step + 1) / warm
            if step >= total - cool:
                return (total - 1 - step) / cool
            return 1.0
    """
    reason = """
        The comparisons protect the divisions: with `warm` = 0 no step is below it. Starting at
        1/`warm` rather than 0 means that no step is wasted.
    """
    wrong = [
        Wrong(
            """
            def trapezoid(step, warm, cool, total):
                if step < warm:
                    return step / warm
                if step >= total - cool:
                    return max(0.0, (total - 1 - step) / cool)
                return 1.0 if step < total else 0.0
            """,
            says="wasted",
            why="With a rate of 0 the first step does nothing.",
        ),
        Wrong(
            """
            def trapezoid(step, warm, cool, total):
                if step < warm:
                    return (step + 1) / warm
                if step >= total - cool:
                    return (total - 1 - step) / cool
                return 1.0 if step < total else 0.0
            """,
            says="after the end",
            why="The last line goes on below zero, and SGD then climbs.",
        ),
        Wrong(
            """
            def trapezoid(step, warm, cool, total):
                up = (step + 1) / warm
                down = (total - 1 - step) / cool
                return max(0.0, min(1.0, up, down))
            """,
            says="ZeroDivisionError",
            why="Without a warm-up there's nothing to divide by.",
        ),
        Wrong(
            """
            def trapezoid(step, warm, cool, total):
                if step >= total:
                    return 0.0
                if step < warm:
                    return (step + 1) / warm
                if step >= total - cool:
                    return (total - step) / cool
                return 1.0
            """,
            says="way down",
            why="It reaches 0 one step too late.",
        ),
    ]

    def check(trapezoid):
        for warm, cool, total in (
            (4, 5, 20),
            (1, 1, 6),
            (0, 3, 9),
            (3, 0, 9),
            (0, 0, 4),
            (5, 5, 10),
            (10, 2, 30),
        ):
            for step in range(total + 4):
                call = f"trapezoid({step}, {warm}, {cool}, {total})"
                try:
                    came = trapezoid(step, warm, cool, total)
                except ZeroDivisionError:
                    require(False, f"{call} raises ZeroDivisionError: `warm` or `cool` may be 0.")
                require(
                    isinstance(came, int | float), f"{call} is {describe(came)}; return a number."
                )
                true = three_lines(step, warm, cool, total)
                if math.isclose(came, true, abs_tol=1e-12):
                    continue
                call = f"{call} is {came:.4g}, and {true:.4g} is right."
                require(
                    step > 0 or came != 0,
                    f"{call} With 0 at the start, the first step is wasted.",
                )
                require(step < total, f"{call} That is after the end; it stays 0 there.")
                require(step >= warm, f"{call} On the way up, step {warm - 1} has 1.")
                require(
                    step < total - cool,
                    f"{call} On the way down, step {total - 1} has 0.",
                )
                require(False, f"{call} It stays at 1 between the two lines.")


def three_lines(step, warm, cool, total):
    if step >= total:
        return 0.0
    left = total - 1 - step
    if step < warm:
        return (step + 1) / warm
    return left / cool if left < cool else 1.0


class Snapshot(Exercise):
    """A snapshot that can be trusted

    Write `save(model, optimizer, scheduler)` and `load(state, model, optimizer, scheduler)`. `save`
    returns anything you like; it must not change when training goes on. `load` puts everything
    back, into the same objects or into new ones, so that training goes on with the same numbers, to
    the bit. The model has
    dropout and batch normalisation. Ignore the data. A snapshot may be
    loaded more than once.
    """

    kind = "implement"
    idea = "What a step reads"
    stub = """
        def save(model, optimizer, scheduler):
            return model.state_dict()


        def load(state, model, optimizer, scheduler):
            model.load_state_dict(state)
    """
    hints = [
        "Go through the table of what a step reads. Which rows are in a state dict, and which is "
        "no part's?",
        "`torch.get_rng_state()` and `torch.set_rng_state(...)`; `copy.deepcopy` for the rest.",
        "Some `load_state_dict` keep the objects of the dict they're given. So copy when you "
        "load, too.",
    ]
    solution = """
        def save(model, optimizer, scheduler):
            parts = [part.state_dict() for part in (model, optimizer, scheduler)]
            return copy.deepcopy(parts), torch.get_rng_state()


        def load(state, model, optimizer, scheduler):
            parts, random = copy.deepcopy(state)
            for part, values in zip((model, optimizer, scheduler), parts):
                part.load_state_dict(values)
            torch.set_rng_state(random)
    """
    reason = """
        Three state dicts and the generator. Both copies are needed: the first because state dicts
        share memory with what they describe, the second because a
        loaded scheduler may keep the lists of the dict.
    """
    wrong = [
        Wrong(
            """
            def save(model, optimizer, scheduler):
                parts = [part.state_dict() for part in (model, optimizer, scheduler)]
                return parts, torch.get_rng_state()


            def load(state, model, optimizer, scheduler):
                parts, random = state
                for part, values in zip((model, optimizer, scheduler), parts):
                    part.load_state_dict(values)
                torch.set_rng_state(random)
            """,
            says="has changed while",
            why="State dicts share their tensors with the model and the optimizer.",
        ),
        Wrong(
            """
            def save(model, optimizer, scheduler):
                return copy.deepcopy(
                    [part.state_dict() for part in (model, optimizer, scheduler)]
                )


            def load(state, model, optimizer, scheduler):
                for part, values in zip((model, optimizer, scheduler), copy.deepcopy(state)):
                    part.load_state_dict(values)
            """,
            says="save the state of the generator",
            why="Dropout draws other numbers.",
        ),
        Wrong(
            """
            def save(model, optimizer, scheduler):
                return copy.deepcopy(
                    (model.state_dict(), optimizer.state_dict(), torch.get_rng_state())
                )


            def load(state, model, optimizer, scheduler):
                model.load_state_dict(state[0])
                optimizer.load_state_dict(copy.deepcopy(state[1]))
                torch.set_rng_state(state[2])
            """,
            says="The scheduler's last_epoch differs",
            why="The rate is right for one step, because it lives in the optimizer.",
        ),
        Wrong(
            """
            def save(model, optimizer, scheduler):
                return copy.deepcopy(
                    (model.state_dict(), scheduler.state_dict(), torch.get_rng_state())
                )


            def load(state, model, optimizer, scheduler):
                model.load_state_dict(state[0])
                scheduler.load_state_dict(copy.deepcopy(state[1]))
                torch.set_rng_state(state[2])
            """,
            says="its averages or momentum",
            why="Momentum begins at zero, and the rate is that of the new optimizer.",
        ),
        Wrong(
            """
            def save(model, optimizer, scheduler):
                weights = [p.detach().clone() for p in model.parameters()]
                rest = copy.deepcopy((optimizer.state_dict(), scheduler.state_dict()))
                return weights, rest, torch.get_rng_state()


            def load(state, model, optimizer, scheduler):
                with torch.no_grad():
                    for p, values in zip(model.parameters(), state[0]):
                        p.copy_(values)
                optimizer.load_state_dict(copy.deepcopy(state[1][0]))
                scheduler.load_state_dict(copy.deepcopy(state[1][1]))
                torch.set_rng_state(state[2])
            """,
            says="running statistics in them",
            why="The running statistics of batch normalisation are buffers.",
        ),
    ]

    def check(save, load):
        for kind, lr in (("SGD", 0.1), ("Adam", 0.01)):
            model, optimizer, scheduler = training(kind, lr, seed=1)
            go(model, optimizer, scheduler, 7)
            state = save(model, optimizer, scheduler)
            expected = go(model, optimizer, scheduler, 6)
            for times in ("first", "second"):
                parts = training(kind, lr, seed=2)
                torch.manual_seed(77)
                load(state, *parts)
                compare(go(*parts, 6), expected, parts, f"{kind}, loaded for the {times} time")
            torch.manual_seed(78)
            load(state, model, optimizer, scheduler)
            came = go(model, optimizer, scheduler, 6)
            compare(came, expected, (model, optimizer, scheduler), f"{kind}, into the same objects")


def training(kind, lr, seed):
    torch.manual_seed(seed)
    layers = nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 2)
    model = nn.Sequential(*layers)
    options = {"momentum": 0.9} if kind == "SGD" else {}
    optimizer = getattr(torch.optim, kind)(model.parameters(), lr=lr, **options)
    down = lr_scheduler.MultiStepLR(optimizer, [3, 9, 11], gamma=0.5)
    return model, optimizer, down


def go(model, optimizer, scheduler, steps):
    """Train, and return for each step what it reads: weights, buffers, state, rates, random numbers."""
    found = []
    for step in range(steps):
        x = torch.linspace(-1, 1, 40).reshape(10, 4) * (1 + step)
        optimizer.zero_grad()
        random = torch.get_rng_state()
        model(x).square().mean().backward()
        optimizer.step()
        rate = optimizer.param_groups[0]["lr"]
        scheduler.step()
        found.append(
            {
                "random": random.tolist(),
                "weights": [p.tolist() for p in model.parameters()],
                "buffers": [b.tolist() for b in model.buffers()],
                "rate": rate,
                "last_epoch": scheduler.last_epoch,
                "optimizer": [
                    [v.tolist() for v in values.values() if isinstance(v, torch.Tensor)]
                    for values in optimizer.state_dict()["state"].values()
                ],
            }
        )
    return found


REMARKS = {
    "random": "The random numbers of dropout differ: save the state of the generator, too.",
    "buffers": "The buffers differ: batch normalisation keeps its running statistics in them.",
    "last_epoch": "The scheduler's last_epoch differs: save its state, too.",
    "optimizer": "The state of the optimizer (its averages or momentum) differs.",
    "rate": "The rate differs, which the optimizer has in its groups.",
    "weights": "The weights differ.",
}


def compare(came, expected, parts, about):
    first = {what for what in REMARKS if came[0][what] != expected[0][what]}
    later = {
        what for what in REMARKS for a, b in zip(came, expected, strict=True) if a[what] != b[what]
    }
    if not later:
        return
    about = f"{about}: training goes on with other numbers."
    for what in ("random", "last_epoch"):
        require(what not in first, f"{about} {REMARKS[what]}")
    require(
        not {"weights", "optimizer", "buffers"} <= first,
        f"{about} Weights, buffers and averages all differ in the first step: what you saved has changed while "
        "training went on.",
    )
    for what in ("buffers", "optimizer", "rate", "weights", "last_epoch", "random"):
        require(what not in first, f"{about} {REMARKS[what]}")
    for what in ("last_epoch", "rate", "optimizer", "buffers", "weights", "random"):
        require(what not in later, f"{about} {REMARKS[what]}")


# ------------------------------------------------------------ the hunt
def right(optimizer, scheduler, state):
    optimizer.load_state_dict(copy.deepcopy(state["optimizer"]))
    scheduler.load_state_dict(copy.deepcopy(state["scheduler"]))


def forgets_the_optimizer(optimizer, scheduler, state):
    """The optimizer's state isn't loaded."""
    scheduler.load_state_dict(copy.deepcopy(state["scheduler"]))


def forgets_the_scheduler(optimizer, scheduler, state):
    """The scheduler's state isn't loaded."""
    optimizer.load_state_dict(copy.deepcopy(state["optimizer"]))


def only_the_rate(optimizer, scheduler, state):
    """Of the optimizer, only the rate is loaded."""
    for group, saved in zip(
        optimizer.param_groups, state["optimizer"]["param_groups"], strict=True
    ):
        group["lr"] = saved["lr"]
    scheduler.load_state_dict(copy.deepcopy(state["scheduler"]))


def first_group_only(optimizer, scheduler, state):
    """The rate of the second group isn't loaded."""
    kept = [group["lr"] for group in optimizer.param_groups]
    right(optimizer, scheduler, state)
    for group, rate in zip(optimizer.param_groups[1:], kept[1:], strict=True):
        group["lr"] = rate


def a_step_too_many(optimizer, scheduler, state):
    """The scheduler goes one step further."""
    right(optimizer, scheduler, state)
    scheduler.last_epoch += 1


def starts_at_the_top(optimizer, scheduler, state):
    """The rates are set back to the initial ones."""
    right(optimizer, scheduler, state)
    for group in optimizer.param_groups:
        group["lr"] = group["initial_lr"]


class Hunt(BugHunt):
    """Six ways to load

    Write `test(load)`. It gets a function `load(optimizer, scheduler, state)`, where `state` is
    `{"optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict()}`, copied when it was
    saved. Your test must raise if training doesn't go on as before. One function is right, and six
    are wrong. You choose optimizer and scheduler, and what you look at.
    """

    idea = "A run that can be taken up"
    stub = """
        def make():
            x = torch.ones(3, requires_grad=True)
            optimizer = torch.optim.SGD([x], lr=0.1)
            return x, optimizer, torch.optim.lr_scheduler.StepLR(optimizer, 2)


        def test(load):
            x, optimizer, scheduler = make()
            state = {"optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict()}
            x, optimizer, scheduler = make()
            load(optimizer, scheduler, copy.deepcopy(state))
            assert optimizer.param_groups[0]["lr"] == 0.1
    """
    hints = [
        "A state that was saved before the first step can't tell anything apart.",
        "Momentum shows a forgotten optimizer. Two groups show a forgotten group. And a stair "
        "that comes after loading shows where the scheduler is.",
    ]
    solution = """
        def make():
            x, y = torch.ones(3, requires_grad=True), torch.ones(2, requires_grad=True)
            groups = [{"params": [x]}, {"params": [y], "lr": 0.3}]
            optimizer = torch.optim.SGD(groups, lr=0.1, momentum=0.9)
            return x, y, optimizer, torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)


        def go(x, y, optimizer, scheduler, steps):
            for _ in range(steps):
                optimizer.zero_grad()
                (x.square().sum() + y.square().sum()).backward()
                optimizer.step()
                scheduler.step()


        def test(load):
            first = make()
            go(*first, 3)
            saved = {"optimizer": first[2].state_dict(), "scheduler": first[3].state_dict()}
            saved = copy.deepcopy(saved)
            second = make()
            with torch.no_grad():
                second[0].copy_(first[0])
                second[1].copy_(first[1])
            load(second[2], second[3], saved)
            go(*first, 5)
            go(*second, 5)
            assert torch.equal(first[0], second[0]) and torch.equal(first[1], second[1])
    """
    reason = """
        The test asks for what you want, equal weights some steps later, rather than for the parts.
        That finds mistakes which you haven't thought of.
    """
    wrong = [
        Wrong(
            """
            def test(load):
                def make():
                    x = torch.ones(3, requires_grad=True)
                    optimizer = torch.optim.SGD([x], lr=0.1, momentum=0.9)
                    return x, optimizer, torch.optim.lr_scheduler.StepLR(optimizer, 2)

                x, optimizer, scheduler = make()
                for _ in range(3):
                    x.grad = torch.ones(3)
                    optimizer.step()
                    scheduler.step()
                state = {"optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict()}
                y, other, second = make()
                load(other, second, copy.deepcopy(state))
                assert other.param_groups[0]["lr"] == optimizer.param_groups[0]["lr"]
                assert second.last_epoch == scheduler.last_epoch
            """,
            says="on 2 of 6",
            why="Momentum isn't looked at, and there is only one group.",
        ),
    ]
    right = right
    bugs = [
        forgets_the_optimizer,
        forgets_the_scheduler,
        only_the_rate,
        first_group_only,
        a_step_too_many,
        starts_at_the_top,
    ]


class Resumable(Exercise):
    """Batches that go on

    `Shuffled` of this chapter saves the whole order, which is a million numbers for a million rows.
    Write a class `Batches(rows, batch, seed)` whose state is small. `next(batches)` returns a list
    of `batch` row numbers. Each epoch has every row once, in a new random order; if `batch` doesn't
    divide `rows`, the rest of an epoch is left out. `state_dict()` returns a dict of at most ten
    numbers (or a tensor of a generator's state), and
    `load_state_dict(state)` goes on from there, also in an object
    that was made with another seed. Nothing else may disturb the order, nor may it
    disturb others: leave the global generator alone.
    """

    kind = "extend"
    idea = "A run that can be taken up"
    stub = """
        class Batches:
            def __init__(self, rows, batch, seed):
                self.rows, self.batch, self.seed = rows, batch, seed

            def __next__(self):
                return list(range(self.batch))

            def state_dict(self):
                return {}

            def load_state_dict(self, state):
                pass
    """
    hints = [
        "The order of an epoch can be computed again, if you know the seed and the epoch.",
        "Make a `torch.Generator()` for each epoch, seeded from `seed` and the epoch.",
        "The state is then two numbers, the epoch and the place in it (and the seed).",
    ]
    solution = """
        class Batches:
            def __init__(self, rows, batch, seed):
                self.rows, self.batch, self.seed = rows, batch, seed
                self.begin(0)

            def begin(self, epoch):
                self.epoch, self.place = epoch, 0
                generator = torch.Generator().manual_seed(1000003 * self.seed + epoch)
                self.order = torch.randperm(self.rows, generator=generator).tolist()

            def __next__(self):
                if self.place + self.batch > self.rows:
                    self.begin(self.epoch + 1)
                self.place += self.batch
                return self.order[self.place - self.batch : self.place]

            def state_dict(self):
                return {"seed": self.seed, "epoch": self.epoch, "place": self.place}

            def load_state_dict(self, state):
                self.seed = state["seed"]
                self.begin(state["epoch"])
                self.place = state["place"]
    """
    reason = """
        An order that is a function of seed and epoch needs no memory. The state holds where you
        are, and the rest is computed again. Data loaders for large runs do the same.
    """
    wrong = [
        Wrong(
            """
            class Batches:
                def __init__(self, rows, batch, seed):
                    self.rows, self.batch = rows, batch
                    self.generator = torch.Generator().manual_seed(seed)
                    self.order, self.place = [], 0

                def __next__(self):
                    if self.place + self.batch > len(self.order):
                        self.order = torch.randperm(self.rows, generator=self.generator).tolist()
                        self.place = 0
                    self.place += self.batch
                    return self.order[self.place - self.batch : self.place]

                def state_dict(self):
                    return {"random": self.generator.get_state(), "place": self.place}

                def load_state_dict(self, state):
                    self.generator.set_state(state["random"])
                    self.place = state["place"]
            """,
            says="goes on with other rows",
            why="The generator has moved on: it gives the next epoch's order, not this one's.",
        ),
        Wrong(
            """
            class Batches:
                def __init__(self, rows, batch, seed):
                    self.rows, self.batch, self.seed = rows, batch, seed
                    self.begin()

                def begin(self):
                    self.place = 0
                    generator = torch.Generator().manual_seed(self.seed)
                    self.order = torch.randperm(self.rows, generator=generator).tolist()

                def __next__(self):
                    if self.place + self.batch > self.rows:
                        self.begin()
                    self.place += self.batch
                    return self.order[self.place - self.batch : self.place]

                def state_dict(self):
                    return {"seed": self.seed, "place": self.place}

                def load_state_dict(self, state):
                    self.seed = state["seed"]
                    self.begin()
                    self.place = state["place"]
            """,
            says="the same order",
            why="The seed alone makes every epoch equal.",
        ),
        Wrong(
            """
            class Batches:
                def __init__(self, rows, batch, seed):
                    self.rows, self.batch, self.seed = rows, batch, seed
                    self.begin(0)

                def begin(self, epoch):
                    self.epoch, self.place = epoch, 0
                    torch.manual_seed(self.seed + epoch)
                    self.order = torch.randperm(self.rows).tolist()

                def __next__(self):
                    if self.place + self.batch > self.rows:
                        self.begin(self.epoch + 1)
                    self.place += self.batch
                    return self.order[self.place - self.batch : self.place]

                def state_dict(self):
                    return {"seed": self.seed, "epoch": self.epoch, "place": self.place}

                def load_state_dict(self, state):
                    self.seed = state["seed"]
                    self.begin(state["epoch"])
                    self.place = state["place"]
            """,
            says="global generator",
            why="Dropout and everything else would repeat its numbers after each epoch.",
        ),
        Wrong(
            """
            class Batches:
                def __init__(self, rows, batch, seed):
                    self.rows, self.batch, self.seed = rows, batch, seed
                    self.taken, self.generator = 0, torch.Generator().manual_seed(seed)
                    self.order = []

                def __next__(self):
                    if self.taken % (self.rows // self.batch) == 0:
                        self.order = torch.randperm(self.rows, generator=self.generator).tolist()
                    place = self.taken % (self.rows // self.batch) * self.batch
                    self.taken += 1
                    return self.order[place : place + self.batch]

                def state_dict(self):
                    return {"taken": self.taken, "order": self.order}

                def load_state_dict(self, state):
                    self.taken, self.order = state["taken"], state["order"]
            """,
            says="at most 10",
            why="It saves the whole order, and the later epochs still differ.",
        ),
    ]

    def check(Batches):
        for rows, batch, seed in ((12, 4, 0), (13, 4, 7), (40, 7, 3), (30, 30, 1)):
            per_epoch = rows // batch
            about = f"Batches({rows}, {batch}, {seed})"
            torch.manual_seed(5)
            random = torch.get_rng_state()
            one = Batches(rows, batch, seed)
            taken = [next(one) for _ in range(4 * per_epoch)]
            require(
                torch.equal(random, torch.get_rng_state()),
                f"{about} draws from the global generator, or seeds it.",
            )
            for row_numbers in taken:
                is_list = isinstance(row_numbers, list) and len(row_numbers) == batch
                require(
                    is_list and all(isinstance(row, int) for row in row_numbers),
                    f"next({about}) is {row_numbers!r}; expected a list of {batch} ints.",
                )
            epochs = [
                [row for part in taken[i * per_epoch : (i + 1) * per_epoch] for row in part]
                for i in range(4)
            ]
            for i, epoch in enumerate(epochs):
                once = len(set(epoch)) == len(epoch) and set(epoch) <= set(range(rows))
                require(once, f"{about}: epoch {i} is {epoch}; each row may come only once.")
            require(
                len({tuple(epoch) for epoch in epochs}) == 4,
                f"{about}: two epochs have the same order.",
            )
            left_out = {tuple(sorted(set(range(rows)) - set(epoch))) for epoch in epochs}
            require(
                rows % batch == 0 or len(left_out) > 1,
                f"{about}: the same rows are left out in each epoch.",
            )
            other_seed = Batches(rows, batch, seed + 1)
            require(
                [next(other_seed) for _ in taken] != taken, f"{about}: the seed changes nothing."
            )
            for steps in (1, 0, per_epoch - 1, per_epoch, 2 * per_epoch + 1):
                goes_on = Batches(rows, batch, seed)
                for _ in range(steps):
                    next(goes_on)
                state = copy.deepcopy(goes_on.state_dict())
                require(isinstance(state, dict), f"state_dict() is {state!r}; return a dict.")
                require(
                    numbers_in(state) <= 10,
                    f"{about}: the state after {steps} batches has {numbers_in(state)} numbers; at most 10.",
                )
                expected = [next(goes_on) for _ in range(2 * per_epoch + 1)]
                fresh = Batches(rows, batch, seed + 5)
                next(fresh)
                fresh.load_state_dict(state)
                came = [next(fresh) for _ in expected]
                require(
                    came == expected,
                    f"{about}, loaded after {steps} batches, goes on with other rows: {came[0]} and not "
                    f"{expected[0]} first.",
                )
            expect(
                [next(Batches(rows, batch, seed)) for _ in range(2)],
                [taken[0]] * 2,
                f"the first batch of {about}, made twice",
            )


def numbers_in(state):
    """Count the numbers of a state; a tensor of bytes, the state of a generator, counts as one."""
    if isinstance(state, dict):
        return sum(numbers_in(value) for value in state.values())
    if isinstance(state, list | tuple):
        return sum(numbers_in(value) for value in state)
    if isinstance(state, torch.Tensor):
        return 1 if state.dtype == torch.uint8 else state.numel()
    return 1
