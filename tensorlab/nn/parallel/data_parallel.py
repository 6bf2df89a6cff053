"""DataParallel: a module spread over devices, which on one processor is the module itself."""

from ... import _missing
from ..._core.device import no_accelerator
from ..module import Module

__all__ = ["DataParallel"]


class DataParallel(Module):
    """Call a module with batches split over accelerators: without any, call it as it is.

    Its parameters are named `module.*`, as programs and their checkpoints expect.

    Parameters
    ----------
    module : Module
    device_ids, output_device, dim : accepted for PyTorch's sake

    Raises
    ------
    DeviceError
        If devices are named.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import nn
    >>> model = nn.DataParallel(nn.Linear(2, 3))
    >>> model(tensorlab.zeros(4, 2)).shape
    tensorlab.Size([4, 3])
    """

    def __init__(self, module, device_ids=None, output_device=None, dim=0):
        super().__init__()
        if device_ids:
            raise no_accelerator("DataParallel")
        self.module = module
        self.device_ids = []

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)


__getattr__ = _missing.refusing(__name__)
