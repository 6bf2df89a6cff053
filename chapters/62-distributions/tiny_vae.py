"""A variational autoencoder of binary pictures, and its loss in three ways, of which one is wrong."""

import tensorlab as torch
from tensorlab import nn
from tensorlab.distributions import Bernoulli, Independent, Normal, kl_divergence


class VAE(nn.Module):
    """Two networks: from pictures to distributions of codes, and back."""

    def __init__(self, pixels=64, width=128, codes=8):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(pixels, width),
            nn.Tanh(),
            nn.Linear(width, 2 * codes),
        )
        self.decoder = nn.Sequential(
            nn.Linear(codes, width),
            nn.Tanh(),
            nn.Linear(width, pixels),
        )
        self.prior = Independent(Normal(torch.zeros(codes), torch.ones(codes)), 1)

    def posterior(self, x):
        """Return q(z | x), a distribution of codes for each picture."""
        mean, log_scale = self.encoder(x).chunk(2, -1)
        return Independent(Normal(mean, log_scale.exp()), 1)

    def likelihood(self, z):
        """Return p(x | z), a distribution of pictures for each code."""
        return Independent(Bernoulli(logits=self.decoder(z)), 1)

    def elbo(self, x):
        """Return the evidence lower bound of each picture, in nats."""
        q = self.posterior(x)
        z = q.rsample()
        return self.likelihood(z).log_prob(x) - kl_divergence(q, self.prior)


def pathwise_loss(model, x):
    """Minus the ELBO; gradients reach the encoder through the draw."""
    return -model.elbo(x).mean()


def score_loss(model, x):
    """The score function estimator as a loss: nothing flows through the draw."""
    q = model.posterior(x)
    z = q.sample()
    fit = model.likelihood(z).log_prob(x)
    weight = fit.detach() - fit.detach().mean()
    surrogate = fit + weight * q.log_prob(z)
    return -(surrogate - kl_divergence(q, model.prior)).mean()


def careless_loss(model, x):
    """`sample` where `rsample` is meant: the encoder isn't told how well its codes fit."""
    q = model.posterior(x)
    z = q.sample()
    return -(model.likelihood(z).log_prob(x) - kl_divergence(q, model.prior)).mean()


def train(loss_of, pictures, steps, seed=0, batch=100, every=50, test=None):
    """Train a VAE with one of the losses; return it, and (step, ELBO of `test`) at each `every`-th step."""
    torch.manual_seed(seed)
    model = VAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    curve = []
    for step in range(steps):
        rows = torch.randint(len(pictures), (batch,))
        optimizer.zero_grad()
        loss_of(model, pictures[rows]).backward()
        optimizer.step()
        if test is not None and (step + 1) % every == 0:
            with torch.no_grad():
                curve.append((step + 1, model.elbo(test).mean().item()))
    return model, curve
