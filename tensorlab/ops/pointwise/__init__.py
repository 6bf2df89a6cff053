"""Ops that treat every element by itself, one family per file."""

from tensorlab._capability import prefer_builds

prefer_builds(__path__)
