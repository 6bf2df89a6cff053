"""The state of a sharded module, and its hooks: gather before forward, give up after it.

All sharded modules of one model have a `Context`: the order in which their forwards ran, which
is the order for gathering ahead. In backward it goes the other way.
"""

from tensorlab._pytree import tree_map
from tensorlab._tensor import Tensor
from tensorlab.autograd.grad_mode import is_grad_enabled
from tensorlab.autograd.variable import queue_callback
from tensorlab.distributed.fsdp.saved import without_gathered
from tensorlab.nn.parameter import Parameter

STATE = "_fsdp_state"  # the attribute of a module that holds its State


class Context:
    """What the sharded modules of one model have in common.

    Attributes
    ----------
    states : list of State, the root's first
    order : list of State, as their forwards have run in this step; `last_order` those of the
        last one
    in_backward : bool
    reduction : Reduction or None, the gradients that are being averaged now
    """

    def __init__(self, states):
        self.states, self.order, self.last_order, self.in_backward = states, [], [], False
        self.reduction = None

    def begin_forward(self):
        """Record what waits for gradients before anything else, so that backward comes to it last."""
        for state in self.states:
            if state.group is not None:
                state.group.deliver()

    def settle(self):
        """Wait for the gradients that are being averaged: so there are those of one group at most."""
        if self.reduction is not None:
            self.reduction.settle()
            self.reduction = None

    def begin_backward(self):
        """Have the parts put back when backward has ended."""
        if not self.in_backward:
            self.in_backward = True
            queue_callback(self.end_backward)

    def end_backward(self):
        """Put the parts back into the modules, and give up what was gathered ahead in vain."""
        self.in_backward = False
        self.settle()
        self.order, self.last_order = [], self.order
        for state in self.states:
            state.after_backward()
            if state.group is not None and state.group.reshards_after_backward:
                state.group.pending = None


class State:
    """What `fully_shard` adds to a module, or to several that are gathered together.

    Parameters
    ----------
    modules : list of Module
    group : Group or None, if there is no parameter left for them
    policy : MixedPrecisionPolicy
    reshard : bool, or None for the default: True but for the root

    Attributes
    ----------
    ahead_forward, ahead_backward : list of State, or None: what to gather ahead at each use
    follows_order : bool, whether forward gathers ahead what came next in the last step
    is_whole : bool, whether the modules have the whole parameters now
    """

    def __init__(self, modules, group, policy, reshard):
        self.modules, self.group, self.policy = modules, group, policy
        self.reshards_after_forward = reshard
        self.context = None
        self.is_root = self.follows_order = False
        self.ahead_forward, self.ahead_backward = [], None
        self.is_whole, self.open_hooks, self.waiting = False, [], set()

    # ------------------------------------------------------------ the first use
    def find_context(self, module):
        """Make the context of a model, whose root is the module that is called first."""
        if self.context is not None:
            return
        states = []
        for one in module.modules():
            found = vars(one).get(STATE)
            if found is not None and found not in states:
                states.append(found)
        context = Context(states)
        for state in states:
            if state.context is not None and state is not self:
                raise RuntimeError(
                    "fully_shard: FSDP state has already been lazily initialized for a part of "
                    "this model: call forward of the root, the outermost module that is "
                    "sharded, first"
                )
            state.context = context
            if state.reshards_after_forward is None:
                state.reshards_after_forward = state is not self
        self.is_root = True

    # ------------------------------------------------------------ forward
    def before_forward(self, module, args, kwargs):
        """Gather the parameters, and begin with those that come next."""
        self.find_context(module)
        if self.is_root and is_grad_enabled() and not self.waiting:
            self.context.begin_forward()
        if self.policy.cast_forward_inputs and self.policy.param_dtype is not None:
            args, kwargs = converted((args, kwargs), self.policy.param_dtype)
        if self.group is None:
            return args, kwargs
        if not self.waiting:
            self.waiting = set(map(id, self.modules))
            self.gather()
        if is_grad_enabled() and self.reshards_after_forward:
            block = without_gathered()
            block.__enter__()
            self.open_hooks.append((id(module), block))
        return args, kwargs

    def gather(self):
        """Put the whole parameters into the modules."""
        for one in self.group.params:
            one.refresh()
        self.group.begin()
        for state in self.next_in_forward():
            if state.group is not None:
                state.group.begin()
        self.group.put_whole()
        self.group.before_backward = self.before_backward
        self.group.before_reducing = self.context.settle
        self.group.when_reducing = self.after_reducing
        self.is_whole = True
        if is_grad_enabled() and not self.context.in_backward and self not in self.context.order:
            self.context.order.append(self)

    def next_in_forward(self):
        """Return the states to gather ahead: those that were named, or the one that came next last time."""
        order = self.context.last_order
        if self.ahead_forward or not self.follows_order or self not in order:
            return self.ahead_forward
        place = order.index(self) + 1
        return order[place : place + 1]

    def after_forward(self, module, args, kwargs, out):
        """Put the parts back, and give the whole parameters up."""
        while self.open_hooks and self.open_hooks[-1][0] == id(module):
            self.open_hooks.pop()[1].__exit__(None, None, None)
        self.waiting.discard(id(module))
        if self.group is not None and not self.waiting:
            self.group.put_parts()
            self.is_whole = False
            if self.reshards_after_forward and not self.context.in_backward:
                self.group.free()
            if is_grad_enabled():
                self.watch(out)
        if self.policy.output_dtype is not None:
            out = converted(out, self.policy.output_dtype)
        return out

    def watch(self, out):
        """Have the parameters gathered when backward comes to the output."""

        def arrive(grad):
            self.before_backward()

        def hook(x):
            if isinstance(x, Tensor) and x.requires_grad:
                x.register_hook(arrive)
            return x

        tree_map(hook, out)

    # ------------------------------------------------------------ backward
    def before_backward(self):
        """Gather the parameters again, and begin with those that come next."""
        self.context.begin_backward()
        if self.is_whole or self.group is None:
            return
        self.group.begin()
        for state in self.next_in_backward():
            if state.group is not None:
                state.group.begin()
        for one, x in zip(self.group.params, self.group.gathered(), strict=True):
            leaf = one.as_whole(x.detach()).requires_grad_(one.sharded.requires_grad)
            one.put(leaf)  # for what is computed again, as checkpoints do
        self.is_whole = True

    def next_in_backward(self):
        """Return the states to gather ahead: by default the one whose forward ran before."""
        if self.ahead_backward is not None:
            return self.ahead_backward
        order = self.context.order
        place = order.index(self) if self in order else 0
        return order[place - 1 : place] if place else []

    def after_reducing(self, reduction):
        """Backward has begun to average the gradients, and has no more use for the whole parameters."""
        self.context.reduction = reduction
        self.after_backward()

    def after_backward(self):
        """Put the parts back when the gradients are there."""
        if self.group is None:
            return
        if self.is_whole and not self.waiting:
            self.group.put_parts()
            self.is_whole = False
        if self.group.reshards_after_backward:
            self.group.free()

    # ------------------------------------------------------------ by hand
    def unshard(self):
        """Put the whole parameters into the modules until `reshard`."""
        if self.group is None or self.is_whole:
            return
        for one in self.group.params:
            one.refresh()
        for one, x in zip(self.group.params, self.group.gathered(), strict=True):
            whole = one.as_whole(x.detach())
            one.put(Parameter(whole, requires_grad=one.sharded.requires_grad))
        self.is_whole = True

    def reshard(self):
        """Put the parts back into the modules, and give the whole up."""
        if self.group is None:
            return
        self.waiting.clear()
        if self.is_whole:
            self.group.put_parts()
            self.is_whole = False
        self.group.free()
        self.group.pending = None


def converted(value, dtype):
    """Return a structure with its floating-point tensors in another dtype."""

    def convert(x):
        if isinstance(x, Tensor) and x.dtype.is_floating_point and x.dtype != dtype:
            return x.to(dtype)
        return x

    return tree_map(convert, value)
