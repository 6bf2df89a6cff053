"""What `mode` and `options` of compile mean."""

from .program import Settings

__all__ = ["settings_for"]

MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
OPTIONS = {"recompute": bool, "code": bool, "without": (list, tuple)}


def settings_for(mode, options, dynamic=None):
    """Return the Settings of a mode, or of a dict of options.

    Every mode prepares plans and their kernels once, and takes new memory for results, so that a later call never
    overwrites them. "max-autotune" makes two programs and keeps the faster one: in one of them softmax and the norms
    are decomposed and fused, so its results may differ from those of the ops in the last bits.
    """
    if mode is not None and options is not None:
        raise RuntimeError("compile: give either mode or options, not both")
    if mode is not None and mode not in MODES:
        raise RuntimeError(
            f"compile: mode {mode!r} is unknown; choose from {', '.join(map(repr, MODES))}"
        )
    for name, value in (options or {}).items():
        if name not in OPTIONS:
            raise RuntimeError(
                f"compile: the option {name!r} is unknown; choose from {', '.join(OPTIONS)}"
            )
        if not isinstance(value, OPTIONS[name]):
            raise RuntimeError(
                f"compile: the option {name!r} is of type {type(value).__name__}; expected "
                f"{'a bool' if OPTIONS[name] is bool else 'a list of names'}"
            )
    tune = mode is not None and mode.startswith("max-autotune")
    return Settings(**(options or {}), dynamic=dynamic, tune=tune)
