"""Every function of tensorlab.special gives what the one of torch.special gives, and is called as that one is."""

import pytest

import tensorlab
from tests.ops.agreement import agree

CALLS = {
    **{
        name: lambda T, x, name=name: getattr(T.special, name)(x)
        for name in tensorlab.special.__all__
    },
    "log_softmax": lambda T, x: T.special.log_softmax(x, 1, dtype=T.float64),
    "logit": lambda T, x: T.special.logit(x, eps=0.3),
    "logsumexp": lambda T, x: T.special.logsumexp(x, 0, keepdim=True),
    "polygamma": lambda T, x: T.special.polygamma(2, x),
    "round": lambda T, x: T.special.round(x, decimals=1),
    "softmax": lambda T, x: T.special.softmax(x, 0, dtype=T.float64),
    "xlogy": lambda T, x: T.special.xlogy(x, x + 1),
}


@pytest.mark.parametrize("name", tensorlab.special.__all__)
def test_a_function_gives_what_it_gives_in_pytorch(name):
    agree(
        lambda T: CALLS[name](T, T.tensor([[0.25, 0.125, 0.875], [0.0625, 0.5, 0.75]])),
        tolerance=3e-6,
    )


def test_a_function_of_the_package_is_the_same_one_here():
    for name in set(tensorlab.special.__all__) & set(tensorlab.__all__):
        assert getattr(tensorlab, name) is getattr(tensorlab.special, name)
    assert tensorlab.special.expit is tensorlab.sigmoid
    assert tensorlab.special.gammaln is tensorlab.lgamma
    assert tensorlab.special.psi is tensorlab.digamma
