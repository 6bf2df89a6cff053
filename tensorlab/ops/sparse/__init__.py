"""Kernels of sparse tensors; their classes, and which op runs which kernel, are in tensorlab/sparse."""
