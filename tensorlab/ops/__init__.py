"""The operators, one family per file.

Each op is one block: declaration with its formula, derivative, public function. As in PyTorch,
all ops are also here under their names in libraries: `ops.aten.add.Tensor`,
`ops.mylib.clip.default` (_core/dispatch/overloads.py).
"""


def __getattr__(name):
    """`ops.aten`, `ops.mylib`: the ops of a library. Any name will do, as it may get ops later."""
    import importlib.util  # only here: `import tensorlab` is to load little

    if name.startswith("__") or importlib.util.find_spec(f"{__name__}.{name}") is not None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tensorlab._core.dispatch.overloads import namespace

    globals()[name] = namespace(name)
    return globals()[name]
