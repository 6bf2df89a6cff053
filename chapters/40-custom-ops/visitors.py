"""A NumPy function in a program, in three ways, and what works with each: for tensorlab or PyTorch."""

from leaky import leaky


def detached(torch):
    """The shortest way that runs."""
    return lambda x, decay: torch.from_numpy(leaky(x.detach().numpy(), decay.detach().numpy()))


def backward(leaky_sum, ctx, grad):
    """The gradients of a leaky sum, made of leaky sums."""
    decay, y = ctx.saved_tensors
    grad_x = leaky_sum(grad.flip(1), decay).flip(1)
    return grad_x, (grad_x[:, 1:] * y[:, :-1]).sum(1)


def function(torch):
    """An autograd.Function."""

    class LeakySum(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, decay):
            y = torch.from_numpy(leaky(x.detach().numpy(), decay.detach().numpy()))
            ctx.save_for_backward(decay, y)
            return y

        @staticmethod
        def backward(ctx, grad):
            return backward(LeakySum.apply, ctx, grad)

    return LeakySum.apply


def custom_op(torch):
    """An op, with a fake, a derivative and a count of operations."""
    from importlib import import_module

    def kernel(x: torch.Tensor, decay: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(leaky(x.numpy(), decay.numpy()))

    op = torch.library.custom_op("visitors::leaky_sum", kernel, mutates_args=())
    op.register_fake(lambda x, decay: x.new_empty(x.shape))
    op.register_autograd(
        lambda ctx, grad: backward(op, ctx, grad),
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[1], output),
    )
    counter = import_module(f"{torch.__name__}.utils.flop_counter")

    @counter.register_flop_formula(torch.ops.visitors.leaky_sum)
    def formula(x, decay, *, out_shape=None, **kwargs):
        return 2 * x[0] * x[1]

    return op


WAYS = {"detach and NumPy": detached, "autograd.Function": function, "custom op": custom_op}


def visits(torch):
    """{way: {what is asked: "yes", "no" or the class of an error}}"""
    from importlib import import_module

    below = import_module(f"{torch.__name__}.utils._python_dispatch")
    counter = import_module(f"{torch.__name__}.utils.flop_counter")

    class Names(below.TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.names = []

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.names.append(str(func))
            return func(*args, **(kwargs or {}))

    def leaves():
        x = torch.tensor([[1.0, 2.0, 3.0, 4.0]], requires_grad=True)
        return x, torch.tensor([0.5], requires_grad=True)

    def has_gradient(f):
        x, decay = leaves()
        f(x, decay).sum().backward()
        return x.grad.tolist() == [[1.875, 1.75, 1.5, 1.0]] and decay.grad.tolist() == [9.75]

    def has_second(f):
        x, decay = leaves()
        (grad,) = torch.autograd.grad(f(x, decay).sum(), x, create_graph=True)
        grad.sum().backward()
        return decay.grad.tolist() == [1 + 2 + 2.75]  # of 1 + (1 + d) + (1 + d + d^2) + ...

    def runs_on_meta(f):
        result = f(torch.empty(3, 5, device="meta"), torch.empty(3, device="meta"))
        return tuple(result.shape) == (3, 5) and result.device.type == "meta"

    def is_one_call(f):
        with Names() as mode:
            f(*leaves())
        return sum("leaky_sum" in name for name in mode.names) == 1

    def is_counted(f):
        with counter.FlopCounterMode(display=False) as mode:
            f(*leaves())
        return mode.get_total_flops() == 8

    def compiles(f):
        x, decay = leaves()
        whole = torch.compile(lambda x, decay: f(x * 2, decay) + 1, fullgraph=True)
        with torch.no_grad():
            return whole(x, decay).tolist() == (f(x * 2, decay) + 1).tolist()

    asked = {
        "backward": has_gradient,
        "a second derivative": has_second,
        "the meta device": runs_on_meta,
        "a mode: is it one call?": is_one_call,
        "the FLOP counter": is_counted,
        "compile(fullgraph=True)": compiles,
    }
    found = {}
    for way, make in WAYS.items():
        f = make(torch)
        found[way] = {}
        for what, ask in asked.items():
            try:
                found[way][what] = "yes" if ask(f) else "no"
            except Exception as error:  # whatever it is, it's the answer
                found[way][what] = type(error).__name__
    return found
