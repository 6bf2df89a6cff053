"""Loops over memory: how elements are visited, converted, computed with and shared out among threads."""

from tensorlab._capability import prefer_builds

prefer_builds(__path__)
