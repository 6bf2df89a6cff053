"""Pooling: the largest or the mean number of each window of a signal, an image or a volume."""

from tensorlab._capability import prefer_builds

prefer_builds(__path__)
