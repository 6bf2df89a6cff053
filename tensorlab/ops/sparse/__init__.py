"""Kernels of sparse tensors; their classes, and which op runs which kernel, are in tensorlab/sparse."""

from tensorlab._capability import prefer_builds

prefer_builds(__path__)
