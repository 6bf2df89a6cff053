"""Objects that are saved through a state dict of their own."""

from typing import Any, Protocol, runtime_checkable

from tensorlab import _missing

__all__ = ["Stateful"]


@runtime_checkable
class Stateful(Protocol):
    """An object whose state is what `state_dict` returns and `load_state_dict` takes.

    Examples
    --------
    >>> from tensorlab import nn
    >>> isinstance(nn.Linear(1, 1), Stateful)
    True
    """

    def state_dict(self) -> dict[str, Any]:
        """Return what is to be saved."""
        ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what was saved."""
        ...


__getattr__ = _missing.refusing(__name__)
