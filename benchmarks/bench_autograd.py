"""What do custom functions, hooks, second derivatives, packed tensors and anomaly mode cost?

python benchmarks/bench_autograd.py
"""

from comparing import table


def own_function(T):
    class Square(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * 2 * x

    return Square


def names(T):
    square, x, one = own_function(T), T.ones(8, requires_grad=True), T.ones(8)
    pack = T.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t)

    def go_back(y):
        y.backward(one)
        x.grad = None

    def twice():
        (first,) = T.autograd.grad(square.apply(x), x, one, create_graph=True)
        T.autograd.grad(first, x, one)

    def with_hooks():
        y = x * x
        y.register_hook(lambda grad: None)
        y.grad_fn.register_prehook(lambda grads: None)
        go_back(y)

    def packed():
        with pack:
            y = x * x
        go_back(y)

    def watched():
        with T.autograd.set_detect_anomaly(True):
            go_back(x * x)

    return {
        "square": square,
        "x": x,
        "go_back": go_back,
        "twice": twice,
        "with_hooks": with_hooks,
        "packed": packed,
        "watched": watched,
    }


if __name__ == "__main__":
    table(
        [
            ("an op", "go_back(x * x)", names),
            ("a custom function, forward", "square.apply(x)", names),
            ("a custom function", "go_back(square.apply(x))", names),
            ("its second derivative", "twice()", names),
            ("an op with two hooks", "with_hooks()", names),
            ("an op with packed tensors", "packed()", names),
            ("an op in anomaly mode", "watched()", names),
        ]
    )
