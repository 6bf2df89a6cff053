"""Containers and hooks in fifty lines: the small program of chapter 29.

The Module of chapter 28, without parameters, and with what this chapter adds.
"""


class Handle:
    """What registering a hook returns; it takes the hook out again."""

    def __init__(self, hooks, hook):
        self.hooks, self.hook = hooks, hook
        hooks.append(hook)

    def remove(self):
        if self.hook in self.hooks:
            self.hooks.remove(self.hook)


class Module:
    def __init__(self):
        self.children, self.before, self.after = {}, [], []

    def __setattr__(self, name, value):
        if isinstance(value, Module):
            self.children[name] = value
        object.__setattr__(self, name, value)

    def __call__(self, x):
        for hook in list(self.before):
            changed = hook(self, x)
            x = x if changed is None else changed
        y = self.forward(x)
        for hook in list(self.after):
            changed = hook(self, x, y)
            y = y if changed is None else changed
        return y

    def register_forward_pre_hook(self, hook):
        return Handle(self.before, hook)

    def register_forward_hook(self, hook):
        return Handle(self.after, hook)

    def named_modules(self, prefix=""):
        yield prefix, self
        for name, child in self.children.items():
            yield from child.named_modules(f"{prefix}.{name}" if prefix else name)


class Chain(Module):
    """Modules one after the other, registered as "0", "1", ..."""

    def __init__(self, *modules):
        super().__init__()
        for i, module in enumerate(modules):
            setattr(self, str(i), module)

    def forward(self, x):
        for module in self.children.values():
            x = module(x)
        return x
