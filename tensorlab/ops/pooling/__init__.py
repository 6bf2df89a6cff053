"""Pooling: the largest or the mean number of each window of a signal, an image or a volume."""
