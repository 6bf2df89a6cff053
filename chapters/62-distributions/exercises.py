"""Exercises of chapter 62, distributions."""

import math

import tensorlab as torch
from tensorlab.distributions import (
    Bernoulli,
    Categorical,
    Independent,
    MultivariateNormal,
    Normal,
)
from tensorlab.learn import BugHunt, Exercise, Wrong, expect, require

IMPORTS = """
import tensorlab as torch
from tensorlab import distributions
"""


def made(text):
    """The distribution that a line of the warm-up makes."""
    return eval(
        text,
        {
            "torch": torch,
            "Normal": Normal,
            "Categorical": Categorical,
            "Bernoulli": Bernoulli,
            "Independent": Independent,
            "MultivariateNormal": MultivariateNormal,
        },
    )


LINES = (
    "Normal(torch.zeros(3), 1.0)",
    "Independent(Normal(torch.zeros(3), 1.0), 1)",
    "Categorical(logits=torch.zeros(5, 4))",
    "MultivariateNormal(torch.zeros(5, 2), torch.eye(2))",
    "Independent(Bernoulli(logits=torch.zeros(6, 8, 8)), 2)",
)


class ShapesOfLogProb(Exercise):
    """What does log_prob return?

    For each distribution `d`, what is the shape of `d.log_prob(d.sample((10,)))`? Answer with tuples.
    """

    kind = "warm-up"
    idea = "Three shapes"
    stub = """
        shapes = {
            "Normal(torch.zeros(3), 1.0)": None,
            "Independent(Normal(torch.zeros(3), 1.0), 1)": None,
            "Categorical(logits=torch.zeros(5, 4))": None,
            "MultivariateNormal(torch.zeros(5, 2), torch.eye(2))": None,
            "Independent(Bernoulli(logits=torch.zeros(6, 8, 8)), 2)": None,
        }
    """
    hints = [
        "Sample shape plus batch shape. The event is what `log_prob` has one number for.",
        "A draw from a categorical distribution is one index, a number. So how many of the sizes 5 and 4 are batch?",
        "`Independent(..., 2)` takes two dimensions from the right end of the batch.",
    ]
    solution = """
        shapes = {
            "Normal(torch.zeros(3), 1.0)": (10, 3),
            "Independent(Normal(torch.zeros(3), 1.0), 1)": (10,),
            "Categorical(logits=torch.zeros(5, 4))": (10, 5),
            "MultivariateNormal(torch.zeros(5, 2), torch.eye(2))": (10, 5),
            "Independent(Bernoulli(logits=torch.zeros(6, 8, 8)), 2)": (10, 6),
        }
    """
    reason = """
        The sample shape is (10,) everywhere. The batch shapes are (3,), (), (5,), (5,) and (6,). The four logits of a
        row are the parameters of *one* distribution.
    """
    wrong = [
        Wrong(
            """
            shapes = {
                "Normal(torch.zeros(3), 1.0)": (10,),
                "Independent(Normal(torch.zeros(3), 1.0), 1)": (10,),
                "Categorical(logits=torch.zeros(5, 4))": (10, 5),
                "MultivariateNormal(torch.zeros(5, 2), torch.eye(2))": (10, 5),
                "Independent(Bernoulli(logits=torch.zeros(6, 8, 8)), 2)": (10, 6),
            }
            """,
            says="three distributions of a number",
            why="Without `Independent`, each number is an event of its own.",
        ),
        Wrong(
            """
            shapes = {
                "Normal(torch.zeros(3), 1.0)": (10, 3),
                "Independent(Normal(torch.zeros(3), 1.0), 1)": (10,),
                "Categorical(logits=torch.zeros(5, 4))": (10, 5, 4),
                "MultivariateNormal(torch.zeros(5, 2), torch.eye(2))": (10, 5),
                "Independent(Bernoulli(logits=torch.zeros(6, 8, 8)), 2)": (10, 6),
            }
            """,
            says="one index",
            why="The four logits belong to one distribution.",
        ),
    ]

    def check(shapes):
        require(
            isinstance(shapes, dict) and set(shapes) == set(LINES),
            f"`shapes` must be a dict with these keys: {'; '.join(LINES)}.",
        )
        notes = {
            LINES[0]: " It's three distributions of a number, and not one of three numbers.",
            LINES[1]: " The three numbers are one event now.",
            LINES[2]: " A draw is one index, whatever the number of logits.",
            LINES[3]: " A draw is a vector of two numbers, one event.",
            LINES[4]: " The last two dimensions are the event.",
        }
        for text in LINES:
            d = made(text)
            true, came = tuple(d.log_prob(d.sample((10,))).shape), shapes[text]
            given = isinstance(came, (tuple, list))
            require(
                given and tuple(came) == true,
                f"Look again at {text}: you say {came!r}.{notes[text]}",
            )


def policy_gradients(log_probs, rewards):
    """The gradient that the loss must have with respect to log_probs."""
    n = len(rewards)
    others = (rewards.sum() - rewards) / (n - 1)
    return -(rewards - others) / n


class LeaveOneOut(Exercise):
    """A baseline of the others

    Write `surrogate(log_probs, rewards)` for n draws, at least two. `log_probs` is a tensor (n,) that requires grad,
    and `rewards` a tensor (n,). Return a loss, a tensor with one number: its gradient is *minus* the score function
    estimate of the gradient of the expected reward, so that an optimizer makes the reward larger. The baseline of each
    draw is the mean reward of the *other* draws. No gradient may flow into the rewards, even if they have one.
    """

    kind = "implement"
    idea = "A policy in a corridor"
    stub = """
        def surrogate(log_probs, rewards):
            return (log_probs * rewards).mean()  # not yet
    """
    hints = [
        "The weight of draw i is its reward minus the mean of the others. How do you get the sum of the others?",
        "`rewards.sum() - rewards` has, for each draw, the sum of all others. Divide by their number.",
        "Detach the weights, multiply, take the mean, and turn the sign round.",
    ]
    solution = """
        def surrogate(log_probs, rewards):
            rewards = rewards.detach()
            others = (rewards.sum() - rewards) / (len(rewards) - 1)
            return -(log_probs * (rewards - others)).mean()
    """
    reason = """
        The mean of *all* draws would depend a little on the draw itself, and make the gradient too small by the factor
        (n - 1) / n. The mean of the others is independent of it, so the estimate has the right mean for every n.
    """
    wrong = [
        Wrong(
            "def surrogate(log_probs, rewards):\n    return -(log_probs * rewards.detach()).mean()",
            says="no baseline",
            why="It's unbiased, but noisy.",
        ),
        Wrong(
            """
            def surrogate(log_probs, rewards):
                r = rewards.detach()
                return -(log_probs * (r - r.mean())).mean()
            """,
            says="*other* draws",
            why="The baseline depends on the draw.",
        ),
        Wrong(
            """
            def surrogate(log_probs, rewards):
                r = rewards.detach()
                return (log_probs * (r - (r.sum() - r) / (len(r) - 1))).mean()
            """,
            says="sign",
            why="An optimizer would make the reward smaller.",
        ),
        Wrong(
            """
            def surrogate(log_probs, rewards):
                r = rewards.detach()
                return -(log_probs * (r - (r.sum() - r) / (len(r) - 1))).sum()
            """,
            says="mean over the draws",
            why="The sum grows with the number of draws.",
        ),
        Wrong(
            """
            def surrogate(log_probs, rewards):
                others = (rewards.sum() - rewards) / (len(rewards) - 1)
                return -(log_probs * (rewards - others)).mean()
            """,
            says="flows into the rewards",
            why="Rewards are weights; their own gradient has no place here.",
        ),
    ]

    def check(surrogate):
        for n in (2, 3, 7):
            log_probs = -torch.rand(n, dtype=torch.float64) - 0.1
            log_probs.requires_grad_()
            rewards = torch.randn(n, dtype=torch.float64) * 3 + 5
            rewards.requires_grad_()
            loss = surrogate(log_probs, rewards)
            require(
                isinstance(loss, torch.Tensor) and loss.numel() == 1 and loss.requires_grad,
                "Return a tensor with one number that depends on log_probs.",
            )
            came, leaked = torch.autograd.grad(loss.sum(), (log_probs, rewards), allow_unused=True)
            true, r = policy_gradients(log_probs, rewards.detach()), rewards.detach()
            require(
                leaked is None or not leaked.abs().max() > 0,
                "A gradient flows into the rewards: they are weights, so detach them.",
            )
            require(came is not None, "The loss must depend on log_probs.")

            def is_like(other, came=came):
                return torch.allclose(came, other, rtol=1e-6, atol=1e-9)

            note = ""
            if is_like(-true):
                note = " Look at the sign: a step against the gradient must make the reward larger."
            elif is_like(-r / n):
                note = " There's no baseline."
            elif is_like(-(r - r.mean()) / n):
                note = " The baseline is the mean of the *other* draws, not of all."
            elif is_like(true * n):
                note = " Take the mean over the draws, not their sum."
            require(
                is_like(true),
                f"With rewards {[round(v, 2) for v in r.tolist()]}, the gradient of log_probs isn't right.{note}",
            )


def true_slope(cdf, x, a):
    """-(dF/da) / (dF/dx) by autograd, for a check."""
    x, a = x.detach().requires_grad_(), a.detach().requires_grad_()
    by_x, by_a = torch.autograd.grad(cdf(x, a).sum(), (x, a))
    return -by_a / by_x


def exponential_cdf(x, a):
    return 1 - torch.exp(-a * x)


def weibull_cdf(x, a):
    return 1 - torch.exp(-(x**a))


def normal_cdf(x, a):
    return 0.5 * (1 + torch.erf((x - 1) / (a * math.sqrt(2))))


def kumaraswamy_cdf(x, a):
    return 1 - (1 - x**a) ** 2


class HoldTheQuantile(Exercise):
    """Hold the quantile

    Write `slope_of_draw(cdf, x, a)`. `cdf(x, a)` is a distribution function made of tensor operations, elementwise
    in `x` and `a`, two tensors of equal shape. Return dx/da for each draw, if its quantile is held. The result has
    no history, and the tensors of the caller are as they were, with no `grad` in them.
    """

    kind = "extend"
    idea = "A draw by rejection"
    stub = """
        def slope_of_draw(cdf, x, a):
            return torch.zeros_like(x)
    """
    hints = [
        "Two derivatives of the same number: by `a` and by `x`. What are they called in the formula?",
        "`torch.autograd.grad(cdf(x, a).sum(), (x, a))` has both, if `x` and `a` require grad.",
        "Work on `x.detach().requires_grad_()` and the same of `a`, and return minus the quotient.",
    ]
    solution = """
        def slope_of_draw(cdf, x, a):
            x, a = x.detach().requires_grad_(), a.detach().requires_grad_()
            by_x, by_a = torch.autograd.grad(cdf(x, a).sum(), (x, a))
            return -by_a / by_x
    """
    reason = """
        F(x; a) = u with u held. The sum has, for each element, the derivatives of that element alone, because the
        function is elementwise. dF/dx is the density, so it isn't zero where draws come from.
    """
    wrong = [
        Wrong(
            """
            def slope_of_draw(cdf, x, a):
                x, a = x.detach().requires_grad_(), a.detach().requires_grad_()
                by_x, by_a = torch.autograd.grad(cdf(x, a).sum(), (x, a))
                return by_a / by_x
            """,
            says="sign",
            why="If F grows with a, the number with the same quantile moves to the left.",
        ),
        Wrong(
            """
            def slope_of_draw(cdf, x, a):
                x, a = x.detach().requires_grad_(), a.detach().requires_grad_()
                by_x, by_a = torch.autograd.grad(cdf(x, a).sum(), (x, a))
                return -by_a
            """,
            says="density",
            why="dF/da is how far the quantile moves, not the draw.",
        ),
        Wrong(
            """
            def slope_of_draw(cdf, x, a):
                x, a = x.detach().requires_grad_(), a.detach().requires_grad_()
                by_x, by_a = torch.autograd.grad(cdf(x, a).sum(), (x, a))
                return -by_x / by_a
            """,
            says="upside down",
            why="That's da/dx.",
        ),
        Wrong(
            """
            def slope_of_draw(cdf, x, a):
                x.requires_grad_(), a.requires_grad_()
                by_x, by_a = torch.autograd.grad(cdf(x, a).sum(), (x, a))
                return -by_a / by_x
            """,
            says="as they were",
            why="The caller's tensors require grad now.",
        ),
    ]

    def check(slope_of_draw):
        families = {
            "exponential": exponential_cdf,
            "Weibull": weibull_cdf,
            "normal": normal_cdf,
            "Kumaraswamy": kumaraswamy_cdf,
        }
        for name, cdf in families.items():
            x = torch.rand(3, 2, dtype=torch.float64) * 0.7 + 0.15
            a = torch.rand(3, 2, dtype=torch.float64) + 0.8
            copies = x.clone(), a.clone()
            came, true = slope_of_draw(cdf, x, a), true_slope(cdf, *copies)
            require(
                not x.requires_grad and not a.requires_grad and x.grad is None and a.grad is None,
                "Leave the caller's tensors as they were: work on detached ones.",
            )
            require(
                torch.equal(x, copies[0]) and torch.equal(a, copies[1]),
                "Leave the caller's tensors as they were: you've changed their values.",
            )
            require(
                isinstance(came, torch.Tensor) and came.shape == x.shape,
                f"Return a tensor of the shape {tuple(x.shape)}.",
            )
            require(not came.requires_grad, "The result has a history; return it detached.")
            density = torch.autograd.functional.jvp(lambda v: cdf(v, a), x, torch.ones_like(x))[1]  # noqa: B023
            note = ""
            if torch.allclose(came, -true):
                note = " Look at the sign."
            elif torch.allclose(came * true, torch.ones_like(true)):
                note = " It's upside down: that's da/dx."
            elif torch.allclose(came, true * density):
                note = " What about the density?"
            require(
                torch.allclose(came, true, rtol=1e-4, atol=1e-7),
                f"For the {name} distribution, the slopes aren't right.{note}",
            )
            expect(came, true, f"slopes of the {name} distribution", tolerance=1e-4)


def divergence(mean, log_scale, half=0.5, square=True, twice=2.0, logs=-2.0, dim=-1):
    """KL of a normal distribution from the standard one, with a few screws to turn."""
    variance = (twice * log_scale).exp()
    each = half * (variance + (mean**2 if square else mean.abs()) - 1 + logs * log_scale)
    return each.sum(dim)


class HuntTheDivergence(BugHunt):
    """A test for a KL term

    `divergence(mean, log_scale)` returns KL(Normal(mean, exp(log_scale)) || Normal(0, 1)), added up over the last
    dimension: the second term of an ELBO, as many people write it by hand. `mean` and `log_scale` have the shape
    (n, k), and the result has the shape (n,). Six people wrote it, and five made one mistake each. Write
    `test(divergence)`, which raises an error for each of the five, and for none that is right.
    """

    idea = "A variational autoencoder"
    stub = """
        def test(divergence):
            zeros = torch.zeros(4, 4)
            assert torch.allclose(divergence(zeros, zeros), torch.zeros(4))
    """
    hints = [
        "At zero, many mistakes are invisible. Take random numbers for both parameters.",
        "A square batch hides which dimension was added up. Let n and k differ.",
        "You know the answer: `distributions.kl_divergence` of two `Normal`s, `sum(-1)`.",
    ]
    solution = """
        def test(divergence):
            torch.manual_seed(0)
            mean, log_scale = torch.randn(5, 3), torch.randn(5, 3)
            q = distributions.Normal(mean, log_scale.exp())
            p = distributions.Normal(torch.zeros(5, 3), torch.ones(5, 3))
            true = distributions.kl_divergence(q, p).sum(-1)
            came = divergence(mean, log_scale)
            assert came.shape == true.shape
            assert torch.allclose(came, true, atol=1e-4)
    """
    reason = """
        The registered formula is the specification. The two parameters must both be away from zero, and the shape
        must not be square.
    """
    wrong = [
        Wrong(
            """
            def test(divergence):
                torch.manual_seed(0)
                mean, log_scale = torch.randn(3, 3), torch.zeros(3, 3)
                q = distributions.Normal(mean, log_scale.exp())
                p = distributions.Normal(torch.zeros(3, 3), torch.ones(3, 3))
                true = distributions.kl_divergence(q, p).sum(-1)
                assert torch.allclose(divergence(mean, log_scale), true, atol=1e-4)
            """,
            says="(number 2, 5)",
            why="With a scale of 1, it doesn't matter whether the scale is squared.",
        ),
        Wrong(
            """
            def test(divergence):
                torch.manual_seed(0)
                mean, log_scale = torch.randn(5, 3), torch.randn(5, 3)
                came = divergence(mean, log_scale)
                assert came.shape == (5,) and (came >= 0).all()
            """,
            says="(number 1, 2",
            why="It isn't negative, and has the right shape, but the values may be wrong.",
        ),
    ]

    def right(mean, log_scale):
        return divergence(mean, log_scale)

    def forgets_the_half(mean, log_scale):
        """the factor 1/2 is missing"""
        return divergence(mean, log_scale, half=1.0)

    def takes_the_scale_for_the_variance(mean, log_scale):
        """exp(log_scale) is used as the variance"""
        return divergence(mean, log_scale, twice=1.0)

    def adds_up_the_batch(mean, log_scale):
        """the first dimension is added up"""
        return divergence(mean, log_scale, dim=0)

    def takes_the_size_of_the_mean(mean, log_scale):
        """the mean isn't squared"""
        return divergence(mean, log_scale, square=False)

    def adds_the_logarithm(mean, log_scale):
        """the logarithm of the scale is added, not subtracted"""
        return divergence(mean, log_scale, logs=2.0)

    bugs = [
        forgets_the_half,
        takes_the_scale_for_the_variance,
        adds_up_the_batch,
        takes_the_size_of_the_mean,
        adds_the_logarithm,
    ]
