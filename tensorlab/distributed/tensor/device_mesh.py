"""DeviceMesh and init_device_mesh, where PyTorch has them as well."""

from tensorlab.distributed.device_mesh import DeviceMesh, init_device_mesh

__all__ = ["DeviceMesh", "init_device_mesh"]
