"""FlopCounterMode: how many floating-point operations a program runs, by module and by op.

Counted are the ops that a network's time goes to: products of matrices, convolutions, attention
and recurrent layers. A multiplication with its addition is two operations, as in PyTorch's
counter. Nothing else is counted.

Fake tensors do as well as real ones, so a model that doesn't fit into this machine can be
counted.
"""

from collections import defaultdict
from math import prod

from tensorlab._core.dispatch.facets import Facet
from tensorlab._core.dispatch.overloads import OpOverload, OpOverloadPacket
from tensorlab._core.engine.engine import queue_callback
from tensorlab._pytree import tree_leaves, tree_map
from tensorlab._tensor import Tensor
from tensorlab.nn.hooks import register_module_forward_hook, register_module_forward_pre_hook
from tensorlab.utils._python_dispatch import TorchDispatchMode

__all__ = ["FlopCounterMode", "flop_registry", "register_flop_formula"]

# formula(*shapes of the tensors and other arguments, out_shape) -> int
flops = Facet("flops")


# ---------------------------------------------------------------- formulas
@flops("mm", "matmul", "bmm")
def product_flops(x, y, *, out_shape):
    """Each element of the result is a sum over the last dimension of x."""
    return 2 * prod(out_shape) * x[-1]


@flops("mv", "dot")
def vector_flops(x, y, *, out_shape):
    """A product with a vector: each element of x once."""
    return 2 * prod(x)


@flops("addmm", "baddbmm", "addmm_", "baddbmm_")
def added_product_flops(x, a, b, beta, alpha, *, out_shape):
    """A product; the addition is not counted."""
    return 2 * prod(out_shape) * a[-1]


@flops("linear")
def linear_flops(x, weight, bias, *, out_shape):
    """x @ weight.T"""
    return 2 * prod(out_shape) * x[-1]


@flops("conv")
def conv_flops(x, weight, bias, out_size, stride, padding, dilation, groups, *, out_shape):
    """Each element of the result is a sum over a window in the channels of its group."""
    return 2 * prod(out_shape) * prod(weight[1:])


@flops("conv_input")
def conv_input_flops(grad, weight, *rest, out_shape):
    """The gradient of x: the products of forward, in another order."""
    return 2 * prod(grad) * prod(weight[1:])


@flops("conv_weight")
def conv_weight_flops(x, grad, *rest, out_shape):
    """The gradient of the weight: the same products."""
    return 2 * prod(grad) * prod(out_shape[1:])


def attention_products(q, k, v):
    """(of q @ k.T, of weights @ v)"""
    *batch, queries, size = q
    keys = k[-2]
    return 2 * prod(batch) * queries * keys * size, 2 * prod(batch) * queries * keys * v[-1]


@flops("attention")
def attention_flops(q, k, v, *rest, out_shape):
    """Two products of matrices."""
    return sum(attention_products(q, k, v))


@flops("attention_backward")
def attention_backward_flops(grad, q, k, v, *rest, out_shape):
    """The scores again, and two products for each of the two of forward."""
    scores, values = attention_products(q, k, v)
    return 3 * scores + 2 * values


@flops("recurrent_layer")
def recurrent_flops(tensors, kind, has_bias, is_reverse, batch_sizes, *, out_shape):
    """Each step multiplies input and hidden state by the weights of all gates."""
    _, _, *rest = tensors
    weights = [shape for shape in rest if len(shape) == 2][:2]
    return 2 * sum(batch_sizes) * sum(prod(shape) for shape in weights)


@flops("recurrent_layer_backward")
def recurrent_backward_flops(tensors, kind, has_bias, is_reverse, batch_sizes, *rest, out_shape):
    """Twice as many as forward."""
    return 2 * recurrent_flops(tensors, kind, has_bias, is_reverse, batch_sizes, out_shape=None)


flop_registry = flops  # PyTorch's name


def register_flop_formula(targets, get_raw=False):
    """A decorator that gives ops a formula.

    Parameters
    ----------
    targets : OpOverload, packet of one, or a list of them
    get_raw : bool; whether the formula takes tensors, and `out_val`, instead of shapes, and
        `out_shape`

    >>> import tensorlab
    >>> @register_flop_formula(tensorlab.ops.aten.cumprod)
    ... def cumprod_flops(x, dim, dtype=None, *, out_shape):
    ...     return x[dim]
    """

    def decorate(formula):
        for one in targets if isinstance(targets, list | tuple) else [targets]:
            overload = (
                getattr(one, one.overloads()[0]) if isinstance(one, OpOverloadPacket) else one
            )
            if not isinstance(overload, OpOverload):
                raise ValueError(
                    f"register_flop_formula: an op is needed, such as ops.aten.mm, not {one!r}"
                )
            formula.get_raw = get_raw
            flops.give(overload.op.name, formula)
        return formula

    return decorate


def shapes_of(tree):
    """The arguments with the shapes of tensors in their place."""
    return tree_map(lambda one: tuple(one.shape) if isinstance(one, Tensor) else one, tree)


# ---------------------------------------------------------------- the mode
class FlopCounterMode(TorchDispatchMode):
    """A block in which floating-point operations are counted, those of backward included.

    Parameters
    ----------
    mods : taken for PyTorch's sake; modules are found by themselves
    depth : int, how many levels of modules the table shows
    display : bool, whether the table is printed at the end of the block
    custom_mapping : dict, op: formula, for this block only

    Examples
    --------
    >>> import tensorlab
    >>> with FlopCounterMode(display=False) as counter:
    ...     y = tensorlab.ones(2, 3) @ tensorlab.ones(3, 4)
    >>> counter.get_total_flops()
    48
    >>> counter.get_flop_counts()
    {'Global': {<OpOverloadPacket(op='aten.mm')>: 48}}
    """

    def __init__(self, mods=None, depth=2, display=True, custom_mapping=None):
        super().__init__()
        self.depth, self.display = depth, display
        self.custom = {_op_of(op): formula for op, formula in (custom_mapping or {}).items()}
        self.flop_counts = defaultdict(lambda: defaultdict(int))
        self._open: set = set()  # names of modules whose forward or backward is running
        self._names: dict = {}  # id(module): its name within the outermost one
        self._hooks: list = []

    def __enter__(self):
        self.flop_counts.clear()
        self._hooks = [
            register_module_forward_pre_hook(self._before_forward),
            register_module_forward_hook(self._after_forward, always_call=True),
        ]
        return super().__enter__()

    def __exit__(self, *exception):
        super().__exit__(*exception)
        for hook in self._hooks:
            hook.remove()
        self._open.clear()
        if self.display and exception[0] is None:
            print(self.get_table(self.depth))

    def _before_forward(self, module, args):
        if id(module) not in self._names:
            self._open.clear()  # the outermost one: what a backward has left is over
            prefix = type(module).__name__
            for name, one in module.named_modules():
                self._names.setdefault(id(one), f"{prefix}.{name}" if name else prefix)
        self._open.add(self._names[id(module)])

    def _after_forward(self, module, args, outputs):
        """Leave the module; backward will enter it with the gradient of an output, and leave it
        with that of an input, or at its end.
        """
        name = self._names[id(module)]
        self._open.discard(name)
        for tensors, step in ((outputs, self._enter_in_backward), (args, self._open.discard)):
            for one in tree_leaves(tensors):
                if isinstance(one, Tensor) and one.requires_grad:
                    hook = one.register_hook(lambda grad, step=step: step(name))
                    self._hooks.append(hook)

    def _enter_in_backward(self, name):
        self._open.add(name)
        queue_callback(lambda: self._open.discard(name))

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        formula = self.custom.get(func.op) or flops.of(func.op)
        if formula is not None:
            if getattr(formula, "get_raw", False):
                count = formula(*func.bind(args, kwargs), out_val=result)
            else:
                count = formula(*shapes_of(func.bind(args, kwargs)), out_shape=shapes_of(result))
            for name in {"Global"}.union(*map(_with_outer, self._open)):
                self.flop_counts[name][func.overloadpacket] += count
        return result

    def get_total_flops(self):
        """How many operations there were in the whole block."""
        return sum(self.flop_counts["Global"].values()) if "Global" in self.flop_counts else 0

    def get_flop_counts(self):
        """How many there were by module, then by op."""
        return {name: dict(ops) for name, ops in self.flop_counts.items()}

    def get_table(self, depth=None):
        """Return the counts as a table, each with its share of all; the modules are inside each other.

        What was counted outside of all modules makes a row "Global", with everything in it.
        """
        depth = self.depth if depth is None else depth
        total = self.get_total_flops()
        names = sorted(name for name in self.flop_counts if name.count(".") < depth)
        names = [name for name in names if name != "Global"]
        rows = [row for name in names for row in self._rows(name, name.count("."), total)]
        is_covered = any(sum(self.flop_counts[name].values()) >= total for name in names)
        if "Global" in self.flop_counts and not is_covered:
            rows = [*self._rows("Global", 0, total), *((" " + row[0], *row[1:]) for row in rows)]
        rows = [("Module", "FLOP", "% Total"), *(rows or [("Global", "0", "0%")])]
        widths = [max(len(rows[0][k]) + 2, *(len(row[k]) for row in rows[1:])) for k in range(3)]
        lines = [
            f"{name:<{widths[0]}}  {count:>{widths[1]}}  {share:>{widths[2]}}"
            for name, count, share in rows
        ]
        return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])

    def _rows(self, name, indent, total):
        """The rows of a module: (name, operations, share) of the whole, then of each op."""
        ops = self.flop_counts[name]
        power = power_of(total)
        counts = [(name, sum(ops.values())), *((f" - {op}", count) for op, count in ops.items())]
        return [
            (" " * indent + what, spelled(count, power), f"{count / total:.2%}" if total else "0%")
            for what, count in counts
        ]


PREFIXES = ("", "K", "M", "B", "T")


def power_of(number):
    """In which power of 1000 a number is written: from 4 digits before the point on, in the next one."""
    return max(0, min(len(PREFIXES) - 1, (len(str(number)) - 2) // 3))


def spelled(number, power):
    """A count in a power of 1000.

    >>> spelled(1234567, 1)
    '1234.567K'
    """
    return f"{number / 1000**power:.3f}{PREFIXES[power]}" if power else str(number)


def _with_outer(name):
    """A module's name, and those of the modules that it is in."""
    parts = name.split(".")
    return [".".join(parts[: k + 1]) for k in range(len(parts))]


def _op_of(op):
    return (getattr(op, op.overloads()[0]) if isinstance(op, OpOverloadPacket) else op).op
