"""Two estimators of the gradient of an expectation, by hand: d E[f(x)] / d mu for a normal x.

Both return one estimate per draw, so that their variance can be measured. Their mean is the estimate
that a training step would use.
"""


def score_estimates(f, mu, sigma, noise):
    """Weigh how much each mu_i makes a draw more probable with what the draw is worth.

    Parameters
    ----------
    f : function of a tensor (n, d) that returns a tensor (n,)
    mu, sigma : Tensor (d,) and a positive number
    noise : Tensor (n, d) of standard normal numbers

    Returns
    -------
    Tensor (n, d)
    """
    x = mu + sigma * noise
    score = (x - mu) / sigma**2
    return f(x).unsqueeze(-1) * score


def pathwise_estimates(slope, mu, sigma, noise):
    """Follow f along the draw, which moves with mu; `slope(x)` is the gradient of f."""
    x = mu + sigma * noise
    return slope(x)
