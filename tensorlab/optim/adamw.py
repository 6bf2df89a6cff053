"""AdamW: Adam with weight decay beside the gradient."""

from tensorlab import _missing

from .adam import Adam

__all__ = ["AdamW"]


class AdamW(Adam):
    """Adam whose weight decay shrinks the parameter itself instead of entering the gradient.

    Parameters are Adam's, but `weight_decay` starts at 0.01.
    Source: Loshchilov and Hutter 2019, "Decoupled Weight Decay Regularization", algorithm 2.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.tensor([3.0, -2.0], requires_grad=True)
    >>> optimizer = AdamW([x], lr=0.1, weight_decay=0.5)
    >>> x.grad = tensorlab.zeros(2)  # the weights shrink without a gradient
    >>> optimizer.step()
    >>> x
    tensor([ 2.8500, -1.9000], requires_grad=True)
    """

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=1e-2,
        amsgrad=False,
        *,
        maximize=False,
        foreach=None,
        capturable=False,
        differentiable=False,
        fused=None,
    ):
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )

    def __setstate__(self, state):
        super().__setstate__(state)
        for options in (self.defaults, *self.param_groups):
            options["decoupled_weight_decay"] = True  # also after loading what Adam saved


__getattr__ = _missing.refusing(__name__)
