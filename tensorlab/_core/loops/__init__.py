"""Loops over memory: how elements are visited, converted, computed with and shared out among threads."""
