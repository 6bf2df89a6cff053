"""PyTorch's switch of the fast path of attention; here it says whether TransformerEncoder may cut padding off."""

from tensorlab._core.state.settings_number import note_setting

_fastpath = {"enabled": True}


def get_fastpath_enabled():
    """Return what `set_fastpath_enabled` was told, True unless it was called."""
    return _fastpath["enabled"]


def set_fastpath_enabled(value):
    """Say whether `nn.TransformerEncoder`, in evaluation and without gradients, may set padding to 0."""
    _fastpath["enabled"] = value
    note_setting("fast path of attention", value, True)
